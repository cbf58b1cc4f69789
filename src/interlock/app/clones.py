"""Which jobs of a shared store another clone of the repository keeps: their trees and records are there and not here; it only tells."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from interlock.core.job.lifecycle import Job
from interlock.core.problems import InterlockError
from interlock.ports.bundle import Ports

if TYPE_CHECKING:  # the whole brain, which an audit and a status do without
    from interlock.core.plan import Action

_WRITTEN_FIRST: Final = "environment.json"


def is_elsewhere(ports: Ports, job: Job) -> bool:
    """Whether a job's tree is beside another clone: not where this one puts trees, and nothing of its record is here.

    A job that has no tree yet is whoever's turn it is.  Folders of one path on two machines cannot be told apart.
    """
    if not job.workspace:
        return False
    try:
        here = ports.workspaces.path_for(job.slug, job.id, "worktree").parent
    except InterlockError:
        return False
    if Path(job.workspace).parent == here:
        return False
    return job.id not in ports.records.names(job.id) or not (ports.records.job(job.id) / _WRITTEN_FIRST).exists()


def jobs_elsewhere(ports: Ports, jobs: Iterable[Job]) -> frozenset[str]:
    """The ids of jobs that another clone keeps."""
    return frozenset(job.id for job in jobs if is_elsewhere(ports, job))


def kept_there(job: Job) -> str:
    """What is said of such a job."""
    return f"kept by another clone, with its tree in {job.workspace}"


def ours(ports: Ports, jobs: Sequence[Job], due: Sequence[Action]) -> list[Action]:
    """The actions that are not another clone's to do."""
    theirs = _theirs(ports, jobs, due)
    return [action for action in due if action.subject not in theirs]


def tell_theirs(ports: Ports, jobs: Sequence[Job], due: Sequence[Action], told: set[str]) -> None:
    """Say once of each job with something due that it is left alone."""
    for job in _theirs(ports, jobs, due).values():
        if (word := f"elsewhere:{job.id}") not in told:
            told.add(word)
            ports.narrate(f"{job.slug}: {kept_there(job)}; left alone.")


def _theirs(ports: Ports, jobs: Sequence[Job], due: Sequence[Action]) -> dict[str, Job]:
    named = {action.subject for action in due}
    return {job.id: job for job in jobs if job.id in named and is_elsewhere(ports, job)}


def whose_files(subject: str, theirs: Collection[str]) -> bool:
    """Whether the files of a subject of evidence may be with another clone: a train's, where there is another one at all."""
    return subject in theirs or (subject.startswith("train:") and bool(theirs))
