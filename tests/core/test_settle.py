"""What comes out of an attempt is never decided by the exit code alone."""

from dataclasses import replace
from typing import get_args

import pytest

from interlock.core.agent.gateway import Reached, reached_from
from interlock.core.agent.outcome import AgentOutcome
from interlock.core.agent.seen import Fault, Limit
from interlock.core.job.settle import MAX_INTERRUPTIONS, Facts, ask_for, settle
from interlock.core.rules import RULES

LIMITS: dict[Limit, str] = {
    "wall": "wall-limit",
    "idle": "idle-limit",
    "startup": "startup-limit",
    "turns": "turn-limit",
    "tokens": "budget",
    "money": "budget",
}
GOOD = Facts(
    how="exited",
    exit_code=0,
    tail="",
    branch="agent/a",
    head_branch="agent/a",
    workspace_there=True,
    changed=True,
    interruptions=0,
    message="As told.",
)


def test_work_after_a_clean_exit_is_to_be_verified():
    assert settle(GOOD).kind == "worked"


def test_a_phase_before_the_last_hands_on_and_work_beside_a_denial_counts():
    assert settle(replace(GOOD, phase="plan", writing=False, final=False, changed=False)).kind == "phased"
    refused = replace(GOOD, agent=AgentOutcome(kind="denied", message="It was refused 1 thing."))
    assert settle(refused).kind == "worked"
    assert settle(replace(refused, phase="plan", writing=False, final=False, changed=False)).kind == "phased"


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"changed": False}, "empty-diff"),
        ({"agent": AgentOutcome(kind="crashed", message="The agent exited with 1.")}, "agent-failed"),
        ({"agent": AgentOutcome(kind="failed-to-start")}, "agent-failed"),
        ({"agent": AgentOutcome(kind="protocol-error", message="It never said that it had ended.")}, "no-end"),
        ({"agent": AgentOutcome(kind="denied"), "changed": False}, "denied"),
        *(({"agent": AgentOutcome(kind="limit", limit=limit)}, rule) for limit, rule in LIMITS.items()),
        *(({"agent": AgentOutcome(kind="api-error", fault=fault)}, f"api-{fault}") for fault in get_args(Fault)),
        ({"phase": "research", "writing": False, "wrote": True, "final": False}, "phase-wrote"),
        ({"phase": "review-tests", "writing": False, "final": False, "objection": "No case for zero."}, "test-plan"),
        ({"phase": "plan", "writing": False, "final": False, "pack": False}, "no-pack"),
        ({"how": "cancelled"}, "cancelled"),
        ({"head_branch": None}, "head-moved"),
        ({"head_branch": "agent/other"}, "head-moved"),
        ({"workspace_there": False, "head_branch": None}, "workspace-missing"),
        ({"stop": {"reason": "r", "question": "q"}}, "agent-stopped"),
        ({"scope_request": {"paths": ["src/x"]}}, "agent-stopped"),
    ],
)
def test_each_other_end_waits_for_a_person_under_its_own_name(change, rule):
    outcome = settle(replace(GOOD, **change))
    assert ("ended", rule) == (outcome.kind, outcome.rule)
    assert outcome.what.endswith((".", "Stopped: r", ": r"))
    assert outcome.ask
    assert outcome.rule in RULES


@pytest.mark.parametrize(
    ("reached", "words"),
    [
        (Reached(scope="attempt", unit="usd"), "Retry with a hypothesis, raise it for this job,"),
        (Reached(scope="job", unit="tokens"), "Raise it for this job,"),
        (Reached(scope="class", unit="usd"), "next day"),
        (Reached(scope="day", unit="tokens"), "next day"),
        (Reached(scope="job", unit="usd", priced=False), "price"),
        (None, "where the limit stands"),
    ],
)
def test_a_spent_budget_asks_for_what_helps_and_says_as_data_whose_it_was(reached, words):
    outcome = settle(replace(GOOD, agent=AgentOutcome(kind="limit", limit="money", message="Spent.", reached=reached)))
    assert (outcome.rule, words in outcome.ask, outcome.ask.endswith(".")) == ("budget", True, True)
    assert reached_from(outcome.detail.get("reached")) == reached
    assert "interlock decide" not in outcome.ask, "The inbox has the commands, with the job's own slug in them."
    if reached is not None and reached.priced and reached.scope in ("attempt", "job"):
        assert f"(interlock decide one --raise {'attempt.' * (reached.scope == 'attempt')}{reached.unit}=N)" in ask_for(
            reached, "one"
        )


def test_a_stop_is_heard_although_the_agent_also_exits_badly():
    outcome = settle(replace(GOOD, exit_code=3, stop={"reason": "unclear", "question": "Which tax?"}))
    assert ("agent-stopped", "Which tax?") == (outcome.rule, outcome.ask)


def test_an_interruption_is_no_retry_until_it_repeats():
    kinds = [settle(replace(GOOD, how="interrupted", interruptions=n)).kind for n in range(MAX_INTERRUPTIONS)]
    assert ["interrupted"] * (MAX_INTERRUPTIONS - 1) + ["ended"] == kinds


def test_what_leaked_out_of_the_tree_is_told_whatever_else_came_of_it():
    leaked = replace(GOOD, leaked=tuple(f"/main/f{number}" for number in range(7)))
    outcome = settle(leaked)
    assert (outcome.kind, outcome.rule, outcome.detail["worked"]) == ("ended", "leaked", True)
    assert "/main/f4 and 2 more." in outcome.what
    assert "somebody else" in outcome.what
    empty = settle(replace(leaked, changed=False))
    assert (empty.rule, empty.detail["worked"]) == ("leaked", False)
    assert "changed no file" in empty.what
    assert settle(replace(leaked, how="interrupted")).rule == "leaked", "it is not simply started again"
    stopped = settle(replace(leaked, stop={"reason": "r", "question": "q"}))
    assert (stopped.rule, stopped.ask) == ("agent-stopped", "q")
    assert "/main/f0" in stopped.what
