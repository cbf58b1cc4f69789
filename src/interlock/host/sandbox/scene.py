"""What the attacks aim at, made real on this machine for their time: files, sockets, processes of the attacker's own user."""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from interlock.host.sandbox import identity

VARIABLE: Final = "SECRET_OF_THIS_MACHINE"
_UNTOUCHED: Final = "untouched"
_LIFE_SECONDS: Final = "600"


class Scene:
    """One scene: ``user`` is whose processes and files its targets are (None: ours)."""

    def __init__(self, user: int | None) -> None:
        self.user = user
        self.token = secrets.token_hex(16)
        self._stack = ExitStack()

    @contextmanager
    def laid(self) -> Iterator[Scene]:
        """Make it all, and take all of it away afterwards."""
        with self._stack:
            self._lay()
            yield self

    def _lay(self) -> None:
        # It also takes away what an overlay leaves, a folder without any right.
        folder = tempfile.TemporaryDirectory(prefix="il-", ignore_cleanup_errors=True)
        self.root = Path(self._stack.enter_context(folder))
        self.root.chmod(0o755)
        for name in ("outside", "other", "person/.ssh", "tree", "home", "log"):
            (self.root / name).mkdir(parents=True)
        self.secret = self._file(self.root / "person" / "secret.txt", self.token)
        self.key = self._file(self.root / "person" / ".ssh" / "id_ed25519", self.token)
        self.work = self._file(self.root / "other" / "work.txt", f"{_UNTOUCHED} {self.token}")
        self.tmp = self._elsewhere(Path("/tmp"))  # noqa: S108 - the one that every process shares
        self.shm = self._elsewhere(Path("/dev/shm"))  # noqa: S108
        self._descriptor()
        self._sockets()
        identity.own(self.root, self.user)
        self._victim()

    def describe(self) -> bytes:
        """What the attacking side is told."""
        shape = {
            "outside": self.root / "outside",
            "other": self.root / "other",
            "secret": self.secret,
            "key": self.key,
            "tmp": self.tmp,
            "shm": self.shm,
            "socket": self._unix_path,
            "abstract": f"interlock-{self.token[:8]}",
            "tcp": self._tcp.getsockname()[1],
            "udp": self._udp.getsockname()[1],
            "victim": self.victim.pid,
            "variable": VARIABLE,
        }
        return json.dumps({name: str(value) for name, value in shape.items()}).encode()

    def effects(self) -> dict[str, str]:
        """What has happened here, by the name of the attack that does that."""
        found = {
            "write outside": (self.root / "outside" / "written").exists(),
            "write through a symbolic link": (self.root / "outside" / "linked").exists(),
            "write through a hard link": self.secret.read_text() != self.token,
            "change another task's tree": not self.work.read_text().startswith(_UNTOUCHED),
            "end a process": self.victim.poll() is not None,
            "connect to a socket file": _was_called(self._unix),
            "connect to an abstract socket": _was_called(self._abstract),
            "connect to a port of the machine": _was_called(self._tcp),
            "send a datagram to the machine": _got_datagram(self._udp),
            "reach /tmp of the machine": self.tmp.read_text() != self.token,
            "reach /dev/shm of the machine": self.shm.read_text() != self.token,
        }
        return {name: "it happened outside" for name, happened in found.items() if happened}

    def _file(self, path: Path, text: str) -> Path:
        path.write_text(text)
        path.chmod(0o666)
        return path

    def _elsewhere(self, folder: Path) -> Path:
        path = self._file(folder / f"interlock-{self.token[:8]}", self.token)
        self._stack.callback(path.unlink, missing_ok=True)
        identity.own(path, self.user)
        return path

    def _descriptor(self) -> None:
        """A descriptor that children inherit, and a variable: what careless starters hand down."""
        descriptor = os.open(self.secret, os.O_RDWR)
        self._stack.callback(os.close, descriptor)
        os.set_inheritable(descriptor, True)
        os.environ[VARIABLE] = self.token
        self._stack.callback(os.environ.pop, VARIABLE, None)

    def _sockets(self) -> None:
        self._unix_path = self.root / "outside" / "s"
        self._unix = self._listening(socket.AF_UNIX, str(self._unix_path))
        self._abstract = self._listening(socket.AF_UNIX, f"\0interlock-{self.token[:8]}")
        self._tcp = self._listening(socket.AF_INET, ("127.0.0.1", 0))
        self._udp = self._stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        self._udp.bind(("127.0.0.1", 0))
        self._udp.setblocking(False)

    def _listening(self, family: socket.AddressFamily, address: str | tuple[str, int]) -> socket.socket:
        sock = self._stack.enter_context(socket.socket(family, socket.SOCK_STREAM))
        sock.bind(address)
        sock.listen()
        sock.setblocking(False)
        return sock

    def _victim(self) -> None:
        """A process of the same user with a secret in its environment."""
        group = None if self.user is None else identity.group_of(self.user)
        self.victim = subprocess.Popen(
            ["sleep", _LIFE_SECONDS],
            env={"PATH": os.environ.get("PATH", "/usr/bin:/bin"), VARIABLE: self.token},
            cwd=self.root / "person",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            user=self.user,
            group=group,
            extra_groups=None if group is None else [],
        )
        self._stack.callback(self.victim.wait)
        self._stack.callback(_end, self.victim)


def _end(victim: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        victim.send_signal(signal.SIGKILL)


def _was_called(listening: socket.socket) -> bool:
    try:
        listening.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def _got_datagram(sock: socket.socket) -> bool:
    try:
        return bool(sock.recv(100))
    except BlockingIOError:
        return False
