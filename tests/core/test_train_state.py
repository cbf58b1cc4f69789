"""A train as its events make it: testing, tested, signed, landed or dissolved, and whose sign-off is missing."""

from __future__ import annotations

from typing import Any

import pytest
from tests.core.lives import event

from interlock.core.job.events import Event
from interlock.core.merge.train import Member, TrainState, fold_train

OWNERS = {"a": "@ana", "b": "@ben", "c": "@ana", "d": None}


def of(kind: str, actor: str = "interlock", **data: Any) -> Event:
    return event("train:7", f"train.{kind}", actor=actor, **data)


def opened(*slugs: str) -> Event:
    members = [Member(job=f"j-{slug}", slug=slug, head=f"h-{slug}", owner=OWNERS[slug]).as_json() for slug in slugs]
    return of("opened", base="b1", members=members)


def green(diff: str = "d1", **data: Any) -> Event:
    shape: dict[str, Any] = {"base": "b1", "candidate": "c1", "tree": "t1", "diff": diff, "evidence": 4, "runs": 2}
    return of("tested", **shape | data)


def train(*events: Event) -> TrainState:
    return fold_train(events)


def test_it_begins_with_its_members_in_their_order() -> None:
    found = train(opened("b", "a"))
    assert (found.number, found.rev, found.phase, found.base) == (7, 1, "testing", "b1")
    assert [member.slug for member in found.members] == ["b", "a"]


def test_a_green_candidate_waits_for_each_owner_once() -> None:
    found = train(opened("a", "b", "c", "d"), green())
    assert (found.phase, found.unsigned) == ("tested", ("@ana", "@ben"))
    assert (found.candidate, found.tree, found.evidence, found.runs) == ("c1", "t1", 4, 2)
    found = train(opened("a", "b"), green(), of("signed", "@ben", diff="d1"))
    assert (found.phase, found.unsigned) == ("tested", ("@ana",))
    found = train(opened("a", "b"), green(), of("signed", "@ben", diff="d1"), of("signed", "@ana", diff="d1"))
    assert (found.phase, found.unsigned) == ("signed", ())


def test_where_nobody_is_asked_a_green_train_is_signed() -> None:
    assert train(opened("d"), green()).phase == "signed"


def test_a_stranger_and_a_sign_off_of_another_difference_do_not_count() -> None:
    assert train(opened("a"), green(), of("signed", "@zoe", diff="d1")).phase == "tested"
    assert train(opened("a"), green(), of("signed", "@ana", diff="d0")).phase == "tested"


def test_a_sign_off_outlives_a_rebuild_only_while_the_merged_difference_is_the_same() -> None:
    signed = (opened("a"), green(), of("signed", "@ana", diff="d1"))
    moved = train(*signed, of("rebuild", base="b2"))
    assert (moved.phase, moved.base, moved.rebuilds) == ("testing", "b2", 1)
    assert train(*signed, of("rebuild", base="b2"), green("d1", base="b2")).phase == "signed"
    assert train(*signed, of("rebuild", base="b2"), green("d2", base="b2")).unsigned == ("@ana",)


def test_a_sign_off_before_the_test_does_not_move_it() -> None:
    assert train(opened("a"), of("signed", "@ana", diff="d1")).phase == "testing"
    assert train(opened("a"), of("signed", "@ana", diff="d1"), green("d1")).phase == "signed"


def test_who_leaves_is_gone_and_the_rest_is_tested_again() -> None:
    found = train(opened("a", "b"), of("left", jobs=["j-b"], runs=3))
    assert (found.phase, [member.slug for member in found.members], found.runs) == ("testing", ["a"], 3)
    assert train(opened("a"), green(), of("left", jobs=["j-a"])).phase == "dissolved"


def test_its_ends() -> None:
    landed = train(opened("d"), green(), of("landed", landed=[{"slug": "d"}]))
    assert (landed.phase, landed.landed) == ("landed", ({"slug": "d"},))
    assert train(opened("d"), of("dissolved")).phase == "dissolved"


@pytest.mark.parametrize("count", range(1, 5))
def test_its_revision_counts_its_events(count: int) -> None:
    history = (opened("a", "b"), green(), of("signed", "@ana", diff="d1"), of("left", jobs=["j-b"]))
    assert train(*history[:count]).rev == count
