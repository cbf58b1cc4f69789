"""The adapter of Claude Code as the pure function that it is: its command line, and streams that a real 2.1.332 wrote."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.integration.agents.claude_runs import ADAPTER, CARD, settled

from interlock.core.agent.adapter import Endpoint, Order, Plan
from interlock.core.agent.folding import Folding
from interlock.core.agent.outcome import ProcessEnd
from interlock.core.agent.seen import Denied, Ended, Retried, Said, Summary, Tool, Unknown, Used, Warned
from interlock.core.agent.usage import UNKNOWN, Usage
from interlock.core.contract.card import AgentChoice, Check
from interlock.core.problems import Refused

GOLDEN = Path(__file__).parent / "golden" / "claude"
ONE = Usage(uncached_input=800, cache_read=200, cache_write=0, output=50, reasoning=0)
TWO, THREE = ONE + ONE, ONE + ONE + ONE
NONE = Usage(uncached_input=0, output=0)
ORDER = Order(
    card=replace(CARD, checks=(Check(run="pytest -q tests"), Check(run="a\nb"))),
    choice=AgentChoice(use="claude", model="claude-opus-5-5", effort="high"),
    prompt="Do it.\nGrüße",
    programs={"claude": "/opt/claude"},
    home="/home/an agent",
    tree="/ws",
    walled=True,
    endpoints=(
        Endpoint(name="o", dialect="responses", url="http://127.0.0.1:3129/o", token="no"),
        Endpoint(name="a", dialect="anthropic", url="http://127.0.0.1:3129/a", token="word"),
    ),
)


def option(plan: Plan, name: str) -> str:
    return plan.argv[plan.argv.index(name) + 1]


def settings(order: Order) -> dict[str, Any]:
    shape: dict[str, Any] = json.loads(option(ADAPTER.launch(order), "--settings"))
    return shape


def golden(name: str, code: int, **more: Any) -> Any:
    errors = GOLDEN / f"{name}.err"
    return settled(
        (GOLDEN / f"{name}.jsonl").read_bytes(), errors.read_bytes() if errors.exists() else b"", code, **more
    )


def told(*shapes: Any, code: int = 0) -> Any:
    return settled("\n".join(json.dumps(each) for each in shapes).encode(), b"", code)


def decoded(shape: Any) -> list[Any]:
    return list(ADAPTER.decode(json.dumps(shape).encode()))


# ---------------------------------------------------------------- the command line
def test_the_whole_command_line() -> None:
    plan = ADAPTER.launch(replace(ORDER, turns=7, usd_left=1.5, resume="s1", hook="/run/x/interlock-task hook"))
    at = plan.argv.index("--settings")
    assert plan.argv[:at] == (
        *("/opt/claude", "-p", "--output-format", "stream-json", "--verbose"),
        *("--permission-mode", "bypassPermissions"),
    )
    assert plan.argv[at + 2 :] == (
        *("--model", "claude-opus-5-5", "--effort", "high", "--max-turns", "7"),
        *("--max-budget-usd", "1.500000", "--resume", "s1"),
    )
    assert json.loads(plan.argv[at + 1]) == {
        "permissions": {"allow": [], "deny": ["EnterWorktree", "ExitWorktree", "CronCreate", "ScheduleWakeup"]},
        "env": plan.env,
        "disableAllHooks": False,
        "apiKeyHelper": "cat '/home/an agent/.interlock/model-token'",
        "hooks": {
            "PreToolUse": [
                {
                    "matcher": "Write|Edit|MultiEdit|NotebookEdit|Bash",
                    "hooks": [{"type": "command", "command": "/run/x/interlock-task hook", "timeout": 10}],
                }
            ]
        },
    }
    assert plan.env == {
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:3129/a",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "6",
        "CLAUDE_CODE_SUBPROCESS_ENV_SCRUB": "0",
        "CLAUDE_CONFIG_DIR": "/home/an agent/.claude",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_TELEMETRY": "1",
    }
    assert (plan.stdin, plan.ends, plan.secrets) == ("Do it.\nGrüße".encode(), ("result",), ("word",))
    assert plan.files == {".interlock/model-token": b"word"}


def test_the_token_is_in_no_variable_and_no_argument() -> None:
    plan = ADAPTER.launch(ORDER)
    assert not [each for each in (*plan.argv, *plan.env.values()) if "word" in each.split()]


@pytest.mark.parametrize(
    ("walled", "writable", "mode", "allow", "denied"),
    [
        (True, True, "bypassPermissions", [], False),
        (True, False, "bypassPermissions", [], True),
        (False, True, "acceptEdits", ["interlock-task *", "pytest -q tests", "pytest -q tests *"], False),
        (False, False, "dontAsk", ["interlock-task *"], True),
    ],
)
def test_nobody_is_asked_inside_walls_and_outside_only_what_is_listed_runs(
    walled: bool, writable: bool, mode: str, allow: list[str], denied: bool
) -> None:
    order = replace(ORDER, walled=walled, writable=writable)
    assert option(ADAPTER.launch(order), "--permission-mode") == mode
    permissions = settings(order)["permissions"]
    assert permissions["allow"] == [f"Bash({each})" for each in allow]
    assert ({"Write", "Edit", "NotebookEdit"} <= set(permissions["deny"])) is denied


def test_each_part_of_a_check_may_run_and_a_quote_is_not_taken_apart() -> None:
    checks = (Check(run="cd a && make | tee log"), Check(run="sh -c 'x; y'"), Check(run=" "))
    order = replace(ORDER, walled=False, hook="", card=replace(CARD, checks=checks))
    allowed = [each[5:-1] for each in settings(order)["permissions"]["allow"] if not each.endswith(" *)")]
    assert allowed == ["cd a && make | tee log", "cd a", "make", "tee log", "sh -c 'x; y'"]


def test_without_an_endpoint_it_uses_its_own_login() -> None:
    plan = ADAPTER.launch(replace(ORDER, endpoints=ORDER.endpoints[:1], choice=AgentChoice(use="claude")))
    assert "ANTHROPIC_BASE_URL" not in plan.env
    assert (plan.files, plan.secrets) == ({}, ())
    assert not {"--model", "--effort", "--max-turns", "--max-budget-usd", "--resume"} & set(plan.argv)
    assert ADAPTER.login == (".claude/.credentials.json",)


def test_an_effort_that_it_would_ignore_is_refused() -> None:
    with pytest.raises(Refused) as refused:
        ADAPTER.launch(replace(ORDER, choice=AgentChoice(use="claude", effort="minimal")))
    refusal = refused.value.refusal
    assert refusal.rule == "no-agent"
    assert "minimal" in refusal.what
    assert "xhigh" in refusal.would_change


@pytest.mark.parametrize("left", [0.0, -1.0, 1e-9])
def test_no_money_is_no_run(left: float) -> None:
    with pytest.raises(Refused) as refused:
        ADAPTER.launch(replace(ORDER, usd_left=left))
    assert refused.value.refusal.rule == "budget"


@pytest.mark.parametrize(
    ("printed", "version", "good"),
    [
        ("2.1.332 (Claude Code)\n", "2.1.332", True),
        ("2.2.0 (Claude Code)", "2.2.0", False),
        ("", "", False),
        ("\x00x", "", False),
    ],
)
def test_the_version_is_told_and_what_is_not_tested_is_said(printed: str, version: str, good: bool) -> None:
    found = ADAPTER.probe(printed)
    assert (found.version, found.known_good) == (version, good)
    assert "2.1.332" in found.note
    assert found.own_budget
    assert found.gateway


# ---------------------------------------------------------------- golden streams
def test_an_edit_that_went_well() -> None:
    run = golden("edit", 0)
    assert (run.outcome.kind, run.seen.last_text) == ("completed", "All done.")
    assert run.seen.tools == {"edit": 1, "command": 1}
    assert (run.seen.usage, run.seen.usd) == (THREE, pytest.approx(0.01272))
    assert run.seen.models == ("claude-opus-5-5",)
    assert (run.seen.failed_tools, run.seen.denied, run.seen.unknown) == (0, (), 0)


@pytest.mark.parametrize(
    ("name", "what", "why"),
    [
        ("denied", "Bash python3 -c 'print(1)'", "This command requires approval"),
        ("hook", "Write /room/tree/README.md", "README.md is not this task's"),
    ],
)
def test_a_denial_is_told_once_and_never_hidden_by_success(name: str, what: str, why: str) -> None:
    run = golden(name, 0)
    assert b'"subtype":"success"' in run.out
    assert (run.outcome.kind, run.outcome.message) == ("denied", f"It was refused 1 thing: {what}.")
    (denied,) = run.seen.denied
    assert denied.what == what
    assert why in denied.why
    assert run.seen.failed_tools == 1


@pytest.mark.parametrize(
    ("name", "fault", "retries"),
    [
        ("fault-400", "bad-request", 0),
        ("fault-401", "auth", 2),
        ("fault-429", "rate", 2),
        ("fault-500", "overload", 2),
        ("fault-529", "overload", 2),
        ("context", "context", 0),
        ("quota", "quota", 0),
        ("cut", "network", 2),
    ],
)
def test_an_error_is_an_error_although_its_subtype_is_success(name: str, fault: str, retries: int) -> None:
    run = golden(name, 1)
    assert b'"subtype":"success"' in run.out
    assert (run.outcome.kind, run.outcome.fault, run.seen.retries) == ("api-error", fault, retries)
    assert run.seen.usage == NONE
    assert run.seen.usd == 0
    assert run.seen.last_text == ""  # what the client says of the fault is no word of the agent


@pytest.mark.parametrize(("name", "limit", "usage"), [("turns", "turns", TWO), ("money", "money", THREE)])
def test_limits_of_its_own(name: str, limit: str, usage: Usage) -> None:
    run = golden(name, 1)
    assert (run.outcome.kind, run.outcome.limit, run.seen.usage) == ("limit", limit, usage)


def test_what_is_broken_off_has_its_cost() -> None:
    run = golden("interrupted", 0)
    assert run.outcome.kind == "crashed"
    assert run.seen.ended == Ended(how="aborted", message="Its turn was broken off (aborted_tools).")
    assert (run.seen.usage, run.seen.denied) == (ONE, ())
    cancelled = ADAPTER.settle(ProcessEnd(how="cancelled", exit_code=0, message="A person stopped it."), run.seen)
    assert cancelled.kind == "cancelled"


def test_the_figure_of_a_messages_beginning_is_not_taken_for_its_usage() -> None:
    assert b'"stop_reason":null' in golden("killed", -9).out
    assert golden("killed", -9).seen.usage == UNKNOWN  # so that the transcript is asked, which knows
    begun = message("m1", 1, 1000)
    begun["message"]["stop_reason"] = None
    assert told(begun).seen.usage == UNKNOWN
    begun["message"]["stop_reason"] = "end_turn"
    assert told(begun).seen.usage.output == 1


def test_without_a_result_nothing_is_completed() -> None:
    assert golden("terminated", 143).outcome.kind == "crashed"
    assert golden("killed", -9).outcome.kind == "crashed"
    without = b"\n".join((GOLDEN / "edit.jsonl").read_bytes().splitlines()[:-1])
    assert settled(without, b"", 0).outcome.kind == "protocol-error"


def test_its_last_words_say_why_it_did_not_start() -> None:
    run = settled(b"", b"--dangerously-skip-permissions cannot be used with root/sudo privileges\n", 1)
    assert run.outcome.kind == "crashed"
    assert "cannot be used with root" in run.outcome.message
    assert golden("no-session", 1).outcome.message.startswith("No conversation found with session ID")


def test_a_resumed_run_has_its_own_figures_whatever_was_known_before() -> None:
    for before, usd in ((UNKNOWN, None), (TWO, 0.00848)):
        run = golden("resumed", 0, before=before, usd_before=usd)
        assert (run.seen.usage, run.seen.session_usage) == (TWO, TWO + TWO)
        assert run.seen.usd == pytest.approx(0.00848)
        assert run.seen.session_usd == pytest.approx(0.01696)
    # The session's total does not know of a run that was killed; subtracting it would give nothing.
    run = golden("resumed-after-a-kill", 0, before=TWO, usd_before=0.00848)
    assert (run.seen.usage, run.seen.session_usage) == (ONE, ONE)
    assert run.seen.usd == pytest.approx(0.00424)


def test_an_older_client_that_tells_totals_of_the_session_alone() -> None:
    lines = [json.loads(line) for line in (GOLDEN / "resumed.jsonl").read_bytes().splitlines()]
    del lines[-1]["model_usage_since_last_result"]
    text = "\n".join(json.dumps(each) for each in lines).encode()
    run = settled(text, b"", 0, before=TWO, usd_before=0.00848)
    assert run.seen.usage == TWO
    assert run.seen.usd == pytest.approx(0.00848)


def test_work_in_the_background_gives_two_results_and_one_sum() -> None:
    run = golden("background", 0)
    assert run.out.count(b'"type":"result"') == 2
    assert run.outcome.kind == "completed"
    assert run.seen.usage == run.seen.session_usage == THREE


def test_a_transcript_tells_what_a_killed_run_used() -> None:
    data = (GOLDEN / "transcript.jsonl").read_bytes()
    assert ADAPTER.recover_usage([data]) == TWO + TWO
    assert ADAPTER.recover_usage([data, data]) == TWO + TWO  # a copied session is the same messages
    assert ADAPTER.recover_usage([]) == UNKNOWN
    assert ADAPTER.recover_usage([b"\xff\n{}\n[]\n" + b'{"message": {"id": "x", "usage": 3}}']) == UNKNOWN
    assert ADAPTER.transcripts() == (".claude/projects/**/*.jsonl",)


# ---------------------------------------------------------------- AI-08
def message(key: str, output: int, given: int, text: str = "") -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    usage = {"input_tokens": given, "cache_read_input_tokens": 10, "output_tokens": output}
    return {"type": "assistant", "message": {"id": key, "model": "m", "content": content, "usage": usage}}


AI_08 = (
    *(message("m1", output, 1000) for output in (1, 1, 180)),
    *(message("m2", output, 1200) for output in (2, 40)),
)


def test_ai_08_each_message_counts_once_by_its_last_line() -> None:
    run = told(*AI_08)
    assert run.seen.usage == Usage(uncached_input=2200, cache_read=20, output=220)
    naive = sum(each["message"]["usage"]["input_tokens"] for each in AI_08)
    assert naive == 5400  # 2.5 times as much as was used
    assert run.outcome.kind == "protocol-error"


def test_ai_08_totals_of_the_result_win_over_the_parts_and_are_not_added() -> None:
    usage = {"input_tokens": 2200, "cache_read_input_tokens": 20, "output_tokens": 221}
    end = {"usage": usage, "subtype": "success", "is_error": False, "total_cost_usd": 0.5, "type": "result"}
    run = told(*AI_08, end)
    assert run.seen.usage == Usage(uncached_input=2200, cache_read=20, output=221)
    assert run.seen.usd == 0.5
    models = {"m": {"inputTokens": 2300, "cacheReadInputTokens": 20, "outputTokens": 230, "costUSD": 0.6}}
    run = told(*AI_08, {**end, "modelUsage": models})
    assert run.seen.usage == Usage(uncached_input=2300, cache_read=20, output=230)


@pytest.mark.parametrize(
    "usage", [None, [], {}, {"input_tokens": "many"}, {"input_tokens": -5}, {"input_tokens": True}]
)
def test_ai_08_what_is_not_known_is_unknown_and_not_nothing(usage: Any) -> None:
    run = told({"type": "assistant", "message": {"id": "m1", "usage": usage}}, {"type": "result", "usage": usage})
    assert run.seen.usage == UNKNOWN
    assert run.seen.usage.total is None
    assert run.seen.usd is None


# ---------------------------------------------------------------- single lines
def test_limits_of_a_subscription() -> None:
    info = {"status": "allowed_warning", "rateLimitType": "five_hour", "resetsAt": 1}
    assert decoded({"type": "rate_limit_event", "rate_limit_info": info}) == [
        Warned(text="The subscription's limit (five_hour) is nearly reached.")
    ]
    info["status"] = "rejected"
    assert decoded({"type": "rate_limit_event", "rate_limit_info": info})[0].fault == "quota"
    info["status"] = "allowed"
    assert decoded({"type": "rate_limit_event", "rate_limit_info": info}) == []


def test_a_subagent_does_not_speak_for_the_agent_and_its_tokens_count() -> None:
    line = {**message("m9", 5, 6, "aside"), "parent_tool_use_id": "t1"}
    assert [type(each) for each in decoded(line)] == [Used]
    assert [type(each) for each in decoded(message("m9", 5, 6, "said"))] == [Said, Used]


def test_a_result_of_a_tool_does_not_change_what_the_tool_is() -> None:
    folding = Folding()
    folding.line([Tool(id="t", kind="edit", what="a.py", state="started")])
    folding.line([Tool(id="t", kind="other", what="", state="failed")])
    seen = folding.summary()
    assert (seen.tools, seen.failed_tools) == ({"edit": 1}, 1)


def test_denials_under_one_id_are_one_and_others_are_not() -> None:
    folding = Folding()
    folding.line([Denied(id="t", what="Write"), Denied(id="t", what="", why="no"), Denied(id="t", what="Write a.py")])
    folding.line([Denied(what="x"), Denied(what="x")])
    assert folding.summary().denied == (Denied(id="t", what="Write a.py", why="no"), Denied(what="x"), Denied(what="x"))


@pytest.mark.parametrize(
    ("shape", "how"),
    [
        ({"subtype": "success", "is_error": False}, "completed"),
        ({"subtype": "success", "is_error": True}, "failed"),
        ({"subtype": "success"}, "failed"),
        ({"is_error": False}, "failed"),
        ({"subtype": "error_during_execution", "is_error": False}, "failed"),
        ({"subtype": "error_something_new", "is_error": False}, "failed"),
        ({"subtype": "success", "is_error": False, "terminal_reason": "aborted_streaming"}, "aborted"),
        ({}, "failed"),
    ],
)
def test_only_success_without_error_is_completed(shape: dict[str, Any], how: str) -> None:
    (ended,) = [each for each in decoded({"type": "result", **shape}) if isinstance(each, Ended)]
    assert ended.how == how


def test_unknown_lines_are_counted_and_banners_too() -> None:
    assert decoded({"type": "news"}) == [Unknown(type="news")]
    assert decoded({"type": "system", "subtype": "news"}) == [Unknown(type="system/news")]
    assert list(ADAPTER.decode(b"Welcome")) == [Unknown()]
    assert list(ADAPTER.decode(b"[1]")) == [Unknown()]
    assert decoded({"type": "stream_event"}) == []


NOISE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(
    sorted(
        {key for path in GOLDEN.glob("*.jsonl") for line in path.read_bytes().splitlines() for key in json.loads(line)}
    )
)
KINDS = st.sampled_from(["system", "assistant", "user", "result", "rate_limit_event", "stream_event", ""])


@given(line=st.binary(max_size=200))
def test_no_bytes_are_too_strange(line: bytes) -> None:
    Folding().line(ADAPTER.decode(line))
    Folding().line(ADAPTER.complain(line))
    ADAPTER.recover_usage([line])


@given(
    kind=KINDS, subtype=st.text(max_size=5) | st.sampled_from(["init", "api_retry"]), more=st.dictionaries(KEYS, NOISE)
)
def test_no_shape_is_too_strange(kind: str, subtype: str, more: dict[str, Any]) -> None:
    line = json.dumps({"subtype": subtype, **more, "type": kind}).encode()
    folding = Folding()
    folding.line(ADAPTER.decode(line))
    seen = folding.summary()
    assert isinstance(seen, Summary)
    json.dumps(seen.usage.as_json())
    seen.last_text.encode()
    ADAPTER.settle(ProcessEnd(how="exited", exit_code=0), seen)
    ADAPTER.recover_usage([line])


@given(st.data())
def test_no_cut_or_twisted_line_of_a_real_stream_is_too_strange(data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(sorted(GOLDEN.glob("*.jsonl"))))
    line = data.draw(st.sampled_from(path.read_bytes().splitlines()))
    at = data.draw(st.integers(0, len(line)))
    ADAPTER.decode(line[:at])
    shape = json.loads(line)
    shape[data.draw(st.sampled_from(sorted(shape)))] = data.draw(NOISE)
    if isinstance(shape.get("message"), dict) and shape["message"]:
        shape["message"][data.draw(st.sampled_from(sorted(shape["message"])))] = data.draw(NOISE)
    Folding().line(ADAPTER.decode(json.dumps(shape).encode()))


def test_retries_are_told_by_their_reason() -> None:
    retry = {"type": "system", "subtype": "api_retry", "error_status": 529, "error": "overloaded"}
    assert decoded(retry) == [Retried(fault="overload", message="overloaded")]
    assert decoded({**retry, "error_status": None, "error": "unknown"})[0].fault == "network"
