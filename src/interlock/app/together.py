"""The checks of several jobs and the full suite on one combined tree; building the tree and blaming are others' work."""

from __future__ import annotations

from collections.abc import Sequence

from interlock.app.base import View
from interlock.app.cardjson import from_json
from interlock.app.isolate import INHERIT
from interlock.app.suite import Bench, distinct, known_green, run_suite
from interlock.app.verify import checks_of
from interlock.core.contract.card import Check
from interlock.core.job.evidence import Verdict
from interlock.core.merge.train import TrainState
from interlock.ports import Merged, Ports


def check_together(
    ports: Ports, view: View, train: TrainState, merged: Merged, jobs: Sequence[str], *, base: str | None = None
) -> tuple[tuple[Verdict, ...], int]:
    """Verdicts of the jobs' checks and the full suite on a tree, and how many of them were really run.

    Compared with the same checks on ``base`` (default: the default branch), so that tests that are gone are named.
    """
    checks = _checks(ports, view, jobs)
    head, before = _benches(ports, view, train, merged, base or view.base.oid)
    verdicts = run_suite(ports, checks, head, before)
    return verdicts, sum(1 for verdict in verdicts if not verdict.run.cached)


def green_alone(ports: Ports, view: View, train: TrainState, jobs: Sequence[str]) -> tuple[str, ...]:
    """Those of the jobs that are known to pass all of it on their own tree, which stands on the present base."""
    found = []
    for job in map(ports.store.job, jobs):
        own = Merged(commit=job.head or "", tree=job.tree or "", diff="")
        head, _ = _benches(ports, view, train, own, view.base.oid)
        if job.base == view.base.oid and known_green(ports, _checks(ports, view, [job.id]), head):
            found.append(job.id)
    return tuple(found)


def _benches(ports: Ports, view: View, train: TrainState, merged: Merged, below: str) -> tuple[Bench, Bench]:
    """Where the suite runs on the combined tree, and where on what it is compared with."""
    logs = ports.records.job(f"train-{train.number}")
    _, numbers = ports.blocks.claim("train", dict(view.policy.ports))
    env = {name: str(number) for name, number in numbers.items()}
    env |= {"INTERLOCK_TRAIN": str(train.number), INHERIT: " ".join(view.policy.environment)}
    head = Bench(commit=merged.commit, tree=merged.tree, env=env, logs=logs)
    before = Bench(commit=below, tree=ports.repo.tree_of(below), env=env, logs=logs, compared=True)
    return head, before


def _checks(ports: Ports, view: View, jobs: Sequence[str]) -> tuple[Check, ...]:
    own = [check for job in jobs for check in checks_of(from_json(ports.store.job(job).card), view)]
    return distinct((*own, *view.policy.train.checks))
