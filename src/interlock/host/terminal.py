"""Hands this process's terminal to a command of a person, in a sandbox or not; runs that nobody watches are processes'."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from interlock.core.sandbox import Sandbox
from interlock.host import holders, keeper

_GONE_SECONDS = 5.0


def hand_over(argv: Sequence[str], *, env: Mapping[str, str], cwd: Path, sandbox: Sandbox | None) -> int:
    """Run a command with our standard input, output and error; gives its exit code, or 128 and more for a signal.

    In a sandbox it stays in our session: a session of its own would take job control and Ctrl-C from the person.
    What a session of its own is against, typing into the terminal that started it, the filter refuses there.
    Raises OSError when it cannot be started, Refused where the sandbox cannot be made.
    """
    named = {"TERM": os.environ["TERM"]} if "TERM" in os.environ else {}
    values = {**env, **named}
    if sandbox is None:
        with _keys_are_its(lambda _number, _frame: None):
            return _code(subprocess.Popen(argv, env=values, cwd=cwd))
    # What stands before the command inherits this, and the keeper gives the command the usual signals back.
    with _keys_are_its(signal.SIG_IGN), holders.sandboxed(sandbox, None, terminal=True) as holder:
        return _in_sandbox(argv, values, holder)


def _in_sandbox(argv: Sequence[str], env: dict[str, str], holder: holders.Holder) -> int:
    control, mine = os.pipe()
    news, status = os.pipe()
    try:
        child = subprocess.Popen(
            holder.argv(control, status), env={}, cwd=holder.cwd, pass_fds=(control, status, *holder.descriptors)
        )
    except OSError:
        os.close(mine)
        os.close(news)
        raise
    finally:
        os.close(control)
        os.close(status)
    try:
        with suppress(BrokenPipeError), os.fdopen(mine, "wb", closefd=False) as order:
            order.write(keeper.packed(list(argv), env))
        code = _code(child)
        said = os.read(news, 4096)
        if said.startswith(b"failed "):
            number = int(said.split()[1])
            raise OSError(number, os.strerror(number), argv[0])
        return code
    finally:
        os.close(mine)
        os.close(news)
        with suppress(subprocess.TimeoutExpired):
            child.wait(_GONE_SECONDS)


@contextmanager
def _keys_are_its(way: Any) -> Iterator[None]:
    """Meanwhile the keys that end a command are for the command, which gets them from the terminal as well."""
    kept = {number: signal.signal(number, way) for number in (signal.SIGINT, signal.SIGQUIT)}
    try:
        yield
    finally:
        for number, before in kept.items():
            signal.signal(number, before)


def _code(child: subprocess.Popen[bytes]) -> int:
    code = child.wait()
    return code if code >= 0 else 128 - code
