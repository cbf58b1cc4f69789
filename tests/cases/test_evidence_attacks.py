"""Tampering with evidence and history behind the product's back: each way is refused by its own name, at the gate and in the audit."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, delete, func, select
from tests.integration.store import build, tamper

from interlock.adapters.signing import KeySigner
from interlock.adapters.store import SqlStore, tables
from interlock.app.audit import look_at_history
from interlock.core.job.audit import AuditFinding, look_at_jobs, look_at_rows
from interlock.core.job.events import NewEvent
from interlock.core.job.lifecycle import State
from interlock.core.problems import Refused
from interlock.core.rules import RULES

pytest_plugins = ("tests.integration.store.fixtures",)

LANDED = f"{7:0>40}"


@dataclass
class Scene:
    """A history in which one change has landed, and ``a`` is verified and about to be published; ``b`` has other evidence."""

    store: SqlStore
    url: str
    signer: KeySigner
    foreign: KeySigner
    anchors: build.Kept
    green: int = 0
    other: int = 0
    red: int = 0
    extra: dict[str, Any] = field(default_factory=dict)

    def publish(self) -> None:
        self.store.record(build.steps("j-a", "job.published")[-1])

    def audit(self, *, trusted: Sequence[str] = (), listed: Sequence[str] = ()) -> list[AuditFinding]:
        rows, landings = self.store.filed(), self.store.landings()
        text = self.anchors.kept(self.store.history())
        walk, found, _ = look_at_history(
            self.signer,
            self.store.chain(),
            rows,
            landings,
            text,
            seals=self.store.seals(),
            trusted=trusted,
            listed=listed,
        )
        keys = trusted or tuple(walk.keys.values())
        said = {number: each for row in rows for number, each in self.store.evidence(row.subject)}
        found += look_at_rows(walk, rows, said, lambda envelope: self.signer.open(envelope, keys, listed=listed))
        return [*found, *look_at_jobs(walk, self.store.jobs(open_only=False))]

    def last_event(self) -> int:
        return self.store.events()[-1].seq

    def event_of(self, subject: str, kind: str) -> int:
        return next(event.seq for event in self.store.events() if (event.subject, event.kind) == (subject, kind))


@pytest.fixture
def scene(store: SqlStore, store_url: str, signer: KeySigner, anchors: build.Kept, tmp_path: Path) -> Scene:
    foreign = KeySigner(tmp_path / "foreign", runner="elsewhere")
    made = Scene(store, store_url, signer, foreign, anchors)
    build.set_caps(store, {"slice": 9})
    build.land(store, build.live(store, "landed", "job.published"), number=7)
    build.live(store, "b", "job.verified")
    build.live(store, "a", "job.verified")
    made.other = store.evidence("j-b")[-1][0]
    made.green = store.evidence("j-a")[-1][0]
    return made


def then_red(scene: Scene) -> None:
    """The newest run of the same commit failed."""
    scene.red = scene.store.add_evidence(build.evidence("j-a", build.commit_of("j-a"), state="refused"))


# ---------------------------------------------------------------- what an attacker does
def edit_payload(scene: Scene, at: Connection) -> None:
    envelope = tamper.row(at, scene.green)["envelope"]
    tamper.put(at, scene.green, envelope=tamper.with_payload(envelope, b'"level":"worktree"', b'"level":"sealed"'))


def edit_row(scene: Scene, at: Connection) -> None:
    doc = tamper.row(at, scene.green)["doc"]
    tamper.put(at, scene.green, doc={**doc, "level": "sealed", "same_user": False})


def make_red_green(scene: Scene, at: Connection) -> None:
    good = tamper.row(at, scene.green)["doc"]
    tamper.put(at, scene.red, doc=good)


def edit_a_log_s_tail(scene: Scene, at: Connection) -> None:
    doc = json.loads(json.dumps(tamper.row(at, scene.green)["doc"]))
    doc["verdicts"][0]["run"]["tail"] = "all is well"
    tamper.put(at, scene.green, doc=doc)


def edit_columns(scene: Scene, at: Connection) -> None:
    tamper.put(at, scene.green, tree="f" * 40)


def move_the_time(scene: Scene, at: Connection) -> None:
    tamper.put(at, scene.green, at=tamper.row(at, scene.green)["at"] + 3600)


def garble_the_envelope(scene: Scene, at: Connection) -> None:
    tamper.put(at, scene.green, envelope="{not json")


def change_the_payload_type(scene: Scene, at: Connection) -> None:
    envelope = json.loads(tamper.row(at, scene.green)["envelope"])
    tamper.put(at, scene.green, envelope=json.dumps(envelope | {"payloadType": "text/plain"}))


def sign_again_with_another_number(scene: Scene, at: Connection) -> None:
    """Another valid statement of our own key about the same commit: an older one."""
    tamper.put(at, scene.green, envelope=tamper.row(at, scene.extra["older"])["envelope"])


def strip_signature(scene: Scene, at: Connection) -> None:
    envelope = json.loads(tamper.row(at, scene.green)["envelope"])
    tamper.put(at, scene.green, envelope=json.dumps(envelope | {"signatures": []}))


def strip_envelope(scene: Scene, at: Connection) -> None:
    tamper.put(at, scene.green, envelope=None)


def sign_with_a_foreign_key(scene: Scene, at: Connection) -> None:
    envelope = tamper.row(at, scene.green)["envelope"]
    tamper.put(at, scene.green, envelope=tamper.resigned(envelope, scene.foreign))


def sign_under_a_known_name(scene: Scene, at: Connection) -> None:
    """A foreign signature that says it is of the key that the history knows."""
    envelope = json.loads(tamper.resigned(tamper.row(at, scene.green)["envelope"], scene.foreign))
    envelope["signatures"][0]["keyid"] = scene.signer.key_id
    tamper.put(at, scene.green, envelope=json.dumps(envelope))


def put_a_foreign_key_in_place(scene: Scene, at: Connection) -> None:
    """The foreign public part under the id of the known key, and evidence signed to fit."""
    sign_under_a_known_name(scene, at)
    seq = scene.event_of("keys", "key.added")
    data = tamper.event(at, seq)["data"]
    tamper.put_event(at, seq, data={**data, "public": scene.foreign.public})
    tamper.digest_anew(at, seq)


def swap_envelopes(scene: Scene, at: Connection) -> None:
    one, other = (tamper.row(at, number)["envelope"] for number in (scene.green, scene.other))
    tamper.put(at, scene.green, envelope=other)
    tamper.put(at, scene.other, envelope=one)


def take_green_of_another_commit(scene: Scene, at: Connection) -> None:
    """The whole row of another job's green run, said to be of this job and commit."""
    taken = tamper.row(at, scene.other)
    doc = {**taken["doc"], "subject": "j-a", "commit": build.commit_of("j-a")}
    tamper.put(at, scene.green, envelope=taken["envelope"], doc=doc)


def replay_green_over_red(scene: Scene, at: Connection) -> None:
    copied = tamper.row(at, scene.green)
    tamper.add_row(at, {**copied, "id": scene.red + 1})


def delete_the_newer_red(scene: Scene, at: Connection) -> None:
    at.execute(delete(tables.evidence).where(tables.evidence.c.id == scene.red))


def delete_the_newer_red_and_its_event(scene: Scene, at: Connection) -> None:
    delete_the_newer_red(scene, at)
    tamper.drop_event(at, scene.event_of("evidence:j-a", "evidence.added") + 2)


def edit_event(scene: Scene, at: Connection) -> None:
    seq = scene.event_of("j-a", "attempt.worked")
    tamper.put_event(at, seq, actor="somebody")


def edit_event_and_its_digest(scene: Scene, at: Connection) -> None:
    seq = scene.event_of("j-a", "attempt.started")
    rows = at.execute(select(func.max(tables.event.c.seq))).scalar() or 0
    tamper.put_event(at, seq, actor="somebody")
    later = {number: tamper.event(at, number)["digest"] for number in range(seq + 1, rows + 1)}
    tamper.digest_anew(at, seq)
    for number, digest in later.items():
        tamper.put_event(at, number, digest=digest)


def delete_event(scene: Scene, at: Connection) -> None:
    tamper.drop_event(at, scene.event_of("evidence:j-a", "evidence.added") - 1)


def forget_a_digest(scene: Scene, at: Connection) -> None:
    tamper.put_event(at, scene.event_of("j-a", "attempt.started"), digest=None)


def reorder_events(scene: Scene, at: Connection) -> None:
    first = scene.event_of("j-a", "job.isolated")
    one, other = tamper.event(at, first), tamper.event(at, first + 1)
    tamper.put_event(at, first, step="aside")
    for number, values in ((first + 1, one), (first, other)):
        tamper.put_event(at, number, **{name: value for name, value in values.items() if name != "seq"})


def truncate(scene: Scene, at: Connection) -> None:
    tamper.drop_event(at, scene.last_event())


Attack = Callable[[Scene, Connection], None]

# attack → (prepared by, rule at the gate, finding of the audit: state and rule)
ATTACKS: dict[Attack, tuple[Callable[[Scene], None] | None, str, tuple[str, str]]] = {
    edit_payload: (None, "evidence-edited", ("wrong", "evidence-edited")),
    edit_row: (None, "evidence-edited", ("wrong", "evidence-edited")),
    make_red_green: (then_red, "evidence-edited", ("wrong", "evidence-edited")),
    edit_a_log_s_tail: (None, "evidence-edited", ("wrong", "evidence-edited")),
    edit_columns: (None, "evidence-replayed", ("wrong", "evidence-replayed")),
    move_the_time: (None, "evidence-edited", ("wrong", "evidence-edited")),
    garble_the_envelope: (None, "evidence-edited", ("wrong", "evidence-edited")),
    change_the_payload_type: (None, "evidence-edited", ("wrong", "evidence-edited")),
    strip_signature: (None, "evidence-unsigned", ("missing", "evidence-unsigned")),
    strip_envelope: (None, "evidence-unsigned", ("wrong", "evidence-unsigned")),
    sign_with_a_foreign_key: (None, "evidence-unsigned", ("missing", "evidence-unsigned")),
    sign_under_a_known_name: (None, "evidence-edited", ("wrong", "evidence-edited")),
    put_a_foreign_key_in_place: (None, "evidence-unsigned", ("missing", "evidence-unsigned")),
    swap_envelopes: (None, "evidence-replayed", ("wrong", "evidence-replayed")),
    take_green_of_another_commit: (None, "evidence-replayed", ("wrong", "evidence-replayed")),
    replay_green_over_red: (then_red, "evidence-replayed", ("wrong", "evidence-replayed")),
    delete_the_newer_red: (then_red, "evidence-edited", ("missing", "evidence-edited")),
    delete_the_newer_red_and_its_event: (then_red, "evidence-edited", ("missing", "evidence-edited")),
    edit_event: (None, "evidence-edited", ("wrong", "evidence-edited")),
    edit_event_and_its_digest: (None, "evidence-edited", ("wrong", "evidence-edited")),
    delete_event: (None, "evidence-edited", ("wrong", "evidence-edited")),
    forget_a_digest: (None, "evidence-edited", ("wrong", "evidence-edited")),
    reorder_events: (None, "evidence-edited", ("wrong", "evidence-edited")),
    truncate: (None, "evidence-edited", ("missing", "evidence-edited")),
}


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda each: each.__name__)
def test_what_was_tampered_with_is_not_published(scene: Scene, attack: Attack) -> None:
    prepare, rule, found = ATTACKS[attack]
    assert scene.audit() == []
    if prepare is not None:
        prepare(scene)
    with tamper.loose(scene.url) as connection:
        attack(scene, connection)
    with pytest.raises(Refused) as caught:
        scene.publish()
    refusal = caught.value.refusal
    assert refusal.rule == rule
    assert rule in RULES
    assert all(text.endswith(".") for text in (refusal.what, refusal.why, refusal.would_change))
    assert scene.store.job("j-a").state is State.VERIFIED
    assert found in {(each.state, each.rule) for each in scene.audit()}
    assert all(each.what.endswith(".") and each.where for each in scene.audit())


def test_untouched_it_is_published_and_holds(scene: Scene) -> None:
    scene.publish()
    assert scene.store.job("j-a").state is State.READY
    assert scene.audit() == []


def test_new_evidence_outweighs_what_was_tampered_with(scene: Scene) -> None:
    """Running the checks again is the way on, and the audit does not forget what happened."""
    with tamper.loose(scene.url) as connection:
        edit_row(scene, connection)
    scene.store.add_evidence(build.evidence("j-a", build.commit_of("j-a")))
    scene.publish()
    assert [(each.state, each.where) for each in scene.audit()] == [("wrong", f"evidence {scene.green}")]


# ---------------------------------------------------------------- landing
LANDINGS: dict[Attack, str] = {
    edit_row: "evidence-edited",
    strip_envelope: "evidence-unsigned",
    sign_with_a_foreign_key: "evidence-unsigned",
    swap_envelopes: "evidence-replayed",
    edit_event: "evidence-edited",
}


@pytest.mark.parametrize("attack", LANDINGS, ids=lambda each: each.__name__)
def test_what_was_tampered_with_does_not_land(scene: Scene, attack: Attack) -> None:
    scene.publish()
    job = scene.store.job("j-a")
    subject = build.open_train(scene.store, job, number=8)
    scene.other = scene.green
    scene.green = build.test_and_sign(scene.store, subject, LANDED)
    proof: dict[str, Any] = {"policy_digest": None, "card_oid": None, "base": build.BASE, "tree": f"t{LANDED[1:]}"}
    assert getattr(scene.store.proof(subject, commit=LANDED, **proof), "commit", None) == LANDED
    with tamper.loose(scene.url) as connection:
        attack(scene, connection)
    rows = [build.landing(job, LANDED, scene.green, train=8)]
    before = scene.store.landings()
    for ask in (scene.store.check_landing, scene.store.land):
        with pytest.raises(Refused) as caught:
            ask(build.landed_event(subject, rows), rows)
        assert caught.value.refusal.rule == LANDINGS[attack]
        assert scene.store.landings() == before


# ---------------------------------------------------------------- what only what is kept elsewhere can show
def test_a_history_that_was_written_anew_does_not_fit_its_checkpoint(scene: Scene) -> None:
    with tamper.loose(scene.url) as connection:
        tamper.put_event(connection, scene.event_of("j-landed", "attempt.started"), actor="somebody")
        tamper.digest_anew(connection, 1)
    found = scene.audit()
    assert {(each.state, each.rule) for each in found} == {("wrong", "evidence-edited")}
    assert "not what was signed" in found[0].what
    assert "written anew" in found[1].what


def test_a_history_that_was_cut_off_with_all_that_told_of_it_is_shorter_than_its_checkpoint(scene: Scene) -> None:
    last = scene.last_event()
    with tamper.loose(scene.url) as connection:
        for table in ("change", "slot", "landing", "evidence", "job", "train"):
            connection.execute(delete(tables.metadata.tables[table]))
        connection.execute(delete(tables.event).where(tables.event.c.seq > 1))
    found = scene.audit(trusted=[scene.signer.public])
    assert {each.state for each in found} == {"missing"}
    assert [each.where for each in found] == ["event 1", f"event {last - 1}", "checkpoint"]
    assert "are gone" in found[0].what
    assert "cut off" in found[1].what


def test_a_checkpoint_of_another_key_is_none(scene: Scene) -> None:
    which = scene.store.history()
    envelope = scene.anchors[which]
    scene.anchors[which] = tamper.resigned(envelope, scene.foreign)
    assert [(each.state, each.rule, each.where) for each in scene.audit()] == [
        ("missing", "evidence-unsigned", "checkpoint")
    ]
    scene.anchors[which] = tamper.with_payload(envelope, b'"seq":', b'"seq":1')
    assert [(each.state, each.rule) for each in scene.audit()] == [("wrong", "evidence-edited")]
    scene.anchors[which] = scene.signer.sign(b'{"predicate": 1}')
    assert [(each.state, each.where) for each in scene.audit()] == [("wrong", "checkpoint")]


def test_a_key_that_somebody_adds_himself_counts_only_until_the_trusted_ones_are_named(scene: Scene) -> None:
    """Who can write to the database can add a key; which keys are trusted is said outside of it."""
    other = SqlStore.open(scene.url, build.Ticks(9_000.0), signer=scene.foreign)
    last = scene.last_event()
    number = other.add_evidence(build.evidence("j-a", build.commit_of("j-a")))
    other.close()
    assert scene.audit() == []
    found = scene.audit(trusted=[scene.signer.public])
    assert [(each.state, each.rule, each.where) for each in found] == [
        ("missing", "evidence-unsigned", f"event {last + 1}"),
        ("missing", "evidence-unsigned", f"evidence {number}"),
    ]


def test_a_new_key_of_the_same_user_leaves_what_was_signed_before_valid(scene: Scene, tmp_path: Path) -> None:
    fresh = KeySigner(tmp_path / "fresh")
    again = SqlStore.open(scene.url, build.Ticks(9_000.0), signer=fresh)
    again.add_evidence(build.evidence("j-b", build.commit_of("j-b")))
    again.record(build.steps("j-a", "job.published")[-1])
    assert [event.step for event in again.events("keys")] == [scene.signer.key_id, fresh.key_id]
    again.close()
    assert scene.audit() == []


def test_a_store_without_a_key_neither_writes_nor_believes_evidence(scene: Scene) -> None:
    mute = SqlStore.open(scene.url, build.Ticks(9_000.0))
    for attempt in (
        lambda: mute.add_evidence(build.evidence("j-a", build.commit_of("j-a"))),
        lambda: mute.record(build.steps("j-a", "job.published")[-1]),
    ):
        with pytest.raises(Refused) as caught:
            attempt()
        assert caught.value.refusal.rule == "evidence-unsigned"
    mute.record(NewEvent(subject="j-a", step="n", kind="job.note", data={"text": "Anybody could say so."}))
    mute.close()
    (found,) = scene.audit()
    assert (found.state, found.rule, found.where) == ("wrong", "evidence-unsigned", f"event {scene.last_event()}")


# ---------------------------------------------------------------- keys that the policy lists
def listing(scene: Scene, *keys: KeySigner, own: KeySigner | None = None) -> SqlStore:
    """The same store as a machine opens it on whose default branch these keys are listed."""
    mine = own or scene.signer
    names = tuple(each.key_id for each in keys)
    signer = KeySigner(mine.file.parent, runner=mine.runner, listed=lambda: names)
    return SqlStore.open(scene.url, build.Ticks(9_000.0), signer=signer, anchor=scene.anchors)


def rule_of(attempt: Callable[[], object]) -> str:
    with pytest.raises(Refused) as caught:
        attempt()
    refusal = caught.value.refusal
    assert all(text.endswith(".") for text in (refusal.what, refusal.why, refusal.would_change))
    return refusal.rule


def test_what_a_key_signed_that_is_not_listed_is_not_published_and_shows(scene: Scene) -> None:
    last = scene.last_event()
    theirs = SqlStore.open(scene.url, build.Ticks(8_000.0), signer=scene.foreign)
    number = theirs.add_evidence(build.evidence("j-a", build.commit_of("j-a")))
    theirs.close()
    ours = listing(scene, scene.signer)
    publish = build.steps("j-a", "job.published")[-1]
    assert rule_of(lambda: ours.record(publish)) == "evidence-key"
    found = scene.audit(listed=[scene.signer.key_id])
    assert [(each.state, each.rule, each.where) for each in found] == [
        ("missing", "evidence-key", f"event {last + 1}"),
        ("missing", "evidence-key", f"evidence {number}"),
    ]
    assert scene.foreign.key_id[:12] in found[0].what
    ours.add_evidence(build.evidence("j-a", build.commit_of("j-a")))
    ours.record(publish)
    assert ours.job("j-a").state is State.READY
    ours.close()


def test_a_key_that_is_not_listed_writes_no_evidence_and_no_landing(scene: Scene) -> None:
    scene.publish()
    job = scene.store.job("j-a")
    subject = build.open_train(scene.store, job, number=8)
    number = build.test_and_sign(scene.store, subject, LANDED)
    rows = [build.landing(job, LANDED, number, train=8)]
    theirs = listing(scene, scene.signer, own=scene.foreign)
    before, kept = theirs.filed(), dict(scene.anchors)
    assert rule_of(lambda: theirs.add_evidence(build.evidence("j-b", build.commit_of("j-b")))) == "evidence-key"
    assert rule_of(lambda: theirs.land(build.landed_event(subject, rows), rows)) == "evidence-key"
    assert (theirs.filed(), scene.anchors) == (before, kept)
    theirs.close()
    ours = listing(scene, scene.signer, scene.foreign)
    ours.land(build.landed_event(subject, rows), rows)
    assert ours.job("j-a").state is State.LANDED
    ours.close()


def test_evidence_of_an_unlisted_key_lands_nothing(scene: Scene) -> None:
    scene.publish()
    job = scene.store.job("j-a")
    subject = build.open_train(scene.store, job, number=8)
    rows = [build.landing(job, LANDED, build.test_and_sign(scene.store, subject, LANDED), train=8)]
    new = listing(scene, scene.foreign, own=scene.foreign)
    assert rule_of(lambda: new.land(build.landed_event(subject, rows), rows)) == "evidence-key"
    assert new.job("j-a").state is State.READY
    new.close()


def test_a_key_takes_the_place_of_another_and_several_machines_sign_in_turn(scene: Scene) -> None:
    """The list names the old and the new one; once the old one is off it, its checkpoint is replaced and its rows show."""
    both = (scene.signer, scene.foreign)
    for own, start in ((scene.signer, "j-b"), (scene.foreign, "j-b"), (scene.signer, "j-a"), (scene.foreign, "j-a")):
        store = listing(scene, *both, own=own)
        store.add_evidence(build.evidence(start, build.commit_of(start)))
        store.close()
    assert scene.audit(listed=[each.key_id for each in both]) == []
    store = listing(scene, scene.signer)
    store.add_evidence(build.evidence("j-a", build.commit_of("j-a")))
    store.record(build.steps("j-a", "job.published")[-1])
    store.close()
    found = scene.audit(listed=[scene.signer.key_id])
    assert {(each.state, each.rule) for each in found} == {("missing", "evidence-key")}
    assert sum(each.where.startswith("evidence") for each in found) == 2


# ---------------------------------------------------------------- what a new checkpoint may not cover up
def test_a_history_that_was_taken_back_takes_no_evidence_until_a_person_looked(scene: Scene) -> None:
    """The checkpoint of what is gone would be replaced by one that fits what is left."""
    kept = dict(scene.anchors)
    last = scene.last_event()
    with tamper.loose(scene.url) as connection:
        number = scene.green
        connection.execute(delete(tables.evidence).where(tables.evidence.c.id >= number))
        connection.execute(delete(tables.event).where(tables.event.c.seq > last - 2))
        connection.execute(delete(tables.seal).where(tables.seal.c.seq > last - 2))
    new = build.evidence("j-b", build.commit_of("j-b"))
    assert rule_of(lambda: scene.store.add_evidence(new)) == "evidence-edited"
    assert scene.anchors == kept
    scene.anchors.clear()  # as docs/howto/audit.md says, for a database that was taken back on purpose
    scene.store.add_evidence(new)
    assert list(scene.anchors) == [scene.store.history()]


def test_events_that_were_cut_off_and_whose_signatures_stand_are_never_written_over(scene: Scene) -> None:
    """The next writer would take the number of an event that was signed: it is refused, and what is there stays."""
    last = scene.last_event()
    with tamper.loose(scene.url) as connection:
        tamper.drop_event(connection, last)
    note = NewEvent(subject="j-b", step="n", kind="job.note")
    assert rule_of(lambda: scene.store.record(note)) == "evidence-edited"
    assert scene.last_event() == last - 1
    assert any("gone" in each.what for each in scene.audit())
