"""A process that makes a sealed task and kills itself at its n-th step; run by test_killed.

Arguments: repository, copy or overlay, number of the step, before|after|during.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.integration.git.build import World
from tests.integration.git.dying import arm
from tests.integration.git.sealed.rooms import yard

from interlock.adapters.git.sealed import bases


def main() -> None:
    top, kind, number, when = sys.argv[1:]
    if kind == "overlay":
        setattr(bases, "SMALL_FILES", 0)  # noqa: B010 - a constant, which a test may lower
    team = World(root=Path(top).parent, top=Path(top), remote=Path(top).parent / "remote.git")
    here = yard(team)
    place = here.place("t", "job-t", here.repo.last_base().oid)
    arm(int(number), when)
    here.spaces.create(place, "t")


if __name__ == "__main__":
    main()
