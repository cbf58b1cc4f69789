"""The train of two slots at each recorded step boundary: killed there, or the default branch moved there; landed once, never red.

One boundary of each kind; each single one with INTERLOCK_TESTS=full.
"""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest
from tests import preloaded
from tests.kinds import one_of_each
from tests.needs import FULL

from interlock.testing.world import World

KILLER = Path(__file__).with_name("killer.py")
CHECK = "test ! -e c/x"
SHARDS = 4


def prepare(root: Path) -> World:
    """Three changes that are ready for two slots, the third of them red; and a clone of somebody else."""
    world = World.make(root, policy=f"train: {{checks: ['{CHECK}'], slots: 2, sign_off: none, retries: 0}}\n")
    for slug in "abc":
        world.card(slug, command=f"mkdir -p {slug}; echo x > {slug}/x")
    world.push()
    world.cli("dispatch", *"abc")
    for slug in "abc":
        world.cli("train", "hold", slug, "--reason", "together")
    world.cli("run")
    for slug in "abc":
        world.cli("train", "add", slug)
    world.git("clone", "-q", str(world.remote), str(root / "other"))
    return world


def run(world: World, **env: str) -> subprocess.CompletedProcess[str]:
    return preloaded.run(str(KILLER), ("run",), cwd=world.repo, env=world.env | {"KILL_AT": "0"} | env, timeout=180)


def move(world: World) -> str:
    """A command by which somebody else moves the default branch."""
    other = world.root / "other"
    return (
        f"cd {other} && git pull -q && date +%N >> theirs && git add theirs "
        "&& git -c user.name=Zoe -c user.email=z@x commit -qm theirs && git push -q"
    )


def check_outcome(world: World, outsiders: int = 0) -> None:
    """Two landed, once; the red one is out; each commit of the branch is green, and what landed is what was tested."""
    jobs = {job["slug"]: job for job in world.ask("status", "--all")["jobs"]}
    assert {"a": "landed", "b": "landed", "c": "waiting"} == {slug: job["state"] for slug, job in jobs.items()}
    assert jobs["c"]["waits_for"] in ("red-alone", "red-together")
    landed = world.ask("train", "show")["landed"]
    assert {"a", "b"} == {row["slug"] for row in landed}
    commits = {row["commit"]: row["tested_tree"] for row in landed}
    line = world.git("rev-list", "--first-parent", "HEAD", at=world.remote).splitlines()
    assert len(line) == 1 + outsiders + len(commits)
    for commit in line:
        paths = world.git("ls-tree", "-r", "--name-only", commit, at=world.remote).splitlines()
        assert "c/x" not in paths, "The default branch was red."
        if commit in commits:
            assert world.git("rev-parse", f"{commit}^{{tree}}", at=world.remote) == commits[commit]
    assert {"a/x", "b/x"} <= world.main_files()
    assert not world.ask("train", "show")["trains"]


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """What each boundary of a run that nobody disturbs is called, in order."""
    root = tmp_path_factory.mktemp("unharmed")
    world = prepare(root / "w")
    done = run(world, COUNT_FILE=str(root / "count"))
    assert 0 == done.returncode, done.stderr
    check_outcome(world)
    return (root / "count").read_text().splitlines()


def numbers_of(names, shard):
    numbers = range(1, len(names) + 1) if FULL else one_of_each(names)
    return list(numbers)[shard::SHARDS]


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("shard", range(SHARDS))
def test_a_train_that_is_killed_at_a_boundary_heals(tmp_path, names, shard):
    for number in numbers_of(names, shard):
        world = prepare(tmp_path / f"w{number}")
        done = run(world, KILL_AT=str(number))
        # runs are made side by side, so the last boundaries of one life may not be reached in another
        assert done.returncode == -signal.SIGKILL or number > len(names) - 8
        again = run(world)
        assert 0 == again.returncode, again.stderr
        try:
            check_outcome(world)
        except AssertionError as fault:
            raise AssertionError(f"killed at boundary {number} ({names[number - 1]}): {fault}") from fault


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("shard", range(SHARDS))
def test_a_default_branch_that_moves_at_a_boundary_is_never_landed_on_untested(tmp_path, names, shard):
    for number in numbers_of(names, shard):
        world = prepare(tmp_path / f"w{number}")
        done = run(world, KILL_AT=str(number), KILL_BY=move(world))
        assert 0 == done.returncode, done.stderr
        theirs = world.git("log", "--format=%s", "HEAD", at=world.remote).splitlines().count("theirs")
        try:
            check_outcome(world, outsiders=theirs)
        except AssertionError as fault:
            raise AssertionError(f"moved at boundary {number} ({names[number - 1]}): {fault}") from fault


HOOKS = {
    "accepts-and-drops": ("post-receive", "kill -9 $PPID"),
    "is-slow": ("pre-receive", "sleep 2"),
}


@pytest.mark.long
@pytest.mark.parametrize("fault", HOOKS)
def test_a_remote_that_takes_the_commit_and_drops_the_line_or_is_slow_lands_once(tmp_path, fault):
    world = prepare(tmp_path / "w")
    name, command = HOOKS[fault]
    hook = world.remote / "hooks" / name
    hook.write_text(f"#!/bin/sh\n{command}\n")
    hook.chmod(0o755)
    assert 0 == run(world).returncode
    check_outcome(world)


@pytest.mark.long
def test_a_remote_that_refuses_and_later_takes_it_lands_once(tmp_path):
    world = prepare(tmp_path / "w")
    hook = world.remote / "hooks" / "update"
    hook.write_text('#!/bin/sh\ntest "$1" != refs/heads/main || { echo "the freeze is on"; exit 1; }\n')
    hook.chmod(0o755)
    run(world)
    waits = {job["slug"]: job["waits_for"] for job in world.ask("status")["jobs"]}
    assert "push-rejected" in waits.values()
    assert not world.ask("train", "show")["landed"]
    hook.unlink()
    for slug in [slug for slug, rule in waits.items() if rule == "push-rejected"]:
        world.cli("resume", slug)
    run(world)
    check_outcome(world)


@pytest.mark.long
def test_two_commands_and_two_clones_that_race_for_one_remote_land_each_change_once(tmp_path):
    """Two runs of one clone, and another clone with a change of its own, all at once."""
    world = prepare(tmp_path / "w")
    theirs = World(tmp_path / "v")
    (theirs.root / "home").mkdir(parents=True)
    world.git("clone", "-q", str(world.remote), str(theirs.repo))
    theirs.card("d", command="mkdir -p d; echo x > d/x")
    theirs.git("remote", "set-url", "origin", str(world.remote))
    theirs.push("card of d")
    theirs.cli("dispatch", "d")
    words = [str(KILLER), "run"]
    import sys

    racing = [
        subprocess.Popen(
            [sys.executable, *words], cwd=each.repo, env=each.env | {"KILL_AT": "0"}, stderr=subprocess.PIPE
        )
        for each in (world, world, theirs)
    ]
    ended = [(process.communicate(timeout=180)[1], process.returncode) for process in racing]
    assert [0, 0, 0] == [code for _, code in ended], ended
    assert "landed" == theirs.ask("status", "--all")["jobs"][0]["state"]
    assert "d/x" in world.main_files()
    check_outcome(world, outsiders=2)
