"""What the tests of processes share: a name to know one's own processes by, and waiting with a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path


def seen(token: str) -> list[int]:
    """Living processes whose command line holds the token, whoever's children they are."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if words[0] == token.encode() and state not in "ZX":
            found.append(int(folder.name))
    return found


def wait_until(true: Callable[[], object], seconds: float = 20.0) -> None:
    """Look until it is so; an assertion error when it is not so in time."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.01)
