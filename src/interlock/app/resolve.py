"""Starts the resolution of two changes that do not go together; what its run is told is app.intents', whether it holds app.resolution's."""

from __future__ import annotations

from typing import Final

from interlock.app.decide import find_open, resolve_with
from interlock.app.intents import MET
from interlock.core.job.lifecycle import Job, State
from interlock.core.problems import Misuse, Refusal, Refused
from interlock.ports.bundle import Ports

RESOLVABLE: Final = MET | {"resolution"}
"""Rules by which a job waits because of another change, or of a resolution that did not hold."""


def resolve(ports: Ports, slug: str, actor: str, other: str | None = None) -> Job:
    """Start a resolution of a waiting job against a change that landed: the named one, else the one that it met.

    Raises Misuse when the job does not wait for that, Refused: resolution while the other has not landed or cannot be
    told, and whatever refuses a retry.
    """
    job = find_open(ports, slug)
    if job.waiting is None or not (job.resolving or job.waiting.rule in RESOLVABLE):
        state = job.waiting.rule if job.waiting else job.state
        raise Misuse(
            f"{slug} does not wait for a resolution; it is {state}.",
            hint=f"interlock show {slug} says what it waits for.",
        )
    return resolve_with(ports, job, partner_of(ports, job, other), actor)


def partner_of(ports: Ports, job: Job, named: str | None) -> Job:
    """The landed job that this one does not go together with.  Raises Refused (resolution)."""
    slugs = [named] if named else _met(ports, job)
    found = [known for each in slugs if (known := ports.store.find(each)) is not None and known.id != job.id]
    landed = [each for each in found if each.state is State.LANDED and each.head]
    if len(landed) == 1:
        return landed[0]
    waits = [each.slug for each in found if each.state is not State.LANDED]
    names = ", ".join(each.slug for each in landed)
    if landed:
        what, change = f"{job.slug} met several changes: {names}.", f"Name one: --with {landed[0].slug}."
    elif waits:
        what, change = f"{', '.join(waits)} has not landed yet.", "interlock run lands what is ready; then resolve."
    else:
        what, change = f"Nothing that landed is known to conflict with {job.slug}.", "Name it: --with SLUG."
    raise Refused(
        Refusal(
            rule="resolution",
            what=what,
            why="The younger of two changes is brought together with the older one, which has landed.",
            would_change=change,
            holders=tuple(slugs),
        )
    )


def _met(ports: Ports, job: Job) -> list[str]:
    """Slugs of the changes that a job met: the partners that the train named, else what landed since in the same files."""
    if job.resolving:
        return [str(job.resolving["slug"])]
    detail = job.waiting.detail if job.waiting else {}
    if partners := [str(each) for each in detail.get("partners", ())]:
        return partners
    paths = set(map(str, detail.get("paths", ())))
    since = [row for row in ports.store.landings() if not ports.repo.is_ancestor(row.commit, job.base)]
    met = []
    for row in since:
        landed = ports.store.job(row.job)
        touched = {change.path for change in ports.repo.changes(landed.base, landed.head or landed.base)}
        if touched & paths:
            met.append(row.slug)
    return met
