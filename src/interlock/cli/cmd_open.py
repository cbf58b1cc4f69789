"""``interlock open``: a task's tree as a folder of this machine, for an editor."""

from __future__ import annotations

from pathlib import Path

import click

from interlock.cli.render import Face, verb


@click.command("open")
@click.argument("slug")
@click.option("--to", "target", type=click.Path(path_type=Path), help="Write a copy there; the folder must be new.")
@verb
def command(face: Face, slug: str, target: Path | None) -> int:
    """Print a folder with a task's files: its own tree where this machine sees it, else a copy as they are now."""
    from interlock.app.shell import open_tree
    from interlock.wiring import open_ports

    shown = open_tree(open_ports(narrate=face.say), slug, target.absolute() if target else None)
    face.answer(shown.as_json(), [str(shown.path)])
    face.say(shown.what)
    return 0
