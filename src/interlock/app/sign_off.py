"""Sign-off: an owner approves the combined result of the train, bound to its merged difference; landing is integrate's."""

from __future__ import annotations

from dataclasses import replace

from interlock.app.asking import sign_off_command
from interlock.app.base import fresh_view, last_view
from interlock.app.landing import LANDING, has_landed, unproven
from interlock.app.train_exit import dissolve, leave
from interlock.core.job.events import NewEvent
from interlock.core.merge.train import TrainState
from interlock.core.problems import Misuse, Refusal, Refused, refused
from interlock.ports.bundle import Ports


def asked(ports: Ports, number: int | None = None) -> tuple[TrainState, ...]:
    """The trains that wait for sign-offs, the oldest first; with a number, that one of them."""
    waiting = (train for train in ports.store.open_trains() if train.phase == "tested")
    return tuple(train for train in waiting if number in (None, train.number))


def sign_off(ports: Ports, actor: str, number: int | None = None) -> TrainState:
    """Approve a tested train as one of its owners: the oldest that asks for this one, or the one of that number.

    Raises Misuse when no train waits, Refused when the actor is not an owner whose sign-off is missing, or when nothing that may
    be believed proves the combined result any more: then the train is dissolved, and its members wait.
    """
    waiting = asked(ports, number)
    train = next((train for train in waiting if actor in train.unsigned), None)
    if train is None:
        raise _not_asked(ports, actor, waiting, number)
    _check_proven(ports, train)
    ports.store.record(
        NewEvent(
            subject=f"train:{train.number}",
            step=f"sign:{actor}:{train.rev}",
            kind="train.signed",
            actor=actor,
            data={"diff": train.diff, "candidate": train.candidate, "members": [m.as_json() for m in train.landing]},
        )
    )
    for member in train.landing:
        if member.owner == actor:
            ports.store.approve(member.job, member.head, actor, text=f"signed off train {train.number}")
    return ports.store.train(train.number) or train


def _check_proven(ports: Ports, train: TrainState) -> None:
    """An owner signs off what was tested, and nothing that somebody wrote there.  Raises Refused, BrokenRules."""
    doubt = unproven(ports, last_view(ports), train)
    if doubt is None:
        return
    dissolve(ports, train, doubt.rule, doubt.what, f"{doubt.would_change} Then resume.")
    raise Refused(replace(doubt, what=f"{doubt.what} Train {train.number} is dissolved, and its members wait."))


def _not_asked(ports: Ports, actor: str, waiting: tuple[TrainState, ...], number: int | None) -> Exception:
    if not waiting:
        open_ones = ports.store.open_trains()
        states = " ".join(f"Train {train.number} is {train.phase}." for train in open_ones) or "There is no open train."
        if number is not None and (others := asked(ports)):
            hint = f"interlock inbox tells what waits; the oldest is train {others[0].number}."
            return Misuse(f"Train {number} waits for no sign-off. {states}", hint=hint)
        return Misuse(f"Nothing waits for a sign-off. {states}", hint="interlock run tests what is ready.")
    missing = tuple(dict.fromkeys(owner for train in waiting for owner in train.unsigned))
    numbers = ", ".join(str(train.number) for train in waiting)
    return refused(
        rule="sign-off",
        what=f"{actor} is not asked to sign off train {numbers}.",
        why="Each integration owner of its members approves the combined result, once.",
        would_change=f"Sign as one of them: {sign_off_command(missing[0])}." if missing else "It is signed.",
        holders=missing,
    )


def withdraw(ports: Ports, actor: str, number: int | None = None) -> TrainState:
    """Take back a sign-off of a train that has not landed; it is asked for again.

    Raises Misuse when the actor signed none, Refused (landing) when the commit is on the default branch already.
    """
    with ports.records.lock(LANDING, wait=None):
        signed = (train for train in ports.store.open_trains() if train.signed.get(actor) == train.diff != "")
        train = next((train for train in signed if number in (None, train.number)), None)
        if train is None:
            raise Misuse(
                f"{actor} has signed no open train.",
                hint="interlock train show tells which are open; interlock revert takes back what has landed.",
            )
        if has_landed(ports, fresh_view(ports), train):
            raise Refused(_landed(train))
        step = f"withdraw:{actor}:{train.rev}"
        data = {"diff": train.diff, "candidate": train.candidate}
        event = NewEvent(subject=f"train:{train.number}", step=step, kind="train.unsigned", actor=actor, data=data)
        ports.store.record(event, expect=train.rev)
    return ports.store.train(train.number) or train


def let_go(ports: Ports, job: str) -> None:
    """Take a change out of a signed train of which nothing is on the remote yet; the rest is tested again without it.

    Raises Refused (landing) when the commit is on the default branch already, GitFailed when that cannot be told.
    """
    with ports.records.lock(LANDING, wait=None):
        signed = [train for train in ports.store.open_trains() if train.phase == "signed"]
        train = next((train for train in signed if job in {each.job for each in train.landing}), None)
        if train is None:
            return
        if has_landed(ports, fresh_view(ports), train):
            raise Refused(_landed(train))
        leave(ports, train, [each for each in train.members if each.job == job], "abandoned")


def _landed(train: TrainState) -> Refusal:
    return Refusal(
        rule="landing",
        what=f"The commit of train {train.number} is on the default branch already.",
        why="What has landed is taken back by a revert, on the record.",
        would_change="interlock run writes the landing down; then revert the change.",
        holders=tuple(member.slug for member in train.landing),
    )
