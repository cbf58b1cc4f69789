"""Durations and counts as people write them, to numbers; where they stand in a file is the decoders' knowledge."""

from __future__ import annotations

import re
from typing import Final

_DURATION: Final = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?")
_COUNT: Final = re.compile(r"(\d+(?:\.\d+)?)([kKmM])")


def seconds(text: str) -> float | None:
    """``45m``, ``1h30m``, ``90s`` or ``90`` in seconds; None when it is no duration.  Units run from large to small."""
    if re.fullmatch(r"\d+(?:\.\d+)?", text):
        return float(text)
    found = _DURATION.fullmatch(text)
    if not text or found is None:
        return None
    days, hours, minutes, rest = (float(part) if part else 0.0 for part in found.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + rest


def count(text: str) -> int | None:
    """``400k``, ``1.5M`` or ``400000`` as a whole number; None when it is none."""
    if re.fullmatch(r"\d+", text):
        return int(text)
    found = _COUNT.fullmatch(text)
    if found is None:
        return None
    number = float(found[1]) * (1_000 if found[2] in "kK" else 1_000_000)
    return int(number) if number == int(number) else None
