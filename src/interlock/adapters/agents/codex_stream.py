"""What the lines of ``codex exec --json`` and its standard error say, and what its rollout files say of usage; starting it is codex.py's.

Shapes: facts/agents §1.1 and §1.4.  The stream is no full record: what Codex's own sandbox refuses leaves no line in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from interlock.adapters.agents.untrusted import mapping, objects, shape_of, text
from interlock.core.agent.seen import (
    Began,
    Denied,
    Ended,
    Fault,
    Retried,
    Said,
    Seen,
    Tool,
    ToolKind,
    Unknown,
    Used,
    Warned,
)
from interlock.core.agent.usage import UNKNOWN, Usage, total, whole

_SILENT: Final = frozenset({"turn.started", "todo_list", "reasoning"})
_OURS: Final = "`--dangerously-bypass-hook-trust` is enabled"
"""A warning about a flag of ours."""

_STATES: Final[Mapping[str, Any]] = {"in_progress": "started", "failed": "failed", "declined": "failed"}
_NO_WALLS: Final = re.compile(r"\A(?:bwrap: |.*codex-linux-sandbox)")
"""How every command fails where Codex's own sandbox cannot be made; it says that it is done all the same (facts/agents §1.4)."""

_RECONNECTING: Final = re.compile(r"\AReconnecting\.{3} (?:\d+/\d+|waiting for network) ?(?:\((.*)\))?", re.DOTALL)
_LOGGED: Final = re.compile(r"\A\S+Z\s+ERROR\s+(?:.*?: )?([\w]+(?:::\w+)+): (?:error=)?(.*)\Z")
_REFUSED: Final = re.compile(r"block|reject|denied|forbid|disallow|not permitted", re.IGNORECASE)
_BY_HOOK: Final = re.compile(
    r"\A(?:Command|Tool call) blocked by PreToolUse hook: (?:interlock: )?(.*?)(?:\.? (?:Command|Tool): (.*))?\Z"
)

_WORDS: Final[Mapping[Fault, str]] = {
    "context": r"context.window|context_length|maximum context",
    "quota": r"quota|billing|usage.limit|out of credits|payment required|\b402\b",
    "auth": r"\b401\b|\b403\b|unauthori[sz]ed|authentication|api.key|refresh token|(?:log|sign) ?in\b",
    "rate": r"\b429\b|rate.limit|too many requests",
    "overload": r"high demand|overloaded|at capacity|server (?:had an )?error|\b5\d\d\b",
    "network": r"stream disconnected|network|connection|connect\b|timed? ?out|timeout|\bdns\b|sending request",
    "bad-request": r"\b4\d\d\b|invalid|bad.request|not supported|does not exist|not found",
}
"""The first that fits decides."""

_FAULTS: Final = {fault: re.compile(words, re.IGNORECASE) for fault, words in _WORDS.items()}


def fault_of(message: str) -> Fault:
    """Why a call failed, by the words of Codex; its events have no code.  The address in them says nothing."""
    said = message.partition(", url: ")[0]
    return next((fault for fault, pattern in _FAULTS.items() if pattern.search(said)), "other")


def decode(line: bytes) -> Sequence[Seen]:
    """What one line of standard output says.  Never raises."""
    event = shape_of(line)
    return (Unknown(),) if event is None else tuple(_event(event, text(event.get("type"))))


def _event(event: Mapping[str, Any], kind: str) -> Iterator[Seen]:
    match kind:
        case "thread.started":
            yield Began(session=text(event.get("thread_id")))
        case "turn.completed":
            yield from _used(event.get("usage"))
            yield Ended(how="completed")
        case "turn.failed":
            message = text(mapping(event.get("error")).get("message")) or "The turn failed."
            yield Ended(how="failed", fault=fault_of(message), message=message)
        case "error":
            yield _trouble(text(event.get("message")))
        case "item.started" | "item.updated" | "item.completed":
            yield from _item(mapping(event.get("item")), done=kind == "item.completed")
        case _ if kind not in _SILENT:
            yield Unknown(type=kind)


def _trouble(message: str) -> Seen:
    again = _RECONNECTING.match(message)
    if again is None:
        return Warned(text=message)
    why = again.group(1) or message
    return Retried(fault=fault_of(why), message=why)


def _item(item: Mapping[str, Any], *, done: bool) -> Iterator[Seen]:
    kind = text(item.get("type"))
    match kind:
        case "command_execution":
            yield from _command(item, done=done)
        case "file_change" | "mcp_tool_call" | "web_search" | "collab_tool_call":
            yield _tool(item, *_called(item, kind), done=done)
        case "agent_message":
            if done:
                yield Said(text=text(item.get("text")))
        case "error":
            warning = text(item.get("message"))
            if not warning.startswith(_OURS):
                yield Warned(text=warning)
        case _ if kind not in _SILENT:
            yield Unknown(type=f"item.{kind}")


def _called(item: Mapping[str, Any], kind: str) -> tuple[ToolKind, str]:
    """The kind of a call, and what it was for."""
    match kind:
        case "file_change":
            return "edit", ", ".join(text(each.get("path")) for each in objects(item.get("changes")))
        case "web_search":
            return "read", text(item.get("query"))
        case "mcp_tool_call":
            return "other", f"{text(item.get('server'))}.{text(item.get('tool'))}"
    return "other", text(item.get("tool"))


def _command(item: Mapping[str, Any], *, done: bool) -> Iterator[Seen]:
    command = text(item.get("command"))
    yield _tool(item, "command", command, done=done)
    if not done:
        return
    if item.get("status") == "declined":
        yield Denied(what=command, why="Codex's own rules refused it.")
    elif item.get("status") == "failed" and _NO_WALLS.match(text(item.get("aggregated_output"))[:400]):
        yield Denied(what=command, why="Codex's own sandbox could not be made.")


def _tool(item: Mapping[str, Any], kind: ToolKind, what: str, *, done: bool) -> Tool:
    state = _STATES.get(text(item.get("status")), "done" if done else "started")
    return Tool(id=text(item.get("id")) or what, kind=kind, what=what, state=state)


def _used(raw: object) -> Iterator[Used]:
    """Usage of the whole session so far: it goes on counting when a session is resumed (facts/agents §4)."""
    if isinstance(raw, Mapping):
        yield Used(usage=normal(raw), scope="session", raw=dict(raw))


def normal(raw: Mapping[str, Any]) -> Usage:
    """Codex's counts without overlap: its input holds what was read from the cache and what was written to it."""
    whole_input = whole(raw.get("input_tokens"))
    read, wrote = whole(raw.get("cached_input_tokens")), whole(raw.get("cache_write_input_tokens"))
    return Usage(
        uncached_input=None if whole_input is None else max(0, whole_input - (read or 0) - (wrote or 0)),
        cache_read=read,
        cache_write=wrote,
        output=whole(raw.get("output_tokens")),
        reasoning=whole(raw.get("reasoning_output_tokens")),
    )


def complain(line: bytes) -> Sequence[Seen]:
    """What one line of standard error says: refusals that leave no event, and errors.  Never raises."""
    written = line.decode("utf-8", "replace").strip()
    if written.startswith("Error: "):
        return (Warned(text=written.removeprefix("Error: ")),)
    logged = _LOGGED.match(written)
    if logged is None:
        return ()
    where, said = logged.groups()
    if "::tools::" not in where or not _REFUSED.search(said):
        return (Warned(text=said),)
    hooked = _BY_HOOK.match(said)
    if hooked is None:
        return (Denied(what=said),)
    why, what = hooked.groups()
    if what is None:  # the hook gave its reasons in many lines, and what it was about comes after them
        return (Denied(what=why),)
    return (Denied(what="a patch" if what.startswith("*** Begin Patch") else what, why=why),)


def recovered(rollouts: Iterable[bytes]) -> Usage:
    """Usage by rollout files, one a thread: each says again and again what its thread used in all."""
    return total(_last(each) for each in rollouts)


def _last(rollout: bytes) -> Usage:
    for line in reversed(rollout.splitlines()):
        if b"token_usage" not in line:
            continue
        payload = mapping((shape_of(line) or {}).get("payload"))
        of_session = mapping(mapping(payload.get("info")).get("total_token_usage"))
        if found := mapping(payload.get("thread_token_usage")) or of_session:
            return normal(found)
    return UNKNOWN
