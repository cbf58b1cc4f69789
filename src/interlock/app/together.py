"""The checks of several jobs and the full suite on one combined tree; building the tree and blaming are others' work."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from interlock.app.base import View
from interlock.app.cardjson import from_json
from interlock.app.database import connected, database_branch, database_gone, database_of, password_of
from interlock.app.isolate import INHERIT
from interlock.app.rooms import Furnished, hosts_of, present
from interlock.app.suite import Bench, distinct, known_green, run_suite
from interlock.app.verify import checks_of
from interlock.core.contract.card import Check, Level
from interlock.core.job.evidence import Verdict
from interlock.core.merge.train import TrainState
from interlock.ports import Merged, Ports, Room


def check_together(
    ports: Ports, view: View, train: TrainState, merged: Merged, jobs: Sequence[str], *, base: str | None = None
) -> tuple[tuple[Verdict, ...], int]:
    """Verdicts of the jobs' checks and the full suite on a tree, and how many of them were really run.

    Compared with the same checks on ``base`` (default: the default branch), so that tests that are gone are named.
    """
    checks = _checks(ports, view, jobs)
    with _surroundings(ports, view, train, jobs) as furnish:
        head, before = _benches(ports, view, train, merged, base or view.base.oid, furnish)
        verdicts = run_suite(ports, checks, head, before)
    return verdicts, sum(1 for verdict in verdicts if not verdict.run.cached)


def green_alone(ports: Ports, view: View, train: TrainState, jobs: Sequence[str]) -> tuple[str, ...]:
    """Those of the jobs that are known to pass all of it on their own tree, which stands on the present base."""
    found = []
    for job in map(ports.store.job, jobs):
        own = Merged(commit=job.head or "", tree=job.tree or "", diff="")
        head, _ = _benches(ports, view, train, own, view.base.oid, _bare)
        if job.base == view.base.oid and known_green(ports, _checks(ports, view, [job.id]), head):
            found.append(job.id)
    return tuple(found)


def train_level(ports: Ports, view: View) -> Level:
    """The level at which the train's checks run: what the policy demands, else the best that works here."""
    return ports.workspaces.level_for(view.policy.isolation)


def _benches(
    ports: Ports, view: View, train: TrainState, merged: Merged, below: str, furnish: Callable[[Room], Furnished]
) -> tuple[Bench, Bench]:
    """Where the suite runs on the combined tree, and where on what it is compared with."""
    head = Bench(
        commit=merged.commit,
        tree=merged.tree,
        level=train_level(ports, view),
        logs=ports.records.job(f"train-{train.number}"),
        furnish=furnish,
    )
    return head, replace(head, commit=below, tree=ports.repo.tree_of(below), compared=True)


def _bare(room: Room) -> Furnished:
    return Furnished(room, {}, ())


@contextmanager
def _surroundings(
    ports: Ports, view: View, train: TrainState, jobs: Sequence[str]
) -> Iterator[Callable[[Room], Furnished]]:
    """What the suite may have: ports, the hosts of its members' cards, and a fresh database for each tree."""
    cards = [from_json(ports.store.job(job).card) for job in jobs]
    _, numbers = ports.blocks.claim("train", dict(view.policy.ports))
    common = {"INTERLOCK_TRAIN": str(train.number), INHERIT: " ".join(view.policy.environment)}
    hosts = tuple(dict.fromkeys(host for card in cards for host in hosts_of(card, view.policy, ())))
    name = f"train-{train.number}"
    database = next((found for card in cards if (found := database_of(card, view.policy))), None)
    made: list[str] = []

    def furnish(room: Room) -> Furnished:
        seen = dict(view.policy.ports) if room.sandbox else numbers
        values = {key: str(number) for key, number in seen.items()} | common
        if room.sandbox is not None:
            tools = (*room.sandbox.tools, *present(view.policy.sandbox.tools))
            record = str(ports.records.job(name))
            room = replace(room, sandbox=replace(room.sandbox, hosts=hosts, record=record, tools=tools))
        if database is None:
            return Furnished(room, values, ())
        made.append(f"{name}-{len(made) + 1}")
        branch = database_branch(ports, database, view.base.oid, train_level(ports, view), made[-1], name)
        room, named = connected(ports, name, room, branch)
        return Furnished(room, values | named, password_of(branch.url))

    try:
        yield furnish
    finally:
        for task in made:
            if database is not None:
                database_gone(ports, database, view.base.oid, train_level(ports, view), task, name)


def _checks(ports: Ports, view: View, jobs: Sequence[str]) -> tuple[Check, ...]:
    own = [check for job in jobs for check in checks_of(from_json(ports.store.job(job).card), view)]
    return distinct((*own, *view.policy.train.checks))
