"""``interlock down``: end the services beside a task."""

from __future__ import annotations

import click

from interlock.cli.actor import actor_option
from interlock.cli.render import Face, verb


@click.command("down")
@click.argument("slug")
@actor_option
@verb
def command(face: Face, slug: str, actor: str) -> int:
    """End a task's services with all that they started; its tree, ports and database stay."""
    from interlock.app.down import down
    from interlock.wiring import open_ports

    job, stopped = down(open_ports(narrate=face.say), slug, actor)
    lines = [f"{name}: ended" for name in stopped] or [f"{slug}: no service runs."]
    face.answer({"job": job.id, "slug": job.slug, "ended": list(stopped)}, lines)
    return 0
