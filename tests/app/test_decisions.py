"""What waits for a person stands in one list with its answers; an answer moves the job on, and nothing else does."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from interlock.app import decide, permission, raising
from interlock.app.base import last_view
from interlock.app.ceilings import limits_of
from interlock.app.morning import morning
from interlock.app.starting import effective_card
from interlock.app.status import status
from interlock.core.agent.usage import Usage
from interlock.core.job.events import NewEvent
from interlock.core.job.lifecycle import State
from interlock.core.problems import Misuse, Refused

BUDGET = "budget: {usd: 4, attempts: 9}\n"
ENDED = {"how": "exited", "exit_code": 1, "ask": "Decide."}


def waiting(town, slug: str, rule: str, *, usd: float | None = None, phase: str = "", **data):
    """Have an attempt of a job end by a rule, on the record alone; without a rule it still runs."""
    job = town.job(slug)
    number = job.attempt + 1
    began = {"agent": data.pop("agent", "command"), "approvals": data.pop("approvals", False)}
    write(town, job.id, "attempt.started", number, phase=phase, **began)
    if rule:
        usage = Usage(output=1000).as_json() if usd is not None else Usage().as_json()
        detail = {"exit_code": 1, **data.pop("detail", {})}
        shape = ENDED | {"rule": rule, "what": "It ended.", "usage": usage, "usd": usd, "detail": detail, **data}
        write(town, job.id, "attempt.ended", number, step="settle", **shape)
    return town.job(slug)


def write(town, job: str, kind: str, attempt: int = 0, step: str = "", **data):
    step = step or {"attempt.started": "start"}.get(kind, f"test-{kind}-{attempt}")
    town.ports.store.record(NewEvent(subject=job, attempt=attempt, step=step, kind=kind, data=data))


@pytest.fixture
def cards(world, town):
    """A town with these cards dispatched, and their trees made."""

    def make(*slugs: str, extra: str = BUDGET):
        for slug in slugs:
            world.card(slug, extra=extra)
        world.write("tasks/caps.txt", "vertical-slice 9\n")
        world.push()
        made = town()
        made.dispatch(*slugs)
        return made

    return make


def test_a_retry_needs_a_new_hypothesis_that_is_worth_its_cost(cards):
    town = cards("words", "dear", "b", "c", "rare")
    waiting(town, "words", "agent-failed")
    assert decide.retry(town.ports, "words", "The port was taken.", "ana").state is State.ISOLATED
    waiting(town, "words", "agent-failed")
    for again in ("the port was taken", "The  port, was TAKEN!", "...", " "):
        with pytest.raises(Refused) as refused:
            decide.retry(town.ports, "words", again, "ana")
        assert refused.value.refusal.rule == "hypothesis"
    assert decide.retry(town.ports, "words", "The lock was taken.", "ana").state is State.ISOLATED

    waiting(town, "dear", "agent-failed", usd=2.5)
    for way in (decide.retry, decide.answer):
        with pytest.raises(Refused) as refused:
            way(town.ports, "dear", "Look at the lock.", "ana")
        assert refused.value.refusal.rule == "not-worth"
        assert "$2.50, and $1.50 is left" in refused.value.refusal.what
    assert town.job("dear").state is State.WAITING
    job = decide.retry(town.ports, "dear", "Look at the lock.", "ana", even_so=True)
    (event,) = [each for each in town.ports.store.events(job.id) if each.kind == "job.retry"]
    assert (event.actor, event.data["expected"]["cost"]) == ("ana", 2.5)
    assert "is left" in event.data["expected"]["even_so"]

    for slug in ("b", "c"):
        waiting(town, slug, "agent-failed", usd=1.0)
        decide.retry(town.ports, slug, "Look at the lock.", "ana")
        waiting(town, slug, "agent-failed", usd=1.0)
        decide.abandon(town.ports, slug, "ana", "hopeless")
    waiting(town, "rare", "agent-failed", usd=1.5)
    with pytest.raises(Refused, match="lands in 25% of such jobs"):
        decide.retry(town.ports, "rare", "Look at the lock.", "ana")


def test_what_was_never_tried_goes_on_and_a_spent_budget_only_when_it_is_raised(cards, world):
    town = cards("a", "b")
    waiting(town, "a", "budget", usd=4.2, detail=reached("job"))
    with pytest.raises(Refused, match="waits for an answer") as refused:
        decide.resume(town.ports, "a", "ana")
    assert refused.value.code == "budget"
    said = world.cli("decide", "a", "--approve", "deploy", "--as", "ana").stdout.splitlines()
    assert said[0].startswith("a still waits (budget): ")
    assert said[-1] == "next: interlock show a", "An approval alone does not let it go on."
    assert "interlock decide a --raise usd=8.2; " in refused.value.hint, "What is spent, and the limit once more."
    for text, error in (("usd=4", Refused), ("usd=4.1", Refused), ("tokens=400k", Misuse), ("4", Misuse)):
        with pytest.raises(error):
            raising.raise_budget(town.ports, "a", text, "ana")
    assert town.job("a").state is State.WAITING
    job = raising.raise_budget(town.ports, "a", "usd=8", "ana")
    assert (job.state, job.raised, job.hypotheses) == (State.ISOLATED, {"usd": 8.0}, ())
    inside = {**world.env, "INTERLOCK_JOB": job.id}
    for words in (("--raise", "usd=99"), ("--permit", "once"), ("--deny",)):
        done = world.start(("decide", "a", *words), world.repo, inside)
        assert (done.returncode, "inside a task" in done.stderr) == (1, True), done.stderr

    for rule in ("api-rate", "api-network", "api-quota", "api-overload", "api-auth"):
        waiting(town, "b", rule)
        assert decide.resume(town.ports, "b", "ana").state is State.ISOLATED
    waiting(town, "b", "budget", detail=reached("day"))
    assert decide.resume(town.ports, "b", "ana").state is State.ISOLATED, "Another day has another limit."
    for rule in ("turn-limit", "startup-limit", "denied", "no-end", "no-pack", "phase-wrote", "api-context"):
        waiting(town, "b", rule)
        with pytest.raises(Refused) as refused:
            decide.resume(town.ports, "b", "ana")
        assert (refused.value.code, refused.value.exit_code) == (rule, 1)
        decide.retry(town.ports, "b", f"Because of {rule}.", "ana")


def reached(scope: str, unit: str = "usd", **more) -> dict[str, object]:
    return {"reached": {"scope": scope, "unit": unit, **more}}


def test_each_answer_that_a_spent_limit_offers_is_taken(cards):
    """Of an attempt's, a job's and a day's limit, and of a model without a price: by its scope, whatever its text says."""
    town = cards("a", "b", "c", extra="budget: {attempt: {usd: 1}, attempts: 9}\n")
    waiting(town, "a", "budget", usd=1.0, what="usd 1 for a day at sea", detail=reached("attempt"))
    (item,) = [each for each in status(town.ports).asked if each["slug"] == "a"]
    assert [each["command"] for each in item["options"]] == [
        "interlock retry a --hypothesis TEXT",
        "interlock decide a --raise attempt.usd=2",
        "interlock decide a --abandon",
    ]
    with pytest.raises(Refused, match="waits for an answer"):
        decide.resume(town.ports, "a", "ana")
    for text, error in (("usd=9", Misuse), ("attempt.tokens=1k", Misuse), ("attempt.usd=1", Refused)):
        with pytest.raises(error):
            raising.raise_budget(town.ports, "a", text, "ana")
    assert decide.retry(town.ports, "a", "It read every file.", "ana").state is State.ISOLATED
    waiting(town, "a", "budget", usd=1.0, detail=reached("attempt"))
    job = raising.raise_budget(town.ports, "a", "attempt.usd=2.5", "ana")
    assert (job.state, job.raised) == (State.ISOLATED, {"attempt_usd": 2.5})
    limits = limits_of(job, effective_card(town.ports, job), last_view(town.ports).policy)
    assert [each.text for each in limits] == ["usd 2.5 for the attempt"]

    for scope, priced in (("class", True), ("day", True), ("job", False)):
        waiting(town, "b", "budget", detail=reached(scope, priced=priced))
        (item,) = [each for each in status(town.ports).asked if each["slug"] == "b"]
        assert item["options"][0]["command"] == "interlock resume b"
        assert not any("--raise" in each["command"] for each in item["options"])
        assert decide.resume(town.ports, "b", "ana").state is State.ISOLATED
    write(town, town.job("c").id, "job.waits", rule="budget", what="Kept from its start.", detail={})
    assert decide.resume(town.ports, "c", "ana").state is State.ISOLATED


def test_a_test_plan_is_accepted_or_written_anew(cards):
    town = cards("a", "b")
    for slug in "ab":
        for number, phase in enumerate(("plan", "test-plan"), 1):
            write(town, town.job(slug).id, "attempt.started", number, phase=phase)
            write(town, town.job(slug).id, "attempt.phased", number)
        waiting(town, slug, "test-plan", phase="review-tests", what="The review objects: no edge case.")
    accepted = decide.accept(town.ports, "a", "ana")
    assert (accepted.state, accepted.phases) == (State.ISOLATED, ("plan", "test-plan", "review-tests"))
    assert accepted.waivers == {"test-plan": "ana"}
    anew = decide.answer(town.ports, "b", "Test the empty list.", "ana")
    assert tuple(anew.phases) == ("plan",)
    assert "Decided by ana: Test the empty list." in anew.hypotheses[-1]


ASKED = {
    "type": "interlock.asked",
    "id": "p1",
    "what": "execute: rm -rf build",
    "choices": [
        {"id": "once", "label": "Allow once", "allows": True},
        {"id": "no", "label": "Reject", "allows": False},
    ],
}


def asking(town, slug: str, *, approvals: bool = True):
    """A job whose agent runs and waits for a permission, as its stream says."""
    job = waiting(town, slug, "", agent="acp", approvals=approvals)
    folder = town.ports.records.attempt(job.id, job.attempt)
    (folder / "output.log").write_text(json.dumps(ASKED) + "\n")
    return job, folder


class Alive:
    """Runners of which all are alive."""

    def alive(self, _):
        return True


def test_a_live_agent_gets_its_permission_and_goes_on_where_it_is(cards):
    town = cards("a", "b")
    _, folder = asking(town, "a")
    asking(town, "b", approvals=False)  # its start says that it cannot ask, so that its stream is not looked at
    now = status(replace(town.ports, runs=Alive()))
    (item,) = now.asked
    assert item["since"] == town.job("a").since, "It asked before its attempt began, it says."
    (folder / "output.log").write_text(json.dumps({**ASKED, "at": now.now + 1e6}) + "\n")
    later = status(replace(town.ports, runs=Alive()))
    assert (later.asked[0]["since"], later.asked[0]["age"]) == (later.now, 0.0)
    assert (item["kind"], item["what"]) == ("permission", "The agent waits for a permission: execute: rm -rf build")
    assert [each["label"] for each in item["options"]] == ["Reject", "refuse it", "Allow once"]
    assert item["options"][0]["command"] == "interlock decide a --request=p1 --permit=no"
    with pytest.raises(Misuse, match="does not offer"):
        permission.permit(town.ports, "a", "always", "ana")
    with pytest.raises(Misuse, match="does not wait for p9"):
        permission.permit(town.ports, "a", "once", "ana", request="p9")
    permission.permit(town.ports, "a", permission.DENY, "ana")
    answer = json.loads((folder / "answers" / "p1.json").read_text())
    assert (answer["choice"], answer["by"]) == ("no", "ana")
    with pytest.raises(Misuse, match="already"):
        permission.permit(town.ports, "a", "Allow once", "ben")
    assert town.job("a").state is State.RUNNING


def test_everything_that_waits_is_in_one_list_and_nothing_is_answered_by_default(cards):
    slugs = ("asks", "paths", "money", "plan", "loop", "limit", "key", "perm")
    town = cards(*slugs)
    waiting(town, "asks", "agent-stopped", detail={"question": "Which?", "options": ["keep it", "drop it"]})
    waiting(town, "paths", "agent-stopped", detail={"paths": ["src/b.py"]})
    waiting(town, "money", "budget", usd=4.0, detail=reached("job"))
    waiting(town, "plan", "test-plan", phase="review-tests")
    waiting(town, "loop", "loop-stuck", detail={"owner": "@eve"})
    waiting(town, "limit", "turn-limit")
    waiting(town, "key", "api-auth")
    asking(town, "perm")
    ports = replace(town.ports, runs=Alive())
    items = {item["slug"]: item for item in status(ports).asked}
    kinds = {slug: item["kind"] for slug, item in items.items()}
    assert kinds == {
        "asks": "question",
        "paths": "scope",
        "money": "budget",
        "plan": "test-plan",
        "loop": "loop",
        "limit": "stop",
        "key": "stop",
        "perm": "permission",
    }
    assert items["loop"]["owner"] == "@eve"
    assert all(item["age"] >= 0 and item["options"] for item in items.values())
    commands = {slug: [each["command"] for each in item["options"]] for slug, item in items.items()}
    assert commands["asks"][:2] == ["interlock decide asks 'keep it'", "interlock decide asks 'drop it'"]
    assert commands["plan"][:2] == ["interlock decide plan WORDS", "interlock decide plan --accept"]
    assert commands["money"][0] == "interlock decide money --raise usd=8"
    assert commands["key"][0] == "interlock resume key"
    before = [(job.id, job.rev) for job in town.ports.store.jobs()]
    for _ in range(3):
        status(ports)
        morning(ports, 3600)
    write(town, town.job("perm").id, "attempt.ended", 1, ask="", rule="cancelled", what="Stopped.")
    town.run()
    after = [(job.id, job.rev) for job in town.ports.store.jobs() if job.slug != "perm"]
    assert after == [each for each in before if each[0] != town.job("perm").id], "Nothing moved."


def test_the_morning_says_what_failed_with_its_log_and_which_decision_is_missing(cards):
    town = cards("asks", "broken", "closed", "runs")
    waiting(town, "asks", "agent-stopped", usd=0.5, detail={"question": "Which?", "options": ["keep it"]})
    waiting(town, "broken", "agent-failed", detail={"tail": "\n".join(map(str, range(30)))})
    waiting(town, "closed", "agent-failed")
    decide.abandon(town.ports, "closed", "ana", "not needed")
    found = morning(town.ports, 3600)
    assert [row["slug"] for row in found.escalated] == ["asks"]
    assert [row["slug"] for row in found.failed] == ["broken", "closed"]
    assert [row["slug"] for row in found.running] == ["runs"]
    broken = found.failed[0]
    assert broken["tail"].splitlines() == [str(number) for number in range(20, 30)]
    assert broken["log"].endswith("attempts/1/output.log")
    assert found.totals.as_json() == {"tokens": 1000, "usd": 0.5, "attempts": 3, "unknown": 2, "unsaid": 2}
    assert (found.first or {})["slug"] == "asks"
    later = morning(replace(town.ports, clock=Later()), 3600)
    assert [row["slug"] for row in later.failed] == ["broken"], "What still waits is told; what was closed is over."
    assert later.totals.attempts == 0


class Later:
    """The clock of the day after."""

    def now(self):
        import time

        return time.time() + 86_400
