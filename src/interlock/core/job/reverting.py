"""What a landed revert moves along the chain of what it takes back; making and landing one is the app's and the store's."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from interlock.core.job.lifecycle import Job


def moved(of: Job, known: Callable[[str], Job]) -> Iterator[tuple[Job, bool]]:
    """Each job that moves when ``of`` is taken back, the nearest first, with whether it is off the default branch then.

    What a revert had taken back is on it again once that revert is taken back itself, and so on in turn.  ``known``
    gives a job by its id.
    """
    off = True
    yield of, off
    while of.reverts:
        of, off = known(of.reverts["job"]), not off
        yield of, off
