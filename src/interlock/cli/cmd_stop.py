"""``interlock stop``: end a job's agent; the job then waits for a decision."""

from __future__ import annotations

import click

from interlock.cli.actor import actor_option
from interlock.cli.render import Face, verb


@click.command("stop")
@click.argument("slug")
@click.option("--reason", default="no reason given", help="Why, for the record.")
@actor_option
@verb
def command(face: Face, slug: str, reason: str, actor: str) -> int:
    """End a job's agent with its whole process tree, and keep its work. Refuses a job that is closed."""
    from interlock.app.decide import stop
    from interlock.wiring import open_ports

    job = stop(open_ports(narrate=face.say), slug, actor, reason)
    face.answer(
        {"slug": job.slug, "job": job.id, "state": job.state}, [f"{job.slug}: stopping."], then=f"interlock show {slug}"
    )
    return 0
