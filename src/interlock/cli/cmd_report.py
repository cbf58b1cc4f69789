"""``interlock report``: what became of the night, in the order in which a person needs it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import click

from interlock.cli.render import Face, age, verb
from interlock.core.problems import Misuse

if TYPE_CHECKING:
    from interlock.app.morning import Cost, Morning

_SINCE: Final = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?")


@click.command("report")
@click.option("--morning", is_flag=True, help="Landed, failed with evidence, escalated, still running.")
@click.option("--since", "period", default="16h", metavar="TIME", help="How far back it looks: 16h, 2d, 90m.")
@verb
def command(face: Face, morning: bool, period: str) -> int:
    """Report on the last hours: what landed and its cost, what failed and where it shows, which decisions are missing.

    Exits with 0 whatever it tells.
    """
    if not morning:
        raise Misuse("Say which report.", hint="interlock report --morning")
    seconds = _seconds(period)
    from interlock.app.morning import morning as told
    from interlock.cli.ways import next_of
    from interlock.host.text import plain
    from interlock.wiring import open_ports

    report = told(open_ports(), seconds)
    then = next_of(report.first) if report.first else None
    face.answer({**report.as_json(), "next": then}, map(plain, _lines(report)), then=then)
    return 0


def _seconds(text: str) -> float:
    """A time such as ``16h`` in seconds.  Raises Misuse."""
    found = _SINCE.fullmatch(text)
    days, hours, minutes = (int(part or 0) for part in found.groups()) if found else (0, 0, 0)
    seconds = ((days * 24 + hours) * 60 + minutes) * 60
    if not seconds:
        raise Misuse(f"{text} is no time to look back.", hint="Write --since 16h, 2d or 90m.")
    return float(seconds)


def _lines(report: Morning) -> list[str]:
    return [
        *_part("FINISHED", report.finished, _finished),
        *_part("FAILED, with evidence", report.failed, _failed),
        *_part("ESCALATED, a decision is missing", report.escalated, _escalated),
        *_part("STILL RUNNING", report.running, _running),
        *_part("LOOPS", report.loops, _loop),
        f"Total of {report.totals.attempts} attempts that ended in {age(report.until - report.since)}: {cost(report.totals)}.",
    ]


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


def _escalated(row: Mapping[str, Any]) -> list[str]:
    lines = [f"{row['slug']} ({row['rule']}, {row['owner']}, {age(row['age'])}): {row['what']}", f"  {row['ask']}"]
    return lines + [f"  {each['label']}: {each['command']}" for each in row["options"]]


def _running(row: Mapping[str, Any]) -> list[str]:
    return [f"{row['slug']}: {row['state']}, attempt {row['attempt']}"]


def _loop(row: Mapping[str, Any]) -> list[str]:
    return [f"{row['slug']}: {row['rounds']} of {row['most']} rounds, {row['reason']}"]


def _cost(row: Mapping[str, Any]) -> str:
    from interlock.app.morning import Cost

    return cost(Cost(**row["cost"])) if row["cost"] else "cost unknown"


def cost(of: Cost) -> str:
    """Tokens and dollars in words; what is not known is said, and is not nothing."""
    tokens = "tokens unknown" if of.tokens is None else f"{of.tokens:,} tokens"
    dollars = "dollars unknown" if of.usd is None else f"${of.usd:.2f}"
    hidden = [f"{of.unsaid} without tokens"] if of.unsaid and of.tokens is not None else []
    hidden += [f"{of.unknown} without dollars"] if of.unknown and of.usd is not None else []
    return f"{tokens}, {dollars}" + (f" ({', '.join(hidden)} not counted)" if hidden else "")
