"""``interlock resume``: go on with a job that waits for something other than an answer."""

from __future__ import annotations

import click

from interlock.cli.actor import actor_option, refuse_inside_a_task
from interlock.cli.render import Face, verb


@click.command("resume")
@click.argument("slug")
@actor_option
@verb
def command(face: Face, slug: str, actor: str) -> int:
    """Go on with a job that was stopped, whose folder is gone, or that the train let go.

    A missing folder is recreated from the branch; what was not committed there is lost, and that is said.
    Refuses a job that waits for an answer.
    """
    from interlock.app.decide import resume
    from interlock.wiring import open_ports

    refuse_inside_a_task(f"How {slug} goes on")
    job = resume(open_ports(narrate=face.say), slug, actor)
    face.answer(
        {"slug": job.slug, "job": job.id, "state": job.state}, [f"{job.slug} is {job.state}."], then="interlock run"
    )
    return 0
