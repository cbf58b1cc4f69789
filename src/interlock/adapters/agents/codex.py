"""Codex as an agent, by its ``exec --json``: what it can do, how it is started and how a run came out; its lines are codex_stream's."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from interlock.adapters.agents import codex_stream
from interlock.core.agent.adapter import Capabilities, Endpoint, Order, Plain, Plan
from interlock.core.agent.judging import judge
from interlock.core.agent.outcome import AgentOutcome, ProcessEnd
from interlock.core.agent.seen import Seen, Summary
from interlock.core.agent.usage import Usage
from interlock.core.problems import Refused, refused

_KEY: Final = "INTERLOCK_MODEL_KEY"
_OLDEST, _NEWEST = (0, 163), (0, 171)
_VERSION: Final = re.compile(r"(\d+)\.(\d+)\.\d+\S*")
_ROLLOUTS: Final = ".codex/sessions/**/rollout-*.jsonl"
_TEMP: Final = ".cache/interlock"
_READING: Final = "reading"
_HOOK_SECONDS: Final = 30

_ALWAYS: Final[Mapping[str, Any]] = {
    "approval_policy": "never",
    "check_for_update_on_startup": False,
    "analytics.enabled": False,
    # Without a network it would wait for these before it ends (facts/agents §1).
    "features.plugins": False,
    # One attempt is one agent: what sub-agents use is not in its stream.
    "features.multi_agent": False,
    # Both reach the world from the vendor's side, past the walls and the policy's hosts.
    "features.apps": False,
    "web_search": "disabled",
    # A login shell takes PATH from /etc/profile, and with it interlock-task and the guards away.
    "allow_login_shell": False,
}


class CodexAgent(Plain):
    """OpenAI's Codex (core.agent.adapter)."""

    name = "codex"
    programs: tuple[str, ...] = ("codex",)
    wheels: Mapping[str, tuple[str, str]] = MappingProxyType({"codex": ("codex_cli_bin", "bin/codex")})
    dialects = ("responses",)
    login = (".codex/auth.json",)

    def probe(self, version: str) -> Capabilities:
        found = _VERSION.search(version)
        good = found is not None and _OLDEST <= (int(found.group(1)), int(found.group(2))) <= _NEWEST
        tried = "It was driven in our tests from 0.163 to 0.171."
        note = "It knows no limit of turns or money by itself; the model gateway keeps them."
        return Capabilities(
            version=found.group() if found else "",
            known_good=good,
            usage=True,
            gateway=True,
            resume=True,
            hooks=True,
            note=note if good else f"{tried} {note}",
        )

    def launch(self, order: Order) -> Plan:
        """Raises Refused (no-agent) when no model can be reached.

        Without models of the policy, Codex uses the login of a subscription that stands below HOME: outside of our walls
        perhaps the user's own.
        """
        endpoint = order.endpoint("responses")
        if endpoint is None and (order.endpoints or (order.walled and not order.logged_in)):
            raise _no_model(order)
        settings = {**_ALWAYS, **_walls(order), **_hooks(order), **_model(endpoint)}
        settings["shell_environment_policy"] = {"inherit": "all", "ignore_default_excludes": True, "exclude": [_KEY]}
        if order.choice.effort:
            settings["model_reasoning_effort"] = order.choice.effort
        argv = [order.programs["codex"], "exec", "--json", "--skip-git-repo-check"]
        argv += ["--dangerously-bypass-hook-trust"] if order.hook else []
        argv += ["--model", order.choice.model] if order.choice.model else []
        for name, value in settings.items():
            argv += ["-c", f"{name}={_toml(value)}"]
        argv += ["resume", order.resume, "-"] if order.resume else ["-"]
        return Plan(
            argv=tuple(argv),
            env={**({_KEY: endpoint.token} if endpoint else {}), **_temp(order)},
            files={} if order.walled else {f"{_TEMP}/README": b"Temporary files of runs of Codex.\n"},
            stdin=order.prompt.encode(),
            ends=("turn.completed", "turn.failed"),
            quiet=(".agents", ".aws", ".codex"),
            secrets=(endpoint.token,) if endpoint else (),
        )

    def decode(self, line: bytes) -> Sequence[Seen]:
        return codex_stream.decode(line)

    def complain(self, line: bytes) -> Sequence[Seen]:
        return codex_stream.complain(line)

    def settle(self, end: ProcessEnd, seen: Summary) -> AgentOutcome:
        judged = judge(end, seen)
        if judged.kind == "crashed" and seen.ended is None and seen.warnings and end.how == "exited":
            return replace(judged, message=f"It exited with {end.exit_code}: {seen.warnings[-1]}")
        return judged

    def recover_usage(self, files: Iterable[bytes]) -> Usage:
        return codex_stream.recovered(files)

    def transcripts(self) -> tuple[str, ...]:
        return (_ROLLOUTS,)


def _walls(order: Order) -> dict[str, Any]:
    """Codex's own sandbox: off inside of ours, which holds more; else as narrow as the phase allows.

    A phase that only reads may still write where interlock-task takes its messages.
    """
    if order.walled:
        return {"sandbox_mode": "danger-full-access"}
    writes = [*order.writes, f"{order.home}/{_TEMP}"]
    if order.writable:
        narrow = {"exclude_slash_tmp": True, "exclude_tmpdir_env_var": True, "writable_roots": writes}
        return {"sandbox_mode": "workspace-write", "sandbox_workspace_write": narrow}
    allowed = {":root": "read", **dict.fromkeys(writes, "write")}
    return {"default_permissions": _READING, f"permissions.{_READING}.filesystem": allowed}


def _temp(order: Order) -> dict[str, str]:
    """Outside of our sandbox commands get a temporary folder of their own: ``/tmp`` holds other tasks' files."""
    return {} if order.walled else {"TMPDIR": f"{order.home}/{_TEMP}"}


def _hooks(order: Order) -> dict[str, Any]:
    if not order.hook:
        return {}
    hook = {"type": "command", "command": order.hook, "timeout": _HOOK_SECONDS}
    return {"hooks.PreToolUse": [{"matcher": "*", "hooks": [hook]}]}


def _model(endpoint: Endpoint | None) -> dict[str, Any]:
    """The gateway as its provider; few retries, since half a minute of them helps no overloaded interface."""
    if endpoint is None:
        return {}
    provider = {
        "name": "interlock",
        "base_url": f"{endpoint.url}/v1",
        "env_key": _KEY,
        "wire_api": "responses",
        "request_max_retries": 2,
        "stream_max_retries": 3,
    }
    return {"model_provider": "interlock", "model_providers.interlock": provider}


def _toml(value: object) -> str:
    """A value in TOML, on one line; its basic strings are JSON's, but for the one character that only JSON leaves plain."""
    match value:
        case bool() | int():
            return json.dumps(value)
        case Mapping():
            return "{" + ",".join(f"{_toml(str(key))}={_toml(each)}" for key, each in value.items()) + "}"
        case list():
            return "[" + ",".join(_toml(each) for each in value) + "]"
        case _:
            return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _no_model(order: Order) -> Refused:
    """Codex itself would wait for the network without end."""
    there = ", ".join(sorted({each.dialect for each in order.endpoints}))
    why = "The policy names no models for it and no login, and inside a sandbox there is no other way."
    return refused(
        rule="no-agent",
        what=f"Codex cannot reach a model for {order.card.slug}.",
        why=f"It speaks the dialect responses alone, and the policy's models speak {there}." if there else why,
        would_change="Name models with the dialect responses in interlock.yaml, or logins: {codex: {file: …}}; or route "
        "the card to another agent.",
    )
