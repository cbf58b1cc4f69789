"""Rows of jobs that an earlier version wrote are still what their events make of them: nothing is refused or audited as edited."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from interlock.adapters.store.codec import job_from
from interlock.core.job.audit import differing
from interlock.core.job.events import Event
from interlock.core.job.lifecycle import fold

OLDER: list[dict[str, Any]] = json.loads(Path(__file__).with_name("older_jobs.json").read_text("utf-8"))
"""Jobs of a store as the commit before event kinds were listed wrote it; never written anew, only added to."""


@pytest.mark.parametrize("older", OLDER, ids=[each["row"]["slug"] for each in OLDER])
def test_what_an_event_did_to_a_job_it_does_for_ever(older: dict[str, Any]) -> None:
    assert differing(job_from(older["row"]), fold(Event(**each) for each in older["events"])) == ()


def test_the_histories_hold_what_may_come_to_mean_something_else() -> None:
    kinds = {each["kind"] for older in OLDER for each in older["events"]}
    assert kinds >= {"job.landed", "job.retry", "job.note", "job.waits", "job.verify-again", "job.abandoned"}
    (own,) = (each for each in OLDER if each["row"]["slug"] == "own")
    (note,) = (each for each in own["events"] if "card" in each["data"] and each["kind"] == "job.note")
    assert note["data"]["card"]["integration_owner"] != own["row"]["owner"], "That owner was not asked then."
