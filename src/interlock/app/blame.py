"""What becomes of members that cannot land: who is put out of the train, why, and what their owner is asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from interlock.app.base import View
from interlock.app.together import check_together
from interlock.core.job.events import NewEvent
from interlock.core.job.evidence import Verdict
from interlock.core.job.lifecycle import State
from interlock.core.merge.train import Member, TrainState, departed
from interlock.ports import Merged, Ports, TextConflict


def conflict(ports: Ports, train: TrainState, members: dict[str, Member], clash: TextConflict) -> None:
    """Put a member that does not merge out of the train, with the paths that clash."""
    member = next(member for member in members.values() if member.head == clash.head)
    before = [other.slug for other in members.values() if other.job != member.job]
    make_wait(
        ports,
        member,
        "text-conflict",
        f"The change does not merge with the default branch and what is before it: {', '.join(clash.paths)}.",
        "Retry: the tree is brought onto the present default branch with the clash marked; or abandon the job.",
        paths=list(clash.paths),
        before=before,
    )
    leave(ports, train, [member], "text-conflict")


def landed_partners(ports: Ports, view: View, train: TrainState, job_id: str) -> list[str]:
    """What landed since the change's base, when the change is green on that base: then it is red with them."""
    job = ports.store.job(job_id)
    since = [
        row.slug
        for row in ports.store.landings()
        if not ports.repo.is_ancestor(row.commit, job.base) and ports.repo.is_ancestor(row.commit, view.base.oid)
    ]
    if not since:
        return []
    own = Merged(commit=job.head or "", tree=job.tree or "", diff="")
    verdicts, _ = check_together(ports, view, train, own, (job_id,), base=job.base)
    return since if verdicts and all(verdict.state == "passed" for verdict in verdicts) else []


def guilty(
    ports: Ports, train: TrainState, member: Member, names: list[str], verdicts: tuple[Verdict, ...], runs: int
) -> None:
    """Put the guilty member out of the train, with those it is red together with by name (none: red alone)."""
    bad = next((verdict for verdict in verdicts if verdict.state != "passed"), None)
    rule = "red-together" if names else "red-alone"
    what = (
        f"Green alone, red together with {', '.join(names)}, which lands first."
        if names
        else "The full suite fails with this change alone."
    )
    failed = f" {bad.run.run}: {bad.what}" if bad else ""
    make_wait(
        ports,
        member,
        rule,
        what + failed,
        "Retry: the tree is brought onto the default branch with the partner in it; or abandon the job.",
        partners=names,
        tail=bad.run.tail if bad else "",
        check=bad.as_json() if bad else None,
    )
    leave(ports, train, [member], rule, runs=runs)


def make_wait(ports: Ports, member: Member, rule: str, what: str, ask: str, **detail: Any) -> None:
    """Make a member's job wait for a person, unless it is no longer ready."""
    job = ports.store.job(member.job)
    if job.state is State.READY:
        data = {"rule": rule, "what": what, "ask": ask, "detail": detail}
        ports.store.record(NewEvent(subject=job.id, step=f"left-train:{job.rev}", kind="job.waits", data=data))


def leave(ports: Ports, train: TrainState, members: Sequence[Member], why: str, *, runs: int = 0) -> None:
    """Take members out; the rest of the train is tested again."""
    data = {"jobs": [member.job for member in members], "why": why, "runs": runs}
    record(ports, train, "left", "train.left", data)


def without_departed(ports: Ports) -> None:
    """Take members that are not ready any more out of a train that waits for sign-offs; the rest is tested anew.

    Raises Stale when the train moved meanwhile; the next look decides anew.
    """
    train = ports.store.train()
    if train is not None and train.phase == "tested" and (gone := departed(train, ports.store.jobs())):
        leave(ports, train, gone, "changed")


def dissolve(ports: Ports, train: TrainState, rule: str, what: str, ask: str) -> None:
    """End the train without landing; every member waits for a person, or it would be opened again at once."""
    for member in train.members:
        make_wait(ports, member, rule, what, ask)
    record(ports, train, "dissolve", "train.dissolved", {"rule": rule, "what": what})


def record(ports: Ports, train: TrainState, step: str, kind: str, data: dict[str, Any]) -> None:
    """Write an event of the train as it stands; a train that moved meanwhile refuses it."""
    ports.store.record(
        NewEvent(subject=f"train:{train.number}", step=f"{step}:{train.rev}", kind=kind, data=data), expect=train.rev
    )
