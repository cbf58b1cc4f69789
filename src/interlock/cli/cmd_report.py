"""``interlock report``: what became of the night, in the order in which a person needs it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from interlock.cli.periods import FORMS, seconds
from interlock.cli.render import Face, age, verb
from interlock.core.counting import count
from interlock.core.problems import Misuse

if TYPE_CHECKING:
    from interlock.app.morning import Morning


@click.command("report")
@click.option("--morning", is_flag=True, help="Landed, skipped, failed with evidence, escalated, still running.")
@click.option("--since", "period", default="16h", metavar="TIME", help=f"How far back it looks: {FORMS}.")
@verb
def command(face: Face, morning: bool, period: str) -> int:
    """Report on the last hours: what landed and its cost, what failed and where it shows, which decisions are missing.

    Exits with 0 whatever it tells.
    """
    if not morning:
        raise Misuse("Say which report.", hint="interlock report --morning")
    back = seconds(period)
    from interlock.app.morning import morning as told
    from interlock.cli.next_command import next_of
    from interlock.wiring import open_ports

    report = told(open_ports(), back)
    then = next_of(report.first) if report.first else None
    face.answer({**report.as_json(), "next": then}, _lines(report), then=then)
    return 0


def _lines(report: Morning) -> list[str]:
    return [
        *_part("FINISHED", report.finished, _finished),
        *(_part("SKIPPED, nothing to do", report.skipped, _skipped) if report.skipped else ()),
        *_part("FAILED, with evidence", report.failed, _failed),
        *_part("ESCALATED, a decision is missing", report.escalated, _escalated),
        *_part("STILL RUNNING", report.running, _running),
        *_part("LOOPS", report.loops, _loop),
        _total(report),
    ]


def _total(report: Morning) -> str:
    """What the time cost; where no attempt ended nothing was spent, and that is not unknown."""
    span = age(report.until - report.since)
    if not report.totals.attempts:
        return f"No attempt ended in {span}."
    return f"Total of {count(report.totals.attempts, 'attempt')} that ended in {span}: {cost(report.totals.as_json())}."


def _part(title: str, rows: Iterable[Mapping[str, Any]], lines: Callable[[Mapping[str, Any]], list[str]]) -> list[str]:
    told = [line for row in rows for line in ("  " + each for each in lines(row))]
    return [title, *(told or ["  none"])]


def _finished(row: Mapping[str, Any]) -> list[str]:
    return [f"{row['slug']}: landed as {str(row['commit'])[:12]}, {_cost(row)}"]


def _failed(row: Mapping[str, Any]) -> list[str]:
    lines = [f"{row['slug']} ({row['rule']}, {row['owner']}): {row['what']}"]
    lines += [f"  | {line}" for line in row["tail"].splitlines()]
    lines += [f"  log {row['log']}"] if row["log"] else []
    return lines + [f"  {each['label']}: {each['command']}" for each in row["options"][:1]]


def _skipped(row: Mapping[str, Any]) -> list[str]:
    lines = [f"{row['slug']} ({row['rule']}): {row['what']}"]
    return lines + [f"  {each['label']}: {each['command']}" for each in row["options"][:1]]


def _escalated(row: Mapping[str, Any]) -> list[str]:
    lines = [f"{row['slug']} ({row['rule']}, {row['owner']}, {age(row['age'])}): {row['what']}", f"  {row['ask']}"]
    return lines + [f"  {each['label']}: {each['command']}" for each in row["options"]]


def _running(row: Mapping[str, Any]) -> list[str]:
    return [f"{row['slug']}: {row['state']}, attempt {row['attempt']}"]


def _loop(row: Mapping[str, Any]) -> list[str]:
    return [f"{row['slug']}: {row['rounds']} of {row['most']} rounds, {row['reason']}"]


def _cost(row: Mapping[str, Any]) -> str:
    return cost(row["cost"]) if row["cost"] else "cost unknown"


def cost(of: Mapping[str, Any]) -> str:
    """Tokens and dollars of app.costs.Spent in words; what is not known is said, and is not nothing."""
    tokens = "tokens unknown" if of["tokens"] is None else f"{of['tokens']:,} tokens"
    dollars = "dollars unknown" if of["usd"] is None else f"${of['usd']:.2f}"
    hidden = [f"{of['unsaid']} without tokens"] if of["unsaid"] and of["tokens"] is not None else []
    hidden += [f"{of['unknown']} without dollars"] if of["unknown"] and of["usd"] is not None else []
    return f"{tokens}, {dollars}" + (f" ({', '.join(hidden)} not counted)" if hidden else "")
