"""The order in which ready changes land: dependencies first, then who has waited longest; testing them is the train's work."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from interlock.core.job.lifecycle import Job, State


def train_order(
    jobs: Iterable[Job],
    landed: frozenset[str],
    depends_on: Mapping[str, tuple[str, ...]],
    *,
    approved: Mapping[str, float] | None = None,
) -> tuple[Job, ...]:
    """Ready jobs that may land together, in their order.

    ``depends_on`` maps a slug to the slugs that must land before it.  A job whose dependency has neither landed
    nor stands before it is left for a later train, and so is a held one, and one that needs another database than
    those before it: they are tested in one room, whose database is one.  ``approved`` maps a job to its first approval (epoch
    seconds; default: its admission).
    """
    since = approved or {}

    def due(job: Job) -> tuple[float, float, str]:
        return since.get(job.id, job.admitted_at), job.admitted_at, job.id

    ready = sorted((job for job in jobs if job.state is State.READY and not job.held), key=due)
    return tuple(_dependencies_first(ready, landed, depends_on))


def _dependencies_first(
    line: Iterable[Job], landed: Collection[str], depends_on: Mapping[str, tuple[str, ...]]
) -> list[Job]:
    """The first of the line that may be placed, again and again; what never may is left out."""
    left = list(line)
    placed: list[Job] = []
    before = set(landed)

    def may_follow(job: Job) -> bool:
        return before.issuperset(depends_on.get(job.slug, ())) and _one_database(placed, job)

    while (found := next(filter(may_follow, left), None)) is not None:
        left.remove(found)
        placed.append(found)
        before.add(found.slug)
    return placed


def _one_database(placed: list[Job], job: Job) -> bool:
    wanted = {_database(each) for each in (*placed, job)} - {None}
    return len(wanted) <= 1


def _database(job: Job) -> str | None:
    needs = job.card.get("needs") or {}
    name = needs.get("database")
    return name if isinstance(name, str) else None
