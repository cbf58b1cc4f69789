"""``interlock shell``: a person's shell, or one command, in the room of a task."""

from __future__ import annotations

import click

from interlock.cli.render import Face, verb


@click.command("shell", context_settings={"ignore_unknown_options": True})
@click.argument("slug")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]")
@verb
def command(face: Face, slug: str, words: tuple[str, ...]) -> int:
    """Enter a task's tree as its agent sees it, or run one command there; the exit code is handed on."""
    from interlock.app.shell import shell
    from interlock.wiring import open_ports

    job, code = shell(open_ports(narrate=face.say), slug, words)
    if face.json:
        face.answer({"job": job.id, "slug": job.slug, "exit_code": code})
    return code
