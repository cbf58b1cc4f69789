"""Runs one long process to its end under limits, with all that comes of it; what the run was for is the caller's.

The command lives below a keeper: pid 1 of a sandbox or of a pid namespace where one can be had, a subreaper
elsewhere.  When its starter dies, by whatever signal, the keeper ends everything.
"""

from __future__ import annotations

import os
import secrets
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from interlock.core.problems import Refused
from interlock.core.sandbox import Sandbox
from interlock.host import holders, keeper, tree
from interlock.host.holders import Holder
from interlock.host.ladder import Ladder, Limits
from interlock.host.last_line import LastWord
from interlock.host.logs import Cap
from interlock.host.outputs import Output, widen

__all__ = ["MARKER", "Cap", "Ended", "Limits", "Started", "run"]

MARKER: Final = "INTERLOCK_RUN"
"""The variable that every process of a run inherits, with a value of its own for each run."""

_TICK: Final = 0.15
_GONE_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a run ended.

    ``how`` is ``exited``, ``signalled``, ``wall-limit``, ``idle-limit``, ``startup-limit``, ``ended`` (it had said its
    last and did not leave), ``failed-to-start``, ``interrupted`` (its keeper was killed) or the word that ``ask`` gave.  ``exit_code`` is None unless the command ended by itself with
    one.  ``leftovers`` were alive after the command and were ended: ``pid name``.  ``namespace`` tells whether a
    sandbox or a pid namespace held it; ``written`` counts all bytes, ``cut`` tells that not all were kept.
    """

    how: str
    exit_code: int | None
    seconds: float
    leftovers: tuple[str, ...] = ()
    namespace: bool = False
    written: int = 0
    cut: bool = False
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """The command's process as this machine sees it (None when it was gone before it was seen)."""

    process: tree.Identity | None
    namespace: bool


def run(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    log: Path,
    stdin: bytes | None = None,
    limits: Limits | None = None,
    cap: Cap | None = None,
    ask: Callable[[], str | None] = lambda: None,
    started: Callable[[Started], None] | None = None,
    contain: bool = True,
    sandbox: Sandbox | None = None,
    redact: tuple[str, ...] = (),
    errors: Path | None = None,
    ends: tuple[str, ...] = (),
    exited: Callable[[], None] | None = None,
) -> Ended:
    """Run a command in a session of its own, its output in ``log``, until it and all it started are gone.

    Takes the exact environment (a marker is added), standard input as bytes or none, and the limits.  With a
    ``sandbox`` it runs within those walls, at ``/ws`` and not in ``cwd``, and its environment names paths as they
    are inside.  The texts of ``redact`` do not reach the log.  With ``errors`` standard error goes there
    instead.  A JSON line of standard output whose ``type`` is in ``ends`` is its last word.  ``ask`` is called about
    seven times a second; a word from it ends the run.  ``exited`` is called when the command itself has ended, while what it left may live.
    Raises OSError when the log cannot be written; nothing is left running then either.
    """
    if word := ask():
        return Ended(how=word, exit_code=None, seconds=0.0, message="It was ended before it began.")
    last = LastWord(ends)
    outputs = [Output(log, cap or Cap(), redact, last.feed if ends else None)]
    try:
        if errors is not None:
            outputs.append(Output(errors, cap or Cap(), redact))
        run = _Run(tuple(outputs), last, limits or Limits(), ask, started, exited)
        with _input(stdin) as source, holders.holder(sandbox, log.parent, cwd, contain=contain) as holder:
            return run.go(argv, dict(env), holder, source)
    except Refused as refused:
        return run.refused(f"{refused} {refused.refusal.why}")
    finally:
        for output in outputs:
            output.close()


def _input(stdin: bytes | None) -> IO[bytes]:
    if stdin is None:
        return open(os.devnull, "rb")  # noqa: PTH123 - the null device is no path of ours
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    file.write(stdin)
    file.seek(0)
    return file


class _Run:
    """One run: its pipes, its ladder and what is known so far."""

    def __init__(
        self,
        outputs: tuple[Output, ...],
        last: LastWord,
        limits: Limits,
        ask: Callable[[], str | None],
        started: Callable[[Started], None] | None,
        exited: Callable[[], None] | None,
    ) -> None:
        self._outputs = outputs
        self._last = last
        self._holder: Holder | None = None
        self._ladder = Ladder(limits)
        self._ask = ask
        self._on_start = started
        self._on_exit = exited
        self._began = time.monotonic()
        self._failed: int | None = None
        self._status: int | None = None
        self._up = False
        self._leftovers: tuple[str, ...] = ()

    def go(self, argv: Sequence[str], env: dict[str, str], holder: Holder, source: IO[bytes]) -> Ended:
        marker = env.setdefault(MARKER, secrets.token_hex(8))
        order = keeper.packed(list(argv), env)
        self._holder = holder
        try:
            self._spawn(holder, source, marker)
        except OSError as fault:
            return self._ended("failed-to-start", f"{fault.strerror}: {fault.filename}")
        try:
            with suppress(BrokenPipeError):
                _write_all(self._control, order)
            self._follow()
        finally:
            self._finish(marker)
        return self._result(argv)

    def refused(self, why: str) -> Ended:
        """The end of a run that was not begun, because nothing could hold it."""
        return self._ended("failed-to-start", why)

    def _spawn(self, holder: Holder, source: IO[bytes], marker: str) -> None:
        control, self._control = os.pipe()
        self._news, status = os.pipe()
        writers = [output.open() for output in self._outputs]
        try:
            self._keeper = subprocess.Popen(
                holder.argv(control, status),
                env={MARKER: marker},
                cwd=holder.cwd,
                stdin=source,
                stdout=writers[0],
                stderr=writers[-1],
                pass_fds=(control, status, *holder.descriptors),
                start_new_session=True,
            )
        except OSError:
            for descriptor in (self._control, self._news):
                os.close(descriptor)
            for output in self._outputs:
                output.leave()
            raise
        finally:
            for descriptor in (control, status, *writers):
                os.close(descriptor)
        os.set_blocking(self._news, False)
        widen(self._control)  # so that writing a long command line never waits for a keeper that hangs

    def _follow(self) -> None:
        """Read output and news until the ladder says that everything is over."""
        with selectors.DefaultSelector() as selector:
            for output in self._outputs:
                selector.register(output.reader, selectors.EVENT_READ, output)
            selector.register(self._news, selectors.EVENT_READ)
            while not self._ladder.over:
                for key, _ in selector.select(self._ladder.patience(_TICK)):
                    if key.fd == self._news:
                        if not self._hear():
                            return
                    elif not self._copy(key.data):
                        selector.unregister(key.fd)
                if self._keeper.poll() is not None:
                    self._hear()
                    return  # the first of the processes was shot: closing the pipe ends the others
                self._climb()

    def _copy(self, output: Output) -> bool:
        """Take what was written so far into its log; False at its end."""
        taken = output.copy()
        if taken:
            self._ladder.heard()
            if self._last.seen:
                self._ladder.said_last()
        return taken != 0

    def _hear(self) -> bool:
        """Take in what the keeper tells; False when it is gone."""
        try:
            lines = os.read(self._news, 4096).decode().splitlines()
        except BlockingIOError:
            return True
        for line in lines:
            word, _, value = line.partition(" ")
            match word:
                case "started":
                    self._started()
                case "failed":
                    self._failed = int(value)
                case "exited":
                    self._status = int(value)
                    self._ladder.exited()
                    if self._on_exit is not None:
                        self._on_exit()
                case "empty":
                    self._ladder.emptied()
                case _:
                    pass
        return bool(lines)

    def _started(self) -> None:
        self._up = True
        if self._on_start is not None:
            below = self._below()
            self._on_start(Started(process=below[0] if below else None, namespace=self._is_held))

    @property
    def _is_held(self) -> bool:
        return self._holder is not None and self._holder.namespace

    def _below(self) -> tuple[tree.Identity, ...]:
        """The command's processes, the nearest first."""
        return self._holder.commands(self._keeper.pid) if self._holder is not None else ()

    def _climb(self) -> None:
        """Do what the ladder says is due: a signal, or naming who is left."""
        for due in self._ladder.due(self._ask):
            if due == "name":
                self._leftovers = tuple(tree.label(who) for who in self._below())
            else:
                self._order(due)

    def _order(self, word: str) -> None:
        with suppress(BrokenPipeError):
            os.write(self._control, word.encode() + b"\n")

    def _finish(self, marker: str) -> None:
        """Let the keeper end everything, wait for it, and take the rest of the output."""
        os.close(self._control)
        try:
            self._keeper.wait(_GONE_SECONDS)
        except subprocess.TimeoutExpired:
            self._keeper.kill()
            self._keeper.wait()
        if self._keeper.returncode != 0:
            # Somebody killed the keeper: a subreaper's children are elsewhere now, a namespace is still being ended.
            tree.sweep(f"{MARKER}={marker}")
        try:
            for output in self._outputs:
                output.drain()
        finally:
            os.close(self._news)

    def _result(self, argv: Sequence[str]) -> Ended:
        if self._failed is not None:
            return self._ended("failed-to-start", f"{os.strerror(self._failed)}: {argv[0]}")
        if not self._up:
            return self._ended("failed-to-start", "Its keeper did not start; the log says why.")
        if self._ladder.word is not None:
            return self._ended(self._ladder.word, self._ladder.why)
        if self._status is None:
            return self._ended("interrupted", "Its keeper was ended from outside.")
        if os.WIFSIGNALED(self._status):
            return self._ended("signalled", f"It was ended by {_signal_name(os.WTERMSIG(self._status))}.")
        return self._ended("exited", "")

    def _ended(self, how: str, message: str) -> Ended:
        exited = self._status is not None and os.WIFEXITED(self._status)
        return Ended(
            how=how,
            exit_code=os.WEXITSTATUS(self._status or 0) if exited else None,
            seconds=time.monotonic() - self._began,
            leftovers=self._leftovers,
            namespace=self._is_held,
            written=sum(output.log.written for output in self._outputs),
            cut=any(output.log.cut for output in self._outputs),
            message=message,
        )


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
