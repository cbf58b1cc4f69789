"""Who lives in a folder, told from /proc; what follows from it is the callers' decision."""

from __future__ import annotations

import os
from pathlib import Path

from interlock.host import procfs


def occupants(path: Path) -> tuple[str, ...]:
    """Live processes whose working directory lies inside ``path``, as ``pid name``.

    One of our own user that cannot be looked into counts as inside, and so does a machine without /proc (case
    WT-09).  Processes of other users that cannot be looked into are left out, since a machine is full of them,
    and so is init, which may shut even its own user out.
    """
    pids = procfs.pids()
    if not pids:
        return ("unknown: /proc cannot be read",)
    inside = os.path.realpath(path)
    found = []
    for pid in pids:
        facts = procfs.stat(pid)
        if facts is None or facts[1] in "ZX":
            continue
        if _lives_in(pid, inside):
            found.append(f"{pid} {facts[0]}")
    return tuple(found)


def _lives_in(pid: int, folder: str) -> bool:
    try:
        where = str(Path(f"/proc/{pid}/cwd").readlink())
    except FileNotFoundError:
        return False  # ended meanwhile
    except PermissionError:
        return pid != 1 and _is_ours(pid)
    except OSError:
        return False
    where = where.removesuffix(" (deleted)")
    return where == folder or where.startswith(folder + os.sep)


def _is_ours(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}").stat().st_uid == os.getuid()
    except OSError:
        return False
