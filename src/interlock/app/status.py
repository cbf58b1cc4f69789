"""What goes on, as values for a screen or a script: jobs, what waits for a person, the train; reads only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interlock.app.beside import ended
from interlock.core.job.lifecycle import OPEN, Job, State
from interlock.core.merge.train import TrainState
from interlock.ports import Ports, Running


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Jobs (open ones first), the open train, and what a person is asked."""

    jobs: tuple[Job, ...]
    train: TrainState | None
    missing: frozenset[str]
    alive: frozenset[str]
    ended: Mapping[str, tuple[Running, ...]]

    @property
    def asked(self) -> tuple[Mapping[str, Any], ...]:
        """The inbox: jobs that wait, and a train that waits for sign-offs, oldest first."""
        items = [_job_question(job) for job in self.jobs if job.state is State.WAITING and job.waiting]
        if self.train and self.train.phase == "tested":
            items.append(_train_question(self.train))
        return tuple(sorted(items, key=lambda item: item["since"]))

    def as_json(self) -> dict[str, Any]:
        return {
            "jobs": [self._job(job) for job in self.jobs],
            "needs_a_person": list(self.asked),
            "train": [member.as_json() | {"state": self.train.phase} for member in self.train.members]
            if self.train
            else [],
        }

    def _job(self, job: Job) -> dict[str, Any]:
        return {
            "slug": job.slug,
            "job": job.id,
            "class": job.class_name,
            "state": job.state,
            "attempt": job.attempt,
            "waits_for": job.waiting.rule if job.waiting else self._waits_for(job),
            "since": job.since,
            "workspace": job.workspace,
            "workspace_missing": job.id in self.missing,
            "agent_alive": job.id in self.alive,
            "branch": job.branch,
            "head": job.head,
            "landed_commit": job.landed_commit,
            "held": job.held,
            "level": job.level,
            "services_ended": [{"name": each.name, "why": each.why} for each in self.ended.get(job.id, ())],
        }

    def _waits_for(self, job: Job) -> str | None:
        if job.state is State.READY:
            return f"held: {job.held}" if job.held else "train"
        return None


def status(ports: Ports, *, everything: bool = False) -> Status:
    """The present state; with everything, closed jobs too."""
    jobs = ports.store.jobs(open_only=not everything)
    ordered = tuple(sorted(jobs, key=lambda job: (job.state not in OPEN, job.admitted_at)))
    missing = frozenset(
        job.id for job in ordered if job.workspace and not Path(job.workspace).exists() and job.state in OPEN
    )
    alive = frozenset(
        job.id
        for job in ordered
        if job.state is State.RUNNING and ports.runs.alive(ports.records.attempt(job.id, job.attempt))
    )
    dead = {job.id: found for job in ordered if job.state in OPEN and (found := ended(ports, job))}
    return Status(jobs=ordered, train=ports.store.train(), missing=missing, alive=alive, ended=dead)


def _job_question(job: Job) -> dict[str, Any]:
    waiting = job.waiting
    return {
        "slug": job.slug,
        "job": job.id,
        "rule": waiting.rule if waiting else "",
        "what": waiting.what if waiting else "",
        "ask": waiting.ask if waiting else "",
        "owner": job.owner,
        "since": job.since,
        "tail": str((waiting.detail if waiting else {}).get("tail") or ""),
    }


def _train_question(train: TrainState) -> dict[str, Any]:
    slugs = ", ".join(member.slug for member in train.members)
    return {
        "slug": f"train {train.number}",
        "job": None,
        "rule": "sign-off",
        "what": f"The combined result of {slugs} is green.",
        "ask": f"{', '.join(train.unsigned)}: interlock sign-off",
        "owner": ", ".join(train.unsigned),
        "since": train.since,
        "tail": "",
    }


def trains_json(ports: Ports) -> dict[str, Any]:
    """The shape of ``train show --json``."""
    train = ports.store.train()
    members = train.members if train else ()
    return {
        "number": train.number if train else None,
        "phase": train.phase if train else None,
        "members": [
            {
                "slug": member.slug,
                "state": train.phase if train else "",
                "tested_with": [other.slug for other in members if other.job != member.job],
                "owner": member.owner,
            }
            for member in members
        ],
        "waits_for": list(train.unsigned) if train and train.phase == "tested" else [],
        "runs": sum(past.runs for past in ports.store.trains()),
        "landed": [
            {
                "slug": row.slug,
                "commit": row.commit,
                "tree": row.tree,
                "tested_tree": row.tested_tree,
                "train": row.train,
                "at": row.at,
            }
            for row in ports.store.landings()
        ],
    }
