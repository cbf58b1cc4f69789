"""What the bridge's lines say, read by the pure adapter: denials, ends, faults, usage; and what it refuses to launch."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping

import pytest

from interlock.adapters.agents.acp import AcpAgent
from interlock.bridge.counting import tokens
from interlock.bridge.lines import Lines
from interlock.bridge.updates import Updates
from interlock.core.agent.adapter import Endpoint, Order
from interlock.core.agent.folding import Folding
from interlock.core.agent.outcome import AgentOutcome, ProcessEnd
from interlock.core.agent.seen import Summary, Unknown
from interlock.core.contract.card import AgentChoice, Budget, Card, Check
from interlock.core.problems import Refused

EXITED = ProcessEnd(how="exited", exit_code=0)
CHOICES = [{"id": "y", "label": "Allow", "allows": True}, {"id": "n", "label": "Reject", "allows": False}]
ASKED = {"type": "interlock.asked", "id": "p1", "what": "edit: a", "choices": CHOICES}
DENIED = {"type": "interlock.answered", "id": "p1", "choice": "n", "allowed": False, "by": "ana", "what": "edit: a"}
BEGAN = {"type": "interlock.began", "session": "s1", "model": "m1"}


def read(*shapes: Mapping[str, object]) -> Summary:
    folding = Folding()
    for shape in shapes:
        folding.line(AcpAgent().decode(json.dumps(shape).encode()))
    return folding.summary()


def outcome(*shapes: Mapping[str, object], end: ProcessEnd = EXITED) -> AgentOutcome:
    return AcpAgent().settle(end, read(*shapes))


def ended(reason: str, **more: object) -> dict[str, object]:
    return {"type": "interlock.ended", "reason": reason, **more}


def test_a_denial_is_shown_although_the_turn_ended_as_if_nothing_had_been() -> None:
    """facts/agents §2: reject, then end_turn, looks like success."""
    found = outcome(BEGAN, ASKED, DENIED, ended("end_turn", denied=True))
    assert found.kind == "denied"
    assert "edit: a" in found.message
    assert read(ASKED, DENIED).denied[0].why == "ana denied it."
    assert read(ASKED, DENIED).asked == ()


def test_a_turn_that_the_agent_cancels_for_a_denial_is_denied_and_one_that_we_cancelled_is_not() -> None:
    assert outcome(BEGAN, ASKED, DENIED, ended("cancelled", denied=True, asked=False)).kind == "denied"
    assert outcome(BEGAN, ended("cancelled", asked=True)).kind == "crashed"
    cancelled = ProcessEnd(how="cancelled", exit_code=1)
    assert outcome(BEGAN, ASKED, ended("cancelled", asked=True), end=cancelled).kind == "cancelled"


def test_what_the_agents_own_reviewer_denies_is_shown_too() -> None:
    """codex-acp asks a model of its own before a person, where its mode says so."""
    text = "Status: Denied\nAction: exec touch /x\nRisk: high"
    content = [{"type": "content", "content": {"type": "text", "text": text}}]
    out = io.BytesIO()
    Updates(Lines(out)).take(
        {
            "sessionUpdate": "tool_call_update",
            "toolCallId": "guardian_assessment:1",
            "status": "failed",
            "content": content,
        }
    )
    seen = read(BEGAN, *(json.loads(line) for line in out.getvalue().splitlines()), ended("end_turn"))
    assert [each.what for each in seen.denied] == ["exec touch /x"]
    assert AcpAgent().settle(EXITED, seen).kind == "denied"


def test_a_permission_that_nobody_answered_is_no_success() -> None:
    assert outcome(BEGAN, ASKED).kind == "denied"
    assert outcome(BEGAN).kind == "protocol-error"
    assert read(BEGAN, ASKED).asked[0].choices[1].allows is False
    times = (1.5e9, float("inf"), float("nan"), 10**400, True, "then", None)
    assert [read(BEGAN, {**ASKED, "at": at}).asked[0].at for at in times] == [1.5e9, *[None] * 6]


def test_what_it_wants_to_change_is_told_by_its_first_lines() -> None:
    diff = {"type": "diff", "path": "a.py", "oldText": "one\ntwo\n", "newText": "one\n2\n"}
    asked = read(BEGAN, {**ASKED, "raw": {"toolCall": {"content": [diff]}}}).asked[0]
    assert asked.change.splitlines() == ["a.py: 2 lines, then 2", "@@ -1,2 +1,2 @@", " one", "-two", "+2"]
    long = {**diff, "newText": "x" * 900 + "\n" + "more\n" * 50}
    lines = read(BEGAN, {**ASKED, "raw": {"toolCall": {"content": [long]}}}).asked[0].change.splitlines()
    assert (len(lines), max(map(len, lines))) == (10, 200)
    assert lines[-1].startswith("… and ")
    shapes: tuple[object, ...] = (
        None,
        5,
        [],
        {},
        {"toolCall": 5},
        {"toolCall": {"content": [5, {}, {"type": "diff", "newText": 5}]}},
    )
    for odd in shapes:
        assert "\n" not in read(BEGAN, {**ASKED, "raw": odd}).asked[0].change


@pytest.mark.parametrize(
    ("shape", "kind", "fault", "limit"),
    [
        (ended("end_turn"), "completed", None, None),
        (ended("max_turn_requests"), "limit", None, "turns"),
        (ended("max_tokens"), "api-error", "context", None),
        (ended("refusal"), "crashed", None, None),
        (ended("died", message="It ended with 7."), "crashed", None, None),
        (ended("some day"), "crashed", None, None),
        (ended("error", code=-32000, message="Authentication required"), "api-error", "auth", None),
        (
            ended("error", code=-32603, message="Internal error", data={"details": "429 Too Many"}),
            "api-error",
            "rate",
            None,
        ),
        (ended("error", code=-32603, message="API Error: 529 overloaded"), "api-error", "overload", None),
        (ended("error", code=-32603, message="something odd in 1500 lines"), "crashed", None, None),
        (ended("error", code=0, message="The agent offers no model m 401"), "crashed", None, None),
    ],
)
def test_how_a_turn_ends(shape: dict[str, object], kind: str, fault: str | None, limit: str | None) -> None:
    found = outcome(BEGAN, shape)
    assert (found.kind, found.fault, found.limit) == (kind, fault, limit)


def test_tokens_count_only_where_they_are_known_to_be_of_the_turn_and_dollars_stay_apart() -> None:
    counts = {"uncached_input": 2400, "cache_read": 600, "cache_write": None, "output": 150, "reasoning": 30}
    known = read(BEGAN, {"type": "interlock.used", "scope": "turn", "tokens": counts, "usd": 0.5, "raw": {"a": 1}})
    assert (known.usage.total, known.usd, known.raw_usage) == (3150, 0.5, ({"a": 1},))
    unknown = read(
        BEGAN, {"type": "interlock.used", "scope": "unknown", "tokens": counts, "usd": None, "raw": {"a": 1}}
    )
    assert (unknown.usage.total, unknown.usd, unknown.raw_usage) == (None, None, ({"a": 1},))
    context = {"type": "interlock.context", "used": 9, "size": 10, "usd": 0.25}
    assert read(BEGAN, context, {**context, "usd": 0.75}).usd == 0.75


@pytest.mark.parametrize("amount", [-1000, float("nan"), float("inf"), 10**400, True, "5"])
def test_a_cost_that_cannot_be_is_unknown_and_what_was_spent_is_not_given_back(amount: object) -> None:
    out = io.BytesIO()
    updates = Updates(Lines(out))
    for cost in (amount, 0.25, amount, 0.1):
        updates.take({"sessionUpdate": "usage_update", "cost": {"amount": cost, "currency": "USD"}})
    assert updates.usd == 0.25
    for line in (
        {"type": "interlock.context", "usd": amount},
        {"type": "interlock.used", "scope": "turn", "usd": amount},
    ):
        assert read(BEGAN, line).usd is None


@pytest.mark.parametrize(
    ("usage", "inner", "output"),
    [
        ({"totalTokens": 3150, "inputTokens": 2400, "cachedReadTokens": 600, "outputTokens": 150}, 2400, 150),
        ({"totalTokens": 3150, "inputTokens": 3000, "cachedReadTokens": 600, "outputTokens": 150}, 2400, 150),
        ({"totalTokens": 3180, "inputTokens": 3000, "outputTokens": 150, "thoughtTokens": 30}, 3000, 180),
        ({"totalTokens": 3150, "inputTokens": 3000, "outputTokens": 150, "thoughtTokens": 30}, 3000, 150),
    ],
)
def test_what_input_and_output_hold_follows_from_the_total(usage: dict[str, int], inner: int, output: int) -> None:
    found = tokens(usage)
    assert found is not None
    assert (found["uncached_input"], found["output"]) == (inner, output)


@pytest.mark.parametrize(
    "usage", [None, {}, {"totalTokens": 5, "inputTokens": 9, "outputTokens": 9}, {"totalTokens": True}]
)
def test_numbers_that_do_not_add_up_are_unknown(usage: dict[str, int] | None) -> None:
    assert tokens(usage) is None


@pytest.mark.parametrize(
    "line", [b"", b"null", b"[1]", b"{", b'{"type": "interlock.asked"}', b'{"type": 5}', b"\xff\xfe"]
)
def test_an_odd_line_is_unknown_and_raises_nothing(line: bytes) -> None:
    assert [type(each) for each in AcpAgent().decode(line)] == [Unknown]


# ---------------------------------------------------------------- launching
def order(command: str | None, **more: object) -> Order:
    choice = AgentChoice(use="acp", command=command, model="m1", effort="high")
    card = Card(
        slug="a",
        class_name="tests",
        owned_paths=("a/**",),
        checks=(Check(run="true"),),
        stop_when=("x",),
        integration_owner="@ana",
        agent=choice,
        budget=Budget(idle=30.0),
    )
    known = {"card": card, "choice": choice, "prompt": "p", "programs": {}, "home": "/h", "tree": "/t", "walled": True}
    return Order(**{**known, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize("command", [None, "", "  "])
def test_a_choice_without_a_command_is_refused(command: str | None) -> None:
    with pytest.raises(Refused) as caught:
        AcpAgent().launch(order(command))
    assert caught.value.refusal.rule == "no-agent"


def test_the_bridge_is_told_what_the_order_says_and_the_gateway_is_named_by_variables_alone() -> None:
    ends = [
        Endpoint(name="a", dialect="anthropic", url="http://127.0.0.1:3129/a", token="word"),
        Endpoint(name="o", dialect="responses", url="http://127.0.0.1:3129/o", token="word"),
    ]
    plan = AcpAgent().launch(order("codex-acp --x 'y z'", endpoints=tuple(ends), resume="s9", writable=False))
    assert plan.argv[0] == "interlock-bridge"
    assert plan.argv[-2:] == ("--", "codex-acp --x 'y z'")
    assert {"--model=m1", "--effort=high", "--resume=s9", "--reading", "--walled"} <= set(plan.argv)
    assert plan.argv[1:3] == ("--waiting", "10")
    assert plan.ends == ("interlock.ended",)
    assert plan.env["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:3129/a"
    assert plan.env["OPENAI_BASE_URL"] == "http://127.0.0.1:3129/o/v1"
    assert b'base_url = "http://127.0.0.1:3129/o/v1"' in plan.files[".codex/config.toml"]
    assert not AcpAgent().launch(order("opencode acp", endpoints=tuple(ends))).files
