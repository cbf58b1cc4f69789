"""What two changes are for, as their cards, plans and differences say it, and how a run is told that brings them together."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from interlock.app import phases
from interlock.app.base import View, card_file, last_view
from interlock.app.cardjson import from_json
from interlock.core.agent.packs import fitted
from interlock.core.agent.packs import pack as pack_of
from interlock.core.job.lifecycle import Job
from interlock.core.merge.resolving import ASKED, Intent
from interlock.ports.bundle import Ports

MET: Final = frozenset({"text-conflict", "red-together", "red-alone"})
"""Rules by which a job waits because of another change."""


def intent_of(ports: Ports, view: View, job: Job) -> Intent:
    """The texts in which a change's intent stands: what its card says in words, its accepted plan, its plan phase."""
    card = from_json(job.card)
    texts = [card.goal or "", *card.done_when]
    if card.accepted_plan:
        texts.append(_read(ports, view, card.accepted_plan))
    texts += [each.text for each in phases.packs(ports, job) if each.phase == "plan"]
    return Intent(slug=job.slug, texts=tuple(text for text in texts if text))


def briefing(ports: Ports, job: Job) -> str:
    """The part of a prompt that makes a run a resolution: what is asked, both cards and plans, both differences."""
    assert job.resolving is not None  # noqa: S101 -- the phase is due only then
    view = last_view(ports)
    other = ports.store.job(str(job.resolving["job"]))
    mine = replace(job, head=str(job.resolving["alone"] or job.head))
    marks = ", with the clash marked in " + ", ".join(job.resolving["clashes"]) if job.resolving["clashes"] else ""
    parts = [ASKED.format(slug=job.slug, other=other.slug, marks=marks)]
    if job.waiting is None and (why := _why(ports, job)):
        parts.append(f"How they were found not to go together: {why}")
    intents = [intent_of(ports, view, each) for each in (job, other)]
    packs = [
        made
        for name, text in (
            *((f"card of {each.slug}", _read(ports, view, card_file(each.slug))) for each in (job, other)),
            *((f"intent of {each.slug}", "\n\n".join(each.texts)) for each in intents),
            (f"difference of {job.slug}", _difference(ports, mine)),
            (f"difference of {other.slug}, which landed", _difference(ports, other)),
        )
        if (made := pack_of(name, 0, text, "pack")) is not None
    ]
    shown = zip(packs, fitted(packs), strict=True)
    return "\n\n".join([*parts, *(f"## The {each.phase}\n\n{text}" for each, text in shown)])


def _difference(ports: Ports, job: Job) -> str:
    """What a job's work changes against what it was begun on: the merge base, since its base may have moved with it."""
    head = job.head or job.base
    return ports.repo.patch(f"{head}^", head)


def _why(ports: Ports, job: Job) -> str:
    waits = [each for each in ports.store.events(job.id) if each.kind == "job.waits" and each.data["rule"] in MET]
    return str(waits[-1].data.get("what", "")) if waits else ""


def _read(ports: Ports, view: View, path: str) -> str:
    return (ports.repo.read(view.base.oid, path) or b"").decode("utf-8", "replace")
