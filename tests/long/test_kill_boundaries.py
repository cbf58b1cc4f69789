"""kill -9 of dispatch and run at recorded step boundaries of one whole life, then the same command: it heals.

One boundary of each kind (which command, before or after which call); each single one with INTERLOCK_TESTS=full.
"""

import signal
import subprocess
from pathlib import Path

import psutil
import pytest
from tests import preloaded
from tests.kinds import one_of_each
from tests.needs import FULL

from interlock.testing.world import World

KILLER = Path(__file__).with_name("killer.py")
LIFE = (("dispatch", "a"), ("run",), ("sign-off", "--as", "@ana"), ("run",))


def prepare(root: Path) -> World:
    world = World.make(root, policy="train: {checks: ['test -f a/x']}\n")
    world.card("a", command=f"echo ran >> {root}/ran; sleep 0.3; mkdir -p a; echo x > a/x", checks=("test -f a/x",))
    world.push()
    return world


def live(world: World, kill_at: int, count: Path | None = None) -> int:
    """Live one whole life; the kill hits once, at the n-th boundary counted over all commands.  Gives kills."""
    passed, kills = 0, 0
    for words in LIFE:
        names = world.root / f"boundaries-{'-'.join(words[:1])}-{passed}"
        env = world.env | {"KILL_AT": str(max(0, kill_at - passed)), "COUNT_FILE": str(names)}
        done = run(world, words, env)
        if done.returncode == -signal.SIGKILL:
            kills += 1
            kill_at = 0
            done = run(world, words, env | {"KILL_AT": "0"})
        if not (kills and words[0] == "sign-off"):
            assert 0 == done.returncode, f"{words}: {done.stdout}{done.stderr}"
        lines = names.read_text().splitlines() if names.exists() else []
        passed += len(lines)
        if count is not None:
            with count.open("a") as stream:
                stream.writelines(f"{words[0]}: {line}\n" for line in lines)
    return kills


def run(world: World, words: tuple[str, ...], env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return preloaded.run(str(KILLER), words, cwd=world.repo, env=env, timeout=90)


def processes_of(world: World) -> list[str]:
    """Processes whose environment says that they belong to this world."""
    found = []
    for process in psutil.process_iter(["pid", "environ", "cmdline"]):
        values = process.info["environ"] or {}
        if values.get("INTERLOCK_SPOOL", "").startswith(str(world.root)):
            found.append(f"{process.info['pid']} {process.info['cmdline']}")
    return found


def check_outcome(world: World) -> None:
    """Landed once, by one attempt, with one agent run; the history is whole and no process is left."""
    (job,) = world.ask("status", "--all")["jobs"]
    assert "landed" == job["state"]
    assert 1 == job["attempt"]
    assert "ran\n" == (world.root / "ran").read_text()
    assert {"a/x"} <= world.main_files()
    assert 2 == int(world.git("rev-list", "--count", "--first-parent", "HEAD", at=world.remote))
    landed = world.ask("train", "show")["landed"]
    assert [("a", landed[0]["tested_tree"])] == [(row["slug"], row["tree"]) for row in landed]
    assert world.git("rev-parse", "HEAD", at=world.remote) == landed[0]["commit"]
    assert not world.git("fsck", "--no-dangling", "--no-progress")
    assert not processes_of(world)
    (caps,) = [known for known in world.ask("caps", "show")["classes"] if known["name"] == "vertical-slice"]
    assert 0 == caps["used"]


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """What each boundary of a life without a kill is called, in order."""
    root = tmp_path_factory.mktemp("unharmed")
    world = prepare(root / "w")
    assert 0 == live(world, 0, root / "count")
    check_outcome(world)
    return (root / "count").read_text().splitlines()


def test_a_life_without_a_kill(names):
    assert len(names) > 20


SHARDS = 4


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("shard", range(SHARDS))
def test_every_boundary_heals(tmp_path, names, shard):
    numbers = range(1, len(names) + 1) if FULL else one_of_each(names)
    for number in numbers[shard::SHARDS]:
        world = prepare(tmp_path / f"w{number}")
        kills = live(world, number)
        try:
            check_outcome(world)
        except AssertionError as fault:
            raise AssertionError(f"killed at boundary {number} ({names[number - 1]}): {fault}") from fault
        assert 1 == kills, f"boundary {number} was never reached"
