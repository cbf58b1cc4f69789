"""The life of a job: every transition that is legal, every other one refused, and fold as apply after apply."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.lives import WAY, admitted, event, job_in

from interlock.core.job.lifecycle import (
    FINAL,
    OPEN,
    TRANSITIONS,
    IllegalTransition,
    Job,
    State,
    Waiting,
    admit,
    apply,
    fold,
)

# Written out a second time on purpose: a change of the life is a change of this table.
LEGAL: dict[str, tuple[str, str]] = {
    "job.isolated": ("admitted isolated waiting", "isolated"),
    "attempt.started": ("isolated", "running"),
    "attempt.resumed": ("waiting", "running"),
    "attempt.worked": ("running", "worked"),
    "attempt.phased": ("running", "isolated"),
    "attempt.interrupted": ("running", "isolated"),
    "attempt.ended": ("running", "waiting"),
    "job.verified": ("worked", "verified"),
    "job.published": ("verified", "ready"),
    "job.waits": ("admitted isolated running worked verified ready waiting", "waiting"),
    "job.reproduced": ("isolated", ""),
    "job.round": ("worked", "isolated"),
    "job.retry": ("waiting", "isolated"),
    "job.verify-again": ("waiting verified ready", "worked"),
    "job.landed": ("ready", "landed"),
    "job.abandoned": ("admitted isolated running worked verified ready waiting", "abandoned"),
    "job.reverted": ("landed", "reverted"),
    "job.restored": ("reverted", "landed"),
    "job.note": (" ".join(State), ""),
}


def test_every_kind_and_every_state_is_in_the_table() -> None:
    assert set(LEGAL) == set(TRANSITIONS)
    assert set(WAY) == set(State) == OPEN | FINAL
    for state in State:
        assert job_in(state).state is state


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("kind", LEGAL)
def test_each_transition_is_legal_or_refused(kind: str, state: State) -> None:
    sources, target = LEGAL[kind]
    job = job_in(state)
    new = event(job.id, kind, attempt=job.attempt + (kind == "attempt.started"))
    if state in sources.split():
        after = apply(job, new)
        assert after.state == (target or state)
        assert after.rev == job.rev + 1
        assert after.since == (new.at if after.state is not state else job.since)
    else:
        with pytest.raises(IllegalTransition, match=state):
            apply(job, new)


@pytest.mark.parametrize("kind", ["job.admitted", "train.opened", "", "job.force"])
def test_an_unknown_kind_is_refused(kind: str) -> None:
    with pytest.raises(IllegalTransition):
        apply(job_in(State.READY), event("j-a", kind))


BACK = {("job.reverted", State.LANDED), ("job.restored", State.REVERTED)}


@pytest.mark.parametrize("state", sorted(FINAL))
def test_nothing_but_a_note_follows_an_end_and_a_revert_what_landed(state: State) -> None:
    job = job_in(state)
    for kind in TRANSITIONS:
        if kind != "job.note" and (kind, state) not in BACK:
            with pytest.raises(IllegalTransition):
                apply(job, event(job.id, kind))
    assert apply(job, event(job.id, "job.note")).state is state


def test_admission_begins_the_job() -> None:
    first = admitted("a", slot=2)
    job = admit(first)
    assert (job.id, job.slug, job.state, job.rev, job.slot, job.attempt) == ("j-a", "a", State.ADMITTED, 1, 2, 0)
    assert job.since == job.admitted_at == first.at


def test_what_an_event_says_is_taken_over() -> None:
    job = job_in(State.WORKED)
    assert (job.block, job.ports, job.workspace, job.level) == (1, {"APP_PORT": 3010}, "/w", "worktree")
    assert (job.head, job.tree, job.attempt) == ("h1", "t1", 1)
    assert job_in(State.LANDED).landed_commit == "c1"


def test_a_job_waits_with_its_reason_until_it_goes_on() -> None:
    job = apply(job_in(State.READY), event("j-a", "job.waits"))
    expected = Waiting(rule="file-overlap", what="Both change a.py.", ask="Decide.", detail={"files": ["a.py"]})
    assert job.waiting == expected
    assert apply(job, event("j-a", "job.note")).waiting == expected
    assert apply(job, event("j-a", "job.verify-again")).waiting is None
    assert apply(job, event("j-a", "job.retry")).waiting is None


def test_each_retry_leaves_its_hypothesis() -> None:
    job = apply(job_in(State.WAITING), event("j-a", "job.retry"))
    job = apply(job, event("j-a", "attempt.started", attempt=2))
    job = apply(job, event("j-a", "attempt.ended", attempt=2))
    job = apply(job, event("j-a", "job.retry", hypothesis="Another one."))
    assert job.hypotheses == ("The port was taken.", "Another one.")
    assert job.attempt == 2


def test_interruptions_are_counted_in_a_row() -> None:
    job = job_in(State.RUNNING)
    for number in (1, 2):
        job = apply(job, event("j-a", "attempt.interrupted", attempt=number))
        assert job.interruptions == number
        job = apply(job, event("j-a", "attempt.started", attempt=number + 1))
    assert apply(job, event("j-a", "attempt.worked", attempt=3)).interruptions == 0
    assert apply(job, event("j-a", "attempt.ended", attempt=3)).interruptions == 0


def test_a_waiver_names_its_person_and_ends_with_the_head_it_was_given_for() -> None:
    job = apply(job_in(State.WORKED), event("j-a", "job.waits"))
    job = apply(job, event("j-a", "job.verify-again", actor="ana", waive="tests-removed"))
    assert job.waivers == {"tests-removed": "ana"}
    again = apply(apply(job, event("j-a", "job.waits")), event("j-a", "job.retry"))
    assert again.waivers == {"tests-removed": "ana"}
    assert apply(again, event("j-a", "attempt.started", attempt=2)).waivers == {}


@st.composite
def histories(draw: st.DrawFn) -> list[str]:
    """Kinds of a legal history, as any series of choices makes it."""
    job: Job = admit(admitted())
    kinds: list[str] = []
    for _ in range(draw(st.integers(0, 25))):
        legal = [kind for kind, (sources, _) in TRANSITIONS.items() if job.state in sources]
        kind = draw(st.sampled_from(legal))
        job = apply(job, event("j-a", kind, attempt=job.attempt + (kind == "attempt.started")))
        kinds.append(kind)
    return kinds


@given(histories())
def test_fold_is_apply_after_apply(kinds: list[str]) -> None:
    events = [admitted()]
    job = admit(events[0])
    for kind in kinds:
        events.append(event("j-a", kind, attempt=job.attempt + (kind == "attempt.started")))
        job = apply(job, events[-1])
    assert fold(events) == job
    assert job.rev == len(events)
    assert (job.waiting is not None) == (job.state is State.WAITING)
    assert job.interruptions <= kinds.count("attempt.interrupted")
