"""Names of the agents that can be asked for, told without loading one: ours, and those of the plug-ins that are installed."""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Final

from interlock.core.contract.agents import AGENTS

PLUG_INS: Final = "interlock.agents"
"""The entry point group of plug-ins: name → an adapter's class."""


@lru_cache(maxsize=1)
def agent_names() -> tuple[str, ...]:
    """What a card may say under ``agent.use``."""
    if not _has_plug_ins():
        return AGENTS
    from importlib.metadata import entry_points

    return (*AGENTS, *sorted({point.name for point in entry_points(group=PLUG_INS)} - set(AGENTS)))


def _has_plug_ins() -> bool:
    """Whether an installed package names the group; importlib.metadata alone would double the start of a quick verb."""
    wanted = f"[{PLUG_INS}]"
    for folder in sys.path:
        with suppress(OSError):
            for file in Path(folder).glob("*-info/entry_points.txt"):
                if wanted in file.read_text(encoding="utf-8", errors="replace"):
                    return True
    return False
