"""Many trees made at once by threads of several processes; run by the creation tests.

Arguments: repository, first number, count, threads.  Prints one JSON list of [number, fault or null].
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from interlock.adapters.git.repo import GitRepo
from interlock.adapters.git.worktrees import Worktrees
from interlock.ports.isolation import Place


def create(top: Path, number: int) -> str | None:
    """Check that the names are free and make one tree, as dispatch does; gives the fault, if any."""
    try:
        repo = GitRepo.open(top)
        trees = Worktrees(repo)
        path = trees.path_for(f"s{number}", f"j{number}")
        base = repo.last_base().oid
        trees.check_free(f"s{number}", path)
        trees.create(Place(path=path, branch=f"agent/s{number}", base=base, job=f"j{number}"), f"s{number}")
    except Exception as fault:  # noqa: BLE001 - the test shows whatever it was
        return f"{type(fault).__name__}: {fault}"
    return None


def main() -> None:
    top, first, count, threads = sys.argv[1:]
    numbers = range(int(first), int(first) + int(count))
    with ThreadPoolExecutor(int(threads)) as pool:
        faults = list(pool.map(lambda number: create(Path(top), number), numbers))
    print(json.dumps(list(zip(numbers, faults, strict=True))))


if __name__ == "__main__":
    main()
