"""Whose the files of sealed tasks are: when we are root the agent's; whose uid that is, is host.sandbox's to say."""

from __future__ import annotations

from pathlib import Path

from interlock.host.sandbox.identity import default_user, own


def agent() -> int | None:
    """The uid that runs in sandboxes when we are root; None when it is our own.  Raises Refused (root)."""
    return default_user()


def give(*paths: Path) -> None:
    """Make files, and everything below folders, the agent's; no link is followed."""
    uid = agent()
    for path in paths if uid is not None else ():
        own(path, uid)
