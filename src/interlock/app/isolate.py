"""Isolation of one job: ports, tree, database, environment file, in an order that heals; how each is made is adapters' work."""

from __future__ import annotations

import json
import os
import shlex
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, cast

from interlock.app.base import View, fresh_view
from interlock.app.cardjson import from_json
from interlock.app.database import branch_of_job, database_of, level_of, prove_isolated, url_for
from interlock.core.contract.card import Card, Level
from interlock.core.contract.defaults import with_defaults
from interlock.core.contract.levels import NOT_COVERED
from interlock.core.job.events import NewEvent
from interlock.core.job.lifecycle import Job, State
from interlock.core.problems import InterlockError, Refused, refused
from interlock.core.sandbox import HOME, RUN
from interlock.ports.bundle import Ports
from interlock.ports.isolation import Place

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
        facts = isolation(ports, job, view)
    except Refused as fault:
        _give_up(ports, job, view, fault.refusal.what)
        raise
    except InterlockError as fault:
        _give_up(ports, job, view, fault.message)
        raise refused(
            rule="isolation-failed",
            what=f"The tree of {job.slug} could not be made: {fault.message}",
            why="A job never starts without a tree of its own, and never in another one.",
            would_change=fault.hint or "Mend the cause, then dispatch again.",
        ) from fault
    ports.store.record(NewEvent(subject=job.id, step="isolate", kind="job.isolated", data=facts))
    return ports.store.job(job.id)


def place_of(job: Job) -> Place:
    """The place of an isolated job, from its record and never from a name."""
    return Place(path=Path(job.workspace or ""), branch=job.branch, base=job.base, level=level_of(job), job=job.id)


def environment_of(ports: Ports, job: Job) -> dict[str, str]:
    """The variables of a job's .agent-env, from the record."""
    stored = ports.records.job(job.id) / "environment.json"
    values: dict[str, str] = json.loads(stored.read_text(encoding="utf-8"))
    return values


def isolation(ports: Ports, job: Job, view: View) -> dict[str, Any]:
    """Make all that the job is to have, from wherever a killed call left it; gives what its event says."""
    card = with_defaults(from_json(job.card), view.policy)
    block, numbers = ports.blocks.claim(job.id, dict(view.policy.ports))
    level = _level(ports, job, card)
    path = ports.workspaces.path_for(job.slug, job.id, level)
    wanted = Place(path=path, branch=job.branch, base=job.base, level=level, job=job.id)
    place = ports.workspaces.create(wanted, job.slug)
    _replace(ports.records.job(job.id) / "made", str(place.path))
    job = replace(job, level=level, workspace=str(place.path))
    values = _environment(ports, job, place, block, numbers, view)
    values |= _profiles(ports, job, card, view)
    values |= _database(ports, job, card, place, values, view)
    write_environment(ports, job, place, values)
    _write_card(ports, job, card, view)
    return {
        "workspace": str(place.path),
        "block": block,
        "ports": numbers,
        "level": level,
        "not_covered": NOT_COVERED[level],
        "base": place.base,
        "database": _database_value(card, view),
    }


def _database_value(card: Card, view: View) -> dict[str, Any] | None:
    """The policy's database as it is now, without any URL: it is released by what it was made by."""
    database = database_of(card, view.policy)
    return asdict(database) if database else None


def _level(ports: Ports, job: Job, card: Card) -> Level:
    """The level of the job's tree, chosen once and written down first, so that healing goes on at the same one."""
    file = ports.records.job(job.id) / "level"
    if file.is_file():
        return cast(Level, file.read_text(encoding="utf-8").strip())
    level = ports.workspaces.level_for(card.isolation)
    _replace(file, level)
    return level


def _environment(
    ports: Ports, job: Job, place: Place, block: int, numbers: dict[str, int], view: View
) -> dict[str, str]:
    """The values of the task as it sees them: inside a sandbox every task has the same ports, and paths of its own."""
    sandboxed = ports.workspaces.room(place).sandbox is not None
    seen = dict(view.policy.ports) if sandboxed else numbers
    values = {name: str(number) for name, number in seen.items()}
    return values | {
        "COMPOSE_PROJECT_NAME": f"interlock-{job.slug}-{job.id}",
        "CACHE_PREFIX": f"{job.slug}-{job.id}:",
        "DATABASE_NAME": f"app_{job.slug.replace('-', '_')}",
        "INTERLOCK_JOB": job.id,
        "INTERLOCK_SLUG": job.slug,
        "INTERLOCK_SPOOL": f"{RUN}/spool" if sandboxed else str(ports.records.spool(job.id)),
        "INTERLOCK_BLOCK": str(block),
        INHERIT: " ".join(view.policy.environment),
    }


def _profiles(ports: Ports, job: Job, card: Card, view: View) -> dict[str, str]:
    """A browser profile for each role that the card needs; gives the variables that name them.  Raises Refused."""
    folder = ports.records.shared(job.id, "browser")
    sandboxed = ports.workspaces.room(place_of(job)).sandbox is not None
    found = {}
    for role in card.needs.browser:
        browser = view.policy.browser(role)
        if browser is None:
            raise refused(
                rule="browser",
                what=f"The role {role} of {job.slug} has no browser profile in the policy.",
                why="A task gets the credentials of its roles and no others.",
                would_change=f"Add {role} under browsers in interlock.yaml, or take it off the card.",
            )
        profile = ports.browsers.profile(browser, folder / role)
        ports.records.granted(profile)
        name = f"BROWSER_PROFILE_{role.upper().replace('-', '_')}"
        found[name] = f"{HOME}/browser/{role}" if sandboxed else str(profile)
    return found


def _database(ports: Ports, job: Job, card: Card, place: Place, values: dict[str, str], view: View) -> dict[str, str]:
    """The job's own database, with the proof that the application uses it; gives its variables."""
    database = database_of(card, view.policy)
    branch = branch_of_job(ports, job, card, view.policy)
    if database is None or branch is None:
        return {}
    prove_isolated(ports, database, branch, place, values)
    sandboxed = ports.workspaces.room(place).sandbox is not None
    return {"DATABASE_NAME": branch.name, "DATABASE_URL": url_for(branch, sandboxed=sandboxed)}


def write_environment(ports: Ports, job: Job, place: Place, values: dict[str, str]) -> None:
    """Pin the values in the job's record and in the tree's .agent-env, which git ignores; both are the owner's to read."""
    _replace(ports.records.job(job.id) / "environment.json", json.dumps(values, indent=2, sort_keys=True))
    told = {name: value for name, value in values.items() if name != INHERIT}
    lines = "".join(f"{name}={shlex.quote(value)}\n" for name, value in sorted(told.items()))
    room = ports.workspaces.room(place)
    _replace(room.written / ENV_FILE, lines, mode=0o644)


def _replace(path: Path, text: str, mode: int = 0o600) -> None:
    """Write a file whole or not at all, and never through a link that an agent left there."""
    fresh = path.with_name(f"{path.name}.{os.urandom(6).hex()}")
    if path.is_dir() and not path.is_symlink():
        path.rename(path.with_name(f"{path.name}.moved-{os.urandom(6).hex()}"))  # an agent's, which loses nothing
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
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


def _give_up(ports: Ports, job: Job, view: View, why: str) -> None:
    """Abandon the job; a tree that was made stays on its record, so that clean takes it away with all that hangs on it."""
    data: dict[str, Any] = {"reason": f"not isolated: {why}"}
    made = ports.records.job(job.id) / "made"
    if made.is_file():
        card = with_defaults(from_json(job.card), view.policy)
        data |= {
            "workspace": made.read_text(encoding="utf-8"),
            "level": _level(ports, job, card),
            "database": _database_value(card, view),
        }
    ports.store.record(NewEvent(subject=job.id, step="isolate-failed", kind="job.abandoned", data=data))
    ports.blocks.release(job.id)
