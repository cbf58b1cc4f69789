"""The adapter of Codex as the pure function that it is: its command line, and streams that a real Codex 0.163 wrote."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.adapters.agents.codex import CodexAgent
from interlock.core.agent.adapter import Endpoint, Order
from interlock.core.agent.folding import Folding
from interlock.core.agent.outcome import ProcessEnd
from interlock.core.agent.seen import Denied, Retried, Said, Summary, Tool, Unknown, Used, Warned
from interlock.core.agent.usage import UNKNOWN, Usage
from interlock.core.contract.card import AgentChoice, Card, Check
from interlock.core.problems import Refused

GOLDEN = Path(__file__).parent / "golden" / "codex"
CODEX = CodexAgent()
CARD = Card(
    slug="a",
    class_name="tests",
    owned_paths=("a/**",),
    checks=(Check(run="true"),),
    stop_when=("x",),
    integration_owner="@ana",
)
ORDER = Order(
    card=CARD,
    choice=AgentChoice(use="codex"),
    prompt="Do it.\nGrüße",
    programs={"codex": "/opt/codex"},
    home="/home/agent",
    tree="/ws",
    walled=True,
    endpoints=(
        Endpoint(name="a", dialect="anthropic", url="http://127.0.0.1:3129/a", token="no"),
        Endpoint(name="o", dialect="responses", url="http://127.0.0.1:3129/o", token="word"),
    ),
)


def settings(order: Order) -> dict[str, Any]:
    """What the -c options of the command line say, read as Codex reads them."""
    argv = CODEX.launch(order).argv
    found: dict[str, Any] = {}
    for place, word in enumerate(argv):
        if word == "-c":
            found |= _flat(tomllib.loads(argv[place + 1]))
    return found


def _flat(shape: dict[str, Any], before: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in shape.items():
        found |= _flat(value, f"{before}{name}.") if isinstance(value, dict) else {f"{before}{name}": value}
    return found


def read(name: str, *, before: Usage = UNKNOWN) -> Summary:
    folding = Folding(before=before)
    for line in (GOLDEN / f"{name}.jsonl").read_bytes().splitlines():
        folding.line(CODEX.decode(line))
    errors = GOLDEN / f"{name}.err"
    for line in errors.read_bytes().splitlines() if errors.exists() else ():
        folding.line(CODEX.complain(line))
    return folding.summary()


def settled(name: str, code: int) -> tuple[str, str | None]:
    outcome = CODEX.settle(ProcessEnd(how="exited", exit_code=code), read(name))
    return outcome.kind, outcome.fault


# ---------------------------------------------------------------- how it is started
def test_the_prompt_comes_on_standard_input_and_nothing_waits_for_more() -> None:
    plan = CODEX.launch(ORDER)
    assert plan.argv[:3] == ("/opt/codex", "exec", "--json")
    assert plan.argv[-1] == "-"
    assert plan.stdin == "Do it.\nGrüße".encode()
    assert plan.ends == ("turn.completed", "turn.failed")


def test_inside_of_our_walls_it_makes_none_of_its_own_and_outside_they_are_narrow() -> None:
    assert settings(ORDER)["sandbox_mode"] == "danger-full-access"
    bare = settings(replace(ORDER, walled=False, writes=("/spool",)))
    assert bare["sandbox_mode"] == "workspace-write"
    assert bare["sandbox_workspace_write.exclude_slash_tmp"] is True
    assert bare["sandbox_workspace_write.exclude_tmpdir_env_var"] is True
    assert bare["sandbox_workspace_write.writable_roots"] == ["/spool", "/home/agent/.cache/interlock"]


def test_a_phase_that_only_reads_may_write_nothing_but_its_messages() -> None:
    found = settings(replace(ORDER, walled=False, writable=False, writes=("/spool",)))
    assert "sandbox_mode" not in found
    assert found["default_permissions"] == "reading"
    assert found["permissions.reading.filesystem.:root"] == "read"
    assert found["permissions.reading.filesystem./spool"] == "write"


@pytest.mark.parametrize("walled", [True, False])
@pytest.mark.parametrize("writable", [True, False])
def test_full_access_is_given_inside_of_our_walls_alone(walled: bool, writable: bool) -> None:
    plan = CODEX.launch(replace(ORDER, walled=walled, writable=writable))
    assert any("danger-full-access" in word for word in plan.argv) is walled
    assert not any("bypass-approvals" in word for word in plan.argv)


def test_its_model_is_reached_through_the_gateway_with_a_word_that_commands_do_not_see() -> None:
    found, plan = settings(ORDER), CODEX.launch(ORDER)
    assert found["model_providers.interlock.base_url"] == "http://127.0.0.1:3129/o/v1"
    assert plan.env[found["model_providers.interlock.env_key"]] == "word"
    assert found["shell_environment_policy.exclude"] == [found["model_providers.interlock.env_key"]]
    assert plan.secrets == ("word",)
    assert not any("word" in each.split("=") for each in plan.argv)


def test_model_effort_and_session_are_handed_on() -> None:
    order = replace(ORDER, choice=AgentChoice(use="codex", model="gpt-5.5", effort="high"), resume="0f1e")
    argv = CODEX.launch(order).argv
    assert argv[argv.index("--model") + 1] == "gpt-5.5"
    assert settings(order)["model_reasoning_effort"] == "high"
    assert argv[-3:] == ("resume", "0f1e", "-")


def test_a_hook_is_trusted_only_where_it_is_ours() -> None:
    trust = "--dangerously-bypass-hook-trust"
    assert trust not in CODEX.launch(ORDER).argv
    order = replace(ORDER, hook='/run/"x" hook')
    assert trust in CODEX.launch(order).argv
    (group,) = settings(order)["hooks.PreToolUse"]
    assert (group["matcher"], group["hooks"][0]["command"]) == ("*", '/run/"x" hook')


def test_without_models_of_the_policy_it_is_the_login_of_a_subscription() -> None:
    order = replace(ORDER, endpoints=(), logged_in=True)
    assert "model_provider" not in settings(order)
    assert CODEX.launch(order).env == {}
    assert CODEX.login == (".codex/auth.json",)


def test_models_that_it_cannot_speak_to_are_refused() -> None:
    with pytest.raises(Refused, match=r"cannot reach a model for a\.") as caught:
        CODEX.launch(replace(ORDER, endpoints=ORDER.endpoints[:1]))
    assert "anthropic" in caught.value.refusal.why


def test_inside_of_our_walls_neither_models_nor_a_login_is_refused_and_not_waited_for() -> None:
    with pytest.raises(Refused, match=r"cannot reach a model for a\.") as caught:
        CODEX.launch(replace(ORDER, endpoints=()))
    assert "no login" in caught.value.refusal.why
    CODEX.launch(replace(ORDER, endpoints=(), walled=False))


@pytest.mark.parametrize(
    ("printed", "version", "good"),
    [
        ("codex-cli 0.163.0", "0.163.0", True),
        ("codex-cli 0.171.2-alpha.1", "0.171.2-alpha.1", True),
        ("codex-cli 0.172.0", "0.172.0", False),
        ("codex-cli 1.0.0", "1.0.0", False),
        ("", "", False),
        ("who knows", "", False),
    ],
)
def test_what_it_can_do_is_told_by_its_version(printed: str, version: str, good: bool) -> None:
    found = CODEX.probe(printed)
    assert (found.version, found.known_good) == (version, good)
    assert found.gateway
    assert not found.own_budget
    assert ("0.163 to 0.171" in found.note) is not good


# ---------------------------------------------------------------- what its streams say
def test_a_run_with_an_edit_and_a_command() -> None:
    seen = read("edit")
    assert seen.session
    assert dict(seen.tools) == {"edit": 1, "command": 1}
    assert (seen.failed_tools, seen.last_text) == (1, "Done.")
    assert seen.usage == Usage(uncached_input=2400, cache_read=600, cache_write=0, output=150, reasoning=30)
    assert seen.unknown == 0
    assert settled("edit", 0) == ("completed", None)


def test_what_was_used_before_a_resume_is_taken_off() -> None:
    first = read("edit")
    again = read("resumed", before=first.session_usage)
    assert again.session == first.session
    assert again.session_usage.uncached_input == 3200
    assert again.usage == Usage(uncached_input=800, cache_read=200, cache_write=0, output=50, reasoning=10)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("fault-400", "bad-request"),
        ("fault-401", "auth"),
        ("fault-404", "bad-request"),
        ("fault-429", "rate"),
        ("fault-500", "overload"),
        ("rate-inside", "rate"),
        ("overloaded", "overload"),
        ("quota", "quota"),
        ("context", "context"),
        ("cut", "network"),
    ],
)
def test_a_fault_of_the_models_interface_is_known_by_its_words(name: str, fault: str) -> None:
    assert settled(name, 1) == ("api-error", fault)


def test_tries_of_its_own_are_counted() -> None:
    seen = read("fault-500")
    assert (seen.retries, seen.last_fault) == (3, "overload")


def test_what_a_hook_or_its_own_rules_refused_is_seen_though_the_stream_is_silent_about_it() -> None:
    seen = read("hook")
    assert seen.denied == (
        Denied(what="a patch", why="notes.md is outside of the card."),
        Denied(what="touch x", why="notes.md is outside of the card."),
    )
    assert seen.warnings == ()
    (told,) = CODEX.complain(
        b"2026-11-30T08:38:29.1Z ERROR codex_core::tools::router: "
        b"error=Command blocked by PreToolUse hook: interlock: Bash was refused: b.md is not this task's."
    )
    assert told == Denied(what="Bash was refused: b.md is not this task's.")
    assert settled("hook", 0) == ("denied", None)
    assert settled("escalation", 0) == ("denied", None)


def test_a_sandbox_of_its_own_that_cannot_be_made_is_no_success() -> None:
    item = {
        "id": "1",
        "type": "command_execution",
        "command": "ls",
        "aggregated_output": "bwrap: execvp codex-linux-sandbox: No such file or directory\n",
        "exit_code": 1,
        "status": "failed",
    }
    tool, denied = CODEX.decode(json.dumps({"type": "item.completed", "item": item}).encode())
    assert isinstance(tool, Tool)
    assert denied == Denied(what="ls", why="Codex's own sandbox could not be made.")


def test_no_end_of_a_turn_is_no_success_and_its_last_words_are_the_reason() -> None:
    outcome = CODEX.settle(ProcessEnd(how="exited", exit_code=1), read("no-session"))
    assert outcome.kind == "crashed"
    assert outcome.message.startswith("It exited with 1: thread/resume")
    cut = Folding()
    for line in (GOLDEN / "edit.jsonl").read_bytes().splitlines()[:-1]:
        cut.line(CODEX.decode(line))
    assert CODEX.settle(ProcessEnd(how="exited", exit_code=0), cut.summary()).kind == "protocol-error"


def test_a_warning_ends_nothing_and_ours_is_not_told() -> None:
    def item(message: str) -> bytes:
        return json.dumps({"type": "item.completed", "item": {"type": "error", "message": message}}).encode()

    assert CODEX.decode(item("Model metadata not found.")) == (Warned(text="Model metadata not found."),)
    assert CODEX.decode(item("`--dangerously-bypass-hook-trust` is enabled. Hooks may run.")) == ()


def test_usage_of_a_run_that_was_killed_is_in_its_rollout() -> None:
    rollout = (GOLDEN / "rollout-edit.jsonl").read_bytes()
    assert CODEX.recover_usage([rollout]) == read("edit").usage
    first = b"\n".join(line for line in rollout.splitlines() if b"token_usage" in line).splitlines()[0]
    assert CODEX.recover_usage([first + b'\n{"token_usage']).output == 50
    assert CODEX.recover_usage([rollout, first]).output == 200
    assert CODEX.recover_usage([b"\xff", b"[1]\n"]) == UNKNOWN


def test_other_kinds_of_events() -> None:
    def decoded(**event: object) -> tuple[object, ...]:
        return tuple(CODEX.decode(json.dumps(event).encode()))

    assert decoded(type="error", message="Reconnecting... 2/5") == (
        Retried(fault="other", message="Reconnecting... 2/5"),
    )
    waiting = decoded(type="error", message="Reconnecting... waiting for network (Connection failed: error)")
    assert waiting == (Retried(fault="network", message="Connection failed: error"),)
    called = {"id": "1", "type": "mcp_tool_call", "server": "s", "tool": "t", "status": "failed"}
    assert decoded(type="item.completed", item=called) == (Tool(id="1", kind="other", what="s.t", state="failed"),)
    searched = {"id": "1", "type": "web_search", "query": "q"}
    assert decoded(type="item.started", item=searched) == (Tool(id="1", kind="read", what="q", state="started"),)
    declined = {"id": "1", "type": "command_execution", "command": "ls", "status": "declined"}
    assert Denied(what="ls", why="Codex's own rules refused it.") in decoded(type="item.completed", item=declined)
    assert decoded(type="item.completed", item={"type": "todo_list", "items": []}) == ()
    assert decoded(type="item.completed", item={"type": "hologram"}) == (Unknown(type="item.hologram"),)
    assert decoded(type="thread.archived") == (Unknown(type="thread.archived"),)
    assert decoded(type="item.completed", item={"type": "agent_message", "text": "\ud800"}) == (Said(text="?"),)


def test_numbers_that_are_none_are_unknown() -> None:
    used = next(
        each
        for each in CODEX.decode(b'{"type": "turn.completed", "usage": {"input_tokens": "3", "output_tokens": -1}}')
        if isinstance(each, Used)
    )
    assert used.usage == UNKNOWN


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
KINDS = st.sampled_from(
    ["thread.started", "turn.completed", "turn.failed", "error", "item.started", "item.completed", "new"]
)
ITEMS = st.sampled_from(["agent_message", "command_execution", "file_change", "mcp_tool_call", "error", "new"])


@given(st.binary())
def test_no_bytes_break_it(line: bytes) -> None:
    CODEX.decode(line)
    CODEX.complain(line)
    CODEX.recover_usage([line, b'{"token_usage":' + line])


@given(
    st.fixed_dictionaries({"type": KINDS | VALUES}, optional={"usage": VALUES, "error": VALUES, "message": VALUES}),
    st.dictionaries(st.sampled_from(["id", "text", "command", "changes", "status", "message"]), VALUES),
    ITEMS | VALUES,
)
def test_no_event_breaks_it(event: dict[str, object], item: dict[str, object], kind: object) -> None:
    folding = Folding()
    folding.line(CODEX.decode(json.dumps({**event, "item": {**item, "type": kind}}).encode()))
    folding.summary()


def test_a_nest_without_end_is_unknown() -> None:
    assert CODEX.decode(b"[" * 100_000) == (Unknown(),)
