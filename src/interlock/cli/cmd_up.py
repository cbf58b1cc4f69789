"""``interlock up``: everything that stands beside a task, ready."""

from __future__ import annotations

import click

from interlock.cli.actor import actor_option
from interlock.cli.render import Face, verb


@click.command("up")
@click.argument("slug")
@click.option("--expose/--no-expose", default=True, help="Whether a sandbox's services are reached from this machine.")
@actor_option
@verb
def command(face: Face, slug: str, expose: bool, actor: str) -> int:
    """Render a task's configuration, run its migrations, start its services, and return when all are ready."""
    from interlock.app.up import up
    from interlock.wiring import open_ports

    done = up(open_ports(narrate=face.say), slug, actor, expose=expose)
    lines = [f"wrote {target}" for target in done.rendered]
    lines += [f"{each.name}: {each.state}  {done.urls.get(each.name, '')}".rstrip() for each in done.services]
    then = f"interlock down {slug}" if done.services else f"interlock shell {slug}"
    face.answer(done.as_json(), lines or [f"{slug}: nothing stands beside it."], then=then)
    return 0
