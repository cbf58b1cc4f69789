"""What goes on, as values for a screen or a script: jobs, what waits for a person, the train; reads only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from interlock.app.asking import kind_of, options_of, permission_options, sign_off_command
from interlock.app.base import last_view
from interlock.app.card_paths import FOLDER, slug_of
from interlock.app.clones import is_elsewhere, kept_there
from interlock.app.lost_landings import question, rewound
from interlock.app.raise_to import detail_of
from interlock.app.running_services import ended
from interlock.app.train_show import look_at, stall_text, stalled, whys
from interlock.core.agent.seen import Asked
from interlock.core.job.lifecycle import OPEN, Job, State
from interlock.core.merge.train import TrainState
from interlock.core.merge.waits import Stall
from interlock.core.problems import BrokenRules, InterlockError, Misuse, Problem
from interlock.ports.bundle import Ports
from interlock.ports.processes import Running

BROKEN: Final = "broken-rules"


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Jobs (open ones first), the open trains, and what a person is asked; ``now`` is when, ``permissions`` by job.

    ``details`` are by job what its options are told from, where that is more than it waits with; ``whys`` says of each ready job what it
    waits for, ``stall`` that nothing was started for too long, ``rewound`` what landed and is no longer on the default branch,
    ``broken`` why the rules there cannot be read, ``looks`` by train what its owners should look at before they sign.
    """

    jobs: tuple[Job, ...]
    trains: tuple[TrainState, ...]
    missing: frozenset[str]
    alive: frozenset[str]
    ended: Mapping[str, tuple[Running, ...]]
    permissions: Mapping[str, tuple[Asked, ...]] = field(default_factory=dict)
    details: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    whys: Mapping[str, str] = field(default_factory=dict)
    stall: Stall | None = None
    rewound: tuple[Mapping[str, Any], ...] = ()
    broken: tuple[Problem, ...] = ()
    looks: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    now: float = 0.0

    @property
    def train(self) -> TrainState | None:
        """The oldest open train."""
        return next(iter(self.trains), None)

    @property
    def asked(self) -> tuple[Mapping[str, Any], ...]:
        """The inbox: jobs that wait, agents that wait for a permission, a train that waits for sign-offs, oldest first.

        Each has its kind, owner, age in seconds, and options: labels with the command that gives that answer.
        """
        items: list[Mapping[str, Any]] = [
            _job_question(job, self.details.get(job.id))
            for job in self.jobs
            if job.state is State.WAITING and job.waiting
        ]
        items += [_permission(job, each, self.now) for job in self.jobs for each in self.permissions.get(job.id, ())]
        tested = [train for train in self.trains if train.phase == "tested"]
        for train in tested:
            looks = self.looks.get(train.number, ())
            items += [_train_question(train, looks, named=len(tested) > 1)] if train.unsigned else []
        items += self.rewound
        if self.broken:
            items.append(_broken_question(self.broken, self.now))
        if self.stall is not None:
            items.append(_stall_question(self.stall))
        aged = ({**item, "age": round(max(0.0, self.now - item["since"]), 1)} for item in items)
        return tuple(sorted(aged, key=lambda item: item["since"]))

    def as_json(self) -> dict[str, Any]:
        return {
            "jobs": [self._job(job) for job in self.jobs],
            "needs_a_person": list(self.asked),
            "train": [
                member.as_json() | {"state": train.phase, "train": train.number}
                for train in self.trains
                for member in train.members
            ],
            "stalled": {"seconds": round(self.stall.seconds, 1), "why": dict(self.stall.why)} if self.stall else None,
        }

    def _job(self, job: Job) -> dict[str, Any]:
        return {
            "slug": job.slug,
            "job": job.id,
            "class": job.class_name,
            "state": job.state,
            "attempt": job.attempt,
            "waits_for": job.waiting.rule if job.waiting else self._waits_for(job),
            "why": self.whys.get(job.id, ""),
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
    asked = {job.id: asks for job in ordered if job.id in alive and (asks := permissions(ports, job))}
    trains = ports.store.trains()
    return Status(
        jobs=ordered,
        trains=tuple(train for train in trains if train.open),
        missing=missing,
        alive=alive,
        ended=dead,
        permissions=asked,
        details={job.id: detail_of(ports, job) for job in ordered if job.state is State.WAITING},
        whys=whys(ports)
        | {job.id: kept_there(job) for job in ordered if job.state in OPEN and is_elsewhere(ports, job)},
        stall=stalled(ports, trains),
        rewound=tuple(question(row, ports.store.job(row.job).owner) for row in rewound(ports)),
        broken=_broken(ports),
        looks={
            train.number: tuple(f"{each.slug}: {note}" for each in train.landing for note in look_at(ports, each))
            for train in trains
            if train.open and train.phase == "tested"
        },
        now=ports.clock.now(),
    )


def has_cards(ports: Ports) -> bool:
    """Whether there is a card that no job was made of: by the last fetch, or before the first one in the folder at hand."""
    paths: Iterable[str] = ()
    try:
        paths = ports.repo.files(ports.repo.last_base().oid)
    except InterlockError:
        with suppress(Misuse):  # a bare repository has no folder at hand
            paths = [f"{FOLDER}/{path.name}" for path in (ports.repo.at_hand / FOLDER).glob("*")]
    slugs = {slug for path in paths if (slug := slug_of(path)) is not None}
    return bool(slugs.difference(job.slug for job in ports.store.jobs(open_only=False)))


def permissions(ports: Ports, job: Job) -> tuple[Asked, ...]:
    """What the running agent of a job waits for; the stream of one that cannot ask is not looked at."""
    begun = ports.store.event(job.id, job.attempt, "start")
    if begun is None or not begun.data.get("approvals"):
        return ()
    return ports.agents.watch(str(begun.data["agent"]), ports.records.attempt(job.id, job.attempt)).asked


def _job_question(job: Job, known: Mapping[str, Any] | None) -> dict[str, Any]:
    waiting = job.waiting
    rule, detail = (waiting.rule, known or waiting.detail) if waiting else ("", {})
    return {
        "kind": kind_of(rule, detail),
        "slug": job.slug,
        "job": job.id,
        "rule": rule,
        "what": waiting.what if waiting else "",
        "ask": waiting.ask if waiting else "",
        "owner": str(detail.get("owner") or job.owner),
        "since": job.since,
        "tail": str(detail.get("tail") or ""),
        "options": [each.as_json() for each in options_of(job.slug, rule, detail)],
    }


def _permission(job: Job, asked: Asked, now: float) -> dict[str, Any]:
    """What an agent asks; when it did is its own word, and believed between the start of its attempt and now."""
    since = min(max(asked.at or 0.0, job.since), now)
    return {
        "kind": "permission",
        "slug": job.slug,
        "job": job.id,
        "rule": "permission",
        "what": f"The agent waits for a permission: {asked.what}",
        "ask": f"Permit or refuse it; the agent goes on where it is. interlock logs {job.slug} tells what it did so far.",
        "owner": job.owner,
        "since": since,
        "tail": asked.change,
        "request": asked.id,
        "options": [each.as_json() for each in permission_options(job.slug, asked)],
    }


def _train_question(train: TrainState, looks: tuple[str, ...], *, named: bool) -> dict[str, Any]:
    """What the owners of a tested train are asked; ``named``: there are several, so the number is needed."""
    slugs = ", ".join(member.slug for member in train.landing)
    look = " What no rule refuses and is worth a look stands below." if looks else ""
    number = train.number if named else None
    return {
        "kind": "sign-off",
        "slug": f"train {train.number}",
        "job": None,
        "rule": "sign-off",
        "what": f"The combined result of {slugs} is green.{look}",
        "ask": f"Signed by {', '.join(train.unsigned)}, it may land.",
        "owner": ", ".join(train.unsigned),
        "since": train.since,
        "tail": "\n".join(looks),
        "options": [
            {"label": f"sign the combined result off as {owner}", "command": sign_off_command(owner, number)}
            for owner in train.unsigned
        ],
    }


def _broken(ports: Ports) -> tuple[Problem, ...]:
    """Why the rules of the default branch, as last fetched, cannot be read; nothing where they can, or where there is none."""
    try:
        last_view(ports)
    except BrokenRules as fault:
        return fault.problems
    except InterlockError:
        return ()
    return ()


def _broken_question(problems: tuple[Problem, ...], now: float) -> dict[str, Any]:
    told = " ".join(f"{each.where}: {each.what} {each.fix}" for each in problems)
    return {
        "kind": "stop",
        "slug": "the default branch",
        "job": None,
        "rule": BROKEN,
        "what": f"Nothing is started, checked or landed, since its rules cannot be read. {told}",
        "ask": "Mend it on the default branch; interlock run then goes on where it was, and nobody has to be resumed.",
        "owner": "",
        "since": now,
        "tail": "",
        "problems": [each.as_json() for each in problems],
        "options": [{"label": "go on once it is mended", "command": "interlock run"}],
    }


def _stall_question(found: Stall) -> dict[str, Any]:
    return {
        "kind": "stop",
        "slug": "train",
        "job": None,
        "rule": "stalled",
        "what": stall_text(found),
        "ask": "See what each waits for; interlock run does what is due.",
        "owner": "",
        "since": found.since,
        "tail": "",
        "options": [{"label": "do what is due", "command": "interlock run"}],
    }
