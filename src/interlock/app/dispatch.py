"""Dispatch: a card on the default branch becomes an admitted job with a tree of its own; agents are started by run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from interlock.app.base import (
    CAPS_FILE,
    View,
    already_landed,
    card_file,
    fresh_view,
    landed_slugs,
    not_ready,
    read_card,
)
from interlock.app.card_ready import card_problems, unkept_limits
from interlock.app.cardjson import to_json
from interlock.app.isolate import isolate, place_of
from interlock.core.contract.caps import judge_caps
from interlock.core.contract.defaults import with_defaults
from interlock.core.gate.request import Request
from interlock.core.job.events import NewEvent
from interlock.core.job.ids import branch_of
from interlock.core.job.lifecycle import FINAL, Job, State
from interlock.core.problems import BadInput, InterlockError, Refusal, Refused, refused
from interlock.ports.bundle import Ports


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatched:
    """The answer to a dispatch: the job with its place, or the refusal."""

    slug: str
    job: Job | None = None
    refusal: Refusal | None = None
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        job = self.job
        return {
            "slug": self.slug,
            "admitted": job is not None,
            "job": job.id if job else None,
            "workspace": job.workspace if job else None,
            "branch": job.branch if job else None,
            "base": job.base if job else None,
            "ports": dict(job.ports) if job else {},
            "level": job.level if job else None,
            "refusal": self.refusal.as_json() if self.refusal else None,
            "notes": list(self.notes),
        }


def dispatch(ports: Ports, slugs: tuple[str, ...], actor: str, *, adopt: str | None = None) -> tuple[Dispatched, ...]:
    """Admit and isolate cards one after the other, all from the same base commit.

    A refused card does not keep the others from starting; what concerns all of them is told for each.
    """
    try:
        before = ports.store.landed_slugs()  # before the fetch: what lands meanwhile does not look as if it were gone
        view = _rules_of_dispatch(ports)
        gone = before - landed_slugs(ports, view)
    except InterlockError as fault:
        return tuple(Dispatched(slug=slug, refusal=_as_refusal(fault)) for slug in slugs)
    return tuple(_dispatch_one(ports, view, slug, actor, adopt, gone) for slug in slugs)


def _rules_of_dispatch(ports: Ports) -> View:
    """The freshly fetched rules.  Raises BadInput when the caps do not fit the policy."""
    view = fresh_view(ports)
    if problems := judge_caps(view.caps, view.policy, file=CAPS_FILE):
        raise BadInput(problems)
    return view


def _as_refusal(fault: InterlockError) -> Refusal:
    """A fault that a person can mend, in the shape of a refusal."""
    if isinstance(fault, Refused):
        return fault.refusal
    return Refusal(
        rule=fault.code,
        what=fault.message,
        why="Nothing starts before the default branch, its policy and its caps could be read.",
        would_change=fault.hint or "Mend it, then dispatch again.",
        problems=fault.problems if isinstance(fault, BadInput) else (),
    )


def ready_slugs(ports: Ports, view: View) -> tuple[str, ...]:
    """Slugs of cards on the base that have neither an open job nor landed nor been given up, in name order."""
    names = (name for name in ports.repo.files(view.base.oid, "tasks") if name.endswith(".yaml"))
    closed = landed_slugs(ports, view) | {job.slug for job in ports.store.jobs()}
    closed |= set(given_up(ports, view.base.oid))
    return tuple(slug for name in names if (slug := name[len("tasks/") : -len(".yaml")]) not in closed)


def given_up(ports: Ports, commit: str) -> tuple[str, ...]:
    """Slugs whose last job was abandoned and whose card stands in a commit as it did then, in name order.

    A person closed them: they start again when the card is changed, or when somebody names them.
    """
    last = {job.slug: job for job in sorted(ports.store.jobs(open_only=False), key=lambda job: job.admitted_at)}
    closed = sorted((job for job in last.values() if job.state is State.ABANDONED), key=lambda job: job.slug)
    blobs = ports.repo.read_many([(commit, card_file(job.slug)) for job in closed])
    return tuple(job.slug for job, blob in zip(closed, blobs, strict=True) if blob and blob.oid == job.card_oid)


def _dispatch_one(
    ports: Ports, view: View, slug: str, actor: str, adopt: str | None, gone: frozenset[str]
) -> Dispatched:
    notes = (view.base.note,) if view.base.note else ()
    try:
        with ports.records.lock(f"dispatch-{slug}", wait=0):
            before = _dispatched_before(ports, slug, actor)
            job = before or _admit(ports, view, slug, actor, adopt, gone)
            isolated = isolate(ports, job.id, view)
    except Refused as fault:
        return Dispatched(slug=slug, refusal=fault.refusal, notes=notes)
    if before:
        notes = (*notes, f"{slug} was dispatched before as {before.id}, and nothing of it has started.")
    if adopt is None:
        notes = (*notes, *unkept_limits(view, isolated))
    return Dispatched(slug=slug, job=isolated, notes=notes)


def _dispatched_before(ports: Ports, slug: str, actor: str) -> Job | None:
    """The same person's job of which nothing has started: a dispatch that was cut off, or said twice, is gone on with."""
    job = ports.store.find(slug)
    if job is None or job.attempt or job.state not in (State.ADMITTED, State.ISOLATED):
        return None
    admitted = ports.store.event(job.id, 0, "admitted")
    return job if admitted is not None and admitted.actor == actor else None


def _admit(ports: Ports, view: View, slug: str, actor: str, adopt: str | None, gone: frozenset[str]) -> Job:
    """``gone`` are slugs that this store landed and the default branch holds no more: their cards may start again."""
    landed = landed_slugs(ports, view)
    found = read_card(ports, view, slug)
    problems = card_problems(ports, view, found, landed)
    card = found.card
    if problems or card is None:
        raise not_ready(slug, problems)
    if slug in landed:
        raise already_landed(slug)
    job_id = ports.new_id()
    open_job = ports.store.find(slug)
    if adopt is None and (open_job is None or open_job.state in FINAL):
        _refuse_uncleaned(ports, open_job)
        level = ports.workspaces.level_for(with_defaults(card, view.policy).isolation)
        ports.workspaces.check_free(slug, ports.workspaces.path_for(slug, job_id, level))
    request = Request(
        job=job_id,
        card=card,
        card_oid=found.oid,
        card_json=to_json(card),
        task_class=view.task_class(card.class_name),
        base=view.base.oid,
        actor=actor,
        foreign=foreign_branches(ports, view),
        landed=landed,
        gone=gone,
        adopt=adopt,
    )
    ports.store.admit(request)
    return ports.store.job(job_id)


def _refuse_uncleaned(ports: Ports, closed: Job | None) -> None:
    """The slug's earlier job is closed, and its tree still stands."""
    if closed is None or closed.workspace is None or not ports.workspaces.exists(place_of(closed)):
        return
    raise refused(
        rule="name-taken",
        what=f"The tree of {closed.slug}'s earlier job {closed.id}, which is {closed.state}, still stands.",
        why="A task gets a branch and a folder of its own.",
        would_change=f"Take it away, with a snapshot: interlock clean {closed.slug}.",
        holders=(closed.workspace,),
    )


def foreign_branches(ports: Ports, view: View) -> tuple[tuple[str, str | None], ...]:
    """Agent branches on the remote that no job of this store stands for, with the class of their card."""
    ours = {branch_of(job.slug) for job in ports.store.jobs(open_only=False)}
    landed = ports.repo.landed_slugs(view.base.oid)
    result = []
    for branch in ports.repo.agent_branches():
        slug = branch.removeprefix("agent/")
        if branch not in ours and slug not in landed:
            data = ports.repo.read(view.base.oid, card_file(slug))
            card = ports.files.card(data, card_file(slug), slug).card if data is not None else None
            result.append((branch, card.class_name if card else None))
    return tuple(result)


def abandon(ports: Ports, job: Job, actor: str, reason: str) -> None:
    """Close a job without landing it: its slot and ports are free again, its branch and tree stay until cleaned."""
    ports.store.record(
        NewEvent(subject=job.id, step=f"abandon:{job.rev}", kind="job.abandoned", actor=actor, data={"reason": reason})
    )
    ports.blocks.release(job.id)
