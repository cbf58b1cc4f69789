"""``interlock logs``: what a job's agent wrote, made safe for a terminal."""

from __future__ import annotations

import time
from functools import partial

import click

from interlock.cli.render import Face, verb
from interlock.cli.streams import Following, Plain, Printer, Raw, Told, end_of
from interlock.core.problems import Misuse
from interlock.ports.bundle import Ports


@click.command("logs")
@click.argument("slug")
@click.option("-f", "--follow", is_flag=True, help="Go on until the attempt ends.")
@click.option("--attempt", type=int, help="Which attempt; the last one by default.")
@click.option("--raw", is_flag=True, help="The bytes as they came; control characters reach the terminal.")
@verb
def command(face: Face, slug: str, follow: bool, attempt: int | None, raw: bool) -> int:
    """Show what the agent of a job wrote: a known agent's stream a line for each thing it did, with --raw as it came.

    With --json it is the last MiB, and the path of the whole.
    """
    from interlock.app.show import known_job
    from interlock.wiring import open_ports

    ports = open_ports()
    job = known_job(ports, slug)
    if not (attempt or job.attempt):
        raise Misuse(f"No attempt of {slug} has started.", hint="interlock run starts what is due.")
    if attempt is not None and not 1 <= attempt <= job.attempt:
        raise Misuse(f"{slug} has no attempt {attempt}; the last one is {job.attempt}.", hint=f"interlock logs {slug}")
    number = attempt or job.attempt
    folder = ports.records.attempt(job.id, number)
    path = folder / "output.log"
    started = ports.store.event(job.id, number, "start")
    use = str(started.data.get("agent") or "command") if started else "command"
    if face.json:
        face.answer({"slug": slug, "attempt": number, "path": str(path), **end_of(path)})
        return 0
    log = Following(path, Raw() if raw else _printer(ports, use))
    log.on()
    while follow and ports.runs.alive(folder):
        time.sleep(0.3)
        log.on()
    log.close()
    Following(folder / "errors.log", Raw() if raw else Plain()).close()
    return 0


def _printer(ports: Ports, use: str) -> Printer:
    """What a command wrote is for people already; the lines of any other agent are told."""
    return Plain() if use == "command" else Told(partial(ports.agents.told, use))
