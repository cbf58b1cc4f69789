"""Landing: only a signed train, only its members, only the tree that was tested, on evidence that is read again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import insert
from sqlalchemy.exc import IntegrityError
from tests.integration.store import build

from interlock.adapters.store import SqlStore, tables
from interlock.adapters.store.engine import Database
from interlock.core.job.events import NewEvent
from interlock.core.job.lifecycle import IllegalTransition, State
from interlock.core.problems import Refused, UnknownJob

pytest_plugins = ("tests.integration.store.fixtures",)
COMMIT = f"{1:0>40}"
OTHER = f"{2:0>40}"


@pytest.fixture
def busy(store: SqlStore) -> SqlStore:
    build.set_caps(store, {"slice": 9})
    return store


def refused(store: SqlStore, subject: str, *rows: Any) -> str:
    before = store.events()
    with pytest.raises(Refused) as caught:
        store.land(build.landed_event(subject, rows), rows)
    assert store.events() == before
    assert store.landings() == ()
    return caught.value.refusal.rule


def test_a_train_lands_with_all_that_belongs_to_it(busy: SqlStore) -> None:
    jobs = [build.live(busy, slug, "job.published") for slug in ("a", "b")]
    subject = build.open_train(busy, *jobs)
    proof = build.test_and_sign(busy, subject, COMMIT)
    rows = [build.landing(job, COMMIT, proof) for job in jobs]
    busy.land(build.landed_event(subject, rows), rows)
    assert [(row.slug, row.commit, row.tree, row.tested_tree, row.evidence) for row in busy.landings()] == [
        (job.slug, COMMIT, f"t{COMMIT[1:]}", f"t{COMMIT[1:]}", proof) for job in jobs
    ]
    assert [(job.state, job.landed_commit) for job in busy.jobs(open_only=False)] == [(State.LANDED, COMMIT)] * 2
    assert busy.landed_slugs() == {"a", "b"}
    assert not busy.jobs()
    assert not busy.changes()
    assert busy.train() is None
    assert busy.trains()[0].phase == "landed"


def test_landing_twice_is_nothing(busy: SqlStore) -> None:
    job = build.live(busy, "a", "job.published")
    subject = build.open_train(busy, job)
    rows = [build.landing(job, COMMIT, build.test_and_sign(busy, subject, COMMIT))]
    busy.land(build.landed_event(subject, rows), rows)
    before = busy.events()
    busy.land(build.landed_event(subject, rows), rows)
    assert busy.events() == before


@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        ({"tree": "x" * 40}, "tree-mismatch"),
        ({"tree": "x" * 40, "tested_tree": "x" * 40}, "tree-mismatch"),
        ({"tested_tree": "x" * 40}, "tree-mismatch"),
        ({"commit": OTHER}, "tree-mismatch"),
        ({"train": 2}, "tree-mismatch"),
        ({"evidence": 999}, "stale-evidence"),
    ],
)
def test_what_lands_is_what_was_tested(busy: SqlStore, wrong: dict[str, Any], rule: str) -> None:
    job = build.live(busy, "a", "job.published")
    subject = build.open_train(busy, job)
    proof = build.test_and_sign(busy, subject, COMMIT)
    assert refused(busy, subject, build.landing(job, COMMIT, proof, **wrong)) == rule


@pytest.mark.parametrize(
    ("parts", "rule"),
    [
        ({"state": "refused"}, "tests-failed"),
        ({"verdicts": ()}, "no-check"),
        ({"base": "9" * 40}, "stale-evidence"),
    ],
)
def test_evidence_that_does_not_suffice_lands_nothing(busy: SqlStore, parts: dict[str, Any], rule: str) -> None:
    job = build.live(busy, "a", "job.published")
    subject = build.open_train(busy, job)
    proof = build.test_and_sign(busy, subject, COMMIT, **parts)
    assert refused(busy, subject, build.landing(job, COMMIT, proof)) == rule


def test_evidence_of_another_policy_or_commit_or_an_older_run_lands_nothing(busy: SqlStore) -> None:
    job = build.live(busy, "a", "job.published")
    subject = build.open_train(busy, job)
    elsewhere = busy.add_evidence(build.evidence(subject, OTHER))
    proof = build.test_and_sign(busy, subject, COMMIT)
    assert refused(busy, subject, build.landing(job, COMMIT, elsewhere)) == "stale-evidence"
    row = build.landing(job, COMMIT, proof)
    event = build.landed_event(subject, [row])
    other = NewEvent(subject=subject, step=event.step, kind=event.kind, data={**event.data, "policy_digest": "p9"})
    with pytest.raises(Refused) as caught:
        busy.land(other, [row])
    assert caught.value.refusal.rule == "stale-evidence"
    newer = busy.add_evidence(build.evidence(subject, COMMIT, state="refused"))
    assert refused(busy, subject, row) == "tests-failed", "The newest row decides, whichever is cited."
    assert refused(busy, subject, build.landing(job, COMMIT, newer)) == "tests-failed"


def test_an_unsigned_train_lands_nothing_and_names_who_is_asked(busy: SqlStore) -> None:
    job = build.live(busy, "a", "job.published")
    subject = build.open_train(busy, job)
    assert refused(busy, subject, build.landing(job, COMMIT, 1)) == "sign-off"
    build.test_and_sign(busy, subject, COMMIT)
    again = {"base": build.BASE, "candidate": COMMIT, "tree": f"t{COMMIT[1:]}", "diff": "d2", "evidence": 1, "runs": 1}
    busy.record(NewEvent(subject=subject, step="rebuild", kind="train.rebuild", data={"base": build.BASE}))
    busy.record(NewEvent(subject=subject, step="tested-again", kind="train.tested", data=again))
    with pytest.raises(Refused) as caught:
        busy.land(build.landed_event(subject, []), [build.landing(job, COMMIT, 1)])
    assert caught.value.refusal.holders == ("@ana",)


def test_only_all_members_land_together(busy: SqlStore) -> None:
    jobs = [build.live(busy, slug, "job.published") for slug in ("a", "b", "c")]
    subject = build.open_train(busy, *jobs[:2])
    proof = build.test_and_sign(busy, subject, COMMIT)
    for chosen in (jobs[:1], jobs, jobs[1:], [jobs[0], jobs[0]]):
        assert refused(busy, subject, *(build.landing(job, COMMIT, proof) for job in chosen)) == "tree-mismatch"


def test_a_member_that_left_ready_lands_nothing(busy: SqlStore) -> None:
    job = build.live(busy, "a", "job.published")
    subject = build.open_train(busy, job)
    proof = build.test_and_sign(busy, subject, COMMIT)
    busy.record(NewEvent(subject=job.id, step="w", kind="job.waits", data={"rule": "held", "what": "Held."}))
    before = busy.events()
    with pytest.raises(IllegalTransition):
        busy.land(build.landed_event(subject, []), [build.landing(job, COMMIT, proof)])
    assert busy.events() == before


def test_a_landing_cannot_be_recorded_by_another_way(busy: SqlStore) -> None:
    job = build.live(busy, "a", "job.published")
    subject = build.open_train(busy, job)
    build.test_and_sign(busy, subject, COMMIT)
    for who, kind in ((job.id, "job.landed"), (subject, "train.landed")):
        with pytest.raises(IllegalTransition):
            busy.record(NewEvent(subject=who, step="landed", kind=kind, data={"landed": [], "landed_commit": COMMIT}))


@pytest.mark.parametrize("missing", ["evidence", "tested_tree"])
def test_the_table_itself_takes_no_landing_without_its_proof(busy: SqlStore, store_url: str, missing: str) -> None:
    job = build.live(busy, "a", "job.published")
    build.open_train(busy, job)
    number = busy.add_evidence(build.evidence("train:1", COMMIT))
    shape: dict[str, Any] = {"job": job.id, "slug": "a", "train": 1, "commit": COMMIT, "at": 1.0}
    shape |= {"tree": "x", "tested_tree": "x", "evidence": number}
    wrong: dict[str, tuple[object, ...]] = {"evidence": (None, number + 1), "tested_tree": (None, "y")}
    database = Database(store_url)
    for value in wrong[missing]:
        with pytest.raises(IntegrityError), database.write() as connection:
            connection.execute(insert(tables.landing).values(shape | {missing: value}))
    with database.write() as connection:
        connection.execute(insert(tables.landing).values(shape))
    database.close()


def test_a_train_has_one_beginning_and_one_end(busy: SqlStore) -> None:
    job = build.live(busy, "a", "job.published")
    subject = build.open_train(busy, job)
    with pytest.raises(IllegalTransition):
        busy.record(NewEvent(subject=subject, step="open-2", kind="train.opened", data={"base": "x", "members": []}))
    assert busy.train() == busy.trains()[0]
    busy.record(NewEvent(subject=subject, step="dissolve", kind="train.dissolved"), expect=1)
    with pytest.raises(IllegalTransition):
        busy.record(NewEvent(subject=subject, step="rebuild", kind="train.rebuild", data={"base": "x"}))
    with pytest.raises(UnknownJob):
        busy.record(NewEvent(subject="train:7", step="s", kind="train.dissolved"))
    assert busy.train() is None
    assert job.state is State.READY


def _through(store: SqlStore, job: str, *events: tuple[str, dict[str, Any]]) -> None:
    for number, (kind, data) in enumerate(events):
        store.record(NewEvent(subject=job, step=f"s{number}", kind=kind, attempt=9, data=data))


@pytest.mark.parametrize(
    ("then", "state"),
    [
        (lambda store: None, "ready"),
        (lambda store: _through(store, "j-a", ("job.waits", {"rule": "red-alone", "what": "Red."})), "ready"),
        (lambda store: _through(store, "j-a", ("job.verify-again", {"why": "card-changed"})), "draft"),
        (lambda store: _through(store, "j-a", ("job.abandoned", {"reason": "no"})), "closed"),
        (lambda store: build.land(store, store.job("j-a")), "landed"),
    ],
)
def test_the_change_follows_its_job(busy: SqlStore, then: Callable[[SqlStore], None], state: str) -> None:
    job = build.live(busy, "a", "job.published")
    then(busy)
    (change,) = busy.changes(open_only=False)
    assert (change.state, change.head, change.closed_at is not None) == (state, job.head, state in ("closed", "landed"))
    published = busy.event("j-a", 1, "published") or busy.event("j-a", 0, "published")
    assert published is not None
    assert change.ready_at == published.at, "Its wait for reviewers began when it was first published."
    assert (busy.changes() == ()) == (state in ("closed", "landed"))


def test_an_approval_is_of_one_commit_and_on_the_record(busy: SqlStore) -> None:
    job = build.live(busy, "a", "job.published")
    busy.approve(job.id, job.head or "", "ben")
    busy.approve(job.id, job.head or "", "ben")
    busy.approve(job.id, OTHER, "cleo")
    assert [(row.commit, row.by) for row in busy.approvals(job.id)] == [(job.head, "ben"), (OTHER, "cleo")]
    assert [event.actor for event in busy.events(job.id) if "approve" in event.data] == ["ben", "cleo"]
    assert busy.job(job.id).state is State.READY


def test_evidence_and_cached_runs_come_back_as_they_went_in(busy: SqlStore) -> None:
    row = build.evidence("j-x", COMMIT, waived={"tests-removed": "ana"})
    refused_row = build.evidence("j-x", OTHER, state="refused")
    numbers = [busy.add_evidence(row), busy.add_evidence(refused_row)]
    assert busy.evidence("j-x") == ((numbers[0], row), (numbers[1], refused_row))
    assert busy.evidence("j-x", commit=OTHER) == ((numbers[1], refused_row),)
    run = row.verdicts[0].run
    assert busy.cached_run("k") is None
    busy.cache_run("k", run)
    busy.cache_run("k", refused_row.verdicts[0].run)
    found = busy.cached_run("k")
    assert found is not None
    assert found.cached
    assert (found.report, found.tail) == (run.report, run.tail)
