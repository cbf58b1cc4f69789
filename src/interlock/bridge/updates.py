"""What an agent's ``session/update`` says, line by line as it comes; read as plain JSON, so that kinds of tomorrow do no harm.

Texts come in pieces and are put together; a tool call's later updates leave out what its first one said.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeGuard

from interlock.bridge.lines import Lines

_KINDS: Final = {
    "edit": "edit",
    "delete": "edit",
    "move": "edit",
    "execute": "command",
    "read": "read",
    "search": "read",
    "fetch": "read",
}
_STATES: Final = {"completed": "done", "failed": "failed"}
_REVIEW: Final = "guardian_assessment:"
_DENIED: Final = "Status: Denied"
"""How codex-acp tells that a model of its own, asked instead of a person, denied a call."""

_MOST: Final = 400
_MOST_DOLLARS: Final = 1e6


class Updates:
    """The updates of one session.  While ``replaying`` an old one, nothing of them counts as said or done now.

    ``usd`` is what the session has cost, unknown for one that was gone on with; ``last`` is the last text.
    ``in_trouble`` tells that the agent's own state is a fault: codex-acp then writes the fault as a text of the model
    and ends its turn as if all were well.
    """

    def __init__(self, lines: Lines, *, resumed: bool = False) -> None:
        self._lines = lines
        self._resumed = resumed
        self._text: list[str] = []
        self._message: object = None
        self._tools: dict[str, tuple[str, str]] = {}
        self.replaying = False
        self.usd: float | None = None
        self.last = ""
        self.in_trouble = False

    def take(self, update: Mapping[str, Any]) -> None:
        """Take in one update; the raw one is kept with what was understood of it."""
        kind = str(update.get("sessionUpdate") or "")
        if kind != "agent_message_chunk" or update.get("messageId") != self._message:
            self.flush()
        if self.replaying:
            self._lines.write("raw", replayed=True, raw=update)
        elif kind == "agent_message_chunk":
            self._message = update.get("messageId")
            self._text.append(str(_mapping(update.get("content")).get("text") or ""))
            self._lines.write("raw", raw=update)
        elif kind in ("tool_call", "tool_call_update"):
            self._tool(update)
        elif kind == "usage_update":
            self._usage(update)
        else:
            self._state(update)
            self._lines.write("raw", raw=update)

    def flush(self) -> None:
        """Say the text that has come so far as one."""
        text = "".join(self._text)
        self._text.clear()
        self._message = None
        if text.strip():
            self.last = text.strip()
            self._lines.write("said", text=text)

    def _tool(self, update: Mapping[str, Any]) -> None:
        number = str(update.get("toolCallId") or "")
        known_kind, known_what = self._tools.get(number, ("other", ""))
        kind = _KINDS.get(str(update.get("kind")), "other") if update.get("kind") else known_kind
        what = describe(update) or known_what
        self._tools[number] = (kind, what)
        state = _STATES.get(str(update.get("status")), "started")
        self._lines.write("tool", id=number, kind=kind, what=what, state=state, raw=update)
        if number.startswith(_REVIEW) and state == "failed" and (text := _text(update)).startswith(_DENIED):
            action = next((line for line in text.splitlines() if line.startswith("Action: ")), "")
            self._lines.write("denied", what=action.removeprefix("Action: ") or what, why="Its own review denied it.")

    def _usage(self, update: Mapping[str, Any]) -> None:
        cost = _mapping(update.get("cost"))
        amount = cost.get("amount")
        if self._resumed:
            amount = None  # it may hold what was spent before
        if cost.get("currency") == "USD" and _is_amount(amount):
            self.usd = max(self.usd or 0.0, float(amount))  # it counts up, and nothing that was spent is given back
        self._lines.write("context", used=update.get("used"), size=update.get("size"), usd=self.usd, raw=update)

    def _state(self, update: Mapping[str, Any]) -> None:
        status = _mapping(_mapping(_mapping(update.get("_meta")).get("codex")).get("threadStatus")).get("type")
        if status in ("systemError", "active"):
            self.in_trouble = status == "systemError"

    def called(self, number: str) -> str:
        """What a tool call that was seen before is about."""
        return self._tools.get(number, ("", ""))[1]


def describe(call: Mapping[str, Any]) -> str:
    """What a tool call is about: its command, its paths, or else its title."""
    given = _mapping(call.get("rawInput"))
    command = given.get("command")
    if call.get("kind") in (None, "execute") and command:
        words = command if isinstance(command, list) else [command]
        return " ".join(str(word) for word in words)[:_MOST]
    places = [str(_mapping(each).get("path") or "") for each in _list(call.get("locations"))]
    diffs = [str(_mapping(each).get("path") or "") for each in _list(call.get("content"))]
    paths = [path for path in dict.fromkeys((*places, *diffs)) if path]
    if call.get("kind") in ("edit", "delete", "move", "read", None) and paths:
        return ", ".join(paths)[:_MOST]
    return str(call.get("title") or "")[:_MOST]


def _is_amount(value: Any) -> TypeGuard[float]:
    """Whether it can be dollars that were spent: a number, finite and not negative (as core.agent.usage.dollars says)."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _MOST_DOLLARS


def _text(update: Mapping[str, Any]) -> str:
    """The first text of what a tool call brought."""
    inner = (_mapping(_mapping(each).get("content")).get("text") for each in _list(update.get("content")))
    return next((text for text in inner if isinstance(text, str)), "")


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
