"""Sign-off: an owner approves the combined result of the train, bound to its merged difference; landing is integrate's."""

from __future__ import annotations

import shlex

from interlock.core.job.events import NewEvent
from interlock.core.merge.train import TrainState
from interlock.core.problems import Misuse, Refusal, Refused
from interlock.ports import Ports


def command(owner: str) -> str:
    """What an owner types; the login's own name is seldom the one that the card has."""
    return f"interlock sign-off --as {shlex.quote(owner)}"


def sign_off(ports: Ports, actor: str) -> TrainState:
    """Approve the tested train as one of its owners.

    Raises Misuse when no train waits, Refused when the actor is not an owner whose sign-off is missing.
    """
    train = ports.store.train()
    if train is None or train.phase not in ("tested", "signed"):
        state = f"The train is {train.phase}." if train else "There is no open train."
        raise Misuse(f"Nothing waits for a sign-off. {state}", hint="interlock run tests what is ready.")
    missing = train.unsigned
    if actor not in missing:
        raise Refused(
            Refusal(
                rule="sign-off",
                what=f"{actor} is not asked to sign off train {train.number}.",
                why="Each integration owner of its members approves the combined result, once.",
                would_change=f"Sign as one of them: {command(missing[0])}." if missing else "It is signed.",
                holders=missing,
            )
        )
    ports.store.record(
        NewEvent(
            subject=f"train:{train.number}",
            step=f"sign:{actor}:{train.rev}",
            kind="train.signed",
            actor=actor,
            data={"diff": train.diff, "candidate": train.candidate, "members": [m.as_json() for m in train.members]},
        )
    )
    for member in train.members:
        if member.owner == actor:
            ports.store.approve(member.job, member.head, actor, text=f"signed off train {train.number}")
    again = ports.store.train()
    return again or train
