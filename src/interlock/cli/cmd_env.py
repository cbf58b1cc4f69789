"""``interlock env``: the variables of a job's task, for a shell."""

from __future__ import annotations

import shlex

import click

from interlock.cli.render import Face, verb


@click.command("env")
@click.argument("slug")
@verb
def command(face: Face, slug: str) -> int:
    """Print the variables of a job's task as this machine sees them, as lines that a shell can read. A sealed task sees
    other ports and paths: its own values are in .agent-env inside.
    """
    from interlock.app.shell import seen_from_here
    from interlock.wiring import open_ports

    values = seen_from_here(open_ports(), slug)
    face.answer(values, [f"export {name}={shlex.quote(value)}" for name, value in sorted(values.items())])
    return 0
