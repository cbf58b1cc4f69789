"""``interlock status``: every job, what waits for a person, and the train."""

from __future__ import annotations

import click

from interlock.cli.render import Face, since, table, verb
from interlock.core.job.lifecycle import OPEN


@click.command("status")
@click.option("--all", "everything", is_flag=True, help="Closed jobs too.")
@verb
def command(face: Face, everything: bool) -> int:
    """Show every open job, what waits for a person, and the train."""
    from interlock.app.status import has_cards, status
    from interlock.wiring import open_ports

    ports = open_ports()
    now = status(ports, everything=everything)
    lines: list[str] = []
    if now.asked:
        lines.append(f"NEEDS A PERSON ({len(now.asked)})")
        lines += [
            f"  ! {item['slug']}: {item['what']} ({', '.join(filter(None, (item['owner'], since(item['since']))))})"
            for item in now.asked
        ]
    rows = []
    for job in now.jobs:
        state = "missing folder" if job.id in now.missing else str(job.state)
        waits = job.waiting.rule if job.waiting else (f"held: {job.held}" if job.held else "")
        rows.append((job.slug, job.class_name, state, job.attempt, waits, since(job.since)))
    if rows:
        lines += table(rows, ("slug", "class", "state", "attempt", "waits for", "since"))
    for job in now.jobs:
        for each in now.ended.get(job.id, ()):
            lines += [f"{job.slug}: the service {each.name} ended.", *(f"  | {line}" for line in each.why.splitlines())]
    lines += [f"{job.slug} {now.whys[job.id]}" for job in now.jobs if job.id in now.whys and not job.held]
    for train in now.trains:
        members = ", ".join(member.slug for member in train.members)
        lines.append(f"train {train.number}: {train.phase}: {members}")
    then = "interlock inbox" if now.asked else "interlock run"
    if not now.asked and not any(job.state in OPEN for job in now.jobs):
        then = "interlock dispatch --ready" if has_cards(ports) else "interlock card new SLUG --class CLASS"
    face.answer(now.as_json(), lines or ["No open job."], then=then)
    return 0
