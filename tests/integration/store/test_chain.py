"""The chain of a history and its signed evidence in the database, and the revision that brings both to an older store."""

from __future__ import annotations

import json
import signal
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import Column, MetaData, Table, insert, select, text, update
from sqlalchemy.exc import DBAPIError
from tests.integration.store import build, tamper
from tests.integration.store.test_schema import DIE, OPEN, number, python

from interlock.adapters.signing import KeySigner
from interlock.adapters.store import SqlStore, tables
from interlock.adapters.store.codec import plain
from interlock.adapters.store.engine import Database
from interlock.adapters.store.migrations import upgrade
from interlock.adapters.store.schema import number_of
from interlock.core.job.chain import breaks, sha256
from interlock.core.job.events import Event, NewEvent
from interlock.core.job.lifecycle import State, fold
from interlock.core.problems import Refusal, Refused

pytest_plugins = ("tests.integration.store.fixtures",)

COMMIT = build.commit_of("j-a")


def test_every_event_is_chained_and_every_row_of_evidence_is_signed_and_cited(
    store: SqlStore, signer: KeySigner
) -> None:
    build.set_caps(store, {"slice": 9})
    build.land(store, build.live(store, "a", "job.published"))
    store.pause("slice", "ana")
    links = store.chain()
    assert [link.event for link in links] == list(store.events())
    assert breaks(links) == ()
    assert [link.event.seq for link in links] == list(range(1, len(links) + 1))
    rows = store.filed()
    cited = {
        event.data["evidence"]: event.data["envelope"] for event in store.events() if event.kind == "evidence.added"
    }
    assert cited == {row.number: sha256((row.envelope or "").encode()) for row in rows}
    assert len(rows) == 2
    for row in rows:
        said = json.loads(signer.open(row.envelope or "", [signer.public]))
        assert said["subject"] == [{"name": row.subject, "digest": {"gitCommit": row.commit, "gitTree": row.tree}}]
        assert said["predicate"]["interlock"]["number"] == row.number
    assert [event.data["public"] for event in store.events("keys")] == [signer.public]


def test_many_who_write_at_once_make_one_chain(store: SqlStore) -> None:
    build.set_caps(store, {"slice": 90})
    jobs = [build.live(store, f"n{number}", "job.isolated").id for number in range(6)]

    def write(number: int) -> None:
        job = jobs[number % 6]
        if number % 3:
            store.record(
                NewEvent(subject=job, step=f"note{number}", kind="job.note", data={"n": number, "ü": [1.5, None]})
            )
        else:
            store.add_evidence(build.evidence(job, build.commit_of(job)))

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(write, range(36)))
    links = store.chain()
    assert breaks(links) == ()
    assert [row.number for row in store.filed()] == list(range(1, 13))
    assert len(store.events("keys")) == 1


def test_what_was_read_back_has_the_digest_it_was_written_with(store: SqlStore) -> None:
    """Whatever JSON holds: the digest is of the value, not of how a database spells it."""
    build.set_caps(store, {"slice": 1})
    job = build.live(store, "a", "job.isolated").id
    odd: dict[str, Any] = {
        "f": [0.1, 1e300, -0.0, 1.0, 3],
        "s": 'é\u2028"\\\n𝄞',
        "n": None,
        "b": [True, False],
        "k": {"": {}},
    }
    odd |= {"long": 2**62, "deep": [[[[]]]], "9": 1, "10": 2}
    store.record(NewEvent(subject=job, step="odd", kind="job.note", data=odd))
    assert breaks(store.chain()) == ()
    assert store.events(job)[-1].data == odd


def test_a_chain_is_read_in_parts(store: SqlStore) -> None:
    build.set_caps(store, {"slice": 1})
    build.live(store, "a", "job.verified")
    whole = store.chain()
    assert store.chain(after=2, most=3) == whole[2:5]
    assert breaks(whole[2:], whole[1].digest, whole[1].event.seq) == ()


def test_the_proof_names_what_keeps_it_from_being_one(store: SqlStore) -> None:
    build.set_caps(store, {"slice": 1})
    build.live(store, "a", "job.verified")
    proof = store.proof("j-a", commit=COMMIT, policy_digest="p1", card_oid="c" * 40)
    assert not isinstance(proof, Refusal)
    assert proof.tree == f"t{COMMIT[1:]}"
    for parts, rule in (
        ({"commit": "9" * 40}, "stale-evidence"),
        ({"policy_digest": "p2"}, "stale-evidence"),
        ({"tree": "8" * 40}, "tree-mismatch"),
        ({"base": "7" * 40}, "stale-evidence"),
    ):
        asked: dict[str, Any] = {"commit": COMMIT, "policy_digest": "p1", "card_oid": "c" * 40} | parts
        answer = store.proof("j-a", **asked)
        assert isinstance(answer, Refusal)
        assert answer.rule == rule


# ---------------------------------------------------------------- from the schema before
@pytest.fixture
def old(store_url: str) -> str:
    """The URL of a store of schema 1 in which ``a`` is verified by evidence that nobody signed."""
    database = Database(store_url)
    if database.file is not None:
        database.file.parent.mkdir(parents=True)
    with database.write() as connection:
        upgrade(connection, "0001")
        assert number_of(connection) == 1
        admitted = {
            "slug": "a",
            "class": "slice",
            "owner": "@ana",
            "branch": "agent/a",
            "base": build.BASE,
            "card_oid": "c" * 40,
            "card": {"owned_paths": ["a/**"]},
            "slot": 1,
        }
        kinds = [
            ("admitted", "job.admitted", 0, admitted),
            *((each.step, each.kind, each.attempt, dict(each.data)) for each in build.steps("j-a", "job.verified")),
            *((f"note{number}", "job.note", 0, {"text": "é", "n": number / 7}) for number in range(1500)),
        ]
        rows = [
            {
                "at": 1000.25 + number,
                "subject": "j-a",
                "attempt": attempt,
                "step": step,
                "kind": kind,
                "actor": "ana",
                "data": data,
            }
            for number, (step, kind, attempt, data) in enumerate(kinds)
        ]
        names = [column for column in tables.event.c if column.name not in ("digest", "seq")]
        old_event = _table("event", *names)
        connection.execute(insert(old_event), rows)
        _put_job(connection, rows)
        said = build.evidence("j-a", COMMIT)
        columns = [column for column in tables.evidence.c if column.name not in ("envelope", "id")]
        doc = json.loads(json.dumps(plain(said)))
        values = {"at": 1003.0, "subject": "j-a", "commit": COMMIT, "tree": said.tree, "doc": doc}
        connection.execute(insert(_table("evidence", *columns)), [values])
    database.close()
    return store_url


def _table(name: str, *columns: Any) -> Any:
    return Table(name, MetaData(), *(Column(column.name, column.type) for column in columns))


def _put_job(connection: Any, rows: list[dict[str, Any]]) -> None:
    job = fold(Event(seq=seq, **row) for seq, row in enumerate(rows, 1))
    shape = {"id": "j-a", "slug": "a", "class": "slice", "state": job.state.value, "rev": job.rev, "born": 1}
    connection.execute(insert(tables.job).values(shape | {"doc": plain(job)}))
    change = {
        "job": "j-a",
        "slug": "a",
        "branch": "agent/a",
        "label": "class:slice",
        "state": "draft",
        "opened_at": 1.0,
    }
    connection.execute(insert(tables.change).values(change))


def test_an_older_store_gets_its_chain_when_it_is_opened(old: str, signer: KeySigner) -> None:
    store = SqlStore.open(old, build.Ticks(9000.0), signer=signer)
    links = store.chain()
    assert len(links) == 1505
    assert breaks(links) == (), "The revision digests as the product does."
    store.record(NewEvent(subject="j-a", step="more", kind="job.note"))
    assert breaks(store.chain()) == ()
    store.close()


def test_what_was_there_before_is_as_unchangeable_as_before(old: str, signer: KeySigner) -> None:
    SqlStore.open(old, signer=signer).close()
    database = Database(old)
    for table in ("event", "evidence"):
        target = tables.metadata.tables[table]
        column = "actor" if table == "event" else "envelope"
        with pytest.raises(DBAPIError, match="append-only"), database.write() as connection:
            connection.execute(update(target).values({column: "x"}))
        with pytest.raises(DBAPIError, match="append-only"), database.write() as connection:
            connection.execute(target.delete())
    with database.read() as connection:
        assert connection.execute(select(tables.evidence.c.envelope)).scalars().all() == [None]
        assert number_of(connection) == tables.SCHEMA
        if database.is_sqlite:
            query = text("SELECT count(*) FROM sqlite_master WHERE type = 'trigger'")
            assert connection.execute(query).scalar() == 2 * len(tables.APPEND_ONLY)
    database.close()


def test_evidence_from_before_signing_is_stale_and_the_checks_run_again(old: str, signer: KeySigner) -> None:
    store = SqlStore.open(old, build.Ticks(9000.0), signer=signer)
    published = build.steps("j-a", "job.published")[-1]
    with pytest.raises(Refused) as caught:
        store.record(published)
    assert caught.value.refusal.rule == "stale-evidence"
    assert "before evidence was signed" in caught.value.refusal.what
    store.add_evidence(build.evidence("j-a", COMMIT))
    store.record(published)
    assert store.job("j-a").state is State.READY
    assert [row.envelope is None for row in store.filed("j-a")] == [True, False]
    store.close()


def test_an_unsigned_row_that_is_put_in_later_is_no_old_one_by_its_place(store: SqlStore, store_url: str) -> None:
    """Without an envelope it proves nothing either way; it is never believed."""
    build.set_caps(store, {"slice": 1})
    job = store.admit(build.request("a")).job
    for event in build.steps(job, "job.verified"):
        store.record(event)
    said = plain(build.evidence(job, COMMIT))
    values = {"id": 1, "at": 1.0, "subject": job, "commit": COMMIT, "tree": said["tree"], "doc": said, "envelope": None}
    with tamper.loose(store_url) as connection:
        tamper.add_row(connection, values)
    with pytest.raises(Refused) as caught:
        store.record(build.steps(job, "job.published")[-1])
    assert caught.value.refusal.rule == "stale-evidence"


@pytest.mark.parametrize("statement", [1, 2])
def test_killed_while_an_older_store_gets_its_chain_all_is_as_it_was(
    old: str, statement: int, signer: KeySigner
) -> None:
    """The triggers that were off for a moment are on again too."""
    child = python(DIE + OPEN, old, str(statement))
    _, err = child.communicate(timeout=60)
    assert child.returncode == -signal.SIGKILL, err
    assert number(old) == 1
    database = Database(old)
    with pytest.raises(DBAPIError, match="append-only"), database.write() as connection:
        connection.execute(text("UPDATE event SET actor = 'x'"))
    database.close()
    store = SqlStore.open(old, signer=signer)
    assert breaks(store.chain()) == ()
    store.close()
