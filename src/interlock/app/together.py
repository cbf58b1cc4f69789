"""The checks of several jobs and the full suite on one combined tree; building the tree and blaming are others' work."""

from __future__ import annotations

from collections.abc import Sequence

from interlock.app.base import View
from interlock.app.cardjson import from_json
from interlock.app.isolate import INHERIT
from interlock.app.suite import Bench, distinct, run_suite
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
    logs = ports.records.job(f"train-{train.number}")
    _, numbers = ports.blocks.claim("train", dict(view.policy.ports))
    env = {name: str(number) for name, number in numbers.items()}
    env |= {"INTERLOCK_TRAIN": str(train.number), INHERIT: " ".join(view.policy.environment)}
    head = Bench(commit=merged.commit, tree=merged.tree, env=env, logs=logs)
    below = base or view.base.oid
    before = Bench(commit=below, tree=ports.repo.tree_of(below), env=env, logs=logs)
    verdicts = run_suite(ports, _checks(ports, view, jobs), head, before)
    return verdicts, sum(1 for verdict in verdicts if not verdict.run.cached)


def _checks(ports: Ports, view: View, jobs: Sequence[str]) -> tuple[Check, ...]:
    own = [check for job in jobs for check in checks_of(from_json(ports.store.job(job).card), view)]
    return distinct((*own, *view.policy.train.checks))
