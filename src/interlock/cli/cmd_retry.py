"""``interlock retry``: another attempt, with a new hypothesis on the record."""

from __future__ import annotations

import click

from interlock.cli.actor import actor_option
from interlock.cli.render import Face, verb


@click.command("retry")
@click.argument("slug")
@click.option("--hypothesis", required=True, help="What will be different this time.")
@actor_option
@verb
def command(face: Face, slug: str, hypothesis: str, actor: str) -> int:
    """Start another attempt of a job that waits.

    Refuses a hypothesis that was tried, and more attempts than the card's budget allows.
    """
    from interlock.app.decide import retry
    from interlock.wiring import open_ports

    job = retry(open_ports(narrate=face.say), slug, hypothesis, actor)
    face.answer(
        {"slug": job.slug, "job": job.id, "state": job.state}, [f"{job.slug} is {job.state}."], then="interlock run"
    )
    return 0
