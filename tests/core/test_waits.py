"""Why each ready change waits, in words, and when nothing was started for too long."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.core.lives import event, job_in

from interlock.core.contract.card import Check
from interlock.core.contract.policy import Train
from interlock.core.job.lifecycle import Job, State, Waiting
from interlock.core.merge.train import Member, TrainState, fold_train
from interlock.core.merge.waits import limit_of, reasons, stall


def opened(*jobs: Job, owner: str | None = None) -> TrainState:
    members = [Member(job=job.id, slug=job.slug, head="h", owner=owner).as_json() for job in jobs]
    return fold_train([event("train:1", "train.opened", base="b1", members=members)])


def waits(job: Job, rule: str) -> Job:
    return replace(job, state=State.WAITING, waiting=Waiting(rule=rule, what="It.", ask="Look."))


A, B = job_in(State.READY, "a"), job_in(State.READY, "b")
NEEDS: dict[str, tuple[str, ...]] = {"b": ("a",)}


@pytest.mark.parametrize(
    ("a", "trains", "why"),
    [
        (waits(A, "red-alone"), (), "blocked by failing a (red-alone)"),
        (waits(A, "agent-stopped"), (), "blocked by a (agent-stopped)"),
        (A, (), "waits for a to land"),
        (waits(A, "landed-otherwise"), (), "stopped by what landed otherwise than tested: a (a person decides)"),
    ],
)
def test_a_change_that_stands_on_another_says_what_that_one_does(a: Job, trains: Any, why: str) -> None:
    assert why == reasons([a, B], trains, NEEDS, 1)[B.id]


def test_a_change_in_a_train_says_what_the_train_does() -> None:
    train = opened(A, B, owner="@ana")
    both = (A.id, B.id)
    told = [
        (train, "is in train 1, which is to be tested"),
        (replace(train, running=(_running(*both),)), "is in test with b"),
        (replace(train, running=(_running(A.id),)), "is in test by itself"),
        (replace(train, running=(_running(B.id),)), "waits for a slot"),
        (replace(train, phase="signed"), "train 1 is green and lands"),
        (replace(train, phase="tested", diff="d"), "waits for the sign-off of @ana"),
    ]
    assert [why for _, why in told] == [reasons([A, B], [state], {}, 1)[A.id] for state, _ in told]


def _running(*jobs: str) -> Any:
    from interlock.core.merge.train import Running

    return Running(members=jobs, base="b1", at=0.0)


def test_held_and_without_a_train() -> None:
    held = replace(A, held="later (ana)")
    found = reasons([held, B], [], {}, 1)
    assert found == {A.id: "held: later (ana)", B.id: "waits for the next train: interlock run opens it"}
    assert reasons([A, B], [opened(A)], {}, 1)[B.id] == "waits for a slot: train 1 is testing"


def test_too_long_is_twice_what_nearly_every_run_took_and_at_least_what_the_policy_says() -> None:
    policy = Train(stalled=300.0)
    assert limit_of([opened(A)], policy) == 300.0
    times = (*(10.0 for _ in range(90)), *(400.0 for _ in range(10)))
    assert limit_of([replace(opened(A), times=times)], policy) == 800.0


def test_nothing_started_for_too_long_is_told_only_while_something_waits() -> None:
    train = opened(A)
    policy = Train(stalled=300.0, checks=(Check(run="make", timeout=1000.0),))
    start = max(A.since, train.last)
    assert stall([A], [train], {}, policy, start + 300.0) is None
    found = stall([A], [train], {}, policy, start + 301.0)
    assert found is not None
    assert (found.seconds, found.limit, list(found.why)) == (301.0, 300.0, ["a"])
    assert stall([replace(A, held="later")], [train], {}, policy, start + 301.0) is None
    assert stall([], [train], {}, policy, start + 301.0) is None
    first = replace(train, running=(_running(A.id),))
    assert stall([A], [first], {}, policy, start + 301.0) is None, "The first run may take what its checks may take."
    assert stall([A], [first], {}, policy, start + 1001.0) is not None
