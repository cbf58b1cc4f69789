"""The trains as values for a screen or a script: who is tested with whom, why each waits, flakes, landings; reads only."""

from __future__ import annotations

from typing import Any

from interlock.app.base import last_view
from interlock.app.lost_landings import rewound, told
from interlock.app.members import depends_on
from interlock.core.contract.policy import Train
from interlock.core.gate.looks import to_look_at
from interlock.core.merge.train import Member, TrainState
from interlock.core.merge.waits import Stall, reasons, stall
from interlock.core.problems import InterlockError
from interlock.ports.bundle import Ports


def policy_of(ports: Ports) -> Train | None:
    """How the train works, by the last fetched policy; None where that cannot be read now."""
    try:
        return last_view(ports).policy.train
    except InterlockError:
        return None


def stalled(ports: Ports, trains: tuple[TrainState, ...] | None = None) -> Stall | None:
    """What waits although nothing was started for too long."""
    policy = policy_of(ports)
    if policy is None:
        return None
    jobs = ports.store.jobs()
    known = ports.store.trains() if trains is None else trains
    return stall(jobs, known, depends_on(jobs), policy, ports.clock.now())


def stall_text(found: Stall) -> str:
    """A stall in one sentence for each change."""
    told = " ".join(f"{slug}: {why}." for slug, why in found.why.items())
    return f"Nothing was started for {round(found.seconds)} s. {told}"


def whys(ports: Ports) -> dict[str, str]:
    """Why each ready job waits, by its id."""
    jobs = ports.store.jobs()
    policy = policy_of(ports) or Train()
    return reasons(jobs, ports.store.open_trains(), depends_on(jobs), policy.slots)


def trains_json(ports: Ports) -> dict[str, Any]:
    """The shape of ``train show --json``: the first open train, every open one, and what has landed."""
    trains = ports.store.trains()
    open_ones = [train for train in trains if train.open]
    first = next(iter(open_ones), None)
    why = whys(ports)
    policy = policy_of(ports) or Train()
    return {
        "number": first.number if first else None,
        "phase": first.phase if first else None,
        "members": [_member(ports, train, member, why) for train in open_ones for member in train.members],
        "waits_for": list(first.unsigned) if first and first.phase == "tested" else [],
        "runs": sum(train.runs for train in trains),
        "slots": policy.slots,
        "trains": [_train(train, policy) for train in open_ones],
        "waiting": [{"slug": job.slug, "why": why[job.id]} for job in ports.store.jobs() if job.id in why],
        "rewound": [{"slug": row.slug, "commit": row.commit, "what": told(row)} for row in rewound(ports)],
        "flakes": [_flake(ports, train, flake) for train in trains for flake in train.flakes],
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


def look_at(ports: Ports, member: Member) -> tuple[str, ...]:
    """What of a change its owner should look at before signing, as its last verification told."""
    rows = ports.store.evidence(member.job, commit=member.head)
    return to_look_at(rows[-1][1]) if rows else ()


def _member(ports: Ports, train: TrainState, member: Member, why: dict[str, str]) -> dict[str, Any]:
    return {
        "slug": member.slug,
        "state": train.phase,
        "tested_with": _beside(train, member),
        "owner": member.owner,
        "train": train.number,
        "solo": member.solo,
        "why": why.get(member.job, ""),
        "look_at": list(look_at(ports, member)),
    }


def _beside(train: TrainState, member: Member) -> list[str]:
    """Whom it is tested with: in its sealed candidate, its present run, its last one, or all that it may be."""
    slugs = {each.job: each.slug for each in train.members}
    if train.phase != "testing":
        together = tuple(each.job for each in train.landing)
    else:
        runs = [*(each.members for each in train.running), *(run.members for run in reversed(train.ran))]
        together = next((jobs for jobs in runs if member.job in jobs), tuple(slugs))
    return [slugs[job] for job in together if job != member.job and job in slugs]


def _train(train: TrainState, policy: Train) -> dict[str, Any]:
    slugs = {member.job: member.slug for member in train.members}
    return {
        "number": train.number,
        "phase": train.phase,
        "base": train.base,
        "window": train.window or policy.window,
        "waits_for": list(train.unsigned) if train.phase == "tested" else [],
        "running": [[slugs.get(job, job) for job in each.members] for each in train.running],
        "ran": [
            {
                "members": [slugs.get(job, job) for job in run.members],
                "green": run.green,
                "seconds": run.seconds,
                "failed": list(run.failed),
            }
            for run in train.ran
        ],
    }


def _flake(ports: Ports, train: TrainState, flake: Any) -> dict[str, Any]:
    return {
        "train": train.number,
        "members": [ports.store.job(job).slug for job in flake["members"]],
        "tests": list(flake["tests"]),
        "tree": flake["tree"],
        "evidence": flake["evidence"],
        "at": flake["at"],
    }
