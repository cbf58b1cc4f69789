"""Claude Code, headless (``claude -p``): how it is started and how its run is judged; what its lines say is claude_stream's.

Measured with the version of ``KNOWN_GOOD``, facts/agents §1.1 to §1.4 and §4, and again where this module says so.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from interlock.adapters.agents import claude_stream
from interlock.core.agent.adapter import Capabilities, Endpoint, Order, Plain, Plan
from interlock.core.agent.judging import judge
from interlock.core.agent.outcome import AgentOutcome, ProcessEnd
from interlock.core.agent.seen import Seen, Summary, Warned
from interlock.core.agent.usage import Usage
from interlock.core.problems import refused

KNOWN_GOOD: Final = "2.1.332"
EFFORTS: Final = ("low", "medium", "high", "xhigh", "max")

RETRIES: Final = 6
"""How often the client tries a call again: 37 s, over a minute for a wrong key.  By itself it takes ten times, well over 100 s."""

_WORD: Final = ".interlock/model-token"
_CONFIG: Final = ".claude"
_EDITORS: Final = ("Write", "Edit", "MultiEdit", "NotebookEdit")
_ELSEWHERE: Final = ("EnterWorktree", "ExitWorktree", "CronCreate", "ScheduleWakeup")
"""Tools that lead out of the tree, or put work off until after the run."""

_SETTINGS: Final = {
    # It is said to keep keys from commands.  Measured, it also turns every permission mode into the one that refuses
    # writes, wants bubblewrap on PATH, and leaves 19 empty entries in the tree and 11 in HOME.  The token is in a file instead.
    "CLAUDE_CODE_SUBPROCESS_ENV_SCRUB": "0",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_MAX_RETRIES": str(RETRIES),
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_TELEMETRY": "1",
}
_COMPLAINT: Final = 500
_JOINED: Final = re.compile(r"\s*(?:&&|\|\||[|;])\s*")


class ClaudeAgent(Plain):
    """``use: claude`` (AgentAdapter)."""

    name = "claude"
    programs: tuple[str, ...] = ("claude",)
    wheels: Mapping[str, tuple[str, str]] = MappingProxyType({"claude": ("claude_agent_sdk", "_bundled/claude")})
    dialects = ("anthropic",)
    login = (f"{_CONFIG}/.credentials.json",)

    def probe(self, version: str) -> Capabilities:
        found = re.search(r"\d+(?:\.\d+)+", version)
        number = found[0] if found else ""
        good = number == KNOWN_GOOD
        note = f"Driven in our tests with {KNOWN_GOOD}" + (
            "." if good else f", not with {number}." if number else "; this one does not tell its version."
        )
        return Capabilities(
            version=number,
            known_good=good,
            usage=True,
            cost=True,
            turn_limit=True,
            own_budget=True,
            gateway=True,
            resume=True,
            hooks=True,
            note=note,
        )

    def launch(self, order: Order) -> Plan:
        """How to start it, the prompt on standard input.

        Raises Refused: no-agent for an effort that it would ignore, budget when no money is left.
        """
        endpoint = order.endpoint("anthropic")
        files = {_WORD: endpoint.token.encode()} if endpoint else {}
        return Plan(
            argv=(order.programs["claude"], *_words(order, _settings(order, endpoint))),
            env=_environment(order, endpoint),
            files=files,
            stdin=order.prompt.encode(),
            ends=("result",),
            secrets=(endpoint.token,) if endpoint else (),
        )

    def decode(self, line: bytes) -> Sequence[Seen]:
        return claude_stream.read(line)

    def complain(self, line: bytes) -> Sequence[Seen]:
        """It seldom writes there, and then says why it did not start or what it ignored."""
        said = line[:_COMPLAINT].decode("utf-8", "replace").strip()
        return (Warned(text=said),) if said else ()

    def settle(self, end: ProcessEnd, seen: Summary) -> AgentOutcome:
        """The common order; where it ended without a word of its own, its last complaint is the reason."""
        outcome = judge(end, seen)
        if outcome.kind == "crashed" and seen.ended is None and seen.warnings:
            return replace(outcome, message=f"{outcome.message} Its last words: {seen.warnings[-1]}")
        return outcome

    def recover_usage(self, files: Iterable[bytes]) -> Usage:
        return claude_stream.transcript_usage(files)

    def transcripts(self) -> tuple[str, ...]:
        return (f"{_CONFIG}/projects/**/*.jsonl",)


def _words(order: Order, settings: Mapping[str, Any]) -> tuple[str, ...]:
    words = ["-p", "--output-format", "stream-json", "--verbose", "--permission-mode", _mode(order)]
    words += ["--settings", json.dumps(settings)]
    if order.choice.model:
        words += ["--model", order.choice.model]
    if effort := order.choice.effort:
        words += ["--effort", _effort(order, effort)]
    if order.turns is not None:
        words += ["--max-turns", str(order.turns)]
    if order.usd_left is not None:
        words += ["--max-budget-usd", _dollars(order, order.usd_left)]
    if order.resume:
        words += ["--resume", order.resume]
    return tuple(words)


def _mode(order: Order) -> str:
    """Inside our walls nobody is asked, and what is read-only there cannot be written; outside, only what is listed may be done.

    Mode ``plan`` is of no use: without Anthropic's own service it refuses every command, interlock-task too (measured).
    """
    if order.walled:
        return "bypassPermissions"
    return "acceptEdits" if order.writable else "dontAsk"


def _settings(order: Order, endpoint: Endpoint | None) -> dict[str, Any]:
    """What stands before the settings of the repository: those could lead it to other models, and switch its hooks off (measured)."""
    denied = (*_ELSEWHERE, *(() if order.writable else _EDITORS))
    settings: dict[str, Any] = {
        "permissions": {"allow": list(_allowed(order)), "deny": list(denied)},
        "env": _environment(order, endpoint),
    }
    if endpoint is not None:
        # The token reaches the client from a file, so that it is in no command's environment.
        settings["apiKeyHelper"] = f"cat {shlex.quote(f'{order.home}/{_WORD}')}"
    if order.hook:
        call = {"type": "command", "command": order.hook, "timeout": 10}
        matcher = "|".join((*_EDITORS, "Bash"))
        settings["hooks"] = {"PreToolUse": [{"matcher": matcher, "hooks": [call]}]}
        settings["disableAllHooks"] = False
    return settings


def _allowed(order: Order) -> tuple[str, ...]:
    """Commands that need no permission outside of walls: our own, and the card's checks where it may write."""
    if order.walled:
        return ()
    checks = [check.run for check in order.card.checks] if order.writable else []
    plain = dict.fromkeys(part for run in checks for part in _parts(run.strip()))
    return ("Bash(interlock-task *)", *(f"Bash({each})" for run in plain for each in (run, f"{run} *")))


def _parts(run: str) -> list[str]:
    """A check, and the simple commands of it where no quote hides one: it asks for each of them (measured)."""
    if not run or "\n" in run:
        return []
    return [run] if {"'", '"'} & set(run) else [run, *(each for each in _JOINED.split(run) if each and each != run)]


def _environment(order: Order, endpoint: Endpoint | None) -> dict[str, str]:
    env = {**_SETTINGS, "CLAUDE_CONFIG_DIR": f"{order.home}/{_CONFIG}"}
    return env if endpoint is None else {**env, "ANTHROPIC_BASE_URL": endpoint.url}


def _effort(order: Order, effort: str) -> str:
    if effort in EFFORTS:
        return effort
    raise refused(
        rule="no-agent",
        what=f"Claude Code knows no effort {effort}, which {order.card.slug} asks for.",
        why="It would ignore it and work with its own.",
        would_change=f"Write one of {', '.join(EFFORTS)}, or leave it out.",
    )


def _dollars(order: Order, left: float) -> str:
    shown = f"{left:.6f}"
    if float(shown) > 0:
        return shown
    raise refused(
        rule="budget",
        what=f"No money is left for {order.card.slug}.",
        why="Claude Code takes no limit of nothing, and would run without one.",
        would_change="Raise its budget in dollars.",
    )
