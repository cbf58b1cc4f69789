"""How the bridge is called: its words, and what it finds in its environment."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from interlock import __version__


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """One order: ``command`` is the agent's, for a shell; ``waiting`` are seconds between signs of life."""

    command: str
    prompt: str
    answers: Path
    tree: str
    model: str = ""
    effort: str = ""
    resume: str = ""
    reading: bool = False
    walled: bool = False
    waiting: float = 20.0
    version: str = __version__


def read(words: Sequence[str] | None = None) -> Options:
    """From the command line, INTERLOCK_PROMPT_FILE and INTERLOCK_ANSWERS.  Exits with 2 on misuse."""
    parser = argparse.ArgumentParser(
        prog="interlock-bridge", description="Drive one agent of the Agent Client Protocol through one prompt."
    )
    parser.add_argument("command", help="the agent's command, for a shell")
    parser.add_argument("--model", default="")
    parser.add_argument("--effort", default="")
    parser.add_argument("--resume", default="", metavar="SESSION")
    parser.add_argument("--reading", action="store_true", help="a mode that only reads, where one is offered")
    parser.add_argument("--walled", action="store_true", help="a sandbox stands around this already")
    parser.add_argument("--waiting", type=float, default=20.0, metavar="SECONDS")
    found = parser.parse_args(words)
    prompt = Path(os.environ.get("INTERLOCK_PROMPT_FILE") or "prompt.md")
    try:
        text = prompt.read_text(encoding="utf-8", errors="replace")
    except OSError as fault:
        parser.error(f"the prompt cannot be read: {fault}")
    return Options(
        command=found.command,
        prompt=text,
        answers=Path(os.environ.get("INTERLOCK_ANSWERS") or prompt.parent / "answers"),
        tree=str(Path.cwd()),
        model=found.model,
        effort=found.effort,
        resume=found.resume,
        reading=found.reading,
        walled=found.walled,
        waiting=found.waiting,
    )
