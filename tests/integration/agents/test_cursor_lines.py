"""The adapter of Cursor after its documented schema: no Cursor was at hand, so that these streams are written by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.integration.agents.claude_runs import CARD

from interlock.adapters.agents.cursor import CursorAgent
from interlock.core.agent.adapter import Order
from interlock.core.agent.folding import Folding
from interlock.core.agent.outcome import AgentOutcome, ProcessEnd
from interlock.core.agent.seen import Denied, Summary, Tool, Unknown
from interlock.core.agent.usage import UNKNOWN, Usage
from interlock.core.contract.card import AgentChoice
from interlock.core.problems import Refused

CURSOR = CursorAgent()
ORDER = Order(
    card=CARD,
    choice=AgentChoice(use="cursor", model="gpt-5"),
    prompt="Do it.",
    programs={"cursor-agent": "/opt/cursor-agent"},
    home="/home/agent",
    tree="/ws",
    walled=True,
)
BEGAN = {
    "type": "system",
    "subtype": "init",
    "session_id": "s1",
    "model": "GPT-5",
    "cwd": "/ws",
    "permissionMode": "default",
}
SAID = {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": "All done."}]}}
END = {"type": "result", "subtype": "success", "is_error": False, "result": "All done.", "duration_ms": 5}


def tool(state: str, name: str, result: Any = None, **args: str) -> dict[str, Any]:
    call = {"args": args, **({"result": result} if result else {})}
    return {"type": "tool_call", "subtype": state, "call_id": "c1", "tool_call": {name: call}, "session_id": "s1"}


def read(*shapes: Any, code: int = 0) -> tuple[Summary, AgentOutcome]:
    folding = Folding()
    for each in shapes:
        folding.line(CURSOR.decode(json.dumps(each).encode()))
    seen = folding.summary()
    return seen, CURSOR.settle(ProcessEnd(how="exited", exit_code=code), seen)


def test_it_says_that_it_is_untested() -> None:
    found = CURSOR.probe("2026.11.01-abc\n")
    assert not found.tested
    assert not found.known_good
    assert "no run of ours" in found.note
    assert not found.gateway  # its models are behind its own service
    assert not found.own_budget


@pytest.mark.parametrize(
    ("walled", "writable", "words"),
    [
        (True, True, ["--force", "--sandbox", "disabled"]),
        (False, True, ["--force", "--sandbox", "enabled"]),
        (True, False, ["--mode", "plan", "--sandbox", "disabled"]),
    ],
)
def test_the_whole_command_line(walled: bool, writable: bool, words: list[str]) -> None:
    plan = CURSOR.launch(replace(ORDER, walled=walled, writable=writable, resume="s1"))
    first = ["/opt/cursor-agent", "-p", "--output-format", "stream-json", "--trust", "--workspace", "/ws"]
    assert list(plan.argv) == [*first, *words, "--model", "gpt-5", "--resume", "s1", "Do it."]
    assert (plan.stdin, plan.ends) == (None, ("result",))


def test_what_it_cannot_be_told_is_refused() -> None:
    for order in (
        replace(ORDER, prompt="x" * 120_001),
        replace(ORDER, choice=AgentChoice(use="cursor", effort="high")),
    ):
        with pytest.raises(Refused) as refused:
            CURSOR.launch(order)
        assert refused.value.refusal.rule == "no-agent"


def test_a_run_that_went_well() -> None:
    seen, outcome = read(
        BEGAN,
        {"type": "user", "message": {"role": "user", "content": []}},
        tool("started", "writeToolCall", path="a.py", fileText="x"),
        tool("completed", "writeToolCall", {"success": {"path": "/ws/a.py"}}, path="a.py"),
        SAID,
        {**END, "usage": {"inputTokens": 800, "outputTokens": 50, "cacheReadTokens": 200}},
    )
    assert outcome.kind == "completed"
    assert (seen.session, seen.models, seen.last_text) == ("s1", ("GPT-5",), "All done.")
    assert (seen.tools, seen.unknown) == ({"edit": 1}, 0)
    assert seen.usage == Usage(uncached_input=800, output=50, cache_read=200)


def test_an_older_build_tells_no_usage_and_it_stays_unknown() -> None:
    seen, outcome = read(BEGAN, SAID, END)
    assert outcome.kind == "completed"
    assert seen.usage == UNKNOWN


def test_a_refused_tool_is_a_denial() -> None:
    rejected = {"rejected": {"command": "rm -rf /", "reason": "not allowed"}}
    seen, outcome = read(BEGAN, tool("completed", "shellToolCall", rejected, command="rm -rf /"), END)
    assert seen.denied == (Denied(id="c1", what="rm -rf /", why="not allowed"),)
    assert outcome.kind == "denied"


def test_failure_is_told_by_the_end_and_its_absence() -> None:
    assert read(BEGAN, {**END, "is_error": True, "result": "No."})[1] == AgentOutcome(kind="crashed", message="No.")
    assert read(BEGAN, {**END, "subtype": "error"})[1].kind == "crashed"
    assert read(BEGAN, SAID)[1].kind == "protocol-error"
    assert read(BEGAN, SAID, code=1)[1].kind == "crashed"


def test_a_tool_that_is_not_known_is_named() -> None:
    (found,) = CURSOR.decode(json.dumps(tool("started", "mcpToolCall", toolName="search")).encode())
    assert found == Tool(id="c1", kind="other", what="mcp search", state="started")
    assert list(CURSOR.decode(b"Starting\xff")) == [Unknown()]
    assert list(CURSOR.decode(b'{"type": "thinking"}')) == [Unknown(type="thinking")]


NOISE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.binary(max_size=200))
def test_no_bytes_are_too_strange(line: bytes) -> None:
    Folding().line(CURSOR.decode(line))
    Folding().line(CURSOR.complain(line))


@given(st.data())
def test_no_shape_is_too_strange(data: st.DataObject) -> None:
    shape: dict[str, Any] = dict(
        data.draw(st.sampled_from([BEGAN, SAID, END, tool("completed", "editToolCall", {"success": {}})]))
    )
    for key in data.draw(st.lists(st.sampled_from(sorted(shape)), max_size=2)):
        shape[key] = data.draw(NOISE) if key != "type" else shape[key]
    Folding().line(CURSOR.decode(json.dumps(shape).encode()))
