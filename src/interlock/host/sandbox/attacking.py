"""Runs inside a task and tries to get out, each way once; it only tells what it saw, what holds is judged by attacks outside.

Of the standard library alone.  Standard input is the scene as JSON; standard output has one line of JSON for each
attack.  Nothing is tried that could harm the machine if it worked: what opens is closed, not written.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import os
import pty
import signal
import socket
import struct
import sys
import termios
from collections.abc import Callable
from pathlib import Path

YES = "yes"
"""What an attack gives when it sees for itself that it worked; anything else is what it got hold of."""

_LIBC = ctypes.CDLL(None, use_errno=True)
_CALLS = {
    "x86_64": {
        "keyctl": 250,
        "add_key": 248,
        "bpf": 321,
        "perf_event_open": 298,
        "io_uring_setup": 425,
        "userfaultfd": 323,
        "open_by_handle_at": 304,
        "setns": 308,
    },
    "aarch64": {
        "keyctl": 219,
        "add_key": 217,
        "bpf": 280,
        "perf_event_open": 241,
        "io_uring_setup": 425,
        "userfaultfd": 282,
        "open_by_handle_at": 265,
        "setns": 268,
    },
}.get(os.uname().machine, {})


def main() -> None:
    """Try everything, and go on whatever happens."""
    scene = json.load(sys.stdin)
    for name, attack in attacks(scene).items():
        fault = ""
        try:
            said = str(attack())
        except BaseException as stopped:  # noqa: BLE001 - whatever stops an attack is its outcome
            said, fault = "", str(getattr(stopped, "strerror", None) or stopped)
        print(json.dumps({"name": name, "said": said[:4000], "fault": fault}), flush=True)


def attacks(scene: dict[str, str]) -> dict[str, Callable[[], object]]:
    """The attacks by name, for the files, sockets and processes of a scene."""
    outside, victim = Path(scene["outside"]), int(scene["victim"])
    return {
        "write outside": lambda: (outside / "written").write_text("broken"),
        "write through a symbolic link": lambda: _through_link(outside / "linked"),
        "write through a hard link": lambda: _through_hard_link(Path(scene["secret"])),
        "read a secret file": lambda: Path(scene["secret"]).read_text(),
        "read keys in ~/.ssh": lambda: Path(scene["key"]).read_text(),
        "read /etc/shadow": _shadow,
        "read another task's tree": (Path(scene["other"]) / "work.txt").read_text,
        "change another task's tree": lambda: (Path(scene["other"]) / "work.txt").write_text("broken"),
        "leave a link as artifact": lambda: Path("artifact.txt").symlink_to(scene["secret"]),
        "read another process's environment": lambda: _proc("environ", scene["variable"]),
        "reach files through /proc/PID/root": lambda: _proc("root" + scene["secret"]),
        "reach files through /proc/PID/cwd": lambda: _proc("cwd/secret.txt"),
        "trace a process": lambda: _trace(victim),
        "take hold of the keeper": lambda: _trace(1),
        "end a process": lambda: os.kill(victim, signal.SIGUSR1),
        "connect to a socket file": lambda: _connect(socket.AF_UNIX, scene["socket"]),
        "connect to an abstract socket": lambda: _connect(socket.AF_UNIX, "\0" + scene["abstract"]),
        "connect to a port of the machine": lambda: _connect(socket.AF_INET, ("127.0.0.1", int(scene["tcp"]))),
        "send a datagram to the machine": lambda: _datagram(("127.0.0.1", int(scene["udp"]))),
        "send a datagram to the network": lambda: _datagram(("192.0.2.1", 53)) and YES,
        "open a VM socket": lambda: socket.socket(40, socket.SOCK_STREAM) and YES,
        "make a user namespace": _namespace,
        "enter a namespace": lambda: _call("setns", os.open("/proc/self/ns/net", os.O_RDONLY), 0),
        "open /proc/sys to write": lambda: _open_sysctl(Path("/proc/sys")),
        "use an inherited descriptor": _descriptors,
        "read a secret variable": lambda: "\n".join(f"{name}={value}" for name, value in os.environ.items()),
        "reach /tmp of the machine": lambda: _append(Path(scene["tmp"])),
        "reach /dev/shm of the machine": lambda: _append(Path(scene["shm"])),
        "use the kernel's keys": lambda: _call("keyctl", 0, -4, 1, 0, 0),
        "use bpf": lambda: _call("bpf", 0, ctypes.create_string_buffer(128), 128),
        "use io_uring": lambda: _call("io_uring_setup", 1, ctypes.create_string_buffer(120)),
        "use performance events": lambda: _call("perf_event_open", _performance(), 0, -1, -1, 0),
        "use userfaultfd": lambda: _call("userfaultfd", 1),
        "open a file by its handle": lambda: _call("open_by_handle_at", -100, ctypes.create_string_buffer(64), 0),
        "type into the terminal": _type,
    }


def _through_link(target: Path) -> None:
    Path("link").symlink_to(target)
    Path("link").write_text("broken")


def _through_hard_link(secret: Path) -> None:
    os.link(secret, "hard")
    with Path("hard").open("a") as file:
        file.write("broken")


def _shadow() -> str:
    return YES if ":" in Path("/etc/shadow").read_text() else "nothing in it"


def _proc(below: str, word: str = "") -> str:
    """What stands at a path below any process that can be seen, from a word on; other than the attack's own."""
    found, faults = [], []
    for number in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):  # noqa: PTH208 - numbers
        if number == os.getpid():
            continue
        try:
            text = Path(f"/proc/{number}/{below}").read_bytes().decode("utf-8", "replace")
            found.append(text[max(0, text.find(word)) :][:100])
        except OSError as fault:
            faults.append(f"{number}: {fault.strerror}")
    if not found:
        raise OSError("; ".join(faults))
    return "".join(found)


def _trace(pid: int) -> str:
    _check(_LIBC.ptrace(16, pid, None, None))
    os.waitpid(pid, 0x40000000)
    _LIBC.ptrace(17, pid, None, None)
    return YES


def _connect(family: int, address: str | tuple[str, int]) -> None:
    with socket.socket(family, socket.SOCK_STREAM) as sock:
        sock.settimeout(2)
        sock.connect(address)
        sock.sendall(b"broken")


def _datagram(address: tuple[str, int]) -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        return sock.sendto(b"broken", address)


def _namespace() -> str:
    """In a child, because it would change what is tried after it."""
    child = os.fork()
    if child == 0:
        os._exit(0 if _LIBC.unshare(0x10000000) == 0 else ctypes.get_errno() or 1)
    return _worked(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def _open_sysctl(root: Path) -> str:
    """Open to write, and never write: core_pattern alone would run a program as root outside."""
    faults = []
    for name in ("kernel/core_pattern", "kernel/hostname", "vm/overcommit_memory", "net/ipv4/ip_forward"):
        try:
            os.close(os.open(root / name, os.O_WRONLY))
        except OSError as fault:
            faults.append(f"{name}: {fault.strerror}")
        else:
            return YES
    raise OSError("; ".join(faults))


def _descriptors() -> str:
    found = []
    for number in range(3, 256):
        try:
            found.append(os.pread(number, 2000, 0).decode("utf-8", "replace"))
        except OSError:
            continue
    if not found:
        raise OSError("none is open")
    return "".join(found)


def _append(path: Path) -> str:
    text = path.read_text()
    with path.open("a") as file:
        file.write("broken")
    return text


def _call(name: str, *arguments: object) -> str:
    """A call that must not get past the filter; one that the kernel itself turns down afterwards did get past."""
    number = _CALLS[name]
    if _LIBC.syscall(number, *arguments) >= 0:
        return YES
    fault = ctypes.get_errno()
    if fault not in (errno.EPERM, errno.ENOSYS):
        return f"{YES}, the kernel looked at it: {os.strerror(fault)}"
    raise OSError(fault, os.strerror(fault))


def _performance() -> object:
    return ctypes.create_string_buffer(struct.pack("=IIQ", 1, 128, 0), 128)


def _type() -> str:
    """Type into a terminal that is this process's own, as it would into one that it was started from."""
    child, terminal = pty.fork()
    if child == 0:
        try:
            fcntl.ioctl(0, termios.TIOCSTI, b"x")
        except OSError as fault:
            os._exit(fault.errno or 1)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.close(terminal)
    return _worked(code)


def _worked(code: int) -> str:
    """What a child's exit status says: 0, or the number of the fault."""
    if code == 0:
        return YES
    raise OSError(code, os.strerror(code))


def _check(result: int) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


if __name__ == "__main__":
    main()
