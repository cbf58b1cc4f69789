"""``interlock sign-off``: an owner approves the combined result of the train."""

from __future__ import annotations

import click

from interlock.cli.actor import actor_option, as_owner, refuse_inside_a_task
from interlock.cli.render import Face, verb


@click.command("sign-off")
@actor_option
@verb
def command(face: Face, actor: str) -> int:
    """Approve the combined, tested result of the train as one of its integration owners.

    Refuses anybody who is not asked. It binds the merged difference: it is asked again only when that changes.
    """
    from interlock.app.sign_off import sign_off
    from interlock.wiring import open_ports

    refuse_inside_a_task("The sign-off")
    ports = open_ports(narrate=face.say)
    asked = ports.store.train()
    train = sign_off(ports, as_owner(actor, asked.unsigned if asked else ()))
    missing = list(train.unsigned)
    shape = {"train": train.number, "phase": train.phase, "candidate": train.candidate, "waits_for": missing}
    said = f"Train {train.number} waits for {', '.join(missing)}." if missing else f"Train {train.number} may land."
    face.answer(shape, [said], then=None if missing else "interlock run")
    return 0
