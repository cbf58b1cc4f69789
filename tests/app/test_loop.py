"""Loops over real git and real processes: the base first, rounds by the gate alone, and a stop with its reason."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from interlock.app.decide import abandon, again, retry
from interlock.app.loop import reproduce_step
from interlock.app.morning import morning
from interlock.core.job.lifecycle import State

GATE = """\
every=$(cat $1/every)
if [ $((INTERLOCK_SEED % every)) -eq 0 ]; then echo "AssertionError: lost an update with seed $INTERLOCK_SEED"; exit 1; fi
"""
LOOP = """\
loop:
  gate: {{reproduce: "sh race.sh {slug}", within: 6, clean: 4}}
  limits: {{rounds: {rounds}}}
  escalate: "@eve"
"""
BETTER = "if [ $INTERLOCK_ATTEMPT_NUMBER = 1 ]; then echo 7 > race/every; else echo 1000000 > race/every; fi"


def race(world, slug: str = "race", *, agent: str = "true", every: int = 3, rounds: int = 3, more: str = "", **card):
    """A card around a bug that shows with every so manieth seed; the agent is handed the number of its attempt."""
    world.write("race.sh", GATE)
    world.write(f"{slug}/every", f"{every}\n")
    world.card(slug, command=agent, extra=LOOP.format(slug=slug, rounds=rounds) + more, **card)


def kinds(town, slug="race"):
    return [event.kind for event in town.ports.store.events(town.job(slug).id)]


def test_a_failure_is_reproduced_and_rounds_go_on_until_the_gate_passes(world, town):
    race(world, agent=BETTER)
    race(world, "wide", agent="echo 'exit 0' > race.sh")
    world.push()
    town = town()
    town.dispatch("race", "wide")
    town.run()
    job = town.job("race")
    assert job.state is State.LANDED, town.said
    assert kinds(town).count("job.reproduced") == kinds(town).count("job.round") == 1
    assert (job.loop["seed"], job.attempt) == (3, 2)
    assert "lost an update" in job.loop["signature"]
    assert (town.ports.records.job(job.id) / job.loop["log"]).read_text().startswith("AssertionError")
    first, second = (
        (town.ports.records.attempt(job.id, number) / "prompt.md").read_text().partition("The end of its log:")[2]
        for number in (1, 2)
    )
    assert "AssertionError: lost an update with seed 3" in first, "The agent sees the log of the base,"
    assert "AssertionError: lost an update with seed 7" in second, "and then that of the work that failed."
    (failed,) = job.loop["failed"]
    assert failed["seed"] == 7, "The first new seed is 7, and the half-mended work fails with it."
    (hypothesis,) = job.hypotheses
    assert "INTERLOCK_SEED=7" in hypothesis
    ((_, evidence),) = town.ports.store.evidence(job.id)
    assert evidence.verdicts[0].run.run == "loop gate: sh race.sh race"
    assert "2 seeds that failed before, then 4 clean runs" in job.loop["passed"]["what"]
    (event,) = [e for e in town.ports.store.events(job.id) if e.kind == "job.reproduced"]
    assert [run["seed"] for run in event.data["runs"]] == [1, 2, 3]
    assert town.rule("wide") == "outside"
    assert not town.job("wide").loop["failed"], "Work out of scope is not even run."


BENCH = "loop: {gate: {benchmark: %s, name: s, p95: %s, runs: 2}}\n"


def test_where_the_base_gives_no_reason_no_agent_is_started(world, town):
    race(world, "steady", every=1000)
    race(world, "skipped", more="  skip: test -f race.sh\n")
    world.card("absent", extra='loop: {gate: {reproduce: "no-such-command", within: 3}}\n')
    world.card("fast", extra=BENCH % ('"echo same"', "60s"))
    world.card("odd", extra=BENCH % ('"date +%N"', "1ms"))
    world.push()
    town = town()
    found = {
        "steady": ("not-reproduced", "each of 6 seeds"),
        "skipped": ("loop-skipped", "test -f race.sh"),
        "absent": ("not-reproduced", "ended with 127"),
        "fast": ("loop-skipped", "p95"),
        "odd": ("not-reproduced", "something else in each run"),
    }
    town.dispatch(*found)
    town.run()
    for slug, (rule, says) in found.items():
        job = town.job(slug)
        assert (town.rule(slug), job.attempt) == (rule, 0), job.waiting
        assert says in job.waiting.what
    report = morning(town.ports, 3600)
    assert {row["slug"] for row in report.skipped} == {"skipped", "fast"}
    assert {row["slug"] for row in report.failed} == {"steady", "absent", "odd"}
    assert not report.escalated
    before = len(kinds(town, "steady"))
    assert reproduce_step(town.ports, town.job("steady").id) == {"reproduced": None}, "Repeated, it writes nothing."
    town.run()
    assert len(kinds(town, "steady")) == before
    assert abandon(town.ports, "steady", "ana", "nothing to mend").state is State.ABANDONED


@pytest.mark.long
def test_a_loop_that_gets_nowhere_stops_and_says_who_is_asked(world, town):
    race(world, "stuck", agent="echo $INTERLOCK_ATTEMPT_NUMBER > stuck/note", rounds=5)
    race(world, "short", agent="echo $INTERLOCK_ATTEMPT_NUMBER > short/note", rounds=1)
    world.push()
    town = town()
    town.dispatch("stuck", "short")
    town.run()
    for slug, rule, attempts in (("stuck", "loop-stuck", 2), ("short", "loop-limit", 1)):
        job = town.job(slug)
        assert (town.rule(slug), job.attempt) == (rule, attempts)
        assert job.waiting.detail["owner"] == "@eve"
        assert "lost an update" in job.waiting.detail["tail"]
        assert (town.ports.records.job(job.id) / job.waiting.detail["log"]).is_file()
        retry(town.ports, slug, "Look at the lock instead.", "ana")
    town.run()
    assert (town.job("stuck").attempt, town.job("short").attempt) == (3, 2), "A person's retry is one more round."
    assert {town.job(slug).state for slug in ("stuck", "short")} == {State.WAITING}


def test_a_look_that_was_interrupted_goes_on_where_it_was(world, town):
    race(world)
    world.push()
    town = town()
    town.dispatch("race")
    runs: list[str] = []

    class Dying:
        """Checks that die with the third run, once."""

        def run(self, check, *rest):
            runs.append(check.run)
            if len(runs) == 3:
                raise KeyboardInterrupt
            return town.ports.checks.run(check, *rest)

    dying = replace(town.ports, checks=Dying())
    job = town.job("race").id
    with pytest.raises(KeyboardInterrupt):
        reproduce_step(dying, job)
    assert "job.reproduced" not in kinds(town)
    assert reproduce_step(dying, job) == {"reproduced": True}
    assert len(runs) == 4, "Two runs were known; the third was done again."
    assert reproduce_step(dying, job) == {"reproduced": None}
    assert kinds(town).count("job.reproduced") == 1


@pytest.mark.long
def test_a_loop_that_the_card_got_later_looks_at_the_base_first(world, town):
    world.write("race/every", "3\n")
    world.card("race", command="echo 1000000 > race/every", checks=("false",))
    world.push()
    town = town()
    town.dispatch("race")
    town.run()
    assert town.rule("race") == "check-failed"
    race(world)
    # The job's base holds no race.sh: the gate brings its own.
    text = (world.repo / "tasks/race.yaml").read_text()
    inline = "[ $((INTERLOCK_SEED % $(cat race/every))) -ne 0 ]"
    (world.repo / "tasks/race.yaml").write_text(text.replace('"sh race.sh race"', json.dumps(inline)))
    world.push()
    again(town.ports, "race", "ana")
    town.run()
    job = town.job("race")
    assert (job.state, job.attempt, job.loop["seed"]) == (State.LANDED, 1, 3), job.waiting


MEASURED = """\
loop:
  gate: {benchmark: sh bench.sh, name: search, p95: 1s, runs: 1, warm_up: 0, same_output: out/result}
"""


@pytest.mark.long
def test_a_benchmark_has_to_be_fast_and_to_give_out_the_same(world, town):
    """The first round is fast and answers something else; the second is fast and right."""
    world.write("bench.sh", 'mkdir -p out; cat fast/answer > out/result; sleep "$(cat fast/seconds)"\n')
    world.write("fast/seconds", "1.5\n")
    world.write("fast/answer", "42\n")
    world.write(".gitignore", "out/\n")
    answer = "if [ $INTERLOCK_ATTEMPT_NUMBER = 1 ]; then echo 41 > fast/answer; else echo 42 > fast/answer; fi"
    world.card("fast", command=f"echo 0 > fast/seconds; {answer}", extra=MEASURED)
    world.push()
    town = town()
    town.dispatch("fast")
    town.run()
    job = town.job("fast")
    assert job.state is State.LANDED, town.said
    assert job.loop["p95"] > 1.5
    assert "The output of search is not what it is on the base" in job.loop["failed"][0]["what"]
    assert "p95" in job.loop["passed"]["what"]
