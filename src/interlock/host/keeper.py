"""The keeper: parent of one command and of all it leaves behind, as pid 1 of a namespace or as subreaper; limits are in processes.

It talks over two pipes.  From ``control`` it reads what to run, then the words ``int`` (the command's process
group), ``term`` (everything) and ``end``; the end of that pipe is the end of its starter, and ends everything.
To ``status`` it writes ``started``, ``failed ERRNO``, ``exited STATUS LEFT`` and ``empty``.

In a sandbox it also starts the relays, as a process of ours that is nobody's leftover, and puts the second wall
around the command.
"""

# ruff: noqa: SIM105 - see below

from __future__ import annotations

# Every run waits for this module: signal and contextlib alone would double its start (they load enum, functools,
# collections), so that the plain C module below signal stands in for it.
import _signal as signal  # type: ignore[import-not-found]
import os
import select
import sys

from interlock.host import procfs

_PR_SET_CHILD_SUBREAPER = 36
_END_SECONDS = 5.0
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def main(arguments: list[str] | None = None) -> None:
    """Run as ``keeper CONTROL STATUS MODE [WORD…]``: two descriptors, and ``namespace``, ``subreaper`` or ``sandbox``.

    Words for a sandbox: ``write=PATH`` may be written below, ``relay=LISTEN,CONNECT`` is to be served, ``terminal``
    leaves the command in the session it is in and ends with its exit status.
    """
    control, status, mode, *words = arguments or sys.argv[2:]
    keeper = Keeper(int(control), int(status), namespace=mode != "subreaper")
    if mode == "sandbox":
        keeper.walled = True
        keeper.terminal = "terminal" in words
        keeper.writable = [word[6:] for word in words if word.startswith("write=")]
        relays = [word[6:].split(",", 1) for word in words if word.startswith("relay=")]
        keeper.relays = [(listen, connect) for listen, connect in relays]
    keeper.run()


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
        self.walled = False
        self.terminal = False
        self.writable: list[str] = []
        self.relays: list[tuple[str, str]] = []
        self.relay = 0
        self.code = 0

    def run(self) -> None:
        os.set_inheritable(self.control, False)
        os.set_inheritable(self.status, False)
        for number in _IGNORED:
            signal.signal(number, signal.SIG_IGN)
        if not self.namespace:
            _become_subreaper()
        if self.walled:
            _prepare_walls()
        if self.relays:
            self._start_relays()
        wake = _wake_on_child()
        argv, env = self._read_order()
        if self._start(argv, env):
            self._watch(wake)
        os._exit(self.code if self.terminal else 0)

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

    def _start_relays(self) -> None:
        """A process for the relays; the command begins when they listen."""
        reader, writer = os.pipe()
        self.relay = os.fork()
        if self.relay == 0:
            os.close(reader)
            os.close(self.control)
            os.close(self.status)
            _serve(self.relays, writer)
        os.close(writer)
        os.read(reader, 1)
        os.close(reader)

    def _start(self, argv: list[bytes], env: dict[bytes, bytes]) -> bool:
        reader, writer = os.pipe()
        self.command = os.fork()
        if self.command == 0:
            _become(argv, env, writer, walls=self.writable if self.walled else None, session=not self.terminal)
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
            if self.terminal and self.exited:
                self._end()
                return
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
                    self.code = _code(ended[1])
                    self._tell(b"exited %d" % ended[1])
                elif ended[0] == self.relay:
                    self.relay = 0
        except ChildProcessError:
            return self._is_empty()
        if self.relay and self.exited and self._is_alone():
            return self._is_empty()
        return True

    def _is_empty(self) -> bool:
        if not self.told_empty:
            self.told_empty = True
            self._tell(b"empty")
        return False

    def _is_alone(self) -> bool:
        """Whether nobody but the relays is left; what has been forked since still has its parent in the list."""
        return set(procfs.pids()) <= {os.getpid(), self.relay}

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
        try:
            os.write(self.status, line + b"\n")
        except BrokenPipeError:
            pass


def _become(argv: list[bytes], env: dict[bytes, bytes], fault: int, *, walls: list[str] | None, session: bool) -> None:
    """In the child: a session of its own, the default signals, the second wall, and the command."""
    try:
        if session:
            os.setsid()
        if walls is not None:
            _wall_in(walls)
        signal.set_wakeup_fd(-1)
        for number in (*_IGNORED, signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.execvpe(argv[0], argv, env)  # noqa: S606 - the command comes as a list of words
    except OSError as error:
        os.write(fault, b"%d" % (error.errno or 0))
    finally:
        os._exit(127)


def _prepare_walls() -> None:
    """Load what the second wall needs; where the kernel has none, the keeper at least cannot be looked into."""
    from interlock.host.sandbox import landlock

    if landlock.version() < landlock.LEAST:
        landlock.hide_self()


def _wall_in(writable: list[str]) -> None:
    """The second wall, and no core dumps: those are read by a program of the machine, as root and outside."""
    import resource

    from interlock.host.sandbox import landlock

    # 1 and not 0: a program that dumps are piped to is started for 0 all the same (core(5)).
    resource.setrlimit(resource.RLIMIT_CORE, (1, 1))
    landlock.restrict(writable)


def _serve(relays: list[tuple[str, str]], ready: int) -> None:
    """In the child: the relays, until everything here ends."""
    try:
        from interlock.host.network import inside

        inside.serve(relays, ready)
    except SystemExit as fault:
        os.write(2, f"{fault}\n".encode())
    finally:
        os._exit(1)


def _code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


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
    try:
        while os.read(descriptor, 4096):
            pass
    except BlockingIOError:
        pass


def _kill(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        pass
