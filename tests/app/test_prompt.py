"""What an agent is told: the card whole, its phase, packs, rules, decisions, and what a loop's gate showed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.core.lives import admitted, event

from interlock.app.phases import kept, tries
from interlock.app.prompt import came_back, prompt_for, resumed_prompt
from interlock.core.agent.packs import Pack
from interlock.core.agent.rules import handed
from interlock.core.contract.agents import PHASES, WRITING
from interlock.core.contract.card import Artifact, Card, Check
from interlock.core.contract.loop import Loop, LoopGate
from interlock.core.job.events import Event
from interlock.core.job.lifecycle import Job, Waiting, admit
from interlock.core.problems import Misuse

CARD = Card(
    slug="retry",
    class_name="tests",
    goal="Retry failed charges.",
    accepted_plan="docs/plan.md",
    owned_paths=("src/retry/**",),
    read_only_paths=("src/client.py",),
    prohibited_paths=("migrations/**",),
    checks=(Check(run="pytest -q"),),
    artifacts=(Artifact(path="out/a.png", kind="screenshot"),),
    done_when=("it retries",),
    stop_when=("a change outside is needed",),
    integration_owner="@ana",
)
JOB = admit(admitted("retry"))


def test_a_tree_of_layers_is_told_how_a_folder_is_moved() -> None:
    assert "not with `git mv`" in prompt_for(CARD, JOB, 1, layered=True)
    assert "git mv" not in prompt_for(CARD, JOB, 1)


def test_the_card_is_in_every_prompt_and_the_loop_in_that_of_the_work() -> None:
    for phase in PHASES:
        text = prompt_for(CARD, replace(JOB, hypotheses=("Decided by ana: three times.",)), 4, phase=phase)
        for part in (
            "Retry failed charges.",
            "docs/plan.md",
            "src/retry/**",
            "src/client.py",
            "migrations/**",
            "pytest -q",
        ):
            assert part in text
        for part in ("it retries", "out/a.png (screenshot)", "a change outside is needed", "three times", "attempt 4"):
            assert part in text
        assert ("inspect what is there; plan briefly; implement; verify" in text) == (phase == "implement")
        assert ("Change no file in this phase" in text) == (phase not in WRITING)
        assert ("interlock-task pack -" in text) == (phase != "implement")
    assert "`verdict: accept`" in prompt_for(CARD, JOB, 1, phase="review-tests")


def test_a_retry_is_told_why_the_work_came_back_and_an_answer_is_not() -> None:
    clash = event(
        "retry", "job.waits", rule="text-conflict", what="The change does not merge with the default branch: a.bin."
    )
    red = event("retry", "attempt.ended", rule="tests-failed", what="2 tests failed.")
    again = event("retry", "job.retry", hypothesis="Smaller steps.")
    told = came_back([clash, again])
    assert "(text-conflict): The change does not merge with the default branch: a.bin." in told
    assert "stands as on the default branch" in told
    assert told in prompt_for(CARD, JOB, 2, back=told)
    assert came_back([clash, again, red, again]).endswith("(tests-failed): 2 tests failed.")
    assert came_back([clash, event("retry", "job.retry", hypothesis="x", answer="Three times.")]) == ""
    assert came_back([clash]) == came_back([]) == ""


def test_packs_and_rules_are_told_with_where_they_come_from() -> None:
    packs = (Pack(phase="plan", attempt=2, text="steps"), Pack(phase="test-plan", attempt=3, text="x" * 60_000))
    rules = (handed("docs/rules.md", "prompt", b"Be kind.\n"), handed("AGENTS.md", "client", b"An index.\n"))
    text = prompt_for(CARD, JOB, 4, packs=packs, handed=rules)
    assert "## From the phase plan (attempt 2, 5 bytes)\n\nsteps" in text
    assert "[Cut here: 10853 of 60000 bytes are left out.]" in text
    assert "## Rules of the team: docs/rules.md\n\nBe kind." in text
    assert "An index." not in text
    assert "steps" not in prompt_for(CARD, JOB, 4, phase="review-tests", packs=packs)


def test_a_session_that_goes_on_is_told_the_answer_and_what_its_card_says_now() -> None:
    widened = replace(CARD, owned_paths=("src/retry/**", "src/pay/**"), checks=(Check(run="make pay"),))
    text = resumed_prompt(widened, replace(JOB, hypotheses=("old", "Round up? Decided by ana: yes.")), 5)
    assert text.startswith("Round up? Decided by ana: yes.")
    for part in ("src/pay/**", "src/client.py", "migrations/**", "make pay", "a change outside is needed", "attempt 5"):
        assert part in text
    for part in ("old", "as before", "Retry failed charges.", "it retries"):
        assert part not in text
    assert "may change nothing else" in text
    assert "may change nothing else" not in resumed_prompt(widened, JOB, 5, phase="plan")


def test_the_gate_of_a_loop_is_told_with_its_seed_and_the_end_of_its_log() -> None:
    card = replace(CARD, loop=Loop(gate=LoopGate(kind="reproduce", run="make race")))
    known = {"seed": 7, "signature": "exit 1", "log": "loop/base-3-seed-7.log", "failed": []}
    text = prompt_for(card, replace(JOB, loop=known), 1, log="```\nassert 1 == 2")
    assert "make race" in text
    assert "INTERLOCK_SEED=7" in text
    assert "assert 1 ==" in text
    assert text.count("```") == 2
    last = {"attempt": 2, "seed": 9, "what": "It failed again.", "log": "loop/attempt-2-9-seed-9.log"}
    text = prompt_for(card, replace(JOB, loop={**known, "failed": [last]}), 1)
    assert "The work of attempt 2 failed it with INTERLOCK_SEED=9: It failed again." in text
    assert "```" not in text


# ---------------------------------------------------------------- what is kept
def waits(rule: str, *, phases: tuple[str, ...], phase: str, worked: int = 0) -> Job:
    waiting = Waiting(rule=rule, what="", ask="")
    return replace(JOB, waiting=waiting, phases=phases, phase=phase, worked=worked)


@pytest.mark.parametrize(
    ("job", "start", "left"),
    [
        (waits("agent-stopped", phases=("research",), phase="plan"), None, ("research",)),
        (waits("agent-failed", phases=("plan", "implement"), phase="verify"), None, ("plan", "implement")),
        (waits("check-failed", phases=("plan", "implement"), phase="verify", worked=3), None, ("plan",)),
        (waits("test-plan", phases=("plan", "test-plan"), phase="review-tests"), None, ("plan",)),
        (waits("check-failed", phases=("plan", "implement"), phase="verify", worked=3), "plan", ()),
        (waits("agent-failed", phases=("plan", "implement"), phase="verify"), "verify", ("plan", "implement")),
    ],
)
def test_what_a_job_keeps_when_it_goes_on(job: Job, start: str | None, left: tuple[str, ...]) -> None:
    assert kept(job, start=start) == left


@pytest.mark.parametrize("start", ["think", "summarise"])
def test_a_phase_that_is_none_or_was_never_come_to_is_refused(start: str) -> None:
    with pytest.raises(Misuse):
        kept(waits("agent-failed", phases=("plan",), phase="implement"), start=start)


def test_only_work_that_was_not_good_enough_raises_the_tier() -> None:
    history: list[Event] = []

    def then(phase: str, kind: str, **data: str) -> int:
        number = len(history) + 1
        history.append(event("j", "attempt.started", attempt=number, phase=phase))
        history.append(event("j", kind, attempt=number, **data))
        return tries(history, "implement")

    assert tries(history, "implement") == 1
    assert then("plan", "attempt.phased") == 1
    assert then("implement", "attempt.interrupted") == 1
    for rule in ("agent-stopped", "cancelled", "budget", "api-rate", "login"):
        assert then("implement", "attempt.ended", rule=rule, what="") == 1
    assert then("implement", "attempt.ended", rule="empty-diff", what="") == 2
    assert then("implement", "attempt.worked") == 3
    assert tries(history, "plan") == 2
