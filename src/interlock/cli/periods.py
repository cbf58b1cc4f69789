"""How far back a report looks, as people write it on the command line; one grammar for every ``--since``."""

from __future__ import annotations

import re
from typing import Final

from interlock.core.problems import Misuse

FORMS: Final = "30m, 16h, 7d, 4w or 1d12h"
_PERIOD: Final = re.compile(r"(?:(\d{1,4})w)?(?:(\d{1,5})d)?(?:(\d{1,6})h)?(?:(\d{1,7})m(?:in)?)?")


def seconds(text: str) -> float:
    """A length of time such as ``16h``, in seconds; units run from large to small.  Raises Misuse."""
    found = _PERIOD.fullmatch(text)
    weeks, days, hours, minutes = (int(part or 0) for part in found.groups()) if found else (0, 0, 0, 0)
    told = (((weeks * 7 + days) * 24 + hours) * 60 + minutes) * 60
    if not told:
        raise Misuse(f"{text} is no time to look back.", hint=f"Write --since {FORMS}.")
    return float(told)
