"""``interlock retry``: another attempt, with a new hypothesis on the record."""

from __future__ import annotations

import click

from interlock.cli.actor import actor_option, refuse_inside_a_task
from interlock.cli.render import Face, verb


@click.command("retry")
@click.argument("slug")
@click.option("--hypothesis", required=True, help="What will be different this time.")
@click.option("--even-so", is_flag=True, help="Try again although it is not worth its expected cost; for the record.")
@click.option("--phase", metavar="NAME", help="Begin again with this phase instead of the one that ended.")
@actor_option
@verb
def command(face: Face, slug: str, hypothesis: str, even_so: bool, phase: str | None, actor: str) -> int:
    """Start another attempt of a job that waits.

    Refuses a hypothesis that was tried, an attempt that costs more than it is worth, and more attempts than the
    card's budget allows.
    """
    from interlock.app.decide import retry
    from interlock.wiring import open_ports

    refuse_inside_a_task(f"A retry of {slug}")
    job = retry(open_ports(narrate=face.say), slug, hypothesis, actor, even_so=even_so, phase=phase)
    face.answer(
        {"slug": job.slug, "job": job.id, "state": job.state}, [f"{job.slug} is {job.state}."], then="interlock run"
    )
    return 0
