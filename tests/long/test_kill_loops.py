"""kill -9 of run at step boundaries of a loop's life, then the same command: nothing is lost, and nothing is counted twice.

Six boundaries, spread over the whole life; each single one with INTERLOCK_TESTS=full.
"""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from tests.long.test_kill_boundaries import processes_of, run
from tests.needs import FULL

from interlock.testing.world import World

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]

LOOP = 'loop: {gate: {reproduce: "sh race.sh", within: 4, clean: 3}, limits: {rounds: 3}}\n'
AGENT = "if [ $INTERLOCK_ATTEMPT_NUMBER = 1 ]; then echo 5 > lib/every; else echo 1000 > lib/every; fi"


def prepare(root: Path) -> World:
    world = World.make(root)
    world.write("race.sh", '[ $((INTERLOCK_SEED % $(cat lib/every))) -ne 0 ] || { echo "Error: lost"; exit 1; }\n')
    world.write("lib/every", "2\n")
    world.card("a", owns='["lib/**"]', command=f"echo ran >> {root}/ran; {AGENT}", extra=LOOP)
    world.push()
    world.cli("dispatch", "a")
    return world


def live(world: World, kill_at: int) -> tuple[int, list[str]]:
    """Run to the end; gives how often it was killed, and the boundaries that were passed before that."""
    count = world.root / "boundaries"
    done = run(world, ("run",), world.env | {"KILL_AT": str(kill_at), "COUNT_FILE": str(count)})
    kills = int(done.returncode == -signal.SIGKILL)
    if kills:
        done = run(world, ("run",), world.env | {"KILL_AT": "0"})
    assert done.returncode == 0, done.stderr
    return kills, count.read_text().splitlines()


def check(world: World) -> None:
    """Landed by two attempts, with one look at the base and one round, whenever it was killed."""
    job = world.ask("show", "a")
    kinds = [event["kind"] for event in job["history"]]
    assert (job["state"], job["attempt"]) == ("landed", 2), kinds
    assert (kinds.count("job.reproduced"), kinds.count("job.round")) == (1, 1)
    assert [(each["attempt"], each["seed"]) for each in job["loop"]["failed"]] == [(1, 5)]
    assert (world.root / "ran").read_text() == "ran\nran\n"
    assert not processes_of(world)
    assert not list((Path(job["record"]) / "loop").glob("tree*")), "No tree of a gate is left."


def test_a_loop_heals_at_every_boundary(tmp_path):
    unharmed = prepare(tmp_path / "w0")
    kills, names = live(unharmed, 0)
    check(unharmed)
    assert (kills, len(names) > 40) == (0, True)
    step = 1 if FULL else len(names) // 6
    for number in range(1 + step // 2, len(names) + 1, step):
        world = prepare(tmp_path / f"w{number}")
        kills, _ = live(world, number)
        assert kills == 1, f"Boundary {number} was never reached."
        try:
            check(world)
        except AssertionError as fault:
            raise AssertionError(f"killed at boundary {number} ({names[number - 1]}): {fault}") from fault
