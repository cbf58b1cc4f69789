"""The keeper: parent of one command and of all it leaves behind, as pid 1 of a namespace or as subreaper; limits are in processes.

It talks over two pipes.  From ``control`` it reads what to run, then the words ``int`` (the command's process
group), ``term`` (everything) and ``end``; the end of that pipe is the end of its starter, and ends everything.
To ``status`` it writes ``started``, ``failed ERRNO``, ``exited STATUS LEFT`` and ``empty``.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from contextlib import suppress

from interlock.host import procfs

_PR_SET_CHILD_SUBREAPER = 36
_END_SECONDS = 5.0
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def main(arguments: list[str] | None = None) -> None:
    """Run as ``keeper CONTROL STATUS MODE``: two descriptors, and ``namespace`` or ``subreaper``."""
    control, status, mode = (arguments or sys.argv)[-3:]
    Keeper(int(control), int(status), namespace=mode == "namespace").run()


def packed(argv: list[str], env: dict[str, str]) -> bytes:
    """What to run, as the bytes that the keeper reads first.  Raises ValueError where the system could not take it."""
    parts = [os.fsencode(part) for part in argv] + [os.fsencode(f"{name}={value}") for name, value in env.items()]
    if any(b"\0" in part for part in parts):
        raise ValueError("a command and its environment cannot hold a null byte")
    body = b"\0".join(parts)
    return b"%d %d\n" % (len(body), len(argv)) + body


class Keeper:
    """One command and everything that comes of it."""

    def __init__(self, control: int, status: int, *, namespace: bool) -> None:
        self.control = control
        self.status = status
        self.namespace = namespace
        self.command = 0
        self.exited = False
        self.told_empty = False

    def run(self) -> None:
        os.set_inheritable(self.control, False)
        os.set_inheritable(self.status, False)
        for number in _IGNORED:
            signal.signal(number, signal.SIG_IGN)
        if not self.namespace:
            _become_subreaper()
        wake = _wake_on_child()
        argv, env = self._read_order()
        if self._start(argv, env):
            self._watch(wake)
        os._exit(0)

    def _read_order(self) -> tuple[list[bytes], dict[bytes, bytes]]:
        head = b""
        while not head.endswith(b"\n"):
            head += _read(self.control, 1)
        size, count = (int(number) for number in head.split())
        body = b""
        while len(body) < size:
            body += _read(self.control, size - len(body))
        parts = body.split(b"\0")
        pairs = (part.partition(b"=") for part in parts[count:])
        return parts[:count], {name: value for name, _, value in pairs}

    def _start(self, argv: list[bytes], env: dict[bytes, bytes]) -> bool:
        reader, writer = os.pipe()
        self.command = os.fork()
        if self.command == 0:
            _become(argv, env, writer)
        os.close(writer)
        fault = os.read(reader, 16)
        os.close(reader)
        self._tell(b"failed " + fault if fault else b"started")
        return not fault

    def _watch(self, wake: int) -> None:
        poll = select.poll()
        poll.register(self.control, select.POLLIN | select.POLLHUP)
        poll.register(wake, select.POLLIN)
        while True:
            self._reap()
            for descriptor, _ in poll.poll():
                if descriptor == wake:
                    _drain(wake)
                elif not self._obey():
                    self._end()
                    return

    def _obey(self) -> bool:
        words = os.read(self.control, 64).split()
        for word in words:
            if word == b"int" and not self.exited:
                os.killpg(self.command, signal.SIGINT)
            elif word == b"term":
                self._signal_all(signal.SIGTERM)
        return bool(words) and b"end" not in words

    def _reap(self) -> bool:
        """Collect what has ended, and tell about it; False when there is nobody left."""
        try:
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == self.command:
                    self.exited = True
                    self._tell(b"exited %d" % ended[1])
        except ChildProcessError:
            if not self.told_empty:
                self.told_empty = True
                self._tell(b"empty")
            return False
        return True

    def _signal_all(self, number: int) -> None:
        everyone = [-1] if self.namespace else procfs.descendants(os.getpid())
        for pid in everyone:
            _kill(pid, number)

    def _end(self) -> None:
        """Kill until nobody is left; a process that has just been forked is met in the next round."""
        waited = 0.0
        while self._reap() and waited < _END_SECONDS:
            self._signal_all(signal.SIGKILL)
            select.select([], [], [], 0.005)
            waited += 0.005

    def _tell(self, line: bytes) -> None:
        with suppress(BrokenPipeError):
            os.write(self.status, line + b"\n")


def _become(argv: list[bytes], env: dict[bytes, bytes], fault: int) -> None:
    """In the child: a session of its own, the default signals, and the command."""
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number in (*_IGNORED, signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.execvpe(argv[0], argv, env)  # noqa: S606 - the command comes as a list of words
    except OSError as error:
        os.write(fault, b"%d" % (error.errno or 0))
    finally:
        os._exit(127)


def _become_subreaper() -> None:
    import ctypes

    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def _wake_on_child() -> int:
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    return reader


def _read(descriptor: int, size: int) -> bytes:
    data = os.read(descriptor, size)
    if not data:
        os._exit(0)
    return data


def _drain(descriptor: int) -> None:
    with suppress(BlockingIOError):
        while os.read(descriptor, 4096):
            pass


def _kill(pid: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
