"""Events that nobody with a key wrote, and signatures that were moved or taken away: named by the audit, and nothing is published or landed on them."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Connection, delete, insert, select, update
from tests.cases import test_evidence_attacks as attacks
from tests.cases.test_evidence_attacks import LANDED, Attack, Scene, rule_of
from tests.integration.store import build, tamper

from interlock.adapters.store import events as events_store
from interlock.adapters.store import tables
from interlock.adapters.store.codec import plain
from interlock.core.job.chain import digest_of
from interlock.core.job.events import Event, NewEvent
from interlock.core.job.lifecycle import fold
from interlock.core.job.seals import sealed_as

pytest_plugins = ("tests.integration.store.fixtures",)

scene = attacks.scene


def forged(scene: Scene, at: Connection, **parts: Any) -> int:
    """An event at the end of the history with the digest that it has to have, after the last checkpoint."""
    last = scene.last_event()
    shape: dict[str, Any] = {
        "seq": last + 1,
        "at": 5_000.0,
        "subject": "j-a",
        "attempt": 0,
        "step": "by hand",
        "kind": "job.note",
    }
    shape |= {"actor": "@ana", "data": {"waive": "tests-removed"}} | parts
    digest = digest_of(tamper.event(at, last)["digest"], Event(**shape))
    at.execute(insert(tables.event).values(shape | {"digest": digest}))
    return last + 1


def row_that_fits(scene: Scene, at: Connection) -> None:
    """The job's row made to say what its forged events make of it."""
    job = fold([Event(**{k: v for k, v in each.items() if k != "digest"}) for each in events_of(at, "j-a")])
    values = {"state": job.state.value, "rev": job.rev, "doc": plain(job)}
    at.execute(update(tables.job).where(tables.job.c.id == "j-a").values(values))


def events_of(at: Connection, subject: str) -> list[dict[str, Any]]:
    query = select(tables.event).where(tables.event.c.subject == subject).order_by(tables.event.c.seq)
    return [dict(each) for each in at.execute(query).mappings()]


def waived_by_hand(scene: Scene, at: Connection) -> None:
    forged(scene, at)
    row_that_fits(scene, at)


def waived_with_a_copied_signature(scene: Scene, at: Connection) -> None:
    seq = forged(scene, at)
    row_that_fits(scene, at)
    (old,) = at.execute(select(tables.seal.c.envelope).order_by(tables.seal.c.seq.desc()).limit(1)).scalars()
    at.execute(insert(tables.seal).values(seq=seq, first=seq, envelope=old))


def waived_with_a_foreign_signature(scene: Scene, at: Connection) -> None:
    seq = forged(scene, at)
    row_that_fits(scene, at)
    said = sealed_as(first=seq, seq=seq, digest=tamper.event(at, seq)["digest"], since=1)
    at.execute(insert(tables.seal).values(seq=seq, first=seq, envelope=scene.foreign.sign(said)))


def waived_under_a_stretched_signature(scene: Scene, at: Connection) -> None:
    """The last signature is said to hold the new event too."""
    seq = forged(scene, at)
    row_that_fits(scene, at)
    at.execute(update(tables.seal).where(tables.seal.c.seq == seq - 1).values(seq=seq))


def all_signatures_gone(scene: Scene, at: Connection) -> None:
    """As if the history were one of an earlier version, which signed no events."""
    waived_by_hand(scene, at)
    at.execute(delete(tables.seal))


def first_signatures_gone(scene: Scene, at: Connection) -> None:
    seq = scene.event_of("j-a", "attempt.worked")
    tamper.put_event(at, seq, actor="somebody")
    tamper.digest_anew(at, seq)
    at.execute(delete(tables.seal).where(tables.seal.c.seq <= seq))


def signature_of_another_event(scene: Scene, at: Connection) -> None:
    """The signature of another event in the place of this one's."""
    seq = scene.event_of("j-a", "job.isolated")
    query = select(tables.seal.c.envelope).where(tables.seal.c.seq == seq + 1)
    other = at.execute(query).scalar_one()
    at.execute(update(tables.seal).where(tables.seal.c.seq == seq).values(envelope=other))


FORGERIES: dict[Attack, tuple[str, str]] = {
    waived_by_hand: ("evidence-unsigned", "signed by nobody"),
    waived_with_a_copied_signature: ("evidence-edited", "not what was signed"),
    waived_with_a_foreign_signature: ("evidence-unsigned", "not known here"),
    waived_under_a_stretched_signature: ("evidence-edited", "not what was signed"),
    all_signatures_gone: ("evidence-unsigned", "signed by nobody"),
    first_signatures_gone: ("evidence-edited", "written anew"),
    signature_of_another_event: ("evidence-edited", "not what was signed"),
}


@pytest.mark.parametrize("forgery", FORGERIES, ids=lambda each: each.__name__)
def test_what_nobody_with_a_key_wrote_is_named_also_after_the_last_checkpoint(scene: Scene, forgery: Attack) -> None:
    rule, what = FORGERIES[forgery]
    assert scene.audit() == []
    with tamper.loose(scene.url) as connection:
        forgery(scene, connection)
    assert rule_of(scene.publish) in {rule, "evidence-unsigned"}
    assert any(each.state == "wrong" and what in each.what for each in scene.audit())
    scene.store.record(NewEvent(subject="j-b", step="after", kind="job.note"))
    assert any(each.state == "wrong" and what in each.what for each in scene.audit()), "What follows does not hide it."


def test_a_person_s_word_that_was_forged_lands_nothing(scene: Scene) -> None:
    """A sign-off in the owner's name, by who can write to the database and has no key."""
    scene.publish()
    job = scene.store.job("j-a")
    subject = build.open_train(scene.store, job, number=8)
    row = build.evidence(subject, LANDED, card_oid="")
    number = scene.store.add_evidence(row)
    data = {"base": build.BASE, "candidate": LANDED, "tree": row.tree, "diff": "d1", "evidence": number, "runs": 1}
    scene.store.record(NewEvent(subject=subject, step="tested", kind="train.tested", data=data))
    with tamper.loose(scene.url) as connection:
        forged(scene, connection, subject=subject, step="sign", kind="train.signed", data={"diff": "d1"})
        where = tables.train.c.number == 8
        rev = connection.execute(select(tables.train.c.rev).where(where)).scalar_one()
        connection.execute(update(tables.train).where(where).values(phase="signed", rev=rev + 1))
    rows = [build.landing(job, LANDED, number, train=8)]
    assert rule_of(lambda: scene.store.check_landing(build.landed_event(subject, rows), rows)) == "evidence-unsigned"


def test_an_event_of_a_newer_version_is_told_as_one_and_not_as_edited(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events_store, "KINDS", {"job.teleported": {}})
    with scene.store._write() as connection:
        events_store.append(connection, NewEvent(subject="j-b", step="t", kind="job.teleported"), 5_000.0)
        query = update(tables.job).where(tables.job.c.id == "j-b")
        connection.execute(query.values(rev=tables.job.c.rev + 1))
    (found,) = scene.audit()
    assert (found.state, found.rule) == ("missing", "newer-version")
    assert "job.teleported" in found.what
    assert "newer version" in found.what


def test_an_event_of_no_kind_that_nobody_signed_is_not_excused_by_its_kind(scene: Scene) -> None:
    with tamper.loose(scene.url) as connection:
        forged(scene, connection, kind="job.teleported")
    assert ("wrong", "evidence-unsigned") in {(each.state, each.rule) for each in scene.audit()}


def test_a_history_of_an_earlier_version_is_signed_from_now_on(scene: Scene) -> None:
    """Its events are from before; what is written from now on is signed, and a forged one shows."""
    with tamper.loose(scene.url) as connection:
        connection.execute(delete(tables.seal))
    scene.anchors.clear()
    scene.store.add_evidence(build.evidence("j-b", build.commit_of("j-b")))
    scene.store.record(NewEvent(subject="j-b", step="n", kind="job.note"))
    scene.publish()
    assert scene.audit() == []
    with tamper.loose(scene.url) as connection:
        forged(scene, connection, subject="j-b", data={})
    assert ("wrong", "evidence-unsigned") in {(each.state, each.rule) for each in scene.audit()}
