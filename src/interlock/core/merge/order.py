"""The order in which ready changes land: dependencies first, then who has waited longest; testing them is the train's work."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, TypeVar

from interlock.core.job.lifecycle import Job, State
from interlock.core.merge.queue import Waiting

AGE: Final = 3600.0
"""Seconds of waiting that one step of priority is worth, so that a change of low priority is overtaken only by those that come
within that time after it: none waits for ever (rust-lang/bors and homu order by priority alone, and then it may)."""

Item = TypeVar("Item")


def train_order(
    jobs: Iterable[Job],
    landed: frozenset[str],
    depends_on: Mapping[str, tuple[str, ...]],
    limit: int | None = None,
    *,
    approved: Mapping[str, float] | None = None,
    priority: Mapping[str, int] | None = None,
) -> tuple[Job, ...]:
    """Ready jobs that may land together, in their order.

    ``depends_on`` maps a slug to the slugs that must land before it.  A job whose dependency has neither landed
    nor stands before it is left for a later train, and so is a held one, and one that needs another database than
    those before it: they are tested in one room, whose database is one.  ``approved`` maps a job to its first approval (epoch
    seconds; default: its admission), ``priority`` to a number that counts as that many times ``AGE`` seconds of waiting.
    """
    since, steps = approved or {}, priority or {}

    def due(job: Job) -> tuple[float, float, str]:
        return aged(since.get(job.id, job.admitted_at), steps.get(job.id, 0)), job.admitted_at, job.id

    ready = sorted((job for job in jobs if job.state is State.READY and not job.held), key=due)
    placed = _dependencies_first(
        ready, landed, lambda job: job.slug, lambda job: depends_on.get(job.slug, ()), _one_database
    )
    return tuple(placed[:limit])


def queue_order(waiting: Iterable[Waiting], priority: Mapping[str, int] | None = None) -> tuple[Waiting, ...]:
    """Members of the train in landing order: by first approval and priority, each behind what it needs.

    One that needs somebody who is not here stands at the end: it waits and holds up nobody.
    """
    steps = priority or {}
    line = sorted(waiting, key=lambda each: (aged(each.since, steps.get(each.job, 0)), each.job))
    placed = _dependencies_first(line, frozenset(), lambda each: each.job, lambda each: each.after, lambda *_: True)
    here = {each.job for each in placed}
    return (*placed, *(each for each in line if each.job not in here))


def aged(since: float, priority: int) -> float:
    """The moment by which a change is ordered: earlier lands first."""
    return since - priority * AGE


def _dependencies_first(
    line: Iterable[Item],
    landed: Collection[str],
    name: Callable[[Item], str],
    needs: Callable[[Item], Iterable[str]],
    fits: Callable[[list[Item], Item], bool],
) -> list[Item]:
    """The first of the line that may be placed, again and again; what never may is left out."""
    left = list(line)
    placed: list[Item] = []
    before = set(landed)
    while (
        found := next((each for each in left if before.issuperset(needs(each)) and fits(placed, each)), None)
    ) is not None:
        left.remove(found)
        placed.append(found)
        before.add(name(found))
    return placed


def _one_database(placed: list[Job], job: Job) -> bool:
    wanted = {_database(each) for each in (*placed, job)} - {None}
    return len(wanted) <= 1


def _database(job: Job) -> str | None:
    needs = job.card.get("needs") or {}
    name = needs.get("database")
    return name if isinstance(name, str) else None
