"""What comes out of an attempt is never decided by the exit code alone."""

from dataclasses import replace

import pytest

from interlock.core.job.settle import MAX_INTERRUPTIONS, Facts, settle
from interlock.core.rules import RULES

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


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"changed": False}, "empty-diff"),
        ({"exit_code": 1}, "agent-failed"),
        ({"how": "signalled", "exit_code": None}, "agent-failed"),
        ({"how": "failed-to-start", "exit_code": None}, "agent-failed"),
        ({"how": "wall-limit"}, "wall-limit"),
        ({"how": "idle-limit"}, "idle-limit"),
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


def test_a_stop_is_heard_although_the_agent_also_exits_badly():
    outcome = settle(replace(GOOD, exit_code=3, stop={"reason": "unclear", "question": "Which tax?"}))
    assert ("agent-stopped", "Which tax?") == (outcome.rule, outcome.ask)


def test_an_interruption_is_no_retry_until_it_repeats():
    kinds = [settle(replace(GOOD, how="interrupted", interruptions=n)).kind for n in range(MAX_INTERRUPTIONS)]
    assert ["interrupted"] * (MAX_INTERRUPTIONS - 1) + ["ended"] == kinds
