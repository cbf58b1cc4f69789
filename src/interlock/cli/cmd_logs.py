"""``interlock logs``: what a job's agent wrote, made safe for a terminal."""

from __future__ import annotations

import time
from pathlib import Path

import click

from interlock.cli.render import Face, verb
from interlock.core.problems import Misuse


@click.command("logs")
@click.argument("slug")
@click.option("-f", "--follow", is_flag=True, help="Go on until the attempt ends.")
@click.option("--attempt", type=int, help="Which attempt; the last one by default.")
@click.option("--raw", is_flag=True, help="The bytes as they came; control characters reach the terminal.")
@verb
def command(face: Face, slug: str, follow: bool, attempt: int | None, raw: bool) -> int:
    """Show what the agent of a job wrote."""
    from interlock.wiring import open_ports

    ports = open_ports()
    job = ports.store.find(slug)
    if job is None or not (attempt or job.attempt):
        raise Misuse(f"No attempt of {slug} has started.", hint="interlock run starts what is due.")
    if attempt is not None and not 1 <= attempt <= job.attempt:
        raise Misuse(f"{slug} has no attempt {attempt}; the last one is {job.attempt}.", hint=f"interlock logs {slug}")
    folder = ports.records.attempt(job.id, attempt or job.attempt)
    path = folder / "output.log"
    if face.json:
        data = path.read_bytes() if path.exists() else b""
        face.answer(
            {
                "slug": slug,
                "attempt": attempt or job.attempt,
                "path": str(path),
                "text": data.decode("utf-8", "replace"),
            }
        )
        return 0
    _print_from(path, 0, raw=raw)
    while follow and ports.runs.alive(folder):
        shown = path.stat().st_size if path.exists() else 0
        time.sleep(0.3)
        _print_from(path, shown, raw=raw)
    return 0


def _print_from(path: Path, offset: int, *, raw: bool) -> None:
    from interlock.host.text import plain

    if not path.exists():
        return
    with path.open("rb") as stream:
        stream.seek(offset)
        while block := stream.read(1 << 20):
            click.echo(block if raw else plain(block.decode("utf-8", "replace")), nl=False)
