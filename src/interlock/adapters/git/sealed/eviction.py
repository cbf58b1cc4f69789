"""Warm bases that nobody needs any more go, the longest unused first; which is a task's or a check's stays."""

from __future__ import annotations

import json
import os
import secrets
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from interlock.adapters.git.sealed import bases
from interlock.adapters.git.sealed.bases import Base
from interlock.adapters.git.sealed.layout import Layout
from interlock.adapters.git.trees import remove_folder
from interlock.core.contract.around import Bases
from interlock.host import locks as host_locks

_GONE: Final = ".gone-"
_BLOCK: Final = 512
_DAY: Final = 86_400.0


def evict(layout: Layout, rules: Bases, now: float | None = None) -> tuple[str, ...]:
    """Take away bases unused for longer than ``rules.keep``, then the longest unused until the rest fits ``rules.disk``.

    What serves a single commit, a layer over a base or a base of a task's own commit, goes after a day without use.
    Gives the keys of the bases that went.  What a task or a running check stands on is never taken.
    """
    moment = time.time() if now is None else now
    gone: list[Path] = []
    with bases.standing(layout, still=False):
        known = sorted(bases.every(layout), key=_last_used)
        sizes = {base.folder: _bytes(base.folder) for base in known}
        total = sum(sizes.values())
        used = _used(layout)
        for delta in layout.bases.glob("*/deltas/*"):
            if moment - delta.stat().st_mtime > _DAY and not _stands(used, delta):
                delta.rename(layout.bases / f"{_GONE}{secrets.token_hex(8)}")
        for base in known:
            idle = moment - _last_used(base)
            keep = rules.keep if base.trusted else min(rules.keep, _DAY)
            if not _stands(used, base.folder) and (idle > keep or total > rules.disk):
                target = layout.bases / f"{_GONE}{base.folder.name}-{secrets.token_hex(4)}"
                base.folder.rename(target)
                total -= sizes[base.folder]
                gone.append(base.folder)
    for left in layout.bases.glob(f"{_GONE}*"):
        remove_folder(left)
    return tuple(folder.name for folder in gone)


def _last_used(base: Base) -> float:
    with suppress(OSError):
        return (base.folder / "used").stat().st_mtime
    return base.built


def _used(layout: Layout) -> list[str]:
    """Layers that tasks or running checks stand on; records of checks that are gone are removed."""
    lower = [folder for task in layout.every() if task.state != "removed" for folder in task.lower]
    for record in (layout.root / "uses").glob("*"):
        if host_locks.is_held(record):
            with suppress(OSError, ValueError):
                lower += json.loads(record.read_bytes())
        else:
            record.unlink(missing_ok=True)
    return lower


def _stands(lower: list[str], folder: Path) -> bool:
    """Whether one of the layers lies in a folder."""
    return any(each.startswith(f"{folder}/") for each in lower)


def _bytes(folder: Path) -> int:
    """What a folder takes on disk."""
    return sum(
        os.lstat(os.path.join(at, name)).st_blocks * _BLOCK  # noqa: PTH118 - many files
        for at, _, names in os.walk(folder)
        for name in names
    )
