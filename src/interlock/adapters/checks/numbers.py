"""Measured numbers: pytest-benchmark's and hyperfine's JSON, a plain ``{name: number}``, and ``name number`` lines of output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from interlock.adapters.checks.faults import BadReport, NothingRan, json_of, number_of, text_of
from interlock.core.job.surface import Number

_MOST: Final = 10_000


def parse(data: bytes) -> Mapping[str, Number]:
    """The numbers of a JSON report by name: medians in seconds of the two tools, else what stands there.

    Raises BadReport: another shape, a number that is none, a name twice, a command that failed while it was measured.
    """
    document = json_of(data)
    if not isinstance(document, dict):
        raise BadReport("The report is no mapping from names to numbers.")
    if isinstance(document.get("benchmarks"), list):
        found = [_of_pytest(each) for each in document["benchmarks"]]
    elif isinstance(document.get("results"), list):
        found = [_of_hyperfine(each) for each in document["results"]]
    else:
        found = [(name, _number(name, value)) for name, value in document.items()]
    return _by_name(found)


def lines(data: bytes) -> Mapping[str, Number]:
    """The numbers of output that names one a line, such as ``users 3``; JSON is read as well.  Raises BadReport."""
    if not data.strip():
        raise NothingRan("Nothing was printed, so nothing was counted.")
    if data.lstrip()[:1] == b"{":
        return parse(data)
    found = []
    for line in text_of(data).splitlines():
        if not line.strip():
            continue
        name, _, value = line.strip().replace(":", " ").replace("|", " ").rpartition(" ")
        try:
            number = float(value)
        except ValueError:
            number = float("nan")
        if not name.strip() or number_of(number) is None:
            raise BadReport(f"The line {line.strip()[:80]!r} is not a name and a number.")
        found.append((" ".join(name.split()), Number(value=number)))
    return _by_name(found)


def _of_pytest(each: Any) -> tuple[str, Number]:
    stats = each.get("stats") if isinstance(each, dict) else None
    if not isinstance(stats, dict):
        raise BadReport("A benchmark of the report has no stats.")
    name = str(each.get("fullname") or each.get("name") or "")
    rounds = stats.get("rounds")
    if not isinstance(rounds, int) or isinstance(rounds, bool):
        raise BadReport(f"The benchmark {name[:100]} does not tell its rounds.")
    return name, Number(value=_number(name, stats.get("median")).value, rounds=rounds)


def _of_hyperfine(each: Any) -> tuple[str, Number]:
    if not isinstance(each, dict):
        raise BadReport("A result of the report is no mapping.")
    name = str(each.get("command") or "")
    if any(each.get("exit_codes") or ()):
        raise BadReport(f"{name[:100]} failed while it was measured.")
    times = each.get("times")
    rounds = len(times) if isinstance(times, list) else None
    return name, Number(value=_number(name, each.get("median", each.get("mean"))).value, rounds=rounds)


def _number(name: str, value: object) -> Number:
    number = number_of(value)
    if number is None:
        raise BadReport(f"The value of {str(name)[:100]} is no number.")
    return Number(value=number)


def _by_name(found: list[tuple[str, Number]]) -> Mapping[str, Number]:
    numbers = dict(found)
    if not numbers:
        raise NothingRan("The report holds no number, so nothing was measured.")
    if len(numbers) != len(found):
        raise BadReport("The report has a name twice.")
    if len(numbers) > _MOST:
        raise BadReport(f"The report holds more than {_MOST} numbers.")
    if "" in numbers:
        raise BadReport("A number of the report has no name.")
    return numbers
