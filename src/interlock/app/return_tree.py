"""A tree on its way back from its snapshot, with ports that are claimed again; who may ask for it is clean's."""

from __future__ import annotations

from typing import Any, Final

from interlock.app.base import last_view
from interlock.app.database import database_branch, level_of, recorded, task_of, url_for
from interlock.app.isolate import environment_of, place_of, write_environment
from interlock.core.job.events import NewEvent
from interlock.core.job.lifecycle import Job
from interlock.core.problems import InterlockError, Refused
from interlock.ports.bundle import Ports

_NOTHING_DONE: Final = frozenset({"name-taken", "unsaved"})
"""Refusals of Workspaces.restore that come before it touches anything."""


def bring_back(ports: Ports, job: Job, ref: str, actor: str, *, again: bool) -> None:
    """Ports, tree and environment of a cleaned job; ``again`` after a call that was killed.

    Ports come first: without them nothing is begun.  Where the tree is refused they are given back.
    """
    block, numbers = _claim(ports, job)
    if not again:
        _note(ports, job, "restoring", actor, {"text": "Tree is being brought back.", "restoring": ref})
    try:
        _tree(ports, job, ref, again=again)
    except InterlockError as fault:
        ports.blocks.release(job.id)
        if isinstance(fault, Refused) and fault.refusal.rule in _NOTHING_DONE and not again:
            _note(ports, job, "restore-refused", actor, {"text": f"Not brought back: {fault.message}", "cleaned": True})
        raise
    write_environment(ports, job, place_of(job), _values(ports, job, block, numbers))
    data = {"text": "Tree brought back.", "restored": ref, "block": block, "ports": numbers}
    _note(ports, job, "restore", actor, data)


def _values(ports: Ports, job: Job, block: int, numbers: dict[str, int]) -> dict[str, str]:
    """The task's values with what is new: the block, its ports where the task sees them, a fresh branch of its database."""
    values = environment_of(ports, job) | {"INTERLOCK_BLOCK": str(block)}
    sandboxed = ports.workspaces.room(place_of(job)).sandbox is not None
    if not sandboxed:
        values = {name: value for name, value in values.items() if name not in job.ports}
        values |= {name: str(number) for name, number in numbers.items()}
    database = recorded(ports, job)
    if database is None:
        return values
    branch = database_branch(ports, database, job.base, level_of(job), task_of(job), job.id)
    ports.narrate(f"{job.slug}: its database {branch.name} is a new branch; what was in the old one is in its archive.")
    return values | {"DATABASE_NAME": branch.name, "DATABASE_URL": url_for(branch, sandboxed=sandboxed)}


def _claim(ports: Ports, job: Job) -> tuple[int, dict[str, int]]:
    """The job's old block, or the lowest free one where that is taken by now.  Raises Refused (ports)."""
    families = dict(last_view(ports).policy.ports)
    why = ""
    try:
        block, numbers = ports.blocks.claim(job.id, families, wanted=job.block)
    except Refused as refused:
        block, numbers = ports.blocks.claim(job.id, families)
        why = f"{refused.refusal.what} {refused.refusal.why} "
    if numbers != dict(job.ports):
        ports.narrate(
            f"{job.slug}: {why}It has block {block} instead of block {job.block}; .agent-env names its ports."
        )
    return block, numbers


def _tree(ports: Ports, job: Job, ref: str, *, again: bool) -> None:
    place = place_of(job)
    try:
        ports.workspaces.restore(ref, place)
    except Refused as refused:
        # The killed call had brought all of it back, so what is in the way now is this tree.
        if again and refused.refusal.rule == "name-taken" and ports.workspaces.exists(place):
            return
        raise


def _note(ports: Ports, job: Job, step: str, actor: str, data: dict[str, Any]) -> None:
    rev = ports.store.job(job.id).rev
    ports.store.record(NewEvent(subject=job.id, step=f"{step}:{rev}", kind="job.note", actor=actor, data=data))
