"""The one history: append-only, each step once, guarded, and enough to make every projection anew."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Executable, delete, select, text, update
from sqlalchemy.exc import DBAPIError
from tests.integration.store import build

from interlock.adapters.store import SqlStore, tables
from interlock.adapters.store.engine import Database
from interlock.core.job.events import LONE, NewEvent
from interlock.core.job.lifecycle import FINAL, IllegalTransition, State, fold
from interlock.core.merge.train import fold_train
from interlock.core.problems import Refused, Stale, UnknownJob

pytest_plugins = ("tests.integration.store.fixtures",)


@pytest.fixture
def busy(store: SqlStore) -> SqlStore:
    """A store with caps."""
    build.set_caps(store, {"slice": 9, "fix": 9, "migration": 1})
    return store


@pytest.mark.parametrize("table", tables.APPEND_ONLY)
@pytest.mark.parametrize("verb", ["update", "delete", "truncate"])
def test_what_is_written_cannot_be_changed(busy: SqlStore, store_url: str, table: str, verb: str) -> None:
    build.land(busy, build.live(busy, "a", "job.published"))
    database = Database(store_url)
    if verb == "truncate" and database.is_sqlite:
        verb = "delete"  # SQLite's way to empty a table
    target = tables.metadata.tables[table]
    column = next(iter(target.primary_key.columns))
    statements: dict[str, Executable] = {
        "update": update(target).values({column.name: column}),
        "delete": delete(target),
        "truncate": text(f"TRUNCATE {table} CASCADE"),
    }
    with pytest.raises(DBAPIError, match="append-only"), database.write() as connection:
        connection.execute(statements[verb])
    with database.read() as connection:
        assert connection.execute(select(column)).all()
    database.close()


def test_a_repeated_step_finds_its_event_and_changes_nothing(busy: SqlStore) -> None:
    job = build.live(busy, "a", "attempt.started")
    data = {"head": "1" * 40, "tree": "2" * 40}
    worked = NewEvent(subject=job.id, step="worked", kind="attempt.worked", attempt=1, data=data)
    first = busy.record(worked, expect=job.rev)
    other = NewEvent(subject=job.id, step="worked", kind="attempt.ended", attempt=1, data={"rule": "x", "what": "y"})
    assert busy.record(worked) == first
    assert busy.record(other, expect=99) == first, "Equal or not, and whatever was expected."
    after = busy.job(job.id)
    assert (after.state, after.rev) == (State.WORKED, job.rev + 1)
    assert busy.event(job.id, 1, "worked") == first
    assert [event.step for event in busy.events(job.id)].count("worked") == 1


def test_one_step_of_two_attempts_is_two_events(busy: SqlStore) -> None:
    job = build.live(busy, "a", "attempt.started")
    ended = {"rule": "agent-failed", "what": "It ended with 1."}
    busy.record(NewEvent(subject=job.id, step="ended", kind="attempt.ended", attempt=1, data=ended))
    busy.record(NewEvent(subject=job.id, step="retry", kind="job.retry", attempt=2, data={"hypothesis": "h"}))
    busy.record(NewEvent(subject=job.id, step="started", kind="attempt.started", attempt=2))
    busy.record(NewEvent(subject=job.id, step="ended", kind="attempt.ended", attempt=2, data=ended))
    assert busy.job(job.id).attempt == 2
    assert busy.job(job.id).hypotheses == ("h",)


def test_who_looked_at_an_old_revision_is_refused(busy: SqlStore) -> None:
    job = build.live(busy, "a", "job.isolated")
    busy.record(NewEvent(subject=job.id, step="n1", kind="job.note"), expect=job.rev)
    before = busy.events()
    with pytest.raises(Stale):
        busy.record(NewEvent(subject=job.id, step="n2", kind="job.note"), expect=job.rev)
    assert busy.events() == before


@pytest.mark.parametrize("kind", ["job.verified", "job.admitted", "job.landed", "no.such"])
def test_an_event_that_does_not_fit_is_refused_and_not_written(busy: SqlStore, kind: str) -> None:
    job = build.live(busy, "a", "job.isolated")
    before = busy.events()
    with pytest.raises(IllegalTransition):
        busy.record(NewEvent(subject=job.id, step="s", kind=kind))
    assert busy.events() == before
    assert busy.job(job.id) == job


def test_an_unknown_job_is_named(busy: SqlStore) -> None:
    with pytest.raises(UnknownJob, match="j-none"):
        busy.record(NewEvent(subject="j-none", step="s", kind="job.note"))
    with pytest.raises(UnknownJob, match="j-none"):
        busy.job("j-none")
    assert busy.find("none") is None


def test_of_many_that_record_the_same_step_at_once_one_writes(busy: SqlStore) -> None:
    job = build.live(busy, "a", "job.isolated")
    note = NewEvent(subject=job.id, step="same", kind="job.note", data={"n": 1})
    with ThreadPoolExecutor(8) as pool:
        written = list(pool.map(lambda _: busy.record(note), range(16)))
    assert len({event.seq for event in written}) == 1
    assert busy.job(job.id).rev == job.rev + 1


def test_of_many_that_expect_one_revision_one_is_served(busy: SqlStore) -> None:
    job = build.live(busy, "a", "job.isolated")

    def write(number: int) -> bool:
        try:
            busy.record(NewEvent(subject=job.id, step=f"n{number}", kind="job.note"), expect=job.rev)
        except Stale:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(write, range(16))) == 1
    assert busy.job(job.id).rev == job.rev + 1


def test_every_projection_is_what_folding_the_events_gives(busy: SqlStore, store_url: str) -> None:
    landed = build.live(busy, "a", "job.published")
    build.live(busy, "b", "attempt.started")
    build.live(busy, "c", "job.verified")
    build.live(busy, "m", "job.isolated", "migration")
    abandoned = build.live(busy, "d", "attempt.worked", "fix")
    busy.record(NewEvent(subject=abandoned.id, step="abandon", kind="job.abandoned", data={"reason": "no"}))
    waits = {"rule": "agent-stopped", "what": "A question.", "ask": "Which?", "detail": {"options": [1, 2]}}
    busy.record(NewEvent(subject="j-b", step="w", kind="job.waits", data=waits))
    busy.record(NewEvent(subject="j-c", step="w", kind="job.note", actor="ana", data={"waive": "tests-removed"}))
    build.land(busy, landed)
    build.open_train(busy, busy.job("j-c"), number=2)

    events = busy.events()
    jobs = {
        subject: fold(event for event in events if event.subject == subject)
        for subject in dict.fromkeys(event.subject for event in events)
        if subject.startswith("j-")
    }
    assert {job.id: job for job in busy.jobs(open_only=False)} == jobs
    assert [event.seq for event in events] == sorted(event.seq for event in events)
    for train in busy.trains():
        assert train == fold_train(event for event in events if event.subject == f"train:{train.number}")
    opened = {job.id for job in jobs.values() if job.state not in FINAL}
    assert {holder.job for lane in busy.lanes() for holder in lane.holders} == opened
    assert {change.job for change in busy.changes()} == opened
    database = Database(store_url)
    with database.read() as connection:
        rows = connection.execute(select(tables.job)).all()
    database.close()
    assert {(row.id, row.slug, row.state, row.rev) for row in rows} == {
        (job.id, job.slug, job.state, job.rev) for job in jobs.values()
    }


def test_finding_jobs(busy: SqlStore) -> None:
    first = build.live(busy, "a", "job.isolated")
    busy.record(NewEvent(subject=first.id, step="x", kind="job.abandoned", data={"reason": "no"}))
    assert busy.find("a") == busy.job("j-a")
    second = busy.admit(build.request("a", job="j-a2"))
    found = busy.find("a")
    assert found is not None
    assert found.id == second.job == "j-a2"
    assert busy.find("j-a") == busy.job("j-a")
    assert [job.id for job in busy.jobs()] == ["j-a2"]
    assert [job.id for job in busy.jobs(open_only=False)] == ["j-a", "j-a2"]
    assert busy.landed_slugs() == frozenset()


def test_events_after_a_number(busy: SqlStore) -> None:
    build.live(busy, "a", "job.isolated")
    events = busy.events()
    assert busy.events(after=events[-2].seq) == events[-1:]
    assert busy.events("j-a", after=events[-1].seq) == ()


def test_odd_text_comes_back_as_it_went_in(busy: SqlStore) -> None:
    """Names of files may hold any byte (as surrogates), output may hold NUL and control characters."""
    job = build.live(busy, "a", "job.isolated")
    odd = {"path": "sr\udcffc/\u202e\x1b[0m", "tail": "a\x00b\r\n", "é": "𝄞", "n": 1e300, "deep": [[{}], None, True]}
    busy.record(NewEvent(subject=job.id, step="note:é𝄞", kind="job.note", data=odd))
    found = busy.event(job.id, 0, "note:é𝄞")
    assert found is not None
    assert found.data == odd


def test_only_plain_json_is_written(busy: SqlStore) -> None:
    job = build.live(busy, "a", "job.isolated")
    before = busy.events()
    with pytest.raises(TypeError, match="set"):
        busy.record(NewEvent(subject=job.id, step="n", kind="job.note", data={"files": {"a"}}))
    assert busy.events() == before


def test_publishing_needs_the_proof_of_exactly_this_head(busy: SqlStore) -> None:
    job = build.live(busy, "a", "job.verified")
    *_, published = build.steps(job.id, "job.published")
    elsewhere = {**published.data, "head": "9" * 40}
    for data, rule in (
        (elsewhere, "stale-evidence"),
        ({**published.data, "policy_digest": "p2"}, "stale-evidence"),
        ({**published.data, "tree": "8" * 40}, "tree-mismatch"),
    ):
        with pytest.raises(Refused) as caught:
            busy.record(NewEvent(subject=job.id, step="p", kind="job.published", data=data))
        assert caught.value.refusal.rule == rule
    busy.add_evidence(build.evidence(job.id, job.head or "", state="refused"))
    with pytest.raises(Refused) as caught:
        busy.record(published)
    assert caught.value.refusal.rule == "tests-failed", "A newer failure outweighs an older success."
    assert busy.job(job.id).state is State.VERIFIED
    busy.add_evidence(build.evidence(job.id, job.head or ""))
    busy.record(published)
    assert busy.job(job.id).state is State.READY


def test_publishing_without_any_evidence_is_refused(busy: SqlStore) -> None:
    job = busy.admit(build.request("a")).job
    for event in build.steps(job, "job.verified"):
        busy.record(event)
    with pytest.raises(Refused) as caught:
        busy.record(build.steps(job, "job.published")[-1])
    assert caught.value.refusal.rule == "stale-evidence"


def test_attempts_of_a_time_are_start_and_end_of_what_started_then(busy: SqlStore) -> None:
    """Of jobs, and of runs that belong to none; whatever else happened is not read."""
    job = build.live(busy, "a", "attempt.started")
    ended = {"rule": "agent-failed", "what": "It ended."}
    busy.record(NewEvent(subject=job.id, attempt=1, step="settle", kind="attempt.ended", data=ended))
    lone = NewEvent(subject=f"{LONE}1", attempt=1, step="start", kind="attempt.started", data={"class": "slice"})
    first = busy.record(lone)
    assert busy.record(lone) == first
    settled = busy.record(NewEvent(subject=f"{LONE}1", attempt=1, step="settle", kind="attempt.ended"))
    steps = [(each.subject, each.step) for each in busy.attempts(since=0.0)]
    assert [each[1] for each in steps] == [*(event.step for event in busy.events(job.id)[-2:]), "start", "settle"]
    assert busy.attempts(since=first.at) == (first, settled)
    assert busy.attempts(since=0.0, until=first.at) == busy.events(job.id)[-2:]
    assert busy.attempts(since=settled.at) == ()
