"""A subscription's credentials for one attempt: shown read-only, and renewed by one process at a time, outside of every task.

Weaker than a key behind the gateway: the agent can read them.  Parallel renewal logs everybody out (facts/agents §4).
"""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import Final

from interlock.core.contract.agents import Login
from interlock.core.problems import Refusal, Refused
from interlock.host import files, locks
from interlock.host.sandbox import identity

_SECONDS: Final = 120.0
_MOST: Final = 1 << 20


def ready(login: Login, locked: Path) -> Path:
    """The credentials' file, renewed first where that is due.  Raises Refused (login) when it is not there.

    ``locked`` is the lock that all who renew it take.
    """
    file = Path(login.file).expanduser()
    if login.refresh is not None and _is_due(file, login.every):
        with locks.held(locked, wait=_SECONDS):
            if _is_due(file, login.every):
                _refresh(login, file)
    if not file.is_file():
        raise _refused(login, f"{file} is not there.", f"Log in with {login.agent} on this machine, then resume.")
    return file


def copied(file: Path, folder: Path, *, user: int | None) -> Path:
    """A copy of the credentials in an attempt's folder, for its user to read and nobody to write.  Raises OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    target = folder / file.name
    files.write_whole(target, files.read_plain(file, most=_MOST), mode=0o400)
    identity.own(folder, user)
    return target


def _is_due(file: Path, every: float) -> bool:
    try:
        return time.time() - file.stat().st_mtime > every
    except OSError:
        return True


def _refresh(login: Login, file: Path) -> None:
    assert login.refresh is not None  # noqa: S101 - asked before
    try:
        done = subprocess.run(
            ["bash", "-c", login.refresh],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=_SECONDS,
            check=False,
            start_new_session=True,
        )
    except subprocess.TimeoutExpired as late:
        raise _refused(login, f"Renewing it took longer than {_SECONDS:g} s.", "See to the command.") from late
    if done.returncode != 0:
        last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
        raise _refused(login, f"Renewing it ended with {done.returncode}. {' '.join(last)}".strip(), "Log in again.")
    if file.is_file():
        os.utime(file)


def _refused(login: Login, what: str, would: str) -> Refused:
    return Refused(
        Refusal(
            rule="login",
            what=f"The login of {login.agent} cannot be used: {what}",
            why=f"{login.file} holds its credentials, by the policy's logins.",
            would_change=would,
        )
    )
