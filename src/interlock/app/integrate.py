"""The train's steps: open it, take in who is ready, test, put out, seal, land; each does only what is due; rules are core.merge's."""

from __future__ import annotations

from typing import Any

from interlock.app import blame, dependants
from interlock.app.base import View, fresh_view, last_view
from interlock.app.candidate import cancel, green_run, try_set
from interlock.app.landing import LANDING, has_landed, land_candidate
from interlock.app.members import (
    as_judged,
    depends_on,
    doubtful,
    elsewhere,
    members,
    put_out,
    queue_snapshot,
    tell_unknown_classes,
)
from interlock.app.train_exit import dissolve, leave, record, without_departed
from interlock.core.job.events import NewEvent
from interlock.core.merge.queue import Land, Out, RedBase, Set, Test
from interlock.core.merge.speculation import decide
from interlock.core.merge.standing import due, present, queue_of, stranded, under_way
from interlock.core.merge.train import Member, TrainState
from interlock.core.plan import joining, opening, run_of, try_of
from interlock.ports.bundle import Ports

_NO_REMOTE = "Add a remote (a bare repository beside this one is enough) and push the default branch, then resume."
_NO_SUITE = "Set train.checks in interlock.yaml on the default branch, then resume."
_RED_BASE = "Mend the default branch, then resume."


def open_train(ports: Ports, number: int) -> dict[str, Any]:
    """Put the ready changes that may land together into train number, in their order.

    One that finds nobody ready any more is opened all the same, and dissolved when it is tested: each number is
    used up by one opening.  Nothing is opened beside a train that is in test.
    """
    if any(train.phase != "tested" for train in ports.store.open_trains()):
        return {"opened": False}
    view = last_view(ports)
    tell_unknown_classes(ports, view)
    order = opening(queue_snapshot(ports, view))
    some = as_judged(ports, view, order)
    last = ports.store.train(number - 1) if number > 1 else None
    data = {
        "base": view.base.oid,
        "members": [member.as_json() for member in some],
        "earlier": list(last.seen) if last is not None else [0, 0],
    }
    ports.store.record(NewEvent(subject=f"train:{number}", step="open", kind="train.opened", data=data))
    return {"opened": bool(some)}


def prove_train(ports: Ports, number: int) -> dict[str, Any]:
    """Do what is due for a train in test, until it is sealed or only runs of others are waited for.

    With one slot the runs are made here.  Of a train that is tested already only who departed leaves; what is left is tested with the
    next look.
    """
    without_departed(ports)
    view = _ready_to_test(ports, number)
    if view is None:
        return {"tested": None}
    _join(ports, view, number)
    while True:
        train = ports.store.train(number)
        if train is None or train.phase != "testing":
            return {"tested": train is not None and train.phase in ("tested", "signed", "landed")}
        if not _advance(ports, view, train):
            return {"tested": False}


def run_train(ports: Ports, subject: str) -> dict[str, Any]:
    """Make one run of a train, unless nobody needs it any more; subject is core.plan's, of a train-run.

    One that finds nothing to do says so on the record: the member that left may come back, and a run is started once under its name.
    """
    number, base, jobs = run_of(subject)
    found = _still_due(ports, subject)
    if found is None:
        train = ports.store.train(number)
        if train is not None and train.open and not _told(train, present(train, base, jobs) or jobs, try_of(subject)):
            cancel(ports, train, base, jobs, try_of(subject), "nothing is to be tested under its name any more")
        return {"ran": False}
    try_set(ports, *found)
    return {"ran": True}


def _still_due(ports: Ports, subject: str) -> tuple[View, TrainState, Set] | None:
    """The rules, the train and the set as it is on the present base, where the run that the subject names is to be made."""
    number, base, jobs = run_of(subject)
    train = ports.store.train(number)
    now = present(train, base, jobs) if train is not None and train.phase in ("testing", "signed") else None
    if train is None or now is None or not set(now) <= {member.job for member in train.members}:
        return None
    view = last_view(ports)
    if train.phase == "testing":
        ready = _ready_to_test(ports, number)
        train = ports.store.train(number)
        if ready is None or train is None or (now := present(train, base, jobs)) is None:
            return None
        view = ready
    if not set(now) <= {member.job for member in train.members} or _told(train, now, try_of(subject)):
        return None
    return view, train, now


def _told(train: TrainState, jobs: Set, number: int) -> bool:
    """Whether that run is written down already, before a crash, or is of the very commit that is sealed.

    Made again it would put newer evidence under what lands.
    """
    last = train.last_of(jobs)
    sealed = train.phase != "testing" and last is not None and last.commit == train.candidate
    return sealed or train.tried(jobs) >= number


def _ready_to_test(ports: Ports, number: int) -> View | None:
    """The rules of the present default branch, on which the train is then in test; None where it is not any more.

    A train whose base moved goes onto the present one; members whose proof does not hold there leave.
    """
    train = ports.store.train(number)
    if train is None or train.phase != "testing":
        return None
    view = fresh_view(ports)
    if not train.members:
        record(ports, train, "dissolve", "train.dissolved", {"why": "nobody was ready any more"})
    elif view.base.remote is None:
        dissolve(ports, train, "no-remote", "There is no remote to land on.", _NO_REMOTE)
    elif not view.policy.train.checks:
        dissolve(ports, train, "no-full-check", "No full suite is configured for the train.", _NO_SUITE)
    elif doubts := doubtful(ports, view, train.members):
        put_out(ports, train, doubts)
    elif lost := _stranded(ports, train):
        leave(ports, train, lost, "needs-another")
    elif needy := dependants.unmet(ports, view, train.members):
        dependants.put_out(ports, train, needy)
    elif view.base.oid != train.base:
        record(ports, train, "rebuild", "train.rebuild", {"base": view.base.oid, "counted": bool(train.ran)})
    else:
        return view
    return _ready_to_test(ports, number)


def _stranded(ports: Ports, train: TrainState) -> tuple[Member, ...]:
    jobs = ports.store.jobs()
    return stranded(train, jobs, depends_on(jobs))


def _join(ports: Ports, view: View, number: int) -> None:
    """Take in who is ready and belongs to this train, as far as its window reaches."""
    train = ports.store.train(number)
    if view.policy.train.slots == 1 or train is None or train.phase != "testing":
        return
    fresh = joining(queue_snapshot(ports, view, trains=ports.store.open_trains()), train)
    if fresh:
        data = {"members": [member.as_json() for member in as_judged(ports, view, fresh)]}
        record(ports, train, "joined", "train.joined", data)


def _advance(ports: Ports, view: View, train: TrainState) -> bool:
    """Carry out the first move that is due; False when nothing is left to do here."""
    snapshot = queue_snapshot(ports, view, trains=(train,))
    running = under_way(train) if view.policy.train.slots > 1 else frozenset()
    queue = queue_of(train, snapshot.jobs, snapshot.depends_on, view.policy.train, running)
    if train.outs:
        blame.put_out(ports, view, train, train.outs[0])
        return True
    moves = decide(queue)
    match due(train, moves):
        case Test(members=jobs):
            if view.policy.train.slots > 1:
                return False
            return try_set(ports, view, train, jobs)
        case Land() as move:
            outs = [blame.accusation(ports, view, train, each) for each in moves if isinstance(each, Out)]
            _seal(ports, view, train, move, outs)
        case Out() as move:
            blame.put_out(ports, view, train, blame.accusation(ports, view, train, move))
        case RedBase():
            dissolve(ports, train, "red-base", "The full suite fails on the default branch itself.", _RED_BASE)
        case _:
            return False
    return True


def _seal(ports: Ports, view: View, train: TrainState, move: Land, outs: list[dict[str, Any]]) -> None:
    """Fix the green candidate that lands: a commit on the train's base, tested as it is.

    One that was tested before others landed is built anew: its tree is the same, so nothing is run, and if it is
    not, it is tested.  Where owners are asked, who does not land with it goes on in another train.  ``outs`` are who
    leaves as soon as it has landed.
    """
    run = green_run(train, move.members)
    if run is None:
        try_set(ports, view, train, move.members)
        return
    lands = members(train, move.members)
    if any(member.owner for member in lands) and (rest := [each for each in train.members if each not in lands]):
        leave(ports, train, rest, "next-train")
        return
    data = {
        "base": run.base,
        "candidate": run.commit,
        "tree": run.tree,
        "diff": run.diff,
        "evidence": run.evidence,
        "lands": list(move.members),
        "flaked": [list(each) for each in move.flaked],
        "outs": outs,
    }
    record(ports, train, "tested", "train.tested", data)


def land_train(ports: Ports, number: int) -> dict[str, Any]:
    """Land the signed candidate, exactly as it was tested, or have it rebuilt on a default branch that moved.

    Cards and policy stand on the default branch, so as long as that is where the train was tested, they are too;
    whether it is, the remote itself says when it is asked to move it from there.  Where there is any doubt about a
    member, the remote is asked first whether the train landed already, before a crash.
    """
    with ports.records.lock(LANDING, wait=None):
        return _land(ports, number)


def _land(ports: Ports, number: int) -> dict[str, Any]:
    train = ports.store.train(number)
    if train is None or train.phase != "signed":
        return {"landed": None}
    ports.signer.check()  # before anything is pushed: the landing is written down under this key
    view = last_view(ports)
    doubts = doubtful(ports, view, train.landing, fetched=False)
    if doubts or view.base.oid != train.base or elsewhere(ports, view, train.landing):
        view = fresh_view(ports)
        doubts = {} if has_landed(ports, view, train) else doubtful(ports, view, train.landing)
    if doubts:
        put_out(ports, train, doubts)
        return {"landed": False}
    return {"landed": _settle(ports, view, train) == "landed"}


def _settle(ports: Ports, view: View, train: TrainState) -> str:
    """Ask the remote, and write down what follows from its answer."""
    outcome, message = land_candidate(ports, view, train)
    match outcome:
        case "rebuild":
            record(ports, train, "rebuild", "train.rebuild", {"base": fresh_view(ports).base.oid})
        case "waited":
            data = {"base": fresh_view(ports).base.oid, "counted": False}
            record(ports, train, "rebuild", "train.rebuild", data)
        case "rejected":
            dissolve(
                ports, train, "push-rejected", f"The remote did not take the commit: {message}", "Mend it, then resume."
            )
        case "moves":
            what = f"The default branch moved {train.rebuilds} times during the test."
            dissolve(ports, train, "base-moves", what, "Resume when it is quieter.")
        case "otherwise":
            dissolve(ports, train, "landed-otherwise", message, _OTHERWISE, commit=train.candidate, tree=train.tree)
            ports.narrate(f"ALARM: train {train.number}: {message} Nothing lands until a person has answered.")
        case _:
            pass
    return outcome


_OTHERWISE = (
    "Look at the default branch of the remote. Nothing lands while a change waits by this rule: resume it when all is well, "
    "or abandon it."
)
