"""As whom things of a task run, and to whom what they write belongs; the walls themselves are command's."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from interlock.core.problems import Refused, refused

USER: Final = "INTERLOCK_AGENT_USER"
"""Names the user that agents run as when Interlock is root: a name or a number."""

DEFAULT_UID: Final = 60999
"""Free by custom: above what systems give to people (60000) and below what systemd gives out (61184)."""

MOST_UID: Final = 2**32 - 2
"""The number above it means "leave the owner as it is" to the system."""

_DIGITS: Final = 20

ALLOW: Final = "INTERLOCK_ROOT_AGENTS"
"""``allow`` lets agents and checks run as root where no sandbox stands around them."""


def default_user() -> int | None:
    """The uid that a sandbox drops to: None unless we are root.

    Raises Refused (root) for uid 0, for an unknown name, and for a number that the system gives to nobody.
    """
    if os.geteuid() != 0:
        return None
    named = os.environ.get(USER, "").strip()
    uid = DEFAULT_UID if not named else _number(named) if named.isdecimal() else _uid_of(named)
    if uid == 0:
        raise _refused(f"{USER} names root.", "A task never runs as root, in a sandbox or not.", "Name another user.")
    return uid


def group_of(uid: int) -> int:
    """The primary group of a user; for one that no file knows, the group of the same number."""
    import pwd

    try:
        return pwd.getpwuid(uid).pw_gid or uid
    except KeyError:
        return uid


def own(path: Path, user: int | None) -> None:
    """Give a file, or a folder with all in it, to the user of a sandbox; links themselves, never what they point at.

    Does nothing for None or when we are not root.  Raises OSError.
    """
    if user is None or os.geteuid() != 0:
        return
    group = group_of(user)
    if os.lstat(path).st_uid != user:
        os.chown(path, user, group, follow_symlinks=False)
    if path.is_symlink() or not path.is_dir():
        return
    # Every step goes through an open folder: a task that swaps a folder for a link meanwhile gains nothing.
    for _, folders, names, descriptor in os.fwalk(path, follow_symlinks=False):
        for name in (*folders, *names):
            facts = os.lstat(name, dir_fd=descriptor)
            if facts.st_uid != user and (facts.st_nlink == 1 or name in folders):
                os.chown(name, user, group, dir_fd=descriptor, follow_symlinks=False)


def refuse_root() -> None:
    """Raise Refused (root) when something of a task would run as root without a sandbox around it."""
    if os.geteuid() != 0 or os.environ.get(ALLOW) == "allow":
        return
    raise _refused(
        "Interlock runs as root, and without a sandbox its agents and checks would be root as well.",
        "Root can change every file of this machine, the gates and the record among them.",
        f"Run Interlock as a user of its own, ask for the level sealed, or set {ALLOW}=allow for a machine "
        "that holds nothing else.",
    )


def _number(text: str) -> int:
    uid = int(text) if len(text) <= _DIGITS else MOST_UID + 1
    if uid > MOST_UID:
        raise _refused(
            f"{USER} is {text[: _DIGITS + 1]}, and users have numbers from 1 to {MOST_UID}.",
            "Agents run as that user when Interlock is root.",
            "Name a user that is there, or a number in that range.",
        )
    return uid


def _uid_of(name: str) -> int:
    import pwd

    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        raise _refused(
            f"{USER} is {name!r}, and no user of this machine is called that.",
            "Agents run as that user when Interlock is root.",
            "Name a user that is there, or a number.",
        ) from None


def _refused(what: str, why: str, would_change: str) -> Refused:
    return refused(rule="root", what=what, why=why, would_change=would_change)
