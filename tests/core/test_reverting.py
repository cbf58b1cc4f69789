"""What a landed revert moves: what it takes back is off, what that had taken back is on again, and so on to the end of the chain."""

from __future__ import annotations

from tests.core.lives import job_in

from interlock.core.job.lifecycle import Job, State
from interlock.core.job.reverting import moved


def chain_of(length: int) -> dict[str, Job]:
    """A change and reverts on top of it, each of the one before."""
    jobs = [job_in(State.LANDED, "a0")]
    for number in range(1, length):
        of = jobs[-1]
        jobs.append(job_in(State.LANDED, f"a{number}", reverts={"job": of.id, "slug": of.slug, "commit": "c"}))
    return {job.id: job for job in jobs}


def test_the_chain_turns_in_turn_to_its_end() -> None:
    jobs = chain_of(4)
    newest = jobs["j-a3"]
    assert [(job.slug, off) for job, off in moved(newest, jobs.__getitem__)] == [
        ("a3", True),
        ("a2", False),
        ("a1", True),
        ("a0", False),
    ]


def test_a_change_that_reverts_nothing_moves_alone() -> None:
    (only,) = chain_of(1).values()
    assert list(moved(only, chain_of(1).__getitem__)) == [(only, True)]
