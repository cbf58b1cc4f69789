"""A process that cleans or restores one task and kills itself at its n-th boundary; run by test_clean.

Arguments: repository, verb, slug, number of the boundary.  Boundaries are: before and after each call that changes
the history, the blocks or the tree, and the steps inside the taking away and the bringing back.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from interlock.adapters.git import restoring, trash
from interlock.adapters.git.worktrees import Worktrees
from interlock.adapters.ports_on_host import HostBlocks
from interlock.adapters.store import SqlStore
from interlock.app import clean, return_tree
from interlock.wiring import open_ports

LEFT = [0]


def boundary() -> None:
    LEFT[0] -= 1
    if LEFT[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)


def between(owner: Any, name: str) -> None:
    original = getattr(owner, name)

    def wrapped(*args: Any, **named: Any) -> Any:
        boundary()
        result = original(*args, **named)
        boundary()
        return result

    setattr(owner, name, wrapped)


def main() -> None:
    top, verb, slug, number = sys.argv[1:]
    ports = open_ports(Path(top))
    LEFT[0] = int(number)
    for name in ("snapshot", "remove", "restore"):
        between(Worktrees, name)
    for name in ("claim", "release"):
        between(HostBlocks, name)
    between(SqlStore, "record")
    between(trash, "delete_branch")
    for name in ("make_branch", "_register", "_fill", "_ready"):
        between(restoring, name)
    between(return_tree, "write_environment")
    if verb == "clean":
        clean.clean(ports, slug, "ana", approve=True)
    else:
        clean.restore(ports, slug, "ana")


main()
