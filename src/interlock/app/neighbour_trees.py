"""Trees beside a task that its agent must leave alone where no wall keeps it out: which they are, and what changed in them by nobody we know."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from interlock.app.cardjson import from_json
from interlock.app.database import level_of
from interlock.core.contract.paths import parse
from interlock.core.job.lifecycle import Job, State
from interlock.ports.bundle import Ports
from interlock.ports.processes import End

_AT_REST: Final = frozenset({State.WAITING, State.VERIFIED, State.READY})


def trees(ports: Ports, job: Job) -> tuple[Path, ...]:
    """The main checkout, and the trees of other tasks in which nothing of ours is at work (case AI-01)."""
    top = ports.repo.top
    main = () if top == ports.repo.common_dir else (top,)
    return (*main, *_siblings(ports, job))


class Beside(NamedTuple):
    """What changed beside a task while its agent ran: ``leaked`` ends the attempt, ``told`` stands on the record alone."""

    leaked: tuple[str, ...]
    told: tuple[str, ...]


def beside(ports: Ports, job: Job, number: int, end: End, *, changed: bool) -> Beside:
    """What changed in those trees during an attempt, without those of tasks that have gone on since it started.

    People work in the main checkout meanwhile.  A change there is held against the agent when its own tree has none
    (case AI-01), when the card owns the path, and when git would run something else from now on; one in the
    tree of a task at rest always is.
    """
    found = _by_nobody(ports, job, number, end)
    leaked = tuple(each for each in found if not changed or _is_grave(ports, job, each))
    return Beside(leaked, tuple(each for each in found if each not in leaked))


def _by_nobody(ports: Ports, job: Job, number: int, end: End) -> Sequence[str]:
    started = ports.store.event(job.id, number, "start")
    if not end.leaked or started is None:
        return end.leaked
    gone_on = [
        str(_tree(other))
        for other in ports.store.jobs(open_only=False)
        if other.id != job.id and other.workspace and ports.store.events(other.id, after=started.seq)
    ]
    return [each for each in end.leaked if not any(_is_in(each, tree) for tree in gone_on)]


def _is_grave(ports: Ports, job: Job, told: str) -> bool:
    top = str(ports.repo.top)
    if told in (f"HEAD of {top}", f"the index of {top}"):
        return False
    if not told.startswith(f"{top}/"):
        return True
    path = told.removeprefix(f"{top}/")
    return any(parse(pattern).matches(path) for pattern in from_json(job.card).owned_paths)


def _siblings(ports: Ports, job: Job) -> list[Path]:
    others = (each for each in ports.store.jobs() if each.id != job.id and each.workspace)
    return [_tree(each) for each in others if each.state in _AT_REST and level_of(each) == "worktree"]


def _tree(job: Job) -> Path:
    return Path(job.workspace or "")


def _is_in(told: str, tree: str) -> bool:
    return told == tree or f"{tree}/" in told or told.endswith(f" of {tree}")
