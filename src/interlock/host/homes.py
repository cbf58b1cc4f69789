"""The private HOME of one attempt, outside of the temp folder; what a client writes there is its adapter's knowledge."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from interlock.host import files
from interlock.host.environment import PASSED
from interlock.host.sandbox import identity


def prepare(folder: Path, *, user: int | None) -> Path:
    """The HOME below an attempt's folder, made or found again; for ``user`` where we are root."""
    home = folder / "home"
    home.mkdir(mode=0o700, exist_ok=True)
    identity.own(home, user)
    return home


def put(home: Path, name: str, data: bytes, *, user: int | None, mode: int = 0o600) -> None:
    """Write a file below a HOME, with the folders on its way, for its user; nothing that stands there is followed.

    Raises OSError, also when something else stands in the way.
    """
    path = home
    *folders, last = Path(name).parts
    if not last or ".." in (*folders, last) or Path(name).is_absolute():
        raise ValueError(f"{name} is no path below a HOME")
    for part in folders:
        path /= part
        path.mkdir(mode=0o700, exist_ok=True)
        if path.is_symlink():
            raise OSError(f"{path} is a link")
    files.write_whole(path / last, data, mode=mode)
    if user is not None:
        identity.own(home / (folders[0] if folders else last), user)


def variables(home: Path, values: Mapping[str, str]) -> dict[str, str]:
    """HOME for a run without a sandbox, and a TMPDIR that does not hold it (facts/agents §1.4).

    Nothing where the policy's ``environment`` lets the user's own HOME in.
    """
    if "HOME" in values.get(PASSED, "").split():
        return {"HOME": os.environ.get("HOME", str(home))}
    found = {"HOME": str(home)}
    shared = {Path(tempfile.gettempdir()).resolve(), Path("/tmp").resolve()}  # noqa: S108 - compared, not used
    if any(home.resolve().is_relative_to(each) for each in shared):
        own = home.parent / "tmp"
        own.mkdir(exist_ok=True, mode=0o700)
        found["TMPDIR"] = str(own)
    return found
