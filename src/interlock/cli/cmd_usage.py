"""``interlock usage``: tokens and dollars by class, agent, model or phase, and what a landed change cost."""

from __future__ import annotations

import json
import time

import click

from interlock.cli.periods import FORMS, seconds
from interlock.cli.render import Face, table, verb


@click.command("usage")
@click.option("--by", type=click.Choice(["class", "agent", "model", "phase"]), default="class", show_default=True)
@click.option("--since", default="7d", show_default=True, metavar="TIME", help=f"How far back: {FORMS}.")
@click.option("--otel", is_flag=True, help="JSON lines with OpenTelemetry's names, one for each attempt and model.")
@verb
def command(face: Face, by: str, since: str, otel: bool) -> int:
    """Show what agents used: attempts, calls, tokens, dollars, and dollars for each change that landed."""
    from typing import cast

    from interlock.app.usage import By, Row, exported, report
    from interlock.wiring import open_ports

    begin = time.time() - seconds(since)
    if otel:
        for event in exported(open_ports(), since=begin):
            click.echo(json.dumps(event, ensure_ascii=True))
        return 0
    rows = report(open_ports(), cast(By, by), since=begin)
    header = (by, "attempts", "calls", "input", "cached", "output", "usd", "landed", "usd a landing")

    def cells(row: Row) -> tuple[object, ...]:
        used = row.usage
        cached = _count(None if used.cache_read is used.cache_write is None else (used.cache_read or 0))
        new = None if used.uncached_input is None else used.uncached_input + (used.cache_write or 0)
        each = "unknown" if row.unpriced else "-" if row.usd_per_landed is None else f"{row.usd_per_landed:.4f}"
        return (
            row.name,
            f"{row.attempts}" + (f" ({row.unsettled} not settled)" if row.unsettled else ""),
            row.calls,
            _count(new),
            cached,
            _count(used.output),
            _money(row.usd, row.unpriced, row.attempts),
            row.landed,
            each,
        )

    lines = table([cells(row) for row in rows], header) if rows[-1].attempts else ["No attempt started in that time."]
    face.answer({"by": by, "since": begin, "rows": [row.as_json() for row in rows]}, lines)
    return 0


def _count(value: int | None) -> str:
    return "unknown" if value is None else f"{value}"


def _money(usd: float, unpriced: int, attempts: int) -> str:
    if unpriced and unpriced == attempts:
        return "unknown"
    return f"{usd:.4f}" + (f" + {unpriced} unknown" if unpriced else "")
