"""Admission as a pure decision: each rule with what it names, their order, foreign branches, and the cap for any input."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.core.contract.card import Card, Check
from interlock.core.contract.policy import Kind, TaskClass
from interlock.core.gate import admission
from interlock.core.gate.admission import admitted, decide, effective_cap, event_data
from interlock.core.gate.caps import Lane, show
from interlock.core.gate.request import Admitted, Holder, Lanes, Request
from interlock.core.job.events import Event
from interlock.core.job.lifecycle import admit
from interlock.core.problems import Refusal
from interlock.core.rules import RULES

KINDS: dict[str, Kind] = {"slice": "parallel", "fix": "parallel", "migration": "serial", "sweep": "alone"}


def request(slug: str = "new", class_name: str = "slice", **parts: Any) -> Request:
    own = {name: parts.pop(name) for name in ("foreign", "adopt") if name in parts}
    shape: dict[str, Any] = {
        "slug": slug,
        "class_name": class_name,
        "owned_paths": (f"{slug}/**",),
        "checks": (Check(run="true"),),
        "stop_when": ("never",),
        "integration_owner": "@ana",
    }
    return Request(
        job=f"j-{slug}",
        card=Card(**shape | parts),
        card_oid="c",
        card_json={"slug": slug},
        task_class=TaskClass(name=class_name, kind=KINDS[class_name]),
        base="b",
        actor="ana",
        **own,
    )


def holder(slug: str, class_name: str = "slice", slot: int = 1, **parts: Any) -> Holder:
    shape: dict[str, Any] = {"owned_paths": (f"{slug}/**",), "read_only_paths": (), "state": "running", "since": 1.0}
    return Holder(job=f"j-{slug}", slug=slug, class_name=class_name, kind=KINDS[class_name], slot=slot, **shape | parts)


def lanes(*holders: Holder, cap: int | None = 3, **parts: Any) -> Lanes:
    shape: dict[str, Any] = {"cap": cap, "paused_by": None, "holders": holders, "kinds": KINDS}
    return Lanes(**shape | parts)


def refused(asked: Request, seen: Lanes) -> Refusal:
    answer = decide(asked, seen)
    assert isinstance(answer, Refusal)
    assert answer.rule in RULES
    for sentence in (answer.what, answer.why, answer.would_change):
        assert sentence.endswith(".")
    return answer


def slot_of(asked: Request, seen: Lanes) -> int:
    answer = decide(asked, seen)
    assert isinstance(answer, Admitted), answer
    assert (answer.job, answer.slug, answer.class_name) == (asked.job, asked.card.slug, asked.task_class.name)
    return answer.slot


# ---------------------------------------------------------------- each rule
def test_in_flight_names_the_job_and_its_state() -> None:
    answer = refused(request("a"), lanes(holder("a", state="ready")))
    assert (answer.rule, answer.holders) == ("in-flight", ("a",))
    assert "j-a" in answer.what
    assert "ready" in answer.what


def test_what_has_landed_does_not_start_again() -> None:
    assert refused(request("a"), lanes(landed=frozenset({"a"}))).rule == "already-landed"


def test_a_class_without_a_cap() -> None:
    assert refused(request(), lanes(cap=None)).rule == "no-cap"


def test_a_cap_of_nothing_refuses_and_says_what_would_change_it() -> None:
    answer = refused(request(), lanes(cap=0))
    assert (answer.rule, answer.number, answer.holders) == ("cap", 0, ())
    assert "raised" in answer.would_change


def test_a_paused_class_names_who_paused_it() -> None:
    answer = refused(request(), lanes(paused_by="ben"))
    assert (answer.rule, answer.holders) == ("paused", ("ben",))


def test_dependencies_are_named_each_with_how_it_stands() -> None:
    asked = request(depends_on=("done", "runs", "given-up", "later"))
    seen = lanes(
        holder("runs", state="waiting", slot=1), landed=frozenset({"done"}), abandoned=frozenset({"given-up"}), cap=9
    )
    answer = refused(asked, seen)
    assert (answer.rule, answer.number) == ("depends-on", 3)
    assert answer.holders == ("runs", "given-up", "later")
    texts = dict(zip(answer.holders, (problem.what for problem in answer.problems), strict=True))
    assert "waiting" in texts["runs"]
    assert "abandoned" in texts["given-up"]
    assert "not been dispatched" in texts["later"]
    assert "Decide" in answer.would_change


def test_an_alone_class_needs_nothing_in_flight() -> None:
    answer = refused(request(class_name="sweep"), lanes(holder("a"), cap=1))
    assert (answer.rule, answer.number, answer.holders) == ("alone", 1, ("a",))
    foreign = refused(request(class_name="sweep", foreign=(("agent/x", None),)), lanes(cap=1))
    assert foreign.holders == ("agent/x",)
    assert slot_of(request(class_name="sweep"), lanes(cap=1)) == 1


def test_while_an_alone_job_is_in_flight_nothing_starts() -> None:
    answer = refused(request(), lanes(holder("big", "sweep")))
    assert (answer.rule, answer.holders) == ("alone", ("big",))
    foreign = refused(request(foreign=(("agent/big", "sweep"),)), lanes())
    assert (foreign.rule, foreign.holders) == ("alone", ("agent/big",))


@pytest.mark.parametrize("class_name", ["migration", "sweep"])
def test_serial_and_alone_classes_have_one_slot_whatever_the_cap(class_name: str) -> None:
    answer = refused(request(class_name=class_name), lanes(holder("a", class_name), cap=7))
    assert answer.number == 1
    assert effective_cap(7, "serial") == effective_cap(7, "alone") == 1
    assert effective_cap(0, "serial") == 0
    assert effective_cap(None, "alone") is None


def test_the_newest_kind_outweighs_the_askers() -> None:
    seen = lanes(holder("a", "fix"), kinds={**KINDS, "fix": "serial"})
    assert refused(request(class_name="fix"), seen).number == 1


def test_the_cap_names_its_number_and_holders() -> None:
    answer = refused(request(), lanes(holder("a"), holder("b", slot=2), holder("m", "migration"), cap=2))
    assert (answer.rule, answer.number, answer.holders) == ("cap", 2, ("a", "b"))


def test_a_lowered_cap_refuses_until_enough_have_landed() -> None:
    assert refused(request(), lanes(holder("a"), holder("b", slot=2), holder("c", slot=3), cap=1)).rule == "cap"
    assert slot_of(request(), lanes(holder("c", slot=3), cap=2)) == 1


def test_the_ceiling_names_its_number_and_all_holders() -> None:
    seen = lanes(holder("a"), holder("b", "fix"), ceiling=2)
    answer = refused(request(), seen)
    assert (answer.rule, answer.number, answer.holders) == ("ceiling", 2, ("a", "b"))
    assert slot_of(request(), lanes(holder("a"), holder("b", "fix"), ceiling=3)) == 2


@pytest.mark.parametrize(
    ("ours", "theirs", "kind", "path"),
    [
        ({"owned_paths": ("src/**",)}, {"owned_paths": ("src/a/x.py",)}, "write-write", "src/a/x.py"),
        ({"owned_paths": ("src/a/*.py",)}, {"owned_paths": ("src/*/x.py",)}, "write-write", "src/a/x.py"),
        ({"owned_paths": ("api.yaml",)}, {"owned_paths": (), "read_only_paths": ("*.yaml",)}, "write-read", "api.yaml"),
        (
            {"owned_paths": ("q",), "read_only_paths": ("api.yaml",)},
            {"owned_paths": ("api.yaml",)},
            "write-read",
            "api.yaml",
        ),
    ],
)
def test_overlap_both_ways_with_kind_path_and_slug(
    ours: dict[str, Any], theirs: dict[str, Any], kind: str, path: str
) -> None:
    answer = refused(request(**ours), lanes(holder("a", **theirs)))
    assert (answer.rule, answer.holders) == ("overlap", ("a",))
    assert kind in answer.what
    assert path in answer.what
    assert "a" in answer.what


def test_what_both_only_read_and_what_a_card_prohibits_is_no_overlap() -> None:
    reads: dict[str, Any] = {"owned_paths": ("new/**",), "read_only_paths": ("api.yaml",)}
    slot_of(request(**reads), lanes(holder("a", owned_paths=("a/**",), read_only_paths=("api.yaml",))))
    shut: dict[str, Any] = {"owned_paths": ("src/**",), "prohibited_paths": ("src/a/**",)}
    slot_of(request(**shut), lanes(holder("a", owned_paths=("src/a/**",))))
    slot_of(request(owned_paths=("src/a/**",)), lanes(holder("a", **shut)))


def test_every_overlap_is_listed_and_each_slug_once() -> None:
    seen = lanes(holder("a", owned_paths=("src/a",)), holder("b", slot=2, owned_paths=("src/b", "src/c")))
    answer = refused(request(owned_paths=("src/**",)), seen)
    assert answer.holders == ("a", "b")
    assert answer.number == len(answer.problems) == 3


def test_the_rules_are_asked_in_their_order() -> None:
    """A request that breaks every rule meets them one after the other as each is mended."""
    everything = lanes(
        holder("new", owned_paths=("x",)),
        holder("big", "sweep"),
        cap=None,
        paused_by="ben",
        landed=frozenset({"new"}),
        ceiling=0,
    )
    asked = request(depends_on=("big",), owned_paths=("big/a",))
    mends: list[tuple[str, dict[str, Any]]] = [
        ("in-flight", {"holders": everything.holders[1:]}),
        ("already-landed", {"landed": frozenset()}),
        ("no-cap", {"cap": 0}),
        ("paused", {"paused_by": None}),
        ("depends-on", {"landed": frozenset({"big"})}),
        ("alone", {"holders": (holder("big", "fix"),)}),
        ("cap", {"cap": 1}),
        ("ceiling", {"ceiling": None}),
        ("overlap", {"holders": ()}),
    ]
    assert len(mends) == len(admission.RULES)
    parts: dict[str, Any] = {
        name: getattr(everything, name)
        for name in ("holders", "cap", "paused_by", "landed", "abandoned", "ceiling", "kinds")
    }
    for rule, mend in mends:
        assert refused(asked, Lanes(**parts)).rule == rule
        parts |= mend
    assert slot_of(asked, Lanes(**parts)) == 1


# ---------------------------------------------------------------- branches of other means
def test_foreign_branches_count_against_the_ceiling_and_their_class() -> None:
    foreign = (("agent/x", "slice"), ("agent/y", None))
    assert refused(request(foreign=foreign), lanes(ceiling=2)).holders == ("agent/x", "agent/y")
    assert refused(request(foreign=foreign), lanes(cap=1)).holders == ("agent/x",)
    assert slot_of(request(foreign=foreign), lanes(cap=2, ceiling=3)) == 1
    assert slot_of(request(class_name="fix", foreign=foreign), lanes(cap=1)) == 1


def test_a_request_that_adopts_a_branch_does_not_count_it() -> None:
    foreign = (("agent/new", "slice"), ("agent/y", None))
    asked = request(foreign=foreign, adopt="agent/new")
    assert slot_of(asked, lanes(cap=1, ceiling=2)) == 1
    assert refused(asked, lanes(cap=1, ceiling=1)).holders == ("agent/y",)
    alone = request(class_name="sweep", foreign=foreign[:1], adopt="agent/new")
    assert slot_of(alone, lanes(cap=1)) == 1


def test_a_branch_of_a_holder_is_counted_once() -> None:
    asked = request(foreign=(("agent/a", "slice"),))
    assert slot_of(asked, lanes(holder("a"), cap=2, ceiling=2)) == 2


# ---------------------------------------------------------------- for any input
class_names = st.sampled_from(sorted(KINDS))


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Request, Lanes]:
    numbers = draw(st.lists(st.tuples(class_names, st.integers(1, 6)), unique=True, max_size=8))
    held = [holder(f"h{number}", name, slot) for number, (name, slot) in enumerate(numbers)]
    foreign = draw(st.lists(st.tuples(st.sampled_from(["agent/x", "agent/y", "agent/h0"]), class_names), max_size=3))
    asked = request(class_name=draw(class_names), foreign=tuple(dict(foreign).items()))
    seen = lanes(
        *held, cap=draw(st.none() | st.integers(0, 6)), ceiling=draw(st.none() | st.integers(0, 9)), paused_by=None
    )
    return asked, seen


@given(worlds())
def test_admission_never_goes_over(world: tuple[Request, Lanes]) -> None:
    asked, seen = world
    answer = decide(asked, seen)
    same = [held for held in seen.holders if held.class_name == asked.task_class.name]
    foreign = {branch for branch, _ in asked.foreign} - {f"agent/{held.slug}" for held in seen.holders}
    if isinstance(answer, Admitted):
        limit = effective_cap(seen.cap, KINDS[asked.task_class.name])
        assert limit is not None
        assert len(same) < limit
        assert seen.ceiling is None or len(seen.holders) + len(foreign) < seen.ceiling
        assert answer.slot == min(set(range(1, 9)) - {held.slot for held in same})
        assert answer.slot <= limit
        assert not [held for held in seen.holders if held.kind == "alone"]
    else:
        assert answer.rule in ("no-cap", "alone", "cap", "ceiling")


@given(worlds())
def test_the_decision_depends_on_its_input_alone(world: tuple[Request, Lanes]) -> None:
    assert decide(*world) == decide(*world)


# ---------------------------------------------------------------- what is recorded, and shown
def test_the_event_begins_the_job_and_proves_the_admission_again() -> None:
    asked = request(adopt="feature/x", foreign=(("feature/x", "slice"),))
    seen = lanes(holder("a"), ceiling=5)
    proof = decide(asked, seen)
    assert isinstance(proof, Admitted)
    data = event_data(asked, seen, proof)
    assert {name: data[name] for name in ("cap", "in_class", "ceiling", "in_flight", "branch", "adopt", "kind")} == {
        "cap": 3,
        "in_class": 2,
        "ceiling": 5,
        "in_flight": 2,
        "branch": "agent/new",
        "adopt": "feature/x",
        "kind": "parallel",
    }
    event = Event(seq=1, at=1.0, subject=asked.job, step="s", kind="job.admitted", attempt=0, actor="ana", data=data)
    assert admitted(admit(event)) == proof


def test_lanes_as_caps_show_shows_them() -> None:
    rows = [
        Lane(name="migration", kind="serial", cap=4, paused_by="ben"),
        Lane(
            name="slice",
            kind="parallel",
            cap=3,
            paused_by=None,
            holders=(holder("b", slot=2, since=5.0), holder("a", since=4.0)),
        ),
        Lane(name="tests", kind="parallel", cap=None, paused_by=None),
    ]
    shown = show(rows, 6, foreign=(("agent/x", "slice"), ("agent/y", None)))
    assert shown["ceiling"] == {"cap": 6, "used": 4}
    migration, slices, tests = shown["classes"]
    assert (migration["cap"], migration["used"], migration["paused"], rows[0].drained) == (1, 0, True, True)
    assert (tests["cap"], tests["used"]) == (None, 0)
    assert (slices["name"], slices["kind"], slices["cap"], slices["used"]) == ("slice", "parallel", 3, 3)
    assert [(row["slug"], row["since"]) for row in slices["holders"]] == [("a", 4.0), ("b", 5.0), ("agent/x", None)]
