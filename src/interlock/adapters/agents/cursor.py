"""Cursor's command line, after its documented schema alone: it could not be driven here, and says so wherever it is shown.

Shapes: facts/agents §1.1 (Cursor).  What is not documented is not relied on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal

from interlock.adapters.agents.untrusted import mapping, objects, shape_of, text
from interlock.core.agent.adapter import Capabilities, Order, Plain, Plan
from interlock.core.agent.judging import judge
from interlock.core.agent.outcome import AgentOutcome, ProcessEnd
from interlock.core.agent.seen import Began, Denied, Ended, Said, Seen, Summary, Tool, ToolKind, Unknown, Used, Warned
from interlock.core.agent.usage import Usage, whole
from interlock.core.problems import Refusal, Refused

NOTE: Final = "It needs an account and Cursor's own service, so that no run of ours has shown that it works."
_SHORT: Final = 500
_LONG: Final = 4000
_ARGUMENT_MOST: Final = 120_000
"""Bytes of a prompt given as an argument: Linux takes 128 KiB for one (MAX_ARG_STRLEN)."""
_KINDS: Final[Mapping[str, ToolKind]] = {
    "deleteToolCall": "edit",
    "editToolCall": "edit",
    "globToolCall": "read",
    "grepToolCall": "read",
    "lsToolCall": "read",
    "readToolCall": "read",
    "shellToolCall": "command",
    "writeToolCall": "edit",
}
_WHAT: Final = ("path", "command", "pattern", "globPattern", "toolName")


class CursorAgent(Plain):
    """``use: cursor`` (AgentAdapter).  Its models are reached through Cursor's own service, so that no gateway meters it."""

    name = "cursor"
    programs: tuple[str, ...] = ("cursor-agent",)

    def probe(self, version: str) -> Capabilities:
        return Capabilities(version=version.strip()[:_SHORT], usage=True, resume=True, tested=False, note=NOTE)

    def launch(self, order: Order) -> Plan:
        """How to start it, the prompt as its last argument.

        Raises Refused (no-agent) for a prompt that is too long, and for an effort, which it cannot be told.
        """
        size = len(order.prompt.encode())
        if size > _ARGUMENT_MOST:
            raise _refused(
                f"The prompt of {order.card.slug} has {size} bytes and cannot be given to Cursor.",
                f"It takes its prompt as an argument, and the system takes {_ARGUMENT_MOST} bytes in one.",
                "Narrow the card, or route it to another agent.",
            )
        if order.choice.effort:
            raise _refused(
                f"Cursor cannot be told the effort {order.choice.effort}, which {order.card.slug} asks for.",
                "Its command line has no option for it.",
                "Leave the effort out and choose by model, or route the card to another agent.",
            )
        words = ["-p", "--output-format", "stream-json", "--trust", "--workspace", order.tree]
        words += ["--force"] if order.writable else ["--mode", "plan"]
        words += ["--sandbox", "disabled" if order.walled else "enabled"]
        words += ["--model", order.choice.model] if order.choice.model else []
        words += ["--resume", order.resume] if order.resume else []
        return Plan(argv=(order.programs["cursor-agent"], *words, order.prompt), ends=("result",))

    def decode(self, line: bytes) -> Sequence[Seen]:
        shape = shape_of(line)
        if shape is None:
            return (Unknown(),)
        kind = text(shape.get("type"), _SHORT)
        reader = _READERS.get(kind)
        return (Unknown(type=kind),) if reader is None else tuple(reader(shape))

    def complain(self, line: bytes) -> Sequence[Seen]:
        said = line[:_SHORT].decode("utf-8", "replace").strip()
        return (Warned(text=said),) if said else ()

    def settle(self, end: ProcessEnd, seen: Summary) -> AgentOutcome:
        return judge(end, seen)


def _refused(what: str, why: str, would_change: str) -> Refused:
    return Refused(Refusal(rule="no-agent", what=what, why=why, would_change=would_change))


# ---------------------------------------------------------------- the lines
def _system(shape: Mapping[str, Any]) -> Iterator[Seen]:
    if shape.get("subtype") == "init":
        yield Began(session=text(shape.get("session_id"), _SHORT), model=text(shape.get("model"), _SHORT))
    else:
        yield Unknown(type=f"system/{text(shape.get('subtype'), _SHORT)}")


def _assistant(shape: Mapping[str, Any]) -> Iterator[Seen]:
    said = "".join(text(each.get("text")) for each in objects(mapping(shape.get("message")).get("content")))
    if said:
        yield Said(text=said)


def _user(shape: Mapping[str, Any]) -> Iterator[Seen]:  # noqa: ARG001 - the prompt, said again
    yield from ()


def _tool_call(shape: Mapping[str, Any]) -> Iterator[Seen]:
    """A call under the one key that names its tool; its result holds ``success``, ``error`` or ``rejected``."""
    calls = mapping(shape.get("tool_call"))
    name = next((each for each in calls if isinstance(each, str) and isinstance(calls[each], dict)), "")
    call = mapping(calls.get(name))
    given, result = mapping(call.get("args")), mapping(call.get("result"))
    kind = _KINDS.get(name, "other")
    told = next((found for each in _WHAT if (found := text(given.get(each), _LONG))), "")
    what = told if kind != "other" else f"{name.removesuffix('ToolCall')} {told}".strip()
    key = text(shape.get("call_id"), _SHORT)
    refused = "rejected" in result or "permissionDenied" in result
    state: Literal["started", "done", "failed"] = "started"
    if shape.get("subtype") == "completed":
        state = "failed" if refused or "error" in result else "done"
    yield Tool(id=key, kind=kind, what=what, state=state)
    if refused:
        why = mapping(result.get("rejected") or result.get("permissionDenied"))
        yield Denied(id=key, what=what or name, why=text(why.get("reason"), _SHORT))


def _result(shape: Mapping[str, Any]) -> Iterator[Seen]:
    """The end; older builds tell no usage.  Whether ``inputTokens`` holds cached ones is not documented: taken as not."""
    told = mapping(shape.get("usage"))
    usage = Usage(
        uncached_input=whole(told.get("inputTokens")),
        cache_read=whole(told.get("cacheReadTokens")),
        cache_write=whole(told.get("cacheWriteTokens")),
        output=whole(told.get("outputTokens")),
    )
    if usage.total is not None:
        yield Used(usage=usage, scope="turn", raw=told)
    said = text(shape.get("result"), _SHORT)
    if shape.get("is_error") is False and shape.get("subtype") == "success":
        yield Ended(how="completed")
    else:
        yield Ended(how="failed", message=said)


_READERS: Final[Mapping[str, Callable[[Mapping[str, Any]], Iterator[Seen]]]] = {
    "assistant": _assistant,
    "result": _result,
    "system": _system,
    "tool_call": _tool_call,
    "user": _user,
}
