"""A landed change backwards: the commit that undoes it, and the branch with that commit which a revert's job takes over."""

from __future__ import annotations

from interlock.app.base import View, fresh_view
from interlock.app.blame import never_run
from interlock.app.cardjson import from_json
from interlock.app.revert_effects import trailers
from interlock.core.job.lifecycle import Job
from interlock.core.problems import refused
from interlock.ports.bundle import Ports
from interlock.ports.repository import Author, Inverse, Landing, TextConflict


def inverse_of(ports: Ports, view: View, of: Job, actor: str, why: str) -> Inverse:
    """The commit that undoes a landed change.  Raises Refused: not-landed, text-conflict, empty-diff."""
    told = "\n".join(trailers(ports, of, of.landed_commit or ""))
    message = f'Revert "{from_json(of.card).subject}"\n\n{why}\n\nThis reverts commit {{commit}}.\n\n{told}\n'
    author = Author(name=actor, email=f"{actor.strip('@') or 'owner'}@interlock.invalid")
    found = ports.repo.inverse(view.base.oid, of.id, message=message, author=author)
    if found is None:
        raise refused(
            rule="not-landed",
            what=f"No commit on {view.base.ref} carries the work of {of.slug} ({of.id}).",
            why="What is not there cannot be taken back.",
            would_change="Nothing: see git log on the default branch.",
        )
    if isinstance(found, TextConflict):
        raise refused(
            rule="text-conflict",
            what=f"{of.slug} cannot be taken back by itself: later work changed the same lines of "
            f"{', '.join(found.paths)}.{never_run(ports.repo.drivers(view.base.oid, found.paths))}",
            why="Taking it back would take a part of that away too.",
            would_change="Revert the later change first, or dispatch a card that removes it by hand.",
            holders=found.paths,
        )
    if not found.paths:
        raise refused(
            rule="empty-diff",
            what=f"Nothing of {of.slug} is left on {view.base.ref}.",
            why="A revert that changes nothing is none.",
            would_change="Nothing: it was taken back already.",
        )
    return found


def bring_branch(ports: Ports, view: View, job: Job) -> None:
    """Push the inverse as the branch that a revert's job takes over; one that stands there by now was pushed before a kill.

    Raises Refused as ``inverse_of`` does, and push-rejected.
    """
    if job.branch in ports.repo.stand([job.branch]):
        return
    admitted = ports.store.event(job.id, 0, "admitted")
    actor = admitted.actor if admitted is not None else job.owner
    why = (from_json(job.card).goal or "").partition(": ")[2]
    inverse = inverse_of(ports, view, ports.store.job(str((job.reverts or {})["job"])), actor, why)
    answer: Landing = ports.repo.push_branch(job.branch, inverse.commit, None)
    if answer.state == "landed":
        fresh_view(ports)
        return
    raise refused(
        rule="push-rejected",
        what=f"The remote did not take {job.branch}: {answer.message or answer.state}.",
        why="The train lands what stands on the remote.",
        would_change="Mend it, then say the same again.",
    )
