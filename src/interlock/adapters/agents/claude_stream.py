"""What the lines of ``claude -p --output-format stream-json`` say, and its transcripts; starting and judging it is claude's.

Shapes: facts/agents §1.1, and measured again with 2.1.332.  The key ``type`` is not always the first one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
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
from interlock.core.agent.usage import Usage, dollars, total, whole

_SHORT: Final = 500
_LONG: Final = 4000
_KINDS: Final[Mapping[str, ToolKind]] = {
    "Bash": "command",
    "Edit": "edit",
    "Glob": "read",
    "Grep": "read",
    "LS": "read",
    "MultiEdit": "edit",
    "NotebookEdit": "edit",
    "NotebookRead": "read",
    "Read": "read",
    "Write": "edit",
}
_WHAT: Final = ("file_path", "notebook_path", "command", "pattern", "path", "url", "description")
_SILENT: Final = frozenset({"stream_event", "tool_progress", "tool_use_summary", "prompt_suggestion", "auth_status"})
_SILENT_SYSTEM: Final = frozenset(
    {
        "background_tasks_changed",
        "compact_boundary",
        "hook_progress",
        "hook_response",
        "hook_started",
        "status",
        "task_notification",
        "task_progress",
        "task_started",
        "task_updated",
    }
)
_QUOTA: Final = ("credit balance", "usage limit", "spending limit", "quota", "billing", "hit your limit")
_LONG_PROMPT: Final = ("prompt is too long", "request too large", "context window", "exceed context limit")
_STATUSES: Final[Mapping[int, Fault]] = {
    401: "auth",
    402: "quota",
    403: "auth",
    408: "network",
    413: "context",
    429: "rate",
}


def read(line: bytes) -> tuple[Seen, ...]:
    """What one line says; one that is not known is ``Unknown``.  Never raises."""
    shape = shape_of(line)
    if shape is None:
        return (Unknown(),)
    kind = text(shape.get("type"), _SHORT)
    if kind in _SILENT:
        return ()
    reader = _READERS.get(kind)
    return (Unknown(type=kind),) if reader is None else tuple(reader(shape))


def usage_of(shape: Mapping[str, Any]) -> Usage:
    """The ``usage`` of one message, as the interface sends it: cached input is not in ``input_tokens``."""
    details = mapping(shape.get("output_tokens_details"))
    return Usage(
        uncached_input=whole(shape.get("input_tokens")),
        cache_read=whole(shape.get("cache_read_input_tokens")),
        cache_write=whole(shape.get("cache_creation_input_tokens")),
        output=whole(shape.get("output_tokens")),
        reasoning=whole(details.get("thinking_tokens")),
    )


def transcript_usage(files: Iterable[bytes]) -> Usage:
    """The tokens of a session from its transcripts: each message once, by its last line; unknown when they hold none."""
    messages: dict[str, Usage] = {}
    for data in files:
        for line in data.splitlines():
            message = mapping((shape_of(line) or {}).get("message"))
            if (key := text(message.get("id"))) and message.get("model") != _SYNTHETIC:
                usage = usage_of(mapping(message.get("usage")))
                if usage.total is not None:
                    messages[key] = usage
    return total(messages.values())


_SYNTHETIC: Final = "<synthetic>"
"""The model of messages that the client wrote itself."""


# ---------------------------------------------------------------- system
def _system(shape: Mapping[str, Any]) -> Iterator[Seen]:
    subtype = text(shape.get("subtype"), _SHORT)
    match subtype:
        case "init":
            yield Began(session=text(shape.get("session_id"), _SHORT), model=text(shape.get("model"), _SHORT))
        case "permission_denied":
            why = text(shape.get("message"), _SHORT) or text(shape.get("decision_reason"), _SHORT)
            yield Denied(id=text(shape.get("tool_use_id")), what=text(shape.get("tool_name"), _SHORT), why=why)
        case "api_retry":
            said = text(shape.get("error"), _SHORT)
            yield Retried(fault=fault_of(shape.get("error_status"), said), message=said)
        case "informational":
            yield Warned(text=text(shape.get("content"), _SHORT))
        case _ if subtype not in _SILENT_SYSTEM:
            yield Unknown(type=f"system/{subtype}")


def _rate_limit(shape: Mapping[str, Any]) -> Iterator[Seen]:
    """A window of a subscription: a warning when it is nearly full, a fault when it is."""
    info = mapping(shape.get("rate_limit_info"))
    window = text(info.get("rateLimitType") or info.get("rate_limit_type"), _SHORT) or "unknown"
    if info.get("status") == "allowed_warning":
        yield Warned(text=f"The subscription's limit ({window}) is nearly reached.")
    if info.get("status") == "rejected":
        yield Retried(fault="quota", message=f"The subscription's limit ({window}) is reached.")


# ---------------------------------------------------------------- messages
def _assistant(shape: Mapping[str, Any]) -> Iterator[Seen]:
    message = mapping(shape.get("message"))
    own = shape.get("parent_tool_use_id") is None
    mistaken = bool(shape.get("error") or shape.get("is_api_error_message"))
    for block in objects(message.get("content")):
        if block.get("type") == "text" and mistaken:
            yield Warned(text=text(block.get("text"), _SHORT))
        elif block.get("type") == "text" and own:
            yield Said(text=text(block.get("text")))
        elif block.get("type") == "tool_use":
            yield _tool(block)
    usage = mapping(message.get("usage"))
    if usage and not mistaken and not _is_begun(message):
        model = text(message.get("model"), _SHORT)
        yield Used(usage=usage_of(usage), scope="call", key=text(message.get("id")), model=model, raw=usage)


def _is_begun(message: Mapping[str, Any]) -> bool:
    """Whether the usage is the one of a message's beginning, one token of output: then the result and the transcript tell it."""
    return "stop_reason" in message and message["stop_reason"] is None


def _tool(block: Mapping[str, Any]) -> Tool:
    name = text(block.get("name"), _SHORT)
    kind = _KINDS.get(name, "other")
    what = _told(mapping(block.get("input")))
    return Tool(
        id=text(block.get("id")), kind=kind, what=what if kind != "other" else f"{name} {what}".strip(), state="started"
    )


def _told(given: Mapping[str, Any]) -> str:
    return next((found for name in _WHAT if (found := text(given.get(name), _LONG))), "")


def _user(shape: Mapping[str, Any]) -> Iterator[Seen]:
    """Results of tools, and which of them were never run since a rule or a hook refused them."""
    refused = {
        text(each.get("id"))
        for each in objects(shape.get("tool_result_meta"))
        if mapping(each.get("permission_decision")).get("decision") == "reject"
    }
    for block in objects(mapping(shape.get("message")).get("content")):
        if block.get("type") != "tool_result":
            continue
        key = text(block.get("tool_use_id"))
        yield Tool(id=key, kind="other", what="", state="failed" if block.get("is_error") is True else "done")
        if key and key in refused:
            yield Denied(id=key, what="", why=text(block.get("content"), _SHORT))


# ---------------------------------------------------------------- the end
def _result(shape: Mapping[str, Any]) -> Iterator[Seen]:
    yield from _totals(shape)
    for each in objects(shape.get("permission_denials")):
        what = f"{text(each.get('tool_name'), _SHORT)} {_told(mapping(each.get('tool_input')))}".strip()
        yield Denied(id=text(each.get("tool_use_id")), what=what)
    yield _ended(shape)


def _totals(shape: Mapping[str, Any]) -> Iterator[Seen]:
    """The session's total, and what came since the last result where the client says so.

    ``modelUsage`` wins over ``usage``, which misses the call that broke a budget, and is of this run alone.  The
    session's total leaves out what was spent by a run that was killed, so that only the figure since the last result
    is right for a run that resumed one (measured).
    """
    known = mapping(shape.get("modelUsage"))
    models = [name for name in known if isinstance(name, str)]
    raw = {name: shape[name] for name in ("usage", "modelUsage", "total_cost_usd") if name in shape}
    session = total(_of_model(mapping(each)) for each in known.values())
    usd = dollars(shape.get("total_cost_usd"))
    if session.total is not None or usd is not None:
        yield Used(usage=session, scope="session", usd=usd, model=_only(models), raw=raw)
    since = shape.get("model_usage_since_last_result")
    if isinstance(since, dict):
        parts = [mapping(each) for each in since.values()]
        costs = [dollars(each.get("costUSD")) for each in parts]
        cost = None if None in costs else sum(each for each in costs if each is not None)
        yield Used(usage=total((_NOTHING, *map(_of_model, parts))), scope="turn", usd=cost)
    elif not known and (usage := usage_of(mapping(shape.get("usage")))).total is not None:
        yield Used(usage=usage, scope="turn")


_NOTHING: Final = Usage(uncached_input=0, output=0)


def _only(models: list[str]) -> str:
    return text(models[0], _SHORT) if len(models) == 1 else ""


def _of_model(shape: Mapping[str, Any]) -> Usage:
    return Usage(
        uncached_input=whole(shape.get("inputTokens")),
        cache_read=whole(shape.get("cacheReadInputTokens")),
        cache_write=whole(shape.get("cacheCreationInputTokens")),
        output=whole(shape.get("outputTokens")),
        reasoning=whole(shape.get("thinkingTokens")),
    )


def _ended(shape: Mapping[str, Any]) -> Ended:
    """``subtype`` says success also for a call that failed: ``is_error`` and ``terminal_reason`` are asked first."""
    subtype, reason = text(shape.get("subtype"), _SHORT), text(shape.get("terminal_reason"), _SHORT)
    errors = shape.get("errors")
    told = "; ".join(text(each, _SHORT) for each in errors if text(each)) if isinstance(errors, list) else ""
    message = told or text(shape.get("result"), _SHORT)
    if subtype == "error_max_turns" or reason == "max_turns":
        return Ended(how="limit", limit="turns", message=_sentence(message))
    if subtype == "error_max_budget_usd" or reason == "budget_exhausted":
        return Ended(how="limit", limit="money", message=_sentence(message))
    if reason.startswith("aborted"):
        return Ended(how="aborted", message=f"Its turn was broken off ({reason}).")
    if shape.get("is_error") is not False or subtype != "success":
        status = shape.get("api_error_status")
        told_by_api = whole(status) is not None or reason in ("api_error", "prompt_too_long")
        return Ended(
            how="failed",
            fault=fault_of(status, f"{reason} {message}") if told_by_api else None,
            message=_sentence(message),
        )
    return Ended(how="completed")


def _sentence(said: str) -> str:
    said = said.strip()
    return said if not said or said[-1] in ".!?" else f"{said}."


def fault_of(status: object, said: str) -> Fault:
    """Why the interface did not answer: by its words where a status stands for several things, else by the status."""
    words, code = said.lower(), whole(status)
    if any(each in words for each in _LONG_PROMPT) or "prompt_too_long" in words:
        return "context"
    if any(each in words for each in _QUOTA):
        return "quota"
    if code is None:
        return "network"
    return _STATUSES.get(code) or ("overload" if code >= 500 else "bad-request" if code >= 400 else "other")


_READERS: Final[Mapping[str, Callable[[Mapping[str, Any]], Iterator[Seen]]]] = {
    "assistant": _assistant,
    "rate_limit_event": _rate_limit,
    "result": _result,
    "system": _system,
    "user": _user,
}
