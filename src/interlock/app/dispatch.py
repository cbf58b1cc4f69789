"""Dispatch: a card on the default branch becomes an admitted job with a tree of its own; agents are started by run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from interlock.app.base import CAPS_FILE, View, card_file, fresh_view, not_ready, ready_card
from interlock.app.cardjson import to_json
from interlock.app.isolate import isolate
from interlock.core.contract.batch import dependency_problems
from interlock.core.contract.caps import judge_caps
from interlock.core.contract.card import Card
from interlock.core.contract.readiness import judge
from interlock.core.gate.request import Request
from interlock.core.job.events import NewEvent
from interlock.core.job.ids import branch_of
from interlock.core.job.lifecycle import FINAL, Job, State
from interlock.core.problems import BadInput, Problem, Refusal, Refused
from interlock.ports import CardFile, Ports


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

    A refused card does not keep the others from starting.  Raises only for faults that concern all of them.
    """
    view = fresh_view(ports)
    if problems := judge_caps(view.caps, view.policy, file=CAPS_FILE):
        raise BadInput(problems)
    return tuple(_dispatch_one(ports, view, slug, actor, adopt) for slug in slugs)


def ready_slugs(ports: Ports, view: View) -> tuple[str, ...]:
    """Slugs of cards on the base that have neither an open job nor landed, in name order."""
    names = (name for name in ports.repo.files(view.base.oid, "tasks") if name.endswith(".yaml"))
    closed = (
        ports.repo.landed_slugs(view.base.oid) | ports.store.landed_slugs() | {job.slug for job in ports.store.jobs()}
    )
    return tuple(slug for name in names if (slug := name[len("tasks/") : -len(".yaml")]) not in closed)


def _dispatch_one(ports: Ports, view: View, slug: str, actor: str, adopt: str | None) -> Dispatched:
    notes = (view.base.note,) if view.base.note else ()
    try:
        with ports.records.lock(f"dispatch-{slug}", wait=0):
            before = _dispatched_before(ports, slug, actor)
            job = before or _admit(ports, view, slug, actor, adopt)
            isolated = isolate(ports, job.id, view)
    except Refused as refused:
        return Dispatched(slug=slug, refusal=refused.refusal, notes=notes)
    if before:
        notes = (*notes, f"{slug} was dispatched before as {before.id}, and nothing of it has started.")
    return Dispatched(slug=slug, job=isolated, notes=notes)


def _dispatched_before(ports: Ports, slug: str, actor: str) -> Job | None:
    """The same person's job of which nothing has started: a dispatch that was cut off, or said twice, is gone on with."""
    job = ports.store.find(slug)
    if job is None or job.attempt or job.state not in (State.ADMITTED, State.ISOLATED):
        return None
    admitted = ports.store.event(job.id, 0, "admitted")
    return job if admitted is not None and admitted.actor == actor else None


def _admit(ports: Ports, view: View, slug: str, actor: str, adopt: str | None) -> Job:
    found = ready_card(ports, view, slug)
    card = found.card
    assert card is not None  # noqa: S101
    problems = card_problems(ports, view, found, card)
    if problems:
        raise not_ready(slug, problems)
    job_id = ports.new_id()
    open_job = ports.store.find(slug)
    if adopt is None and (open_job is None or open_job.state in FINAL):
        ports.workspaces.check_free(slug, ports.workspaces.path_for(slug, job_id))
    request = Request(
        job=job_id,
        card=card,
        card_oid=found.oid,
        card_json=to_json(card),
        task_class=view.task_class(card.class_name),
        base=view.base.oid,
        actor=actor,
        foreign=foreign_branches(ports, view),
        adopt=adopt,
    )
    ports.store.admit(request)
    return ports.store.job(job_id)


def card_problems(ports: Ports, view: View, found: CardFile, card: Card) -> tuple[Problem, ...]:
    """Why a readable card is not ready on this base: its own faults, then those of what it depends on."""
    files = ports.repo.files(view.base.oid)
    own = judge(card, found.positions, view.policy, file=found.file, base_files=files)
    return (*own, *dependency_problems(card, _neighbours(ports, view, card), found.positions, file=found.file))


def _neighbours(ports: Ports, view: View, card: Card) -> Mapping[str, Card | None]:
    """The cards that this one depends on, however far; None where there is no readable card."""
    seen: dict[str, Card | None] = {}
    todo = list(card.depends_on)
    while todo:
        slug = todo.pop()
        if slug in seen or slug == card.slug:
            continue
        data = ports.repo.read(view.base.oid, card_file(slug))
        seen[slug] = ports.files.card(data, card_file(slug), slug).card if data is not None else None
        found = seen[slug]
        todo.extend(found.depends_on if found else ())
    return seen


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
