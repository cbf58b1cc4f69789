"""Isolation of one job: ports, tree, database, environment file, in an order that heals; how each is made is adapters' work."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

from interlock.app.base import View, fresh_view
from interlock.app.cardjson import from_json
from interlock.core.contract.card import Card
from interlock.core.job.events import NewEvent
from interlock.core.job.lifecycle import Job, State
from interlock.core.problems import InterlockError, Refusal, Refused
from interlock.ports import Place, Ports

ENV_FILE = ".agent-env"
INHERIT = "INTERLOCK_PASS"
"""Among a task's values: names that agents and checks inherit beside the built-in list."""


def isolate_step(ports: Ports, subject: str) -> dict[str, Any]:
    """The engine's step: isolate a job that was admitted and not yet isolated."""
    job = isolate(ports, subject, None)
    return {"workspace": job.workspace}


def isolate(ports: Ports, job_id: str, view: View | None) -> Job:
    """Give a job its ports, tree, database and environment; doing it again is nothing.

    Where it fails the job is abandoned, its slot is free again, and Refused tells why.
    """
    job = ports.store.job(job_id)
    if job.state is not State.ADMITTED:
        return job
    view = view or fresh_view(ports)
    try:
        facts = _make(ports, job, view)
    except Refused as refused:
        _give_up(ports, job, refused.refusal.what)
        raise
    except InterlockError as fault:
        _give_up(ports, job, fault.message)
        raise Refused(
            Refusal(
                rule="isolation-failed",
                what=f"The tree of {job.slug} could not be made: {fault.message}",
                why="A job never starts without a tree of its own, and never in another one.",
                would_change=fault.hint or "Mend the cause, then dispatch again.",
            )
        ) from fault
    ports.store.record(NewEvent(subject=job.id, step="isolate", kind="job.isolated", data=facts))
    return ports.store.job(job.id)


def place_of(job: Job) -> Place:
    """The place of an isolated job, from its record and never from a name."""
    return Place(path=Path(job.workspace or ""), branch=job.branch, base=job.base)


def environment_of(ports: Ports, job: Job) -> dict[str, str]:
    """The variables of a job's .agent-env, from the record."""
    stored = ports.records.job(job.id) / "environment.json"
    values: dict[str, str] = json.loads(stored.read_text(encoding="utf-8"))
    return values


def _make(ports: Ports, job: Job, view: View) -> dict[str, Any]:
    card = from_json(job.card)
    block, numbers = ports.blocks.claim(job.id, dict(view.policy.ports))
    path = ports.workspaces.path_for(job.slug, job.id)
    place = ports.workspaces.create(job.id, job.slug, job.base, path)
    values = _environment(ports, job, card, block, numbers, view)
    write_environment(ports, job, place, values)
    _write_card(ports, job, card, view)
    return {
        "workspace": str(place.path),
        "block": block,
        "ports": numbers,
        "level": ports.workspaces.level,
        "base": place.base,
    }


def _environment(ports: Ports, job: Job, card: Card, block: int, numbers: dict[str, int], view: View) -> dict[str, str]:
    values = {name: str(number) for name, number in numbers.items()}
    values |= {
        "COMPOSE_PROJECT_NAME": f"interlock-{job.slug}-{job.id}",
        "CACHE_PREFIX": f"{job.slug}-{job.id}:",
        "DATABASE_NAME": f"app_{job.slug.replace('-', '_')}",
        "INTERLOCK_JOB": job.id,
        "INTERLOCK_SLUG": job.slug,
        "INTERLOCK_SPOOL": str(ports.records.spool(job.id)),
        "INTERLOCK_BLOCK": str(block),
        INHERIT: " ".join(view.policy.environment),
    }
    if card.needs.database and (database := view.policy.database(card.needs.database)):
        adapter = ports.databases[database.use]
        target = ports.records.job(job.id) / f"{database.name}.sqlite3"
        values |= adapter.branch(ports.repo.top / database.baseline, target)
    return values


def write_environment(ports: Ports, job: Job, place: Place, values: dict[str, str]) -> None:
    """Pin the values in the job's record and in the tree's .agent-env, which git ignores."""
    _replace(ports.records.job(job.id) / "environment.json", json.dumps(values, indent=2, sort_keys=True))
    lines = "".join(f"{name}={shlex.quote(value)}\n" for name, value in sorted(values.items()))
    _replace(place.path / ENV_FILE, lines)


def _replace(path: Path, text: str) -> None:
    """Write a file whole or not at all, and never through a link that an agent left there."""
    fresh = path.with_name(f"{path.name}.new")
    fresh.unlink(missing_ok=True)
    with fresh.open("x", encoding="utf-8") as stream:
        stream.write(text)
    fresh.replace(path)


def _write_card(ports: Ports, job: Job, card: Card, view: View) -> None:
    """What interlock-task answers card and may-i from; only a courtesy, the gates read the default branch."""
    shape = {
        "slug": job.slug,
        "job": job.id,
        "card": dict(job.card),
        "owned_paths": card.owned_paths,
        "read_only_paths": card.read_only_paths,
        "prohibited_paths": card.prohibited_paths,
        "protected_paths": view.policy.protected_paths,
    }
    (ports.records.spool(job.id) / "card.json").write_text(json.dumps(shape, indent=2), encoding="utf-8")


def _give_up(ports: Ports, job: Job, why: str) -> None:
    ports.store.record(
        NewEvent(subject=job.id, step="isolate-failed", kind="job.abandoned", data={"reason": f"not isolated: {why}"})
    )
    ports.blocks.release(job.id)
