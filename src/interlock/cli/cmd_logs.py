"""``interlock logs``: what a job's agent wrote, made safe for a terminal."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

import click

from interlock.cli.render import Face, verb
from interlock.core.problems import Misuse
from interlock.ports import Ports


@click.command("logs")
@click.argument("slug")
@click.option("-f", "--follow", is_flag=True, help="Go on until the attempt ends.")
@click.option("--attempt", type=int, help="Which attempt; the last one by default.")
@click.option("--raw", is_flag=True, help="The bytes as they came; control characters reach the terminal.")
@verb
def command(face: Face, slug: str, follow: bool, attempt: int | None, raw: bool) -> int:
    """Show what the agent of a job wrote: a known agent's stream a line for each thing it did, with --raw as it came."""
    from interlock.wiring import open_ports

    ports = open_ports()
    job = ports.store.find(slug)
    if job is None or not (attempt or job.attempt):
        raise Misuse(f"No attempt of {slug} has started.", hint="interlock run starts what is due.")
    if attempt is not None and not 1 <= attempt <= job.attempt:
        raise Misuse(f"{slug} has no attempt {attempt}; the last one is {job.attempt}.", hint=f"interlock logs {slug}")
    number = attempt or job.attempt
    folder = ports.records.attempt(job.id, number)
    path = folder / "output.log"
    started = ports.store.event(job.id, number, "start")
    use = str(started.data.get("agent") or "command") if started else "command"
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
    printed = _print_from if raw or use == "command" else partial(_tell_from, ports, use)
    shown = printed(path, 0, raw=raw)
    while follow and ports.runs.alive(folder):
        time.sleep(0.3)
        shown = printed(path, shown, raw=raw)
    printed(path, shown, raw=raw)
    _print_from(folder / "errors.log", 0, raw=raw)
    return 0


def _tell_from(ports: Ports, use: str, path: Path, offset: int, *, raw: bool) -> int:  # noqa: ARG001 - see _print_from
    """What the stream says from here on, a line each; gives how far whole lines went."""
    from interlock.app.telling import told
    from interlock.host.text import plain

    if not path.exists():
        return offset
    with path.open("rb") as stream:
        stream.seek(offset)
        whole = stream.read().rpartition(b"\n")[0]
    for each in ports.agents.told(use, whole):
        if line := told(each):
            click.echo(plain(line))
    return offset + len(whole) + 1 if whole else offset


def _print_from(path: Path, offset: int, *, raw: bool) -> int:
    """The bytes of a log from here on; gives how far they went."""
    from interlock.host.text import plain

    if not path.exists():
        return offset
    with path.open("rb") as stream:
        stream.seek(offset)
        while block := stream.read(1 << 20):
            offset += len(block)
            click.echo(block if raw else plain(block.decode("utf-8", "replace")), nl=False)
    return offset
