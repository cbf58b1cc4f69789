"""Clean and restore: killed at any point the same call heals, and ports that are somebody else's by now are not used."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest
from tests import preloaded
from tests.needs import FULL

from interlock.app import decide
from interlock.app.base import last_view
from interlock.app.clean import clean, closed_with_tree, restore
from interlock.app.isolate import place_of
from interlock.core.problems import Misuse, Refused

DYING = Path(__file__).with_name("dying.py")
MOST = 60


def dispatched(world, town) -> Path:
    """The tree of a task that has just been dispatched."""
    world.write(".gitignore", "*.cache\n.agent-env\n")
    world.card("a", command="mkdir -p a && echo x > a/new.txt")
    world.push()
    town().dispatch("a")
    return Path(town().job("a").workspace)


def uncommitted(tree: Path) -> Path:
    """The same tree with files in it that no commit holds."""
    (tree / "a").mkdir(exist_ok=True)
    (tree / "a" / "notes.txt").write_text("not committed\n")
    (tree / "big.cache").write_text("ignored\n")
    return tree


@pytest.fixture
def landed(world, town):
    """A task that landed, with files in its tree that no commit holds."""
    tree = dispatched(world, town)
    town().run()
    return uncommitted(tree)


@pytest.fixture
def closed(world, town):
    """A task that was abandoned, with such files: to clean it is the same, and it is quicker made."""
    tree = dispatched(world, town)
    decide.abandon(town().ports, "a", "ana", "not now")
    return uncommitted(tree)


def die(world, verb: str, number: int) -> bool:
    """Whether the verb was killed at its n-th boundary; False when it came to its end before."""
    words = [str(world.repo), verb, "a", str(number)]
    done = preloaded.run(str(DYING), words, cwd=world.root, env=world.env, timeout=60)
    assert done.returncode in (0, -9), done.stderr
    return done.returncode != 0


def boundaries(first: int) -> Iterable[int]:
    """Every other boundary, since the end of one call is mostly the beginning of the next; each with INTERLOCK_TESTS=full."""
    return range(1 if FULL else first, MOST, 1 if FULL else 2)


def whole(tree: Path) -> bool:
    notes, ignored = tree / "a" / "notes.txt", tree / "big.cache"
    return notes.read_text() == "not committed\n" and ignored.read_text() == "ignored\n"


@pytest.mark.long
def test_a_clean_killed_at_any_point_and_said_again_can_be_undone(world, town, landed):
    for number in boundaries(1):
        killed = die(world, "clean", number)
        done = clean(town().ports, "a", "ana", approve=True)
        assert done.snapshot.ref, f"the snapshot was forgotten after a kill at {number}"
        assert done.as_json()["snapshot"] == done.snapshot.ref
        assert done.snapshot.oid == world.git("rev-parse", done.snapshot.ref)
        assert not landed.exists()
        restore(town().ports, "a", "ana")
        assert whole(landed), number
        if not killed:
            break
    assert 10 <= number < MOST - 1


@pytest.mark.long
def test_a_clean_killed_at_any_point_can_be_undone_at_once(world, town, landed):
    for number in boundaries(2):
        killed = die(world, "clean", number)
        if town().ports.workspaces.exists(place_of(town().job("a"))):
            with pytest.raises(Misuse, match=r"is there already|no snapshot"):
                restore(town().ports, "a", "ana")
        else:
            restore(town().ports, "a", "ana")
        assert whole(landed), number
        if not killed:
            break
    assert 10 <= number < MOST - 1


@pytest.mark.long
@pytest.mark.parametrize("way", ["trash", "snapshot"])
def test_a_restore_killed_at_any_point_and_said_again_heals(world, town, landed, way):
    for number in boundaries(1 + (way == "trash")):
        clean(town().ports, "a", "ana", approve=True)
        if way == "snapshot":
            shutil.rmtree(landed.parent / ".trash")
        killed = die(world, "restore", number)
        if killed and not finished(town()):
            restore(town().ports, "a", "ana")
        assert whole(landed), number
        assert finished(town())
        job = town().job("a")
        lines = (landed / ".agent-env").read_text().splitlines()
        assert {f"{name}={port}" for name, port in job.ports.items()} <= set(lines)
        with pytest.raises(Misuse, match="is there already"):
            restore(town().ports, "a", "ana")
        if not killed:
            break
    assert 10 <= number < MOST - 1


def finished(town) -> bool:
    said = [event.data for event in town.ports.store.events(town.job("a").id) if event.kind == "job.note"]
    return "restored" in said[-1]


@pytest.mark.long
def test_a_tree_that_is_half_back_is_not_cleaned(world, town, landed):
    clean(town().ports, "a", "ana", approve=True)
    shutil.rmtree(landed.parent / ".trash")
    number = 1
    while not (landed / ".git").exists():
        assert die(world, "restore", number)
        number += 1
    with pytest.raises(Misuse, match="half way"):
        clean(town().ports, "a", "ana", approve=True)
    restore(town().ports, "a", "ana")
    assert whole(landed)


def test_cleaned_twice_is_cleaned_once(town, closed):
    first = clean(town().ports, "a", "ana", approve=True)
    events = len(town().ports.store.events(first.job.id))
    again = clean(town().ports, "a", "ana", approve=True)
    assert (again.snapshot.ref, again.snapshot.oid) == (first.snapshot.ref, first.snapshot.oid)
    assert events == len(town().ports.store.events(first.job.id))


def test_work_written_after_a_removal_that_did_not_come_is_in_the_next_snapshot(world, town, closed):
    with subprocess.Popen(["sleep", "60"], cwd=closed) as living:
        with pytest.raises(Refused) as refused:
            clean(town().ports, "a", "ana", approve=True)
        living.kill()
    assert "alive" == refused.value.refusal.rule
    (closed / "a" / "later.txt").write_text("later\n")
    clean(town().ports, "a", "ana", approve=True)
    restore(town().ports, "a", "ana")
    assert "later\n" == (closed / "a" / "later.txt").read_text()


def test_the_tree_of_a_later_job_is_not_taken_for_the_one_of_an_earlier(world, town):
    world.card("a", command="false")
    world.push()
    town().dispatch("a")
    first = town().job("a")
    decide.abandon(town().ports, "a", "ana", "not now")
    clean(town().ports, "a", "ana", approve=True)
    town().dispatch("a")
    second = town().job("a")
    assert (first.workspace, first.id) != (None, second.id)
    assert first.workspace == second.workspace
    clean(town().ports, first.id, "ana", approve=True)
    assert Path(second.workspace, ".git").exists()
    assert () == closed_with_tree(town().ports)
    with pytest.raises(Misuse, match=f"job {second.id}"):
        restore(town().ports, first.id, "ana")
    assert town().ports.workspaces.exists(place_of(second))


def test_ports_come_back_with_the_tree_and_stay_claimed(town, closed):
    job = town().job("a")
    clean(town().ports, "a", "ana", approve=True)
    restore(town().ports, "a", "ana")
    families = dict(last_view(town().ports).policy.ports)
    with pytest.raises(Refused) as held:
        town().ports.blocks.claim("another", families, wanted=job.block)
    assert (job.id,) == held.value.refusal.holders
    assert (job.block, job.ports) == (town().job("a").block, town().job("a").ports)
    assert not [line for line in town().said if "block" in line]


def test_ports_that_another_task_has_by_now_are_replaced_and_it_is_said(town, closed):
    before = town().job("a")
    clean(town().ports, "a", "ana", approve=True)
    families = dict(last_view(town().ports).policy.ports)
    town().ports.blocks.claim("another", families, wanted=before.block)
    restore(town().ports, "a", "ana")
    after = town().job("a")
    assert after.block not in (None, before.block)
    assert set(after.ports.values()).isdisjoint(before.ports.values())
    lines = (closed / ".agent-env").read_text().splitlines()
    assert {f"{name}={number}" for name, number in after.ports.items()} <= set(lines)
    assert f"INTERLOCK_BLOCK={after.block}" in lines
    assert [line for line in town().said if f"block {before.block}" in line and f"block {after.block}" in line]
    with pytest.raises(Refused) as held:
        town().ports.blocks.claim("third", families, wanted=after.block)
    assert (after.id,) == held.value.refusal.holders


def test_a_restore_that_is_refused_holds_no_ports(world, town, closed):
    job = town().job("a")
    clean(town().ports, "a", "ana", approve=True)
    closed.mkdir()
    (closed / "mine").touch()
    with pytest.raises(Refused) as refused:
        restore(town().ports, "a", "ana")
    assert "name-taken" == refused.value.refusal.rule
    families = dict(last_view(town().ports).policy.ports)
    assert job.block == town().ports.blocks.claim("another", families, wanted=job.block)[0]
    shutil.rmtree(closed)
    restore(town().ports, "a", "ana")
    assert whole(closed)


def test_an_environment_file_that_an_agent_made_a_link_is_replaced_and_not_followed(world, town, closed):
    theirs = world.root / "theirs"
    theirs.write_text("mine\n")
    (closed / ".agent-env").unlink()
    (closed / ".agent-env").symlink_to(theirs)
    clean(town().ports, "a", "ana", approve=True)
    restore(town().ports, "a", "ana")
    assert "mine\n" == theirs.read_text()
    assert not (closed / ".agent-env").is_symlink()
    assert "INTERLOCK_BLOCK=" in (closed / ".agent-env").read_text()
