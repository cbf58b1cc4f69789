"""Admission on a real database: each rule refusing, and the one that passes taking everything at once."""

from __future__ import annotations

import pytest
from sqlalchemy import insert
from sqlalchemy.exc import IntegrityError
from tests.integration.store import build

from interlock.adapters.store import SqlStore, tables
from interlock.adapters.store.engine import Database, unanswered
from interlock.core.contract.policy import Cap
from interlock.core.job.events import NewEvent
from interlock.core.job.lifecycle import State
from interlock.core.problems import Refusal, Refused, UnknownJob

pytest_plugins = ("tests.integration.store.fixtures",)


def refusal(store: SqlStore, slug: str, class_name: str = "slice", **parts: object) -> Refusal:
    before = store.events()
    with pytest.raises(Refused) as caught:
        store.admit(build.request(slug, class_name, job=f"j2-{slug}", **parts))
    assert store.events() == before, "A refusal writes nothing."
    return caught.value.refusal


def test_a_class_without_a_cap_starts_nothing(store: SqlStore) -> None:
    build.set_caps(store, {"fix": 3})
    refused = refusal(store, "a")
    assert refused.rule == "no-cap"
    assert "slice" in refused.what


def test_the_cap_refuses_with_its_number_and_its_holders(store: SqlStore) -> None:
    build.set_caps(store, {"slice": 2, "fix": 2})
    for slug in ("a", "b"):
        store.admit(build.request(slug))
    refused = refusal(store, "c")
    assert (refused.rule, refused.number, refused.holders) == ("cap", 2, ("a", "b"))
    assert store.admit(build.request("d", "fix")).slot == 1, "Another class has its own slots."


@pytest.mark.parametrize("class_name", ["migration", "sweep"])
def test_a_serial_or_alone_class_has_one_slot_whatever_the_file_says(store: SqlStore, class_name: str) -> None:
    build.set_caps(store, {class_name: 5})
    store.admit(build.request("a", class_name))
    assert refusal(store, "b", class_name).number == 1


def test_the_ceiling_counts_all_classes(store: SqlStore) -> None:
    build.set_caps(store, {"slice": 5, "fix": 5}, ceiling=2)
    store.admit(build.request("a"))
    store.admit(build.request("b", "fix"))
    refused = refusal(store, "c")
    assert (refused.rule, refused.number, refused.holders) == ("ceiling", 2, ("b", "a"))


def test_a_paused_class_names_who_paused_it_and_goes_on_when_resumed(store: SqlStore) -> None:
    build.set_caps(store, {"slice": 2})
    store.pause("slice", "ben", "the reviewers are away")
    assert "ben" in refusal(store, "a").what
    store.pause("slice", "ben")
    store.resume("slice", "ana")
    store.resume("slice", "ana")
    store.admit(build.request("a"))
    kinds = [(event.kind, event.actor, event.data["why"]) for event in store.events("class:slice")]
    assert kinds == [("class.paused", "ben", "the reviewers are away"), ("class.resumed", "ana", "")]


def test_only_a_known_class_can_be_paused(store: SqlStore) -> None:
    build.set_caps(store, {"slice": 2})
    with pytest.raises(Refused) as caught:
        store.pause("slize", "ben")
    assert caught.value.refusal.rule == "class"
    assert "slice" in caught.value.refusal.why


def test_a_slot_is_held_until_the_change_is_closed_and_the_lowest_free_one_is_given(store: SqlStore) -> None:
    build.set_caps(store, {"slice": 3})
    slots = [store.admit(build.request(slug)).slot for slug in ("a", "b", "c")]
    store.record(NewEvent(subject="j-b", step="abandon", kind="job.abandoned", data={"reason": "no"}))
    assert slots == [1, 2, 3]
    assert store.admit(build.request("d")).slot == 2
    waits = {"rule": "empty-diff", "what": "Nothing changed."}
    store.record(NewEvent(subject="j-d", step="w", kind="job.waits", data=waits))
    assert refusal(store, "e").holders == ("a", "d", "c")


def test_landing_frees_the_slot(store: SqlStore) -> None:
    build.set_caps(store, {"slice": 1})
    build.land(store, build.live(store, "a", "job.published"))
    assert store.admit(build.request("b")).slot == 1


def test_everything_of_an_admission_is_there_together(store: SqlStore) -> None:
    build.set_caps(store, {"slice": 2}, ceiling=4)
    proof = store.admit(build.request("a", actor="ben"))
    job, (lane,) = store.job(proof.job), [lane for lane in store.lanes() if lane.name == "slice"]
    assert (job.slug, job.state, job.rev, job.slot, job.branch) == ("a", State.ADMITTED, 1, 1, "agent/a")
    (holder,) = lane.holders
    assert (holder.slug, holder.slot, holder.actor, holder.owned_paths) == ("a", 1, "ben", ("a/**",))
    (change,) = store.changes()
    assert (change.job, change.state, change.label, change.branch) == ("j-a", "draft", "class:slice", "agent/a")
    event = store.event("j-a", 0, "admitted")
    assert event is not None
    assert {name: event.data[name] for name in ("cap", "in_class", "ceiling", "in_flight")} == {
        "cap": 2,
        "in_class": 1,
        "ceiling": 4,
        "in_flight": 1,
    }


def test_admitting_the_same_job_again_gives_the_same_answer_and_nothing_more(store: SqlStore) -> None:
    build.set_caps(store, {"slice": 1})
    first = store.admit(build.request("a"))
    before = store.events()
    assert store.admit(build.request("a")) == first
    assert store.events() == before


def test_the_same_slug_again_is_refused_while_in_flight_and_after_landing(store: SqlStore) -> None:
    build.set_caps(store, {"slice": 5})
    job = build.live(store, "a", "job.published")
    refused = refusal(store, "a")
    assert (refused.rule, "j-a" in refused.what) == ("in-flight", True)
    build.land(store, job)
    assert refusal(store, "a").rule == "already-landed"


def test_declared_overlap_with_work_in_flight(store: SqlStore) -> None:
    build.set_caps(store, {"slice": 5})
    store.admit(build.request("a", owned_paths=("src/a/**",), read_only_paths=("src/shared/api.py",)))
    assert "write-write" in refusal(store, "b", owned_paths=("src/*/x.py",)).what
    assert "write-read" in refusal(store, "c", owned_paths=("src/shared/**",)).what
    refused = refusal(store, "d", read_only_paths=("src/a/y.py",))
    assert (refused.rule, refused.holders) == ("overlap", ("a",))
    assert "src/a/y.py" in refused.what
    store.admit(build.request("e", read_only_paths=("src/shared/api.py",)))


def test_an_overlap_is_judged_by_the_card_as_it_now_stands(store: SqlStore) -> None:
    build.set_caps(store, {"slice": 5})
    job = build.live(store, "a", "attempt.worked")
    widened = {**job.card, "owned_paths": ["a/**", "b/**"]}
    store.record(NewEvent(subject="j-a", step="card", kind="job.note", data={"card": widened, "card_oid": "d" * 40}))
    assert refusal(store, "b").rule == "overlap"


def test_a_newer_fetch_outweighs_what_a_slow_dispatcher_read(store: SqlStore) -> None:
    """A slow dispatcher that read a cap of 3 before it was lowered to 1 cannot bring the 3 back."""
    build.set_caps(store, {"slice": 3})
    slow = store.begin_sync()
    assert build.set_caps(store, {"slice": 1})
    lines = [Cap(class_name="slice", cap=3, line=1)]
    assert not store.sync_caps(slow, "old", lines, build.KINDS, None)
    store.admit(build.request("a"))
    assert refusal(store, "b").number == 1


def test_equal_caps_are_in_force_however_late_they_come(store: SqlStore) -> None:
    slow = store.begin_sync()
    assert build.set_caps(store, {"slice": 1}, ceiling=3)
    before = store.events()
    assert store.sync_caps(slow, "later", [Cap(class_name="slice", cap=1, line=9)], build.KINDS, 3)
    assert store.events() == before


def test_a_class_that_leaves_the_file_has_no_cap_and_keeps_its_pause(store: SqlStore) -> None:
    build.set_caps(store, {"slice": 1, "fix": 2})
    store.pause("fix", "ben")
    build.set_caps(store, {"slice": 1}, ceiling=9)
    lanes = {lane.name: lane for lane in store.lanes()}
    assert (lanes["fix"].cap, lanes["fix"].paused_by) == (None, "ben")
    assert store.ceiling() == 9
    assert [event.data["caps"] for event in store.events("caps")] == [{"slice": 1, "fix": 2}, {"slice": 1}]


def test_the_kind_in_force_outweighs_the_one_that_was_asked_with(store: SqlStore) -> None:
    build.set_caps(store, {"fix": 5}, kinds={**build.KINDS, "fix": "serial"})
    store.admit(build.request("a", "fix"))
    assert refusal(store, "b", "fix").number == 1


def test_a_slot_that_is_taken_undoes_all_that_was_sent_with_it(store: SqlStore, store_url: str) -> None:
    build.set_caps(store, {"slice": 2})
    job = store.admit(build.request("a")).job
    taken = {"class": "slice", "n": 1, "job": job, "kind": "parallel", "actor": "ben"}
    database = Database(store_url)

    def send(name: str, slot: dict[str, object] | None) -> None:
        with database.write() as connection, unanswered(connection):
            connection.execute(insert(tables.task_class).values(name=name, kind="", changes=0, paused_by="ben"))
            if slot is not None:
                connection.execute(insert(tables.slot).values(slot))

    with pytest.raises(IntegrityError):
        send("other", taken)
    send("third", None)
    database.close()
    names = {lane.name for lane in store.lanes()}
    assert "third" in names
    assert "other" not in names


def test_jobs_by_their_ids_come_in_the_order_that_was_asked_for(store: SqlStore) -> None:
    build.set_caps(store, {"slice": 3})
    a, b = (store.admit(build.request(slug)).job for slug in ("a", "b"))
    with pytest.raises(UnknownJob, match="no job nobody"):
        store.jobs_of([a, "nobody"])
    assert [job.id for job in store.jobs_of([b, a, b])] == [b, a, b]
    assert store.jobs_of([]) == ()
