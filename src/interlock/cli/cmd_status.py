"""``interlock status``: every job, what waits for a person, and the train."""

from __future__ import annotations

import click

from interlock.cli.render import Face, since, table, verb


@click.command("status")
@click.option("--all", "everything", is_flag=True, help="Closed jobs too.")
@verb
def command(face: Face, everything: bool) -> int:
    """Show every open job, what waits for a person, and the train."""
    from interlock.app.status import status
    from interlock.wiring import open_ports

    now = status(open_ports(), everything=everything)
    lines: list[str] = []
    if now.asked:
        lines.append(f"NEEDS A PERSON ({len(now.asked)})")
        lines += [f"  ! {item['slug']}: {item['what']} ({item['owner']}, {since(item['since'])})" for item in now.asked]
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
    then = "interlock inbox" if now.asked else "interlock run" if now.jobs else "interlock dispatch --ready"
    face.answer(now.as_json(), lines or ["No open job."], then=then)
    return 0
