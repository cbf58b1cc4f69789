"""The checks of several jobs and the full suite on one combined tree; building the tree and blaming are others' work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial

from interlock.app.base import View
from interlock.app.cardjson import from_json
from interlock.app.database import level_of
from interlock.app.isolate import INHERIT
from interlock.app.judging import checks_of
from interlock.app.rooms import Wanted, checking, hosts_of, surroundings
from interlock.app.suite import Bench, Doubt, distinct, known_green, run_suite
from interlock.app.weighing import moves_between
from interlock.core.contract.card import Check, Level
from interlock.core.contract.levels import strictest
from interlock.core.contract.union import in_all
from interlock.core.contract.union import together as union
from interlock.core.job.evidence import Verdict
from interlock.core.merge.train import TrainState
from interlock.ports.bundle import Ports
from interlock.ports.repository import Merged


def check_together(
    ports: Ports,
    view: View,
    train: TrainState,
    merged: Merged,
    jobs: Sequence[str],
    *,
    base: str | None = None,
    slot: int = 1,
    stop: Callable[[], str | None] | None = None,
) -> tuple[tuple[Verdict, ...], int]:
    """Verdicts of the jobs' checks and the full suite on a tree, and how many of them were really run.

    Compared with the same checks on ``base`` (default: the default branch), so that tests that are gone are named.  Each ``slot``
    has a room, a record and ports of its own.  A word from ``stop`` ends what runs, and then the verdicts say nothing.
    """
    checks = _checks(ports, view, jobs)
    head, before = _benches(ports, view, train, merged, base or view.base.oid, jobs, slot)
    head, before = replace(head, stop=stop), replace(before, stop=stop)
    moves = cache(partial(moves_between, ports, before.commit, head.commit))
    verdicts = run_suite(ports, checks, head, before, doubt=Doubt(moves=moves))
    return verdicts, sum(1 for verdict in verdicts if not verdict.run.cached)


def green_alone(ports: Ports, view: View, train: TrainState, jobs: Sequence[str]) -> tuple[str, ...]:
    """Those of the jobs that are known to pass all of it on their own tree, which stands on the present base."""
    found = []
    for job in map(ports.store.job, jobs):
        own = Merged(commit=job.head or "", tree=job.tree or "", diff="")
        head, _ = _benches(ports, view, train, own, view.base.oid, [job.id])
        if job.base == view.base.oid and known_green(ports, _checks(ports, view, [job.id]), head):
            found.append(job.id)
    return tuple(found)


def train_level(ports: Ports, view: View, jobs: Sequence[str]) -> Level:
    """The level at which a train's checks run: the strictest that a member's tree was made at, or that the policy demands.

    Raises Refused (isolation) when that one cannot be had any more.
    """
    demanded = [level_of(job) for job in ports.store.jobs_of(jobs)]
    if view.policy.isolation is not None:
        demanded.append(view.policy.isolation)
    return ports.workspaces.level_for(strictest(demanded))


def _benches(
    ports: Ports, view: View, train: TrainState, merged: Merged, below: str, jobs: Sequence[str], slot: int = 1
) -> tuple[Bench, Bench]:
    """Where the suite runs on the combined tree, and where on what it is compared with: with all that its members need."""
    level = train_level(ports, view, jobs)
    wanted = _wanted(ports, view, train, jobs, level, slot)
    head = Bench(
        commit=merged.commit,
        tree=merged.tree,
        level=level,
        logs=wanted.record,
        furnish=lambda room: checking(ports, wanted, room, view.base.oid, level),
        around=f"{surroundings(ports, wanted, view.base.oid, level)}:{view.policy_digest}",
    )
    return head, replace(head, commit=below, tree=ports.repo.tree_of(below), compared=True)


def _wanted(ports: Ports, view: View, train: TrainState, jobs: Sequence[str], level: Level, slot: int) -> Wanted:
    """The needs of all members together; a host only where each of them may reach it, since their code runs side by side."""
    members = ports.store.jobs_of(jobs)
    cards = [from_json(job.card) for job in members]
    again = f"-{slot}" if slot > 1 else ""
    _, numbers = ports.blocks.claim(f"train{again}", dict(view.policy.ports))
    seen = dict(view.policy.ports) if level == "sealed" else numbers
    values = {name: str(number) for name, number in seen.items()}
    name = f"train-{train.number}{again}"
    wanted = Wanted(
        name=name,
        needs=union(cards),
        policy=view.policy,
        approved=frozenset(approval for job in members for approval in job.approved),
        values=values | {"INTERLOCK_TRAIN": str(train.number), INHERIT: " ".join(view.policy.environment)},
        record=ports.records.job(name),
    )
    reached = in_all(
        [host.name for host in hosts_of(replace(wanted, needs=card.needs, approved=job.approved))]
        for card, job in zip(cards, members, strict=True)
    )
    return replace(wanted, needs=replace(wanted.needs, network=reached))


def _checks(ports: Ports, view: View, jobs: Sequence[str]) -> tuple[Check, ...]:
    own = [check for job in ports.store.jobs_of(jobs) for check in checks_of(from_json(job.card), view)]
    return distinct((*own, *view.policy.train.checks))
