"""A process that does one thing to the sealed task job1 and kills itself at its n-th step; run by test_trash_killed.

Arguments: repository, verb, number of the step, before|after|during, and the commits that the verb needs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from tests.integration.git.build import AUTHOR
from tests.integration.git.dying import arm

from interlock.adapters.git.levels import LevelWorkspaces
from interlock.adapters.git.repo import GitRepo
from interlock.adapters.git.sealed.layout import Layout
from interlock.ports.isolation import Place

REF = "refs/interlock/trash/t/job1-7"
KEEP = "refs/interlock/kept/t/1"


def prepared(top: Path, verb: str, commits: list[str]) -> Callable[[], object]:
    """Everything that is looked up beforehand, so that only the verb's own calls are counted."""
    repo = GitRepo.open(top)
    task = Layout(repo.found).read("job1")
    assert task is not None
    spaces = LevelWorkspaces(repo)
    place = Place(path=Path(task.path), branch=task.branch, base=task.base, level="sealed", job="job1")
    match verb:
        case "snapshot":
            return lambda: spaces.snapshot(place, REF)
        case "remove":
            return lambda: spaces.remove(place, REF)
        case "restore":
            return lambda: spaces.restore(REF, place)
        case "commit":
            return lambda: repo.commit_work(
                place, parent=commits[0], message="work", author=AUTHOR, sign=False, keep=KEEP
            )
        case "rebase":
            return lambda: repo.rebase_place(place, head=commits[0], onto=commits[1], keep=f"{KEEP}-{commits[1][:8]}")
        case _:
            raise SystemExit(f"unknown verb {verb}")


def main() -> None:
    top, verb, number, when, *commits = sys.argv[1:]
    call = prepared(Path(top), verb, commits)
    arm(int(number), when)
    call()


if __name__ == "__main__":
    main()
