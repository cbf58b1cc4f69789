"""Any agent of the Agent Client Protocol, through interlock.bridge: how that is called, and what its lines say; pure.

The agent itself is the shell command of the choice: ``claude-agent-acp``, ``codex-acp``, ``opencode acp``.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from interlock.adapters.agents.untrusted import shape_of
from interlock.core.agent.adapter import Capabilities, Order, Plain, Plan
from interlock.core.agent.judging import judge
from interlock.core.agent.outcome import AgentOutcome, ProcessEnd
from interlock.core.agent.proposed import head_of
from interlock.core.agent.seen import (
    Answered,
    Asked,
    Began,
    Choice,
    Denied,
    Ended,
    Fault,
    Said,
    Seen,
    Summary,
    Tool,
    ToolKind,
    Unknown,
    Used,
    Warned,
)
from interlock.core.agent.usage import UNKNOWN, dollars, from_json
from interlock.core.problems import refused

BRIDGE: Final = "interlock-bridge"
"""The program of host.bridges, in the tools of every attempt that is started with it."""

_WAITING: Final = 20.0
_RETRIES: Final = "6"
"""About half a minute of Claude Code; by itself it tries for more than 100 seconds (facts/agents §1.2)."""

_AUTH_REQUIRED: Final = -32000
_KINDS: Final[Mapping[str, ToolKind]] = {"edit": "edit", "command": "command", "read": "read"}
_NOTE: Final = (
    "Limits in turns are not in the protocol, and tokens are known from claude-agent-acp and codex-acp alone: "
    "a limit needs the model gateway."
)

_STOPS: Final[Mapping[str, Ended]] = {
    "max_turn_requests": Ended(
        how="limit", limit="turns", message="The agent came to its limit of requests in a turn."
    ),
    "max_tokens": Ended(how="failed", fault="context", message="The model reached its limit of tokens in this turn."),
    "refusal": Ended(how="failed", message="The model refused to go on."),
    "cancelled": Ended(how="aborted", message="The turn was cancelled."),
}

_FAULTS: Final[tuple[tuple[Fault, tuple[str, ...]], ...]] = (
    ("auth", ("401", "403", "unauthorized", "authentication", "api key", "log in", "login")),
    ("quota", ("quota", "usage limit", "usagelimit", "billing", "credit", "402")),
    ("rate", ("429", "rate limit", "rate_limit", "too many requests")),
    ("context", ("context window", "context_length", "contextwindow", "too long", "maximum context")),
    ("overload", ("overloaded", "529", "500", "502", "503", "504", "server error", "unavailable", "high demand")),
    (
        "network",
        (
            "econnrefused",
            "econnreset",
            "unable to connect",
            "enotfound",
            "network",
            "connection",
            "stream disconnected",
            "timed out",
            "fetch failed",
        ),
    ),
    ("bad-request", ("400", "404", "invalid request", "invalid_request", "bad request", "model not found")),
)


class AcpAgent(Plain):
    """``agent: {use: acp, command: "…"}``."""

    name = "acp"
    programs: tuple[str, ...] = ()
    tools = (BRIDGE,)
    dialects = ("anthropic", "responses", "chat")

    def probe(self, version: str) -> Capabilities:  # noqa: ARG002 - the agent's own is told when its session begins
        return Capabilities(usage=True, gateway=True, resume=True, approvals=True, note=_NOTE)

    def launch(self, order: Order) -> Plan:
        """The bridge with the agent's command.  Raises Refused (no-agent) when the choice has none."""
        choice = order.choice
        if not (choice.command or "").strip():
            raise refused(
                rule="no-agent",
                what=f"The card {order.card.slug} names no command for its ACP agent.",
                why="The protocol says how to talk with an agent, and not which.",
                would_change='Write agent: {use: acp, command: "…"}, for example claude-agent-acp.',
            )
        command = str(choice.command)
        idle = order.card.budget.idle
        words = ["--waiting", f"{min(_WAITING, idle / 3) if idle else _WAITING:g}"]
        for flag, value in (("--model", choice.model), ("--effort", choice.effort), ("--resume", order.resume)):
            words += [f"{flag}={value}"] if value else []
        words += ["--reading"] if not order.writable else []
        words += ["--walled"] if order.walled else []
        env, files = _reached(order, command)
        return Plan(
            argv=(BRIDGE, *words, "--", command),
            env=env,
            files=files,
            ends=("interlock.ended",),
            quiet=(".agents", ".aws", ".codex"),
        )

    def decode(self, line: bytes) -> Sequence[Seen]:
        shape = shape_of(line) or {}
        kind = str(shape.get("type") or "").removeprefix("interlock.")
        reader = _READERS.get(kind)
        try:
            return reader(shape) if reader else (Unknown(type=str(shape.get("type") or "")),)
        except (KeyError, TypeError, ValueError, AttributeError):
            return (Unknown(type=str(shape.get("type"))),)

    def settle(self, end: ProcessEnd, seen: Summary) -> AgentOutcome:
        return judge(end, seen)

    def transcripts(self) -> tuple[str, ...]:
        """Where the agents that are known keep their sessions: what a resumed run needs of an earlier HOME."""
        return (".codex/sessions/**/rollout-*.jsonl", ".claude/projects/*/*.jsonl")


# ---------------------------------------------------------------- the model gateway
def _reached(order: Order, command: str) -> tuple[dict[str, str], dict[str, bytes]]:
    """How the known agents are led to the gateway: by the variables of their vendor, or a file below HOME."""
    env: dict[str, str] = {}
    files: dict[str, bytes] = {}
    if (at := order.endpoint("anthropic")) is not None:
        env |= {"ANTHROPIC_BASE_URL": at.url, "ANTHROPIC_API_KEY": at.token}
        env |= {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "CLAUDE_CODE_MAX_RETRIES": _RETRIES}
    if (at := order.endpoint("responses") or order.endpoint("chat")) is not None:
        env |= {"OPENAI_BASE_URL": f"{at.url}/v1", "OPENAI_API_KEY": at.token}
    if "codex" in command and (at := order.endpoint("responses")) is not None:
        files[".codex/config.toml"] = _codex_config(f"{at.url}/v1").encode()
    return env, files


def _codex_config(url: str) -> str:
    return (
        'model_provider = "interlock"\n'
        "check_for_update_on_startup = false\n"
        "[model_providers.interlock]\n"
        'name = "interlock"\n'
        f"base_url = {json.dumps(url)}\n"
        'env_key = "OPENAI_API_KEY"\n'
        'wire_api = "responses"\n'
        "[analytics]\n"
        "enabled = false\n"
        "[shell_environment_policy]\n"
        "ignore_default_excludes = false\n"
        "[features]\n"
        "plugins = false\n"
    )


# ---------------------------------------------------------------- the lines
def _began(shape: Mapping[str, Any]) -> Sequence[Seen]:
    return (Began(session=str(shape["session"]), model=str(shape.get("model") or "")),)


def _said(shape: Mapping[str, Any]) -> Sequence[Seen]:
    return (Said(text=str(shape["text"])),)


def _tool(shape: Mapping[str, Any]) -> Sequence[Seen]:
    states: dict[str, Literal["started", "done", "failed"]] = {"done": "done", "failed": "failed"}
    state = states.get(str(shape["state"]), "started")
    kind = _KINDS.get(str(shape["kind"]), "other")
    return (Tool(id=str(shape["id"]), kind=kind, what=str(shape["what"]), state=state),)


def _asked(shape: Mapping[str, Any]) -> Sequence[Seen]:
    choices = tuple(
        Choice(id=str(each["id"]), label=str(each["label"]), allows=each["allows"] is True) for each in shape["choices"]
    )
    at = shape.get("at")
    since = at if isinstance(at, float) and math.isfinite(at) else None
    raw = shape.get("raw")
    call = raw.get("toolCall") if isinstance(raw, Mapping) else None
    change = head_of(call.get("content")) if isinstance(call, Mapping) else ""
    return (Asked(id=str(shape["id"]), what=str(shape["what"]), choices=choices, at=since, change=change),)


def _answered(shape: Mapping[str, Any]) -> Sequence[Seen]:
    by = str(shape.get("by") or "")
    told = Answered(id=str(shape["id"]), choice=str(shape["choice"]), by=by)
    if shape["allowed"] is True:
        return (told,)
    return (told, Denied(what=str(shape.get("what") or ""), why=f"{by or 'A person'} denied it."))


def _denied(shape: Mapping[str, Any]) -> Sequence[Seen]:
    return (Denied(what=str(shape["what"]), why=str(shape["why"])),)


def _used(shape: Mapping[str, Any]) -> Sequence[Seen]:
    """The turn's own figure; where it is not known to be the whole turn's, its tokens stay unknown."""
    usage = from_json(shape.get("tokens")) if shape["scope"] == "turn" else UNKNOWN
    return (Used(usage=usage, scope="turn", usd=dollars(shape.get("usd")), raw=shape.get("raw") or {}),)


def _context(shape: Mapping[str, Any]) -> Sequence[Seen]:
    """What the session has cost until now, for a run that is killed before it tells its turn's own figure."""
    usd = dollars(shape.get("usd"))
    return (Used(usage=UNKNOWN, scope="call", key="context", usd=usd),) if usd is not None else ()


def _nothing(_shape: Mapping[str, Any]) -> Sequence[Seen]:
    return ()


def _warned(shape: Mapping[str, Any]) -> Sequence[Seen]:
    return (Warned(text=str(shape["text"])),)


def _ended(shape: Mapping[str, Any]) -> Sequence[Seen]:
    """The protocol's stop reasons, and the bridge's own: ``error`` and ``died``.

    A turn that an agent cancels because it was denied something has ended by that denial (codex-acp), not by itself.
    """
    message = str(shape.get("message") or "")
    reason = shape["reason"]
    if reason == "end_turn" or (reason == "cancelled" and shape.get("denied") and not shape.get("asked")):
        return (Ended(how="completed", message=message),)
    if reason == "error":
        return (Ended(how="failed", fault=fault_of(shape), message=message),)
    return (_STOPS.get(reason) or Ended(how="failed", message=message),)


def fault_of(shape: Mapping[str, Any]) -> Fault | None:
    """Why the agent answered with an error, as far as its code and words tell; None when it is no fault of a model's."""
    code = shape.get("code")
    if code == 0:
        return None
    if code == _AUTH_REQUIRED:
        return "auth"
    text = f"{shape.get('message')} {json.dumps(shape.get('data'), default=str)}".lower()
    return next((fault for fault, words in _FAULTS if any(_says(text, word) for word in words)), None)


def _says(text: str, word: str) -> bool:
    """Whether a text has the word, which begins where no other does: 500 is a part neither of 1500 nor of a port."""
    return re.search(rf"(?<![a-z0-9]){re.escape(word)}(?![0-9])", text) is not None


_READERS: Final = {
    "began": _began,
    "said": _said,
    "tool": _tool,
    "asked": _asked,
    "answered": _answered,
    "denied": _denied,
    "used": _used,
    "context": _context,
    "waiting": _nothing,
    "raw": _nothing,
    "warned": _warned,
    "ended": _ended,
}
