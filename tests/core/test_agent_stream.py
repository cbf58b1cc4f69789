"""What an agent's stream is folded to, and how a run is judged: counts that stay true, and exit codes that prove nothing."""

from __future__ import annotations

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.core.agent import usage as tokens
from interlock.core.agent.folding import Folding
from interlock.core.agent.gateway import Reached, Unit
from interlock.core.agent.judging import judge
from interlock.core.agent.outcome import ProcessEnd
from interlock.core.agent.seen import Answered, Asked, Began, Denied, Ended, Retried, Said, Summary, Tool, Unknown, Used
from interlock.core.agent.texts import MOST, clean
from interlock.core.agent.usage import Price, Usage

LEFT = ProcessEnd(how="exited", exit_code=0)


def fold(*lines: object, before: Usage = tokens.UNKNOWN, usd_before: float | None = None, resumed: str = "") -> Summary:
    folding = Folding(before=before, usd_before=usd_before, resumed=resumed)
    for line in lines:
        folding.line([line])  # type: ignore[list-item]
    return folding.summary()


def call(key: str, output: int, **more: int) -> Used:
    return Used(usage=Usage(output=output, **more), scope="call", key=key)


def test_ai_08_a_message_that_repeats_its_usage_counts_once_and_totals_win():
    parts = [call("m1", 1), call("m1", 1), call("m1", 180), call("m2", 5), call("m2", 40)]
    assert fold(*parts).usage.output == 220
    whole = Used(usage=Usage(output=221), scope="turn")
    assert fold(*parts, whole).usage.output == 221
    assert fold(*parts[:3], Used(usage=Usage(output=400), scope="session"), *parts[3:]).usage.output == 400


def test_a_resumed_session_costs_only_what_it_added():
    seen = fold(
        Used(usage=Usage(uncached_input=5000, output=150), scope="session", usd=0.0212),
        before=Usage(uncached_input=4000, output=100),
        usd_before=0.0170,
    )
    assert (seen.usage.uncached_input, seen.usage.output) == (1000, 50)
    assert seen.usd == pytest.approx(0.0042)
    assert seen.session_usage.uncached_input == 5000


@pytest.mark.parametrize(("session", "output", "usd"), [("s1", 50, 0.5), ("s2", 150, 1.5), ("", 50, 0.5)])
def test_only_the_session_that_was_resumed_has_its_earlier_totals_taken_off(session: str, output: int, usd: float):
    seen = fold(
        Began(session=session),
        Used(usage=Usage(output=150), scope="session", usd=1.5),
        before=Usage(output=100),
        usd_before=1.0,
        resumed="s1",
    )
    assert (seen.usage.output, seen.usd) == (output, usd)


def test_unknown_is_never_nothing():
    assert fold(Said(text="done")).usage == tokens.UNKNOWN
    assert fold(Said(text="done")).usage.total is None
    assert Price(input=3, output=15).of(tokens.UNKNOWN) is None
    assert fold(call("a", 5), Used(usage=Usage(output=1), scope="call", key="b", usd=0.1)).usd is None


@pytest.mark.parametrize("amount", [-1000.0, float("nan"), float("inf"), 1e300, -5, True])
@pytest.mark.parametrize("scope", ["call", "turn", "session"])
def test_a_figure_that_cannot_be_lifts_no_budget(scope: Literal["call", "turn", "session"], amount: float):
    seen = fold(Used(usage=Usage(output=-7, uncached_input=10**18, cache_read=3), scope=scope, usd=amount))
    assert (seen.usage, seen.usd) == (Usage(cache_read=3), None)
    assert (seen.session_usd, seen.session_usage.output) == (None, None)
    later = Used(usage=Usage(output=5), scope="session", usd=1.0)
    assert fold(later, before=Usage(output=-90), usd_before=-50.0).usd == 1.0
    assert fold(later, before=Usage(output=-90), usd_before=-50.0).usage.output == 5


def test_a_price_of_its_own_for_each_kind():
    usage = Usage(uncached_input=1_000_000, cache_read=1_000_000, cache_write=1_000_000, output=1_000_000)
    assert Price(input=3, output=15, cache_read=0.3, cache_write=3.75).of(usage) == pytest.approx(22.05)
    assert Price(input=3, output=15).of(usage) == pytest.approx(24)


@given(st.lists(st.builds(Usage, output=st.none() | st.integers(0, 9), cache_read=st.none() | st.integers(0, 9))))
def test_sums_forget_nothing_and_read_back(parts: list[Usage]):
    found = tokens.total(parts)
    assert (found.output or 0) == sum(part.output or 0 for part in parts)
    assert tokens.from_json(found.as_json()) == found
    assert (found - found).total in (0, None)


@pytest.mark.parametrize("shape", [None, {}, {"output": -1}, {"output": True}, {"output": "12"}, {"output": 1.5}])
def test_a_count_that_is_no_whole_number_is_unknown(shape: dict[str, object] | None):
    assert tokens.from_json(shape) == tokens.UNKNOWN


def test_what_a_stream_said_is_all_there():
    seen = fold(
        Began(session="s1", model="m"),
        Tool(id="1", kind="edit", what="a.py", state="started"),
        Tool(id="1", kind="edit", what="", state="done"),
        Tool(id="2", kind="command", what="pytest", state="failed"),
        Retried(fault="rate"),
        Unknown(type="new"),
        Said(text="first"),
        Said(text="last"),
    )
    assert (seen.session, seen.models, seen.last_text) == ("s1", ("m",), "last")
    assert (seen.tools, seen.failed_tools) == ({"edit": 1, "command": 1}, 1)
    assert (seen.retries, seen.last_fault, seen.unknown, seen.lines, seen.ended) == (1, "rate", 1, 8, None)


def test_what_is_asked_again_under_one_id_is_what_was_read_first():
    first, later = Asked(id="p1", what="list files"), Asked(id="p1", what="delete all")
    assert fold(first, later).asked == (first,)
    assert fold(first, Answered(id="p1", choice="yes"), later).asked == ()


# ---------------------------------------------------------------- judging: the refusals first
@pytest.mark.parametrize(
    ("end", "lines", "kind"),
    [
        (LEFT, [Said(text="All done.")], "protocol-error"),
        (ProcessEnd(how="ended", exit_code=None), [], "protocol-error"),
        (LEFT, [Ended(how="failed", fault="auth")], "api-error"),
        (LEFT, [Ended(how="completed"), Denied(what="Write a.py")], "denied"),
        (LEFT, [Ended(how="limit", limit="turns")], "limit"),
        (LEFT, [Ended(how="aborted")], "crashed"),
        (LEFT, [Ended(how="failed", fault="auth"), Ended(how="completed")], "api-error"),
        (LEFT, [Ended(how="limit", limit="turns"), Ended(how="completed"), Ended(how="completed")], "limit"),
        (LEFT, [Ended(how="aborted"), Ended(how="completed")], "crashed"),
        (LEFT, [Ended(how="completed"), Ended(how="failed", fault="quota")], "api-error"),
        (LEFT, [Asked(id="1", what="edit a.py")], "denied"),
        (ProcessEnd(how="exited", exit_code=1), [Retried(fault="overload")], "api-error"),
        (ProcessEnd(how="exited", exit_code=7), [], "crashed"),
        (ProcessEnd(how="signalled", exit_code=None), [], "crashed"),
        (ProcessEnd(how="wall-limit", exit_code=None), [Ended(how="completed")], "limit"),
        (ProcessEnd(how="startup-limit", exit_code=None), [], "limit"),
        (ProcessEnd(how="cancelled", exit_code=0), [Ended(how="completed")], "cancelled"),
        (ProcessEnd(how="budget", exit_code=None, budget="usd 4 for the job"), [Ended(how="completed")], "limit"),
        (ProcessEnd(how="interrupted", exit_code=None), [Ended(how="completed")], "interrupted"),
    ],
)
def test_a_run_is_not_completed_by_its_exit_code(end: ProcessEnd, lines: list[object], kind: str):
    assert judge(end, fold(*lines)).kind == kind


@pytest.mark.parametrize("end", [LEFT, ProcessEnd(how="exited", exit_code=1), ProcessEnd(how="ended", exit_code=None)])
def test_the_terminal_event_is_believed_before_the_exit_code(end: ProcessEnd):
    assert judge(end, fold(Said(text="x"), Ended(how="completed"))).kind == "completed"


def _spent(unit: Unit) -> Reached:
    return Reached(scope="job", unit=unit)


def test_a_spent_budget_says_whether_it_was_money_or_tokens():
    money = judge(ProcessEnd(how="budget", exit_code=None, budget="It is spent.", reached=_spent("usd")), Summary())
    words = judge(ProcessEnd(how="budget", exit_code=None, budget="No usd.", reached=_spent("tokens")), Summary())
    assert (money.limit, words.limit) == ("money", "tokens")
    assert money.reached == _spent("usd")


def test_half_characters_and_huge_raw_objects_do_not_reach_the_record():
    assert clean(Said(text="a\ud800b")) == Said(text="a?b")
    assert clean(Said(text="Grüße")) == Said(text="Grüße")
    assert len(clean(Said(text="x" * 1_000_000)).text) == MOST  # type: ignore[union-attr]
    big = clean(Used(usage=Usage(output=1), scope="turn", raw={"x": "y" * 10_000}))
    assert list(big.raw) == ["too large"]  # type: ignore[union-attr]
