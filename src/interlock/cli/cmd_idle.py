"""``interlock idle``: tasks in which nothing moved for days, and what they hold."""

from __future__ import annotations

import click

from interlock.cli.render import Face, verb
from interlock.core.counting import count


@click.command("idle")
@click.option("--days", type=click.FloatRange(min=0), default=None, help="How long nothing moved (the policy's: 7).")
@verb
def command(face: Face, days: float | None) -> int:
    """List tasks in which no file, ref, process or event moved for days. Nothing is taken away."""
    from interlock.app.idle import idle
    from interlock.wiring import open_ports

    found = idle(open_ports(), days)
    lines = []
    for each in found:
        slot = "holds its slot" if each.holds_slot else "closed"
        lines.append(
            f"{each.job.slug}: {count(round(each.days), 'day')} idle, {each.job.state}, {slot}, owner {each.job.owner}"
        )
        lines.append(f"  {each.job.workspace}")
        lines.append(f"  next: {each.next}")
    face.answer({"idle": [each.as_json() for each in found]}, lines or ["Nothing is idle."])
    return 0
