"""``interlock env``: the variables of a job's task, for a shell."""

from __future__ import annotations

import shlex

import click

from interlock.cli.render import Face, verb
from interlock.core.problems import Misuse


@click.command("env")
@click.argument("slug")
@verb
def command(face: Face, slug: str) -> int:
    """Print the variables of a job's task, as lines that a shell can read."""
    from interlock.app.isolate import environment_of
    from interlock.wiring import open_ports

    ports = open_ports()
    job = ports.store.find(slug)
    if job is None or job.workspace is None:
        raise Misuse(f"{slug} has no task of its own yet.", hint=f"interlock dispatch {slug}")
    values = environment_of(ports, job)
    face.answer(values, [f"export {name}={shlex.quote(value)}" for name, value in sorted(values.items())])
    return 0
