"""Adoption: work that was started elsewhere on an agent branch becomes the first attempt of a job; gates stay the same."""

from __future__ import annotations

from typing import Final

from interlock.app.base import fresh_view
from interlock.app.branches import taken_over
from interlock.app.isolate import place_of
from interlock.app.revert_commit import bring_branch
from interlock.core.job.lifecycle import Job
from interlock.core.problems import Misuse
from interlock.ports.bundle import Ports
from interlock.ports.processes import End

ADOPTED: Final = End(how="exited", exit_code=0, seconds=0.0, tail="")
"""How an adopted attempt ended, for the settlement: by itself, elsewhere."""


def is_adoption(job: Job, number: int) -> bool:
    """Whether this attempt takes a branch over and starts no agent."""
    return job.adopt is not None and number == 1


def take_over(ports: Ports, job: Job) -> list[str]:
    """Put the branch's work, merged onto the job's base, into the job's own tree; gives paths left with clash marks.

    That of a revert is brought there where it is not yet.  Raises Misuse when the branch is not on the remote.
    """
    name = job.adopt or ""
    head = taken_over(ports, job)
    if job.reverts:  # the command may have been killed between admission and the push
        bring_branch(ports, fresh_view(ports), job)
    head = head or ports.repo.agent_branches().get(name, "")
    if not head:
        raise Misuse(
            f"There is no branch {name} on the remote that is not merged.", hint="git push it, then run again."
        )
    kept = f"refs/interlock/kept/{job.id}/adopted"
    return list(ports.repo.rebase_place(place_of(job), head=head, onto=job.base, keep=kept))
