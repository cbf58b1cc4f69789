"""Starts the resolution of two changes that do not go together; what its run is told is app.intents', whether it holds app.resolution's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from interlock.app.decide import find_open, resolve_with
from interlock.app.intents import MET
from interlock.core.job.lifecycle import OPEN, Job, State
from interlock.core.problems import Misuse, refused
from interlock.ports.bundle import Ports

RESOLVABLE: Final = MET | {"resolution"}
"""Rules by which a job waits because of another change, or of a resolution that did not hold."""


def resolve(ports: Ports, slug: str, actor: str, other: str | None = None) -> Job:
    """Start a resolution of a waiting job against a change that landed: the named one, else the one that it met.

    Raises Misuse when the job does not wait for that, Refused: resolution while the other has not landed or cannot be
    told, and whatever refuses a retry.
    """
    job = find_open(ports, slug)
    if job.waiting is None and job.resolving:
        raise Misuse(f"{slug} is being brought together with {job.resolving['slug']} already.", hint="interlock run")
    if job.waiting is None or not (job.resolving or job.waiting.rule in RESOLVABLE):
        state = job.waiting.rule if job.waiting else job.state
        raise Misuse(
            f"{slug} does not wait for a resolution; it is {state}.",
            hint=f"interlock show {slug} says what it waits for.",
        )
    return resolve_with(ports, job, partner_of(ports, job, other), actor)


def partner_of(ports: Ports, job: Job, named: str | None) -> Job:
    """The landed job that this one does not go together with.  Raises Refused (resolution)."""
    slugs = _met(ports, job) if named is None else [named]
    found = [known for each in slugs if (known := ports.store.find(each)) is not None]
    landed = [each for each in found if each.state is State.LANDED and each.head]
    if len(landed) == 1:
        return landed[0]
    what, change = _no_partner(job, named, found, landed)
    raise refused(
        rule="resolution",
        what=what,
        why="The younger of two changes is brought together with the older one, which has landed.",
        would_change=change,
        holders=tuple(slugs),
    )


def _no_partner(job: Job, named: str | None, found: Sequence[Job], landed: Sequence[Job]) -> tuple[str, str]:
    """Why there is no one partner among the jobs that were named or met, and what would change it."""
    name_it = "Name the change that landed: --with SLUG; interlock train show lists them."
    if landed:
        names = ", ".join(each.slug for each in landed)
        return f"{job.slug} met several changes: {names}.", f"Name one: --with {landed[0].slug}."
    if job.id in {each.id for each in found}:
        return f"{job.slug} cannot be brought together with itself.", name_it
    if waits := [each.slug for each in found if each.state in OPEN]:
        return f"{', '.join(waits)} has not landed yet.", "interlock run lands what is ready; then resolve."
    if found:
        told = ", ".join(f"{each.slug} is {each.state}" for each in found)
        anew = f"interlock retry {job.slug} --hypothesis TEXT tries it again on the default branch as it is now."
        return f"{told}, so nothing of it is on the default branch.", anew
    if named is not None:
        return f'No change "{named}" is known here.', name_it
    return f"Nothing that landed is known to conflict with {job.slug}.", name_it


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
