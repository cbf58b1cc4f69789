"""A night with loops: a seeded flaky bug is reproduced, mended in its second round and lands; one that nobody can show stops."""

from __future__ import annotations

import sys

import pytest
from tests.needs import needs_sandbox

from interlock.testing.world import World

pytestmark = pytest.mark.long

COUNTER = """\
LOST = 0.2


def add_all(values, rng):
    total = 0
    for value in values:
        seen = total
        if rng.random() < LOST:
            continue
        total = seen + value
    return total
"""
TEST = """\
import os
import random

from counter import add_all


def test_no_update_is_lost():
    rng = random.Random(int(os.environ.get("INTERLOCK_SEED", "0")) + 4)
    assert add_all((1, 2, 3), rng) == 6
"""
# It looks whether it was told the seed that failed and the end of its log, then mends half of it, and all of it once a round has failed.
AGENT = (
    'grep -q "INTERLOCK_SEED=" "$INTERLOCK_PROMPT_FILE" && grep -q "^E .*assert" "$INTERLOCK_PROMPT_FILE" && '
    'if [ "$INTERLOCK_ATTEMPT_NUMBER" = 1 ]; then lost=0.1; else lost=0.0; fi && '
    'sed -i "s/^LOST = .*/LOST = $lost/" counter.py'
)
GATE = f"{sys.executable} -m pytest -q test_counter.py -p no:cacheprovider"
LOOP = """\
loop:
  gate: {{reproduce: "{gate}", within: {within}, clean: 6}}
  limits: {{rounds: 3, wall: 1h}}
  escalate: "@eve"
"""


def test_the_night_is_boring_in_the_morning(tmp_path):
    world = World.make(tmp_path / "w")
    world.write("counter.py", COUNTER)
    world.write("test_counter.py", TEST)
    world.write("steady.py", "GOOD = True\n")
    world.write("check_steady.py", "import steady\nassert steady.GOOD\n")
    world.card("flaky", owns='["counter.py"]', command=AGENT, extra=LOOP.format(gate=GATE, within=20))
    steady = LOOP.format(gate=f"{sys.executable} check_steady.py", within=3)
    world.card("steady", owns='["steady.py"]', command="echo >> steady.py", extra=steady)
    world.push()
    world.cli("dispatch", "flaky", "steady")
    world.cli("run")
    check_the_job(world)
    check_the_morning(world)
    world.cli("decide", "steady", "--abandon", "--reason", "nothing to mend")
    report = world.ask("report", "--morning")
    assert report["next"] is None
    assert [row["rule"] for row in report["failed"]] == ["abandoned"]


def check_the_job(world: World) -> None:
    shown = world.ask("show", "flaky")
    assert shown["state"] == "landed"
    kinds = [event["kind"] for event in shown["history"]]
    assert kinds.count("job.reproduced") == kinds.count("job.round") == 1
    loop = shown["loop"]
    assert (loop["seed"], loop["failed"][0]["seed"]) == (3, 26), "Both are given by the seeds alone."
    assert "test_no_update_is_lost" in loop["signature"]
    checks = shown["evidence"][-1]["checks"]
    assert checks[0]["run"].startswith("loop gate: ")
    assert "2 seeds that failed before, then 6 clean runs" in checks[0]["tail"]
    assert "LOST = 0.0" in world.git("show", "HEAD:counter.py", at=world.remote)


def check_the_morning(world: World) -> None:
    report = world.ask("report", "--morning", "--since", "2h")
    (landed,) = report["finished"]
    assert landed["slug"] == "flaky"
    assert landed["commit"] == world.git("rev-parse", "HEAD", at=world.remote)
    assert landed["cost"]["usd"] is None, "A command does not say its dollars, and unknown is not nothing."
    (failed,) = report["failed"]
    assert (failed["slug"], failed["rule"], failed["owner"]) == ("steady", "not-reproduced", "@eve")
    rounds = {row["slug"]: (row["rounds"], row["reason"].split(":")[0]) for row in report["loops"]}
    assert rounds == {"flaky": (2, "passed"), "steady": (0, "not-reproduced")}
    assert report["next"] == "interlock decide steady --abandon"
    text = world.cli("report", "--morning").stdout
    assert "flaky: landed as" in text
    assert "tokens unknown, dollars unknown" in text
    assert "steady: 0 of 3 rounds, not-reproduced" in text
    assert text.splitlines()[-1] == "next: interlock decide steady --abandon"
    assert "hint: interlock report --morning" in world.cli("report", code=2).stderr
    assert world.cli("inbox", code=1).stdout.startswith("steady (not-reproduced, ")


BENCH = 'mkdir -p out; cat lib/answer > out/result; sleep "$(cat lib/seconds)"'
FAST = """\
loop:
  gate: {benchmark: sh bench.sh, name: search, p95: 1s, runs: 1, warm_up: 0, same_output: out/result}
"""


@needs_sandbox
def test_a_sealed_loop_measures_behind_the_same_walls(tmp_path):
    world = World.make(tmp_path / "w", level="sealed")
    world.write("bench.sh", BENCH)
    world.write("lib/seconds", "1.5\n")
    world.write("lib/answer", "42\n")
    world.write(".gitignore", "out/\n")
    world.card("fast", owns='["lib/**"]', command="echo 0 > lib/seconds", extra=FAST)
    world.push()
    world.cli("dispatch", "fast")
    world.cli("run")
    shown = world.ask("show", "fast")
    assert (shown["state"], shown["level"]) == ("landed", "sealed")
    assert "p95" in shown["loop"]["passed"]["what"]
