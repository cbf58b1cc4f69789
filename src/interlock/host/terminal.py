"""Hands this process's terminal to a command of a person, in a sandbox or not; runs that nobody watches are processes'."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from interlock.core.sandbox import Sandbox
from interlock.host import holders, keeper

_GONE_SECONDS = 5.0
_NOT_THERE = 127
_NO_PROGRAM = 126
"""What shells give for a command that is not there, and for one that is none."""


def hand_over(argv: Sequence[str], *, env: Mapping[str, str], cwd: Path, sandbox: Sandbox | None) -> int:
    """Run a command with our standard input, output and error; gives its exit code, or 128 and more for a signal.

    In a sandbox it stays in our session: a session of its own would take job control and Ctrl-C from the person.
    What a session of its own is against, typing into the terminal that started it, the filter refuses there.
    A command that is not there gives 127, one that is no program 126, each with a line of why.
    Raises OSError when it cannot be started for another reason, Refused where the sandbox cannot be made.
    """
    try:
        return _handed_over(argv, env=env, cwd=cwd, sandbox=sandbox)
    except OSError as fault:
        if fault.filename != argv[0] or (told := _why_not(fault, inside=sandbox is not None)) is None:
            raise
        code, why = told
        sys.stderr.write(f"interlock: {ascii(argv[0])[1:-1]} {why}\n")
        return code


def _why_not(fault: OSError, *, inside: bool) -> tuple[int, str] | None:
    if fault.errno in (errno.ENOENT, errno.ENOTDIR):
        more = (
            "; a tool that lies elsewhere is seen there when the policy names it under sandbox.tools" if inside else ""
        )
        return _NOT_THERE, f"was not found{' in the sandbox' if inside else ''}{more}."
    if fault.errno in (errno.EACCES, errno.ENOEXEC, errno.EISDIR):
        return _NO_PROGRAM, f"cannot be run: {fault.strerror}."
    return None


def _handed_over(argv: Sequence[str], *, env: Mapping[str, str], cwd: Path, sandbox: Sandbox | None) -> int:
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
