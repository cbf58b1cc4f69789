"""A subscription's credentials for one attempt: shown to it alone, taken away at its end, renewed by one process at a time outside of tasks.

Weaker than a key behind the gateway: the agent can read them.  Parallel renewal logs everybody out (facts/agents §4).
"""

from __future__ import annotations

import os
import shutil
import time
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

from interlock.core.contract.agents import Login
from interlock.core.problems import Refused, refused
from interlock.host import commands, files, locks
from interlock.host.sandbox import identity
from interlock.host.state import state_folder

_SECONDS: Final = 120.0
_MOST: Final = 1 << 20
_COPY: Final = "login"
"""The folder of an attempt that holds the copy."""


def locks_folder() -> Path:
    """Where the locks of this user's logins are, for all repositories: the credentials belong to none of them."""
    return state_folder() / "locks"


def ready(login: Login, folder: Path) -> Path:
    """The credentials' file, renewed first where that is due.

    ``folder`` holds the lock that all who renew this file take, whatever it is called by.  Raises Refused (login):
    it is not there, cannot be renewed, or somebody renews it for too long.
    """
    file = Path(login.file).expanduser()
    if login.refresh is not None and _is_due(file, login.every):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with locks.held(_lock(file, folder), wait=_SECONDS, refuse=lambda fault: _held(login, fault)):
            if _is_due(file, login.every):
                _refresh(login, login.refresh, file)
    if not file.is_file():
        raise _refused(login, f"{file} is not there.", f"Log in with {login.agent} on this machine, then resume.")
    return file


def copied(file: Path, folder: Path, *, user: int | None) -> Path:
    """A copy of the credentials in an attempt's folder, for its user to read and nobody to write.  Raises OSError."""
    place = folder / _COPY
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    target = place / file.name
    files.write_whole(target, files.read_plain(file, most=_MOST), mode=0o400)
    identity.own(place, user)
    return target


def take_away(folder: Path, home: Path, place: str) -> tuple[str, ...]:
    """Remove an attempt's credentials: its copy, and the file ``place`` below its HOME; gives what could not be removed.

    What the agent moved elsewhere is not looked for, and no link of its making is followed.  Idempotent.
    """
    copy = folder / _COPY
    with suppress(OSError):
        if copy.is_symlink():
            copy.unlink()
        elif copy.exists():
            shutil.rmtree(copy)
    left = [str(copy)] if os.path.lexists(copy) else []
    try:
        files.remove_beneath(home, place)
    except OSError:
        left.append(str(home / place))
    return tuple(left)


def _lock(file: Path, folder: Path) -> Path:
    return folder / f"login-{sha256(os.fsencode(os.path.realpath(file))).hexdigest()[:16]}.lock"


def _is_due(file: Path, every: float) -> bool:
    try:
        return time.time() - file.stat().st_mtime > every
    except OSError:
        return True


def _refresh(login: Login, command: str, file: Path) -> None:
    try:
        done = commands.run(["bash", "-c", command], env=dict(os.environ), seconds=_SECONDS)
    except commands.TimedOut as late:
        raise _refused(login, f"Renewing it took longer than {_SECONDS:g} s.", "See to the command.") from late
    if done.code != 0:
        last = " ".join(done.error.splitlines()[-1:])
        raise _refused(login, f"Renewing it ended with {done.code}. {last}".strip(), "Log in again.")
    if file.is_file():
        os.utime(file)


def _held(login: Login, fault: locks.LockHeld) -> Refused:
    who = f"process {fault.holder}" if fault.holder else "another process"
    what = f"{who} has been renewing it for {_SECONDS:g} s."
    return _refused(login, what, "See to that process, then resume.", holders=(str(fault.holder or who),))


def _refused(login: Login, what: str, would: str, holders: tuple[str, ...] = ()) -> Refused:
    return refused(
        rule="login",
        what=f"The login of {login.agent} cannot be used: {what}",
        why=f"{login.file} holds its credentials, by the policy's logins.",
        would_change=would,
        holders=holders,
    )
