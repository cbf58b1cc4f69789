"""What stands on a job's own branch on the remote, beside what was judged; moving branches is publish's and the train's work."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from interlock.app.train_exit import make_wait
from interlock.core.job.events import NewEvent
from interlock.core.job.lifecycle import Job
from interlock.core.merge.train import Member
from interlock.core.problems import InterlockError
from interlock.ports.bundle import Ports

REPLACED: Final = "branch-replaced"
NEW_COMMITS: Final = "new-commits"


def stood(ports: Ports, job: Job) -> str:
    """Where a job's branch stood when its present head was judged: after its first publishing, else as it was taken over.

    The head itself where nothing else stood there; empty where an earlier version did not write it down.
    """
    for event in ports.store.events(job.id):
        if event.kind == "job.published" and event.data.get("head") == job.head:
            return str(event.data.get("stands", ""))
    return taken_over(ports, job) if job.worked == 1 and not job.reverts else ""


def taken_over(ports: Ports, job: Job) -> str:
    """The commit of the branch that the first attempt takes over, as its start says; empty where it says nothing."""
    begun = ports.store.event(job.id, 1, "start") if job.adopt else None
    return str(begun.data.get("adopted") or "") if begun is not None else ""


def moved(ports: Ports, some: Sequence[Member]) -> dict[Member, str]:
    """Members on whose branches, by the last fetch, something else stands than when they were judged, with the why.

    A branch that is gone replaces nothing, and one whose further commits are on the default branch already holds nothing that is left out.
    """
    jobs = ports.store.jobs_of([member.job for member in some])
    tips = ports.repo.tips([job.branch for job in jobs])
    found: dict[Member, str] = {}
    for member, job in zip(some, jobs, strict=True):
        tip = tips.get(job.branch, member.head)
        if tip in (member.head, member.stood) or job.head != member.head:
            continue
        if ports.repo.is_ancestor(member.head, tip):
            if job.branch in ports.repo.agent_branches():
                found[member] = NEW_COMMITS
        elif member.stood:
            found[member] = REPLACED
    return found


def tell(ports: Ports, member: Member, why: str) -> None:
    """Make the job of such a member wait; nothing on its branch is touched."""
    job = ports.store.job(member.job)
    if why == NEW_COMMITS:
        what = f"Somebody pushed commits onto {job.branch} after {member.head[:12]}, which is what was judged."
        ask = "Take them off the branch, then decide --again; or retry with what they are for; or abandon the job."
        make_wait(ports, member, "head-moved", what, ask, branch=job.branch)
        return
    tip = ports.repo.tips([job.branch]).get(job.branch, "")
    data = replaced(ports, job, member.stood, tip)
    make_wait(ports, member, REPLACED, data["what"], data["ask"], **data["detail"])


def refuse_replaced(ports: Ports, job: Job) -> bool:
    """Make a job wait whose branch is another one than when its head was judged, before it is published; False where it is not."""
    known = stood(ports, job)
    tip = ports.repo.tips([job.branch]).get(job.branch, known)
    if not known or tip in (known, job.head):
        return False
    ports.store.record(
        NewEvent(subject=job.id, step=f"replaced:{job.rev}", kind="job.waits", data=replaced(ports, job, known, tip))
    )
    return True


def replaced(ports: Ports, job: Job, known: str, tip: str) -> dict[str, Any]:
    """What a job waits with whose branch is another one by now: both commits are named, and neither is chosen.

    Who pushed on top of what stood there is not told that they replaced it, and is asked first to have the whole judged.
    """
    grown = False
    with suppress(InterlockError):  # what stood there may be gone from the mirror
        grown = ports.repo.is_ancestor(known, tip)
    did = "pushed further commits onto" if grown else "replaced"
    back = (
        f"To land what was judged{' without them' if grown else ''}, put the branch back (git push --force-with-lease={job.branch}:{tip} "
        f"origin {known}:refs/heads/{job.branch}), then decide --again."
    )
    anew = (
        f"To land what stands there now, abandon the job, clean it, and dispatch {job.slug} with --adopt {job.branch}."
    )
    return {
        "rule": REPLACED,
        "what": f"Somebody {did} {job.branch} on the remote: it stands on {tip[:12]}, which nobody judged; it stood on {known[:12]} "
        f"when {(job.head or '')[:12]} was judged. Neither lands.",
        "ask": f"{anew} {back} Or retry." if grown else f"{back} {anew} Or retry.",
        "detail": {"branch": job.branch, "stood": known, "stands": tip},
    }
