"""What the readers of reports have in common: the refusal of one that cannot be read, limits, text and JSON made safe."""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final, NoReturn

MOST_BYTES: Final = 64 << 20
_CONTROL: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


class BadReport(Exception):
    """A report that cannot be read; the text is a whole sentence."""


class PlannedOnly(BadReport):
    """A report of tests that were listed and not run."""


class NothingRan(BadReport):
    """A report that can be read and in which nothing was done."""


class Missing(BadReport):
    """Something that is read and is not there."""


def text_of(data: bytes) -> str:
    """The text of a report without control characters; lines end with a newline alone.  Raises BadReport."""
    check_size(data)
    text = data.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub("", text)


def check_size(data: bytes, most: int = MOST_BYTES) -> None:
    """Raise BadReport for a report that is too large or empty."""
    if len(data) > most:
        raise BadReport(f"The report has {len(data)} bytes, and {most} are allowed.")
    if not data.strip():
        raise BadReport("The report is empty.")


def json_of(data: bytes) -> Any:
    """The JSON of a report; a key that stands twice, NaN and what is cut are refused.  Raises BadReport."""
    check_size(data)
    try:
        return json.loads(data.decode("utf-8-sig"), object_pairs_hook=_once, parse_constant=_no_number)
    except UnicodeDecodeError as fault:
        raise BadReport("The report is not UTF-8.") from fault
    except RecursionError as fault:
        raise BadReport("The report is nested too deep.") from fault
    except ValueError as fault:
        raise BadReport(f"The report is not JSON: {str(fault)[:200]}.") from fault


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise BadReport("The report has a key twice in one place, so that it can be read in two ways.")
    return found


def _no_number(name: str) -> NoReturn:
    raise BadReport(f"The report holds {name} where a number is due.")


def number_of(value: object) -> float | None:
    """A finite number, or None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def whole(text: str) -> int | None:
    """A whole number of a sane length in plain digits, or None."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 16 else None
