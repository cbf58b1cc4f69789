"""Case YC-08, admission's half: a dependency counts only when it landed, and one that was abandoned is said to be."""

from __future__ import annotations

import pytest
from tests.integration.store import build

from interlock.adapters.store import SqlStore
from interlock.core.job.events import NewEvent
from interlock.core.problems import Refusal, Refused

pytest_plugins = ("tests.integration.store.fixtures",)


def refusal(store: SqlStore) -> Refusal:
    with pytest.raises(Refused) as caught:
        store.admit(build.request("b", depends_on=("a",)))
    assert caught.value.refusal.rule == "depends-on"
    assert caught.value.refusal.holders == ("a",)
    return caught.value.refusal


def test_yc_08_a_failed_dependency_is_named_and_unblocks_when_it_lands_on_any_attempt(store: SqlStore) -> None:
    build.set_caps(store, {"slice": 5})
    assert "not been dispatched" in refusal(store).what
    build.live(store, "a", "attempt.started")
    ended = {"rule": "agent-failed", "what": "It ended with 1."}
    store.record(NewEvent(subject="j-a", step="ended", kind="attempt.ended", attempt=1, data=ended))
    assert "waiting" in refusal(store).what
    store.record(NewEvent(subject="j-a", step="retry", kind="job.retry", attempt=2, data={"hypothesis": "h"}))
    store.record(NewEvent(subject="j-a", step="started", kind="attempt.started", attempt=2))
    assert "running" in refusal(store).what
    commit = build.commit_of("j-a")
    made = {"head": commit, "tree": f"t{commit[1:]}"}
    store.record(NewEvent(subject="j-a", step="worked", kind="attempt.worked", attempt=2, data=made))
    store.add_evidence(build.evidence("j-a", commit))
    store.record(NewEvent(subject="j-a", step="verified", kind="job.verified", attempt=2))
    store.record(NewEvent(subject="j-a", step="published", kind="job.published", attempt=2, data=made))
    assert "ready" in refusal(store).what
    build.land(store, store.job("j-a"))
    store.admit(build.request("b", depends_on=("a",)))


def test_yc_08_an_abandoned_dependency_is_an_end_that_does_not_count_and_asks_for_a_decision(store: SqlStore) -> None:
    build.set_caps(store, {"slice": 5})
    build.live(store, "a", "job.isolated")
    store.record(NewEvent(subject="j-a", step="abandon", kind="job.abandoned", data={"reason": "no"}))
    told = refusal(store)
    assert "abandoned" in told.what
    assert "Decide" in told.would_change


def test_yc_08_a_new_job_of_an_abandoned_dependency_unblocks_when_it_lands(store: SqlStore) -> None:
    build.set_caps(store, {"slice": 5})
    build.live(store, "a", "job.isolated")
    store.record(NewEvent(subject="j-a", step="abandon", kind="job.abandoned", data={"reason": "no"}))
    again = build.live(store, "a", "job.published", job="j-a2")
    assert "j-a2 is ready" in refusal(store).what
    build.land(store, again)
    store.admit(build.request("b", depends_on=("a",)))
