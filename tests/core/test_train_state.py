"""A train as its events make it: testing, tested, signed, landed or dissolved, and whose sign-off is missing."""

from __future__ import annotations

from typing import Any

import pytest
from tests.core.lives import event

from interlock.core.job.events import Event
from interlock.core.merge.train import Member, TrainState, fold_train
from interlock.core.plan import run_id

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


# ---------------------------------------------------------------- runs, and what lands of a train
def ran(*slugs: str, green: bool = True, base: str = "b1", tree: str = "", **data: Any) -> Event:
    jobs = [f"j-{slug}" for slug in slugs]
    shape: dict[str, Any] = {
        "commit": f"c-{'-'.join(slugs)}",
        "tree": tree or "-".join(slugs),
        "diff": "d",
        "evidence": 9,
        "runs": 1,
    }
    return of("ran", members=jobs, green=green, base=base, **shape | data)


def sealed(*slugs: str) -> Event:
    return green("d", candidate=f"c-{'-'.join(slugs)}", lands=[f"j-{slug}" for slug in slugs], runs=0)


def landed(*slugs: str) -> Event:
    return of("landed", landed=[{"slug": slug, "job": f"j-{slug}"} for slug in slugs])


def test_what_is_left_of_a_train_goes_on_upon_what_landed_with_the_runs_that_stood_on_it() -> None:
    found = train(
        opened("d", "a", "b", "c"),
        ran("d"),
        ran("d", "a"),
        ran("d", "a", "b", green=False),
        ran("b", green=False),
        sealed("d", "a"),
        of("signed", "@ana", diff="d"),
    )
    assert (found.phase, [member.slug for member in found.landing]) == ("signed", ["d", "a"])
    assert found.unsigned == (), "Nobody signs for who does not land with it."
    after = train(*HISTORY)
    assert (after.phase, after.base, [member.slug for member in after.members]) == ("testing", "c-d-a", ["b", "c"])
    assert [(run.members, run.green, run.under) for run in after.ran] == [
        ((), True, ("j-d", "j-a")),
        (("j-b",), False, ("j-d", "j-a")),
    ]
    assert (after.lands, after.past) == ((), (("b1", ("j-d", "j-a")),))


HISTORY = (
    opened("d", "a", "b", "c"),
    ran("d"),
    ran("d", "a"),
    ran("d", "a", "b", green=False),
    ran("b", green=False),
    sealed("d", "a"),
    of("signed", "@ana", diff="d"),
    landed("d", "a"),
)


def test_a_run_that_began_before_others_landed_counts_only_when_it_stood_on_them() -> None:
    after = train(*HISTORY, ran("d", "a", "b", "c", base="b1"), ran("b", "c", base="b1"), ran("c", base="c-d-a"))
    assert [run.members for run in after.ran[2:]] == [("j-b", "j-c"), ("j-c",)]
    assert all(run.base == "c-d-a" for run in after.ran)
    moved = train(*HISTORY, of("rebuild", base="elsewhere"), ran("d", "a", "b", base="b1"))
    assert (moved.ran, moved.past) == ((), ())


def test_who_leaves_takes_along_each_run_that_holds_it() -> None:
    found = train(opened("a", "b"), ran("a"), ran("a", "b", green=False), of("left", jobs=["j-b"]))
    assert [run.members for run in found.ran] == [("j-a",)]


def test_who_joins_stands_at_the_end_and_once() -> None:
    late = Member(job="j-c", slug="c", head="h", owner="@ana").as_json()
    found = train(opened("a"), of("joined", members=[late]), of("joined", members=[late]))
    assert [member.slug for member in found.members] == ["a", "c"]


def test_a_run_that_began_is_under_way_until_it_ended() -> None:
    begun = of("runs", members=["j-a"], base="b1")
    assert [run.members for run in train(opened("a"), begun, begun).running] == [("j-a",)]
    assert train(opened("a"), begun, ran("a", seconds=3.0)).running == ()
    assert train(opened("a"), begun, ran("a", seconds=3.0)).times == (3.0,)
    clash = of("clash", members=["j-a"], tried=["j-a"], paths=["x"], base="b1")
    assert train(opened("a"), begun, clash).running == ()
    assert train(opened("a"), begun, clash).clashes == ((("j-a",), ("x",)),)


def test_red_and_green_on_the_same_tree_is_a_flake_and_told_once() -> None:
    found = train(
        opened("d"),
        ran("d", green=False, failed=["t"]),
        ran("d", flaky=["t"]),
        green("d", lands=["j-d"], flaked=[["j-d"]]),
    )
    assert [(flake["members"], flake["tests"]) for flake in found.flakes] == [(["j-d"], ["t"])]


def test_a_sign_off_that_is_taken_back_is_asked_again() -> None:
    found = train(opened("a"), green(), of("signed", "@ana", diff="d1"))
    assert (found.phase, found.waited) == ("signed", True)
    assert train(opened("a"), green(), of("signed", "@ana", diff="d1"), of("unsigned", "@ana")).unsigned == ("@ana",)


# ---------------------------------------------------------------- runs that are cancelled, and flakes that are counted
def test_a_cancelled_run_says_nothing_and_the_next_one_of_its_set_is_another_one() -> None:
    begun = of("runs", base="b1", members=["j-a"])
    found = train(
        opened("a", "b"), begun, of("cancelled", base="b1", members=["j-a"], why="another run needs its slot")
    )
    assert (found.running, found.ran, found.times) == ((), (), ())
    assert (found.tried(("j-a",)), found.tried(("j-b",))) == (1, 0)
    moved = train(opened("a"), begun, of("cancelled", base="b1", members=["j-a"]), of("rebuild", base="b2"))
    assert moved.tried(("j-a",)) == 0


def test_a_train_goes_on_counting_flakes_where_the_one_before_it_stopped() -> None:
    shape: dict[str, Any] = {"base": "b1", "members": [], "earlier": [60, 3]}
    assert fold_train([of("opened", **shape)]).seen == (60, 3)
    assert fold_train([of("opened", **shape | {"earlier": [1200, 30]})]).seen == (600, 15)
    assert train(opened("a")).seen == (0, 0)


# ---------------------------------------------------------------- a run's name stands for one run
BEGUN = of("runs", members=["j-a", "j-b"], base="b1")
AWAY = (of("left", jobs=["j-b"]), of("joined", members=opened("b").data["members"]))
IN_VAIN = of("cancelled", members=["j-a", "j-b"], base="b1", why="one of its changes left")


@pytest.mark.parametrize(
    "between",
    [
        (BEGUN, ran("a", "b", green=False), *AWAY),
        (BEGUN, AWAY[0], ran("a", "b", green=False), AWAY[1]),
        (BEGUN, ran("a", "b", green=False), of("rebuild", base="b2"), of("rebuild", base="b1")),
        (BEGUN, of("rebuild", base="b2"), ran("a", "b", green=False), of("rebuild", base="b1")),
        (AWAY[0], IN_VAIN, AWAY[1]),
        (IN_VAIN, *AWAY),
    ],
    ids=["ran-then-away", "away-then-ran", "base-back", "base-back-late", "vain-while-away", "vain-then-away"],
)
def test_a_run_after_its_member_came_back_or_its_base_has_another_name(between: tuple[Event, ...]) -> None:
    """An engine carries a name out once, so a second run under the first one's name would never be made."""
    before, after = train(opened("a", "b")), train(opened("a", "b"), *between)
    assert [member.slug for member in after.members] == ["a", "b"]
    assert (before.base, before.phase) == (after.base, after.phase)
    assert run_id(before, ("j-a", "j-b")) != run_id(after, ("j-a", "j-b"))
    assert after.last_of(("j-a", "j-b")) is None, "Nothing that it said is believed."
