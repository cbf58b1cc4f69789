"""Short commands with a deadline, closed standard input and captured output; long ones are in processes."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

# How long output may still arrive once the command itself has ended or was killed: a daemon that it left behind
# (a credential cache, an ssh master) may hold the pipe open for ever.
GRACE = 1.0
_LOOK = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A command that ended: its exit code (negative: the signal) and all it wrote."""

    argv: tuple[str, ...]
    code: int
    out: bytes
    err: bytes

    @property
    def text(self) -> str:
        return self.out.decode("utf-8", "surrogateescape")

    @property
    def error(self) -> str:
        return self.err.decode("utf-8", "replace").strip()


class TimedOut(Exception):
    """A command did not end before its deadline and was ended with its whole process group."""

    def __init__(self, argv: Sequence[str], seconds: float) -> None:
        super().__init__(f"{argv[0]} did not end within {seconds:g} s.")
        self.argv = tuple(argv)
        self.seconds = seconds


def run(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path | None = None,
    stdin: bytes | None = None,
    seconds: float = 60.0,
    pass_fds: Sequence[int] = (),
) -> Finished:
    """Run a command to its end, in a session of its own, so that it can neither ask a terminal nor be left behind.

    Takes the exact environment and the deadline in seconds; the command inherits ``pass_fds`` and nothing else.
    Raises TimedOut, or FileNotFoundError when there is no such program.
    """
    with (
        _readable(stdin) as source,
        _Child(
            argv,
            env=dict(env),
            cwd=cwd,
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            pass_fds=pass_fds,
        ) as child,
    ):
        try:
            out, err = _collect(child, seconds)
        except BaseException as fault:
            _end(child)
            if isinstance(fault, subprocess.TimeoutExpired):
                raise TimedOut(argv, seconds) from None
            raise
    return Finished(argv=tuple(argv), code=child.returncode, out=out, err=err)


class _Child(subprocess.Popen[bytes]):
    """A command whose end wakes us: subprocess would ask again and again, a millisecond and more apart."""

    def wait(self, timeout: float | None = None) -> int:
        if timeout is not None and self.returncode is None and sys.platform == "linux":
            with suppress(
                OSError, AttributeError
            ):  # an older kernel, no descriptor left, a Python that does not know it
                _until_ended(self.pid, timeout)
                timeout = 0.0  # it has ended, or the time is over
        return super().wait(timeout)


def _until_ended(pid: int, seconds: float) -> None:
    """Wait for a child that nobody has reaped yet, at most so long."""
    handle = os.pidfd_open(pid)
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        poll.poll(max(0.0, seconds) * 1000)
    finally:
        os.close(handle)


@contextmanager
def _readable(data: bytes | None) -> Iterator[IO[bytes]]:
    """A file to read from: a pipe could fill up while the command writes, and communicate feeds only once."""
    if data is None:
        with Path(os.devnull).open("rb") as nothing:
            yield nothing
        return
    with os.fdopen(os.memfd_create("stdin"), "w+b") if sys.platform == "linux" else tempfile.TemporaryFile() as held:
        held.write(data)
        held.seek(0)
        yield held


def _collect(child: subprocess.Popen[bytes], seconds: float) -> tuple[bytes, bytes]:
    """All that the command writes until it ends, whoever else holds its pipes."""
    deadline = time.monotonic() + seconds
    while True:
        left = deadline - time.monotonic()
        try:
            return child.communicate(timeout=max(0.0, min(_LOOK, left)))
        except subprocess.TimeoutExpired:
            if child.poll() is not None:
                return _drain(child)
            if left <= _LOOK:
                raise


def _drain(child: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    try:
        return child.communicate(timeout=GRACE)
    except subprocess.TimeoutExpired as late:
        return late.output or b"", late.stderr or b""


def _end(child: subprocess.Popen[bytes]) -> None:
    """Kill the group and reap the command; a grandchild in another session that holds the pipe cannot hang us."""
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGKILL)
    _drain(child)
