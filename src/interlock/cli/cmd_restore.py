"""``interlock restore``: bring a cleaned task back."""

from __future__ import annotations

import click

from interlock.cli.actor import actor_option
from interlock.cli.render import Face, verb


@click.command("restore")
@click.argument("slug")
@actor_option
@verb
def command(face: Face, slug: str, actor: str) -> int:
    """Bring the tree of a cleaned job back, with its branch and its uncommitted and ignored files.

    Refuses when there is no snapshot, or the tree is there.
    """
    from interlock.app.clean import restore
    from interlock.wiring import open_ports

    job = restore(open_ports(narrate=face.say), slug, actor)
    then = f"interlock shell {job.slug}"
    face.answer({"slug": job.slug, "workspace": job.workspace}, [f"{job.slug}: back at {job.workspace}."], then=then)
    return 0
