"""The order in which ready changes land: dependencies first, then the oldest; testing them is the train's work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from interlock.core.job.lifecycle import Job, State


def train_order(
    jobs: Iterable[Job], landed: frozenset[str], depends_on: Mapping[str, tuple[str, ...]], limit: int | None = None
) -> tuple[Job, ...]:
    """Ready jobs that may land together, in their order.

    ``depends_on`` maps a slug to the slugs that must land before it.  A job whose dependency has neither landed
    nor stands before it is left for a later train, and so is a held one, and one that needs another database than
    those before it: they are tested in one room, whose database is one.
    """
    ready = sorted(
        (job for job in jobs if job.state is State.READY and not job.held), key=lambda job: (job.admitted_at, job.id)
    )
    placed: list[Job] = []
    before = set(landed)
    progress = True
    while progress:
        progress = False
        for job in ready:
            if job not in placed and set(depends_on.get(job.slug, ())) <= before and _one_database(placed, job):
                placed.append(job)
                before.add(job.slug)
                progress = True
                break
    return tuple(placed[:limit])


def _one_database(placed: list[Job], job: Job) -> bool:
    wanted = {_database(each) for each in (*placed, job)} - {None}
    return len(wanted) <= 1


def _database(job: Job) -> str | None:
    needs = job.card.get("needs") or {}
    name = needs.get("database")
    return name if isinstance(name, str) else None
