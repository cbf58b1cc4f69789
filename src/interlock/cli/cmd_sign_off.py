"""``interlock sign-off``: an owner approves the combined result of a train, or takes that back."""

from __future__ import annotations

import click

from interlock.cli.actor import actor_option, as_owner, refuse_inside_a_task
from interlock.cli.render import Face, verb


@click.command("sign-off")
@click.option("--train", "number", type=int, help="Which train; without it, the oldest that asks for you.")
@click.option("--withdraw", is_flag=True, help="Take your sign-off back, as long as it has not landed.")
@actor_option
@verb
def command(face: Face, actor: str, number: int | None, withdraw: bool) -> int:
    """Approve the combined, tested result of the train as one of its integration owners.

    Refuses anybody who is not asked. It binds the merged difference: it is asked again only when that changes.
    """
    from interlock.app import sign_off
    from interlock.wiring import open_ports

    refuse_inside_a_task("The sign-off")
    ports = open_ports(narrate=face.say)
    if withdraw:
        known = [owner for train in ports.store.open_trains() for owner in train.signed]
        train = sign_off.withdraw(ports, as_owner(actor, tuple(known)), number)
    else:
        asked = [owner for train in sign_off.asked(ports, number) for owner in train.unsigned]
        train = sign_off.sign_off(ports, as_owner(actor, tuple(asked)), number)
    missing = list(train.unsigned)
    shape = {"train": train.number, "phase": train.phase, "candidate": train.candidate, "waits_for": missing}
    said = f"Train {train.number} waits for {', '.join(missing)}." if missing else f"Train {train.number} may land."
    face.answer(shape, [said], then=None if missing else "interlock run")
    return 0
