"""Permissions: what the agent asks is written down, and its answer waited for, however long; nothing is answered by itself.

An answer is a file ``ID.json`` with ``choice`` and ``by`` in the answers folder, which this process can only read.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from interlock.bridge.lines import Lines
from interlock.bridge.updates import describe

DENY: Final = "deny"
"""The answer that is a no whatever is offered."""

_LOOK_SECONDS: Final = 0.1
_MOST: Final = 64 * 1024


class Asking:
    """The permissions of one run; ``waiting`` seconds lie between two signs of life while one is open."""

    def __init__(self, lines: Lines, answers: Path, waiting: float, called: Callable[[str], str]) -> None:
        self._lines = lines
        self._answers = answers
        self._waiting = waiting
        self._called = called
        self._number = 0
        self._over = False
        self.denied = False

    def give_up(self) -> None:
        """The turn is being cancelled: what is still open gets no answer, and the agent is told so."""
        self._over = True

    async def ask(self, call: dict[str, Any], options: Sequence[dict[str, Any]]) -> str | None:
        """Ask a person; gives the option's id, or None when no option says no, or the turn is cancelled meanwhile."""
        number = self._next()
        choices = [_choice(option) for option in options]
        what = describe(call) or self._called(str(call.get("toolCallId") or "")) or "something it did not name"
        kind = str(call.get("kind") or "")
        shown = f"{kind}: {what}" if kind else what
        self._lines.write("asked", id=number, at=time.time(), what=shown, choices=choices, raw={"toolCall": call})
        answer = await self._answer(number, shown)
        if answer is None:
            return None
        chosen = next((each for each in choices if each["id"] == answer["choice"] and _fits(each, answer)), None)
        if chosen is None:
            chosen = next((each for each in choices if not each["allows"]), None)
        allowed = chosen is not None and bool(chosen["allows"])
        self.denied = self.denied or not allowed
        word = chosen["id"] if chosen is not None else ""
        self._lines.write("answered", id=number, choice=word, allowed=allowed, by=answer["by"], what=shown)
        return str(word) or None

    def _next(self) -> str:
        """An id under which nothing was answered: not even to a question that somebody made up before it was asked."""
        self._number += 1
        while os.path.lexists(self._answers / f"p{self._number}.json"):
            self._number += 1
        return f"p{self._number}"

    async def _answer(self, number: str, what: str) -> dict[str, str] | None:
        waited = 0.0
        while (answer := _read(self._answers / f"{number}.json")) is None and not self._over:
            await asyncio.sleep(_LOOK_SECONDS)
            waited += _LOOK_SECONDS
            if waited >= self._waiting:
                waited = 0.0
                self._lines.write("waiting", id=number, what=what)
        return answer


def _fits(choice: dict[str, Any], answer: dict[str, str]) -> bool:
    """Whether an answer means this choice: a no is never a yes, whatever an agent calls its options."""
    return not (choice["allows"] and answer["choice"] == DENY)


def _choice(option: dict[str, Any]) -> dict[str, Any]:
    kind = str(option.get("kind") or "")
    return {
        "id": str(option.get("optionId") or ""),
        "label": str(option.get("name") or kind),
        "allows": kind.startswith("allow"),
    }


def _read(path: Path) -> dict[str, str] | None:
    """An answer that is whole; one that cannot be read is none."""
    try:
        with path.open("rb") as stream:
            shape = json.loads(stream.read(_MOST))
        return {"choice": str(shape["choice"]), "by": str(shape.get("by") or "")}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
