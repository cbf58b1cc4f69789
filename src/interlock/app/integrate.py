"""The train: open it, test its members together, name who is guilty, land exactly what was tested; rules are core.merge's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from interlock.app.base import View, card_file, fresh_view, landed_slugs, last_view
from interlock.app.blame import conflict, dissolve, guilty, landed_partners, leave, record, without_departed
from interlock.app.landing import has_landed, land_candidate
from interlock.app.publish import prove
from interlock.app.together import check_together, green_alone, train_level
from interlock.core.contract.levels import same_user
from interlock.core.gate.accepted import excuse
from interlock.core.job.events import NewEvent
from interlock.core.job.evidence import Evidence, Verdict
from interlock.core.job.lifecycle import Job, State
from interlock.core.merge.bisect import Green, Guilty, Probe, RedBase, bisect
from interlock.core.merge.order import train_order
from interlock.core.merge.train import Member, TrainState
from interlock.core.problems import Refusal
from interlock.ports import Merged, Ports, TextConflict


def open_train(ports: Ports, number: int) -> dict[str, Any]:
    """Put the ready changes that may land together into train number, in their order.

    One that finds nobody ready any more is opened all the same, and dissolved when it is tested: each number is
    used up by one opening.
    """
    if ports.store.train() is not None:
        return {"opened": False}
    view = last_view(ports)
    jobs = ports.store.jobs()
    order = train_order(jobs, landed_slugs(ports, view), depends_on(jobs), limit=view.policy.train.batch)
    members = [member_of(view, job) for job in order if _has_class(ports, view, job)]
    ports.store.record(
        NewEvent(
            subject=f"train:{number}",
            step="open",
            kind="train.opened",
            data={"base": view.base.oid, "members": [member.as_json() for member in members]},
        )
    )
    return {"opened": bool(members)}


def depends_on(jobs: Sequence[Job]) -> dict[str, tuple[str, ...]]:
    return {job.slug: tuple(job.card["depends_on"]) for job in jobs}


def _has_class(ports: Ports, view: View, job: Job) -> bool:
    """Whether the policy still knows the job's class; one that it does not know waits, and holds up nobody else."""
    if view.policy.find_class(job.class_name):
        return True
    what = f"The class {job.class_name} of {job.slug} is no longer in the policy."
    ask = f"Put {job.class_name} back into interlock.yaml on the default branch, then resume."
    data = {"rule": "class", "what": what, "ask": ask}
    ports.store.record(NewEvent(subject=job.id, step=f"no-class:{job.rev}", kind="job.waits", data=data))
    return False


def member_of(view: View, job: Job) -> Member:
    """A ready job as a member; its owner is asked unless its class or the train says that nobody is."""
    relaxed = view.task_class(job.class_name).sign_off or view.policy.train.sign_off
    return Member(job=job.id, slug=job.slug, head=job.head or "", owner=job.owner if relaxed == "owner" else None)


def prove_train(ports: Ports, number: int) -> dict[str, Any]:
    """Test the open train's members together; a guilty one leaves, and the rest are asked for again.

    Of a train that is tested already only who departed leaves; what is left is tested with the next look.
    """
    without_departed(ports)
    train = ports.store.train()
    if train is None or train.number != number or train.phase != "testing":
        return {"tested": None}
    view = fresh_view(ports)
    if not train.members:
        record(ports, train, "dissolve", "train.dissolved", {"why": "nobody was ready any more"})
        return {"tested": False}
    if view.base.remote is None:
        dissolve(ports, train, "no-remote", "There is no remote to land on.", _NO_REMOTE)
        return {"tested": False}
    if not view.policy.train.checks:
        dissolve(ports, train, "no-full-check", "No full suite is configured for the train.", _NO_SUITE)
        return {"tested": False}
    if doubtful := _doubtful(ports, view, train):
        _put_out(ports, train, doubtful)
        return {"tested": False}
    return {"tested": _search(ports, view, train)}


_NO_REMOTE = "Add a remote (a bare repository beside this one is enough) and push the default branch, then resume."
_NO_SUITE = "Set train.checks in interlock.yaml on the default branch, then resume."


def _doubtful(ports: Ports, view: View, train: TrainState) -> dict[Member, str]:
    """Members that are not ready at that head any more, are held, or whose proof does not hold any more, with the why."""
    asked = [(view.base.oid, card_file(member.slug)) for member in train.members]
    cards = [blob.oid if blob else None for blob in ports.repo.read_many(asked)]
    found = {
        member: _why_not(ports, view, member, card_oid) for member, card_oid in zip(train.members, cards, strict=True)
    }
    return {member: why for member, why in found.items() if why}


def _why_not(ports: Ports, view: View, member: Member, card_oid: str | None) -> str:
    job = ports.store.job(member.job)
    if job.state is not State.READY or job.held or job.head != member.head:
        return "changed"
    return _stale(ports, view, job, card_oid)


def _put_out(ports: Ports, train: TrainState, doubtful: Mapping[Member, str]) -> None:
    """Take members out of the train; those whose proof no longer holds are verified again."""
    for member, why in doubtful.items():
        job = ports.store.job(member.job)
        if why != "changed" and job.state is State.READY:
            step = f"{why}:{job.rev}"
            ports.store.record(NewEvent(subject=job.id, step=step, kind="job.verify-again", data={"why": why}))
    leave(ports, train, tuple(doubtful), "changed")


def _stale(ports: Ports, view: View, job: Job, card_oid: str | None) -> str:
    """Why a ready job has to be verified again, or nothing."""
    if card_oid != job.card_oid:
        return "card-changed"
    if not ports.repo.is_ancestor(job.base, view.base.oid):
        return "base-rewound"
    return "stale-evidence" if isinstance(prove(ports, view, job), Refusal) else ""


def _search(ports: Ports, view: View, train: TrainState) -> bool:
    """Probe until the members are green together, or one of them is known to be guilty."""
    members = {member.job: member for member in train.members}
    tested: dict[tuple[str, ...], tuple[Merged, tuple[Verdict, ...]]] = {}
    results: dict[tuple[str, ...], bool] = {}
    runs = 0
    while True:
        answer = bisect(tuple(members), results)
        match answer:
            case Probe(members=probe):
                merged = ports.repo.merge(
                    view.base.oid, [members[job].head for job in probe], message=_message(members, probe)
                )
                if isinstance(merged, TextConflict):
                    conflict(ports, train, members, merged)
                    return False
                verdicts, made = check_together(ports, view, train, merged, probe)
                runs += made
                verdicts = _excused(ports, verdicts, probe)
                if not tested and not _is_green(verdicts):
                    results |= {(job,): True for job in green_alone(ports, view, train, tuple(members))}
                tested[probe] = (merged, verdicts)
                results[probe] = _is_green(verdicts)
            case Green():
                _tested(ports, view, train, *tested[tuple(members)], runs)
                return True
            case Guilty(member=job, partners=partners):
                names = [members[partner].slug for partner in partners] or landed_partners(ports, view, train, job)
                _, verdicts = tested[(*partners, job)]
                guilty(ports, train, members[job], names, verdicts, runs)
                return False
            case RedBase():
                dissolve(ports, train, "red-base", "The full suite fails on the default branch itself.", _RED_BASE)
                return False


def _excused(ports: Ports, verdicts: tuple[Verdict, ...], jobs: Sequence[str]) -> tuple[Verdict, ...]:
    """What people accepted for each of these members, one by one, applied to the verdicts on their combined tree."""
    members = [ports.store.job(job) for job in jobs]
    waivers = {rule: by for job in members for rule, by in job.waivers.items()}
    return excuse(verdicts, waivers, {test for job in members for test in job.waived_tests})


def _is_green(verdicts: tuple[Verdict, ...]) -> bool:
    return bool(verdicts) and all(verdict.state != "refused" for verdict in verdicts)


_RED_BASE = "Mend the default branch, then resume."


def _message(members: dict[str, Member], probe: tuple[str, ...]) -> str:
    slugs = [members[job].slug for job in probe]
    subject = f"Land {', '.join(slugs)}"
    return f"{subject}\n\n" + "".join(f"Interlock-Job: {job}\n" for job in probe)


def _tested(
    ports: Ports,
    view: View,
    train: TrainState,
    merged: Merged,
    verdicts: tuple[Verdict, ...],
    runs: int,
) -> None:
    level = train_level(ports, view, [member.job for member in train.members])
    evidence = Evidence(
        subject=f"train:{train.number}",
        attempt=train.rev,
        commit=merged.commit,
        tree=merged.tree,
        base=view.base.oid,
        card_oid="",
        policy_digest=view.policy_digest,
        place="fresh",
        level=level,
        same_user=same_user(level),
        verdicts=verdicts,
    )
    number = ports.store.add_evidence(evidence)
    data = {
        "base": view.base.oid,
        "candidate": merged.commit,
        "tree": merged.tree,
        "diff": merged.diff,
        "evidence": number,
        "runs": runs,
    }
    record(ports, train, "tested", "train.tested", data)


def land_train(ports: Ports, number: int) -> dict[str, Any]:
    """Land the signed train, exactly as it was tested, or have it rebuilt on a default branch that moved.

    Cards and policy stand on the default branch, so as long as that is where the train was tested, they are too;
    whether it is, the remote itself says when it is asked to move it from there.  Where there is any doubt about a
    member, the remote is asked first whether the train landed already, before a crash.
    """
    train = ports.store.train()
    if train is None or train.number != number or train.phase != "signed":
        return {"landed": None}
    view = last_view(ports)
    doubtful = _doubtful(ports, view, train)
    if doubtful or view.base.oid != train.base:
        view = fresh_view(ports)
        doubtful = {} if has_landed(ports, view, train) else _doubtful(ports, view, train)
    if doubtful:
        _put_out(ports, train, doubtful)
        return {"landed": False}
    outcome, message = land_candidate(ports, view, train)
    match outcome:
        case "rebuild":
            record(ports, train, "rebuild", "train.rebuild", {"base": view.base.oid})
        case "rejected":
            dissolve(
                ports, train, "push-rejected", f"The remote did not take the commit: {message}", "Mend it, then resume."
            )
        case "moves":
            what = f"The default branch moved {train.rebuilds} times during the test."
            dissolve(ports, train, "base-moves", what, "Resume when it is quieter.")
        case _:
            pass
    return {"landed": outcome == "landed"}
