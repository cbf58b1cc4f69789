"""The filter of system calls and the second wall: what each refuses, and that ordinary work goes on."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from collections.abc import Iterator

import pytest
from tests.integration.host.boxes import Box, a_box

from interlock.host.sandbox import landlock, own_tools, seccomp

CALL = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
number, *given = (int(word, 0) for word in sys.argv[1:])
memory = ctypes.create_string_buffer(256)
result = libc.syscall(ctypes.c_long(number), *(memory if word == -77 else ctypes.c_long(word) for word in given))
print("done" if result >= 0 else os.strerror(ctypes.get_errno()))
"""
REFUSED = "Operation not permitted"
X86 = pytest.mark.skipif(os.uname().machine != "x86_64", reason="The numbers are those of x86_64.")


@pytest.fixture
def box() -> Iterator[Box]:
    with a_box() as made:
        yield made


def call(box: Box, *words: int) -> str:
    """What a system call gives inside; -77 stands for some memory."""
    numbers = " ".join(map(str, words))
    _, log = box.run(f"{own_tools.python().path} -I -c '{CALL}' {numbers}")
    return log.strip()


# ---------------------------------------------------------------- the program
@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_program_is_whole_and_each_jump_stays_within_it(machine: str) -> None:
    data = seccomp.program(machine)
    assert data is not None
    steps = [struct.unpack_from("=HBBI", data, at) for at in range(0, len(data), 8)]
    assert len(steps) < 4096
    for at, (code, yes, no, _) in enumerate(steps):
        if code in (0x15, 0x35, 0x45):
            assert at + 1 + max(yes, no) < len(steps)
    assert steps[0] == (0x20, 0, 0, 4)
    assert steps[-1] == (0x06, 0, 0, 0x7FFF0000)


def test_other_machines_have_none() -> None:
    assert seccomp.program("riscv64") is None


def run(program: bytes, architecture: int, number: int, *arguments: int) -> int:
    """The program's answer to a call, as the kernel would work it out."""
    steps = [struct.unpack_from("=HBBI", program, at) for at in range(0, len(program), 8)]
    padded = [*arguments, *[0] * (6 - len(arguments))]
    call = struct.pack("=iIQ6Q", number, architecture, 0, *padded)
    at, held = 0, 0
    while True:
        code, yes, no, value = steps[at]
        at += 1
        match code:
            case 0x20:
                held = struct.unpack_from("=I", call, value)[0]
            case 0x15:
                at += yes if held == value else no
            case 0x35:
                at += yes if held >= value else no
            case 0x45:
                at += yes if held & value else no
            case _:
                return int(value)


ALLOWED, KILLED, NOT_PERMITTED, NO_CALL, NO_FAMILY = 0x7FFF0000, 0x80000000, 0x50001, 0x50026, 0x50061
X86_64, AARCH64, I386 = 0xC000003E, 0xC00000B7, 0x40000003


@pytest.mark.parametrize(
    ("machine", "architecture", "clone", "clone3", "socket", "ioctl", "keyctl"),
    [("x86_64", X86_64, 56, 435, 41, 16, 250), ("aarch64", AARCH64, 220, 435, 198, 29, 219)],
)
def test_its_answers_on_both_machines(
    machine: str, architecture: int, clone: int, clone3: int, socket: int, ioctl: int, keyctl: int
) -> None:
    program = seccomp.program(machine)
    assert program is not None
    assert run(program, I386, 1) == KILLED
    assert run(program, architecture, keyctl) == NOT_PERMITTED
    assert run(program, architecture, clone3) == NO_CALL
    for flag in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
        assert run(program, architecture, clone, flag | 17) == NOT_PERMITTED
    assert run(program, architecture, clone, 0x3D0F00) == ALLOWED  # a thread
    assert run(program, architecture, clone, 17) == ALLOWED  # a fork
    for family, answer in ((1, ALLOWED), (2, ALLOWED), (10, ALLOWED), (16, ALLOWED), (17, NO_FAMILY), (40, NO_FAMILY)):
        assert run(program, architecture, socket, family) == answer
    for request, answer in ((0x5412, NOT_PERMITTED), (0x541C, NOT_PERMITTED), (0x5413, ALLOWED), (0x5401, ALLOWED)):
        assert run(program, architecture, ioctl, 0, request) == answer
        assert run(program, architecture, ioctl, 0, request | 1 << 40) == answer  # the kernel looks at half of it
    assert run(program, architecture, 0) == ALLOWED


def test_the_other_calling_convention_of_x86_64_is_killed() -> None:
    program = seccomp.program("x86_64")
    assert program is not None
    assert run(program, X86_64, 0x40000000 | 39) == KILLED


# ---------------------------------------------------------------- in a sandbox
CALLS = {
    "add_key": (248, -77, -77, -77, 1, -4),
    "request_key": (249, -77, -77, -77, -4),
    "keyctl": (250, 0, -4, 1),
    "bpf": (321, 0, -77, 128),
    "perf_event_open": (298, -77, 0, -1, -1, 0),
    "syslog": (103, 10, 0, 0),
    "io_uring_setup": (425, 1, -77),
    "io_uring_enter": (426, 0, 0, 0, 0, 0),
    "io_uring_register": (427, 0, 0, 0, 0),
    "userfaultfd": (323, 1),
    "mount": (165, -77, -77, -77, 0, 0),
    "umount2": (166, -77, 0),
    "pivot_root": (155, -77, -77),
    "chroot": (161, -77),
    "open_tree": (428, -100, -77, 0),
    "move_mount": (429, 0, -77, 0, -77, 0),
    "fsopen": (430, -77, 0),
    "fsmount": (432, 0, 0, 0),
    "mount_setattr": (442, -100, -77, 0, -77, 0),
    "setns": (308, 0, 0),
    "unshare": (272, 0x10000000),
    "clone with a new user namespace": (56, 0x10000000 | 17, 0, 0, 0, 0),
    "open_by_handle_at": (304, -100, -77, 0),
    "process_vm_readv": (310, 1, -77, 0, -77, 0, 0),
    "process_vm_writev": (311, 1, -77, 0, -77, 0, 0),
    "kexec_load": (246, 0, 0, 0, 0),
    "init_module": (175, -77, 0, -77),
    "finit_module": (313, -1, -77, 0),
    "delete_module": (176, -77, 0),
    "reboot": (169, 0, 0, 0, 0),
    "swapon": (167, -77, 0),
}


ALL_CALLS = """
import ctypes, json, os, sys
libc = ctypes.CDLL(None, use_errno=True)
memory = ctypes.create_string_buffer(256)
for name, words in json.load(sys.stdin).items():
    given = [memory if word == -77 else ctypes.c_long(word) for word in words]
    result = libc.syscall(*given)
    print(name, "done" if result >= 0 else os.strerror(ctypes.get_errno()), flush=True)
"""


@X86
def test_each_refused_call_is_refused_in_a_sandbox(box: Box) -> None:
    _, log = box.run(f"{own_tools.python().path} -I -c '{ALL_CALLS}'", stdin=json.dumps(CALLS).encode())
    assert log.splitlines() == [f"{name} {REFUSED}" for name in CALLS]


@X86
def test_clone3_is_unknown_so_that_libc_takes_the_one_that_can_be_seen(box: Box) -> None:
    assert call(box, 435, -77, 64) == "Function not implemented"


@X86
def test_the_other_calling_conventions_end_the_process(box: Box) -> None:
    ended, _ = box.run(f"{own_tools.python().path} -I -S -c '{CALL}' {0x40000000 | 39}; echo $? >&2; exit 0")
    assert ended.exit_code == 0
    assert "159" in box.log.read_text()  # 128 + SIGSYS


@pytest.mark.parametrize("family", [17, 40, 38])
def test_sockets_of_other_families_are_refused(box: Box, family: int) -> None:
    script = f"import socket\ntry:\n    socket.socket({family}, 2 if {family} != 38 else 5)\nexcept OSError as e: print(e.strerror)"
    assert (
        box.run(f"{own_tools.python().path} -I -c '{script}'")[1].strip() == "Address family not supported by protocol"
    )


ORDINARY = """
import ctypes, os, socket, subprocess, threading, tempfile, mmap, multiprocessing, signal, pty, fcntl, termios
threading.Thread(target=lambda: None).start()
assert subprocess.run(["true"]).returncode == 0
for family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK):
    socket.socket(family, socket.SOCK_DGRAM).close()
here = socket.create_server(("127.0.0.1", 0))
socket.create_connection(here.getsockname()).close()
a, b = socket.socketpair()
os.rename(tempfile.mkstemp(dir="/tmp")[1], "/tmp/moved")
os.makedirs("/ws/a/b"); open("/ws/a/f", "w").close(); os.rename("/ws/a/f", "/ws/a/b/f"); os.link("/ws/a/b/f", "/ws/g")
os.truncate("/ws/g", 0); os.mkfifo("/ws/fifo"); os.symlink("x", "/ws/link")
with multiprocessing.Pool(2) as pool: assert pool.map(abs, [-1, -2]) == [1, 2]
child = os.fork()
if child == 0:
    signal.pause()
libc = ctypes.CDLL(None)
assert libc.ptrace(16, child, None, None) == 0
os.waitpid(child, 0x40000000); libc.ptrace(8, child, None, None); os.waitpid(child, 0)
master, slave = os.openpty(); termios.tcgetattr(slave)
open("/dev/null", "w").write("x"); open("/dev/urandom", "rb").read(4)
print("fine")
"""


def test_ordinary_work_goes_on(box: Box) -> None:
    (box.root / "tree" / "work.py").write_text(ORDINARY)
    ended, log = box.run(f"{own_tools.python().path} -I work.py")
    assert (ended.exit_code, log) == (0, "fine\n")
    assert ended.leftovers == ()


def test_git_and_a_compiler_cache_like_rename_work_on_layers(box: Box) -> None:
    script = "set -e; git init -q .; git add below.txt; git -c user.name=a -c user.email=a@b commit -qm x; git log --format=%s; mkdir d; mv below.txt d/"
    ended, log = box.run(script, box.layered)
    assert (ended.exit_code, log) == (0, "x\n")


# ---------------------------------------------------------------- the second wall
WALL = """
import os, sys
sys.path.append(sys.argv[1])
from interlock.host.sandbox import landlock
assert landlock.restrict([sys.argv[2], "/nowhere/at-all"])
def attempt(what, *given):
    try:
        what(*given)
    except OSError as fault:
        print(fault.strerror)
    else:
        print("done")
inner, outer = sys.argv[2], sys.argv[3]
attempt(lambda: open(f"{inner}/a", "w").close())
attempt(os.mkdir, f"{inner}/d")
attempt(os.rename, f"{inner}/a", f"{inner}/d/a")
attempt(lambda: open(f"{outer}/a", "w").close())
attempt(os.mkdir, f"{outer}/d")
attempt(os.unlink, f"{outer}/kept")
attempt(os.truncate, f"{outer}/kept", 0)
attempt(os.rename, f"{outer}/kept", f"{inner}/kept")
attempt(lambda: open(f"{outer}/kept").read())
attempt(os.kill, os.getppid(), 0)
"""


def test_landlock_alone_keeps_writes_below_its_folders(tmp_path: object) -> None:
    if landlock.version() < landlock.LEAST:
        pytest.skip("This kernel has no Landlock.")
    from pathlib import Path

    root = Path(str(tmp_path))
    for name in ("inner", "outer"):
        (root / name).mkdir()
    (root / "outer" / "kept").write_text("kept")
    package = Path(landlock.__file__).resolve().parents[3]
    argv = [sys.executable, "-I", "-c", WALL, str(package), str(root / "inner"), str(root / "outer")]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert done.stderr == ""
    said = done.stdout.splitlines()
    assert said[:3] == ["done"] * 3
    assert set(said[3:8]) <= {"Permission denied", "Invalid cross-device link"}
    assert said[8] == "done"
    if landlock.version() >= 6:
        assert said[9] == "Operation not permitted"
    assert (root / "outer" / "kept").read_text() == "kept"


def test_the_second_wall_is_around_a_command_and_not_the_keeper(box: Box) -> None:
    if landlock.version() < 6:
        pytest.skip("This kernel has no scopes of signals.")
    _, log = box.run("kill -0 1; echo $?; readlink /proc/1/exe; cat /proc/1/environ; echo x > /proc/self/comm")
    assert "Operation not permitted" in log
    assert "python" not in log


def test_a_crash_inside_starts_no_program_outside(box: Box) -> None:
    script = f"{own_tools.python().path} -I -c 'import resource; print(resource.getrlimit(resource.RLIMIT_CORE))'"
    assert box.run(script)[1].strip() == "(1, 1)"
