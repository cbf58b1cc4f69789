"""A revert is one command: it undoes exactly one landed change, passes every gate, and asks for the test that was missing (G6)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from interlock.testing.world import World

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

CHECK = f"{sys.executable} -m pytest -q -p no:cacheprovider"
TESTED = """\
mkdir -p {slug}; echo 'VALUE = 1' > {slug}/code.py; printf 'def test_{slug}():\\n    assert True is not False\\n' > {slug}/test_{slug}.py
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Two changes that landed in one train, each with a file and a test of its own, and one line of a shared list."""
    world = World.make(tmp_path, policy=f"train: {{checks: ['{CHECK}'], sign_off: none}}\n")
    world.write("base/test_base.py", "def test_base():\n    assert 1 + 1 == 2\n")
    for slug in ("one", "two"):
        world.card(slug, command=TESTED.format(slug=slug), checks=(CHECK,))
    world.push()
    world.cli("dispatch", "one", "two")
    world.cli("run")
    assert {"one/code.py", "two/code.py"} <= world.main_files()
    return world


def push(world: World) -> None:
    """Commit what was written on top of what has landed, and push it."""
    world.git("add", "-A")
    world.git("commit", "-q", "-m", "more")
    world.git("pull", "-q", "--rebase", "origin", "main")
    world.git("push", "-q", "origin", "HEAD")


def test_one_command_and_a_run_take_exactly_one_change_of_a_train_back(world: World) -> None:
    before = world.main_files()
    shape = world.ask("revert", "one", "--why", "It broke the invoice.")
    assert shape["slug"] == "revert-one"
    world.cli("run")
    assert before - world.main_files() == {"one/code.py", "one/test_one.py"}
    assert world.ask("show", "one")["state"] == "reverted"
    message = world.git("log", "-1", "--no-merges", "--format=%B", "main", at=world.remote)
    assert "It broke the invoice." in message
    assert "This reverts commit" in message
    assert "Interlock-Reverts: one@" in message
    world.cli("audit")
    looked_at = {each["slug"] for each in world.ask("clean", "--landed", code=None)["results"]}
    assert looked_at == {"one", "two", "revert-one"}, "what was taken back landed as well"


def test_it_asks_for_the_test_that_was_missing_and_never_overwrites(world: World) -> None:
    world.cli("revert", "one", "--why", "It broke the invoice.")
    card = (world.repo / "tasks" / "test-one.yaml").read_text()
    assert "It broke the invoice." in card
    assert "class: tests" in card
    (world.repo / "tasks" / "test-one.yaml").write_text("mine")
    world.cli("revert", "one", "--why", "Again.")
    assert (world.repo / "tasks" / "test-one.yaml").read_text() == "mine"


def test_said_twice_it_is_one_revert_and_landed_it_cannot_be_said_again(world: World) -> None:
    first = world.ask("revert", "one", "--why", "x")
    assert world.ask("revert", "one", "--why", "x")["job"] == first["job"]
    assert "the reason that it was begun with" in world.cli("revert", "one", "--why", "Other words.").stdout
    assert "Other words." not in json.dumps(world.ask("show", "revert-one"))
    world.cli("run")
    again = world.cli("revert", "one", "--why", "x", code=1)
    assert "not-landed" in again.stderr + again.stdout
    assert "reverted" in again.stderr + again.stdout


def test_the_slug_may_land_again_after_its_revert(world: World) -> None:
    world.cli("revert", "one", "--why", "x")
    world.cli("run")
    world.cli("clean", "one")
    world.git("push", "-q", "origin", ":agent/one")
    world.cli("dispatch", "one")
    world.cli("run")
    assert "one/code.py" in world.main_files()


def test_what_has_not_landed_and_what_is_unknown_are_refused(world: World) -> None:
    world.card("three", command="mkdir three; echo x > three/x")
    push(world)
    world.cli("dispatch", "three")
    refused = json.loads(world.cli("revert", "three", "--why", "x", "--json", code=1).stdout)
    assert refused["refusal"]["rule"] == "not-landed" if "refusal" in refused else refused["code"] == "not-landed"
    assert world.cli("revert", "nobody", "--why", "x", code=2).returncode == 2


def test_a_change_that_later_work_was_built_on_is_refused_with_the_paths(world: World) -> None:
    world.card("later", owns='["one/**"]', command="echo 'VALUE = 2' > one/code.py", checks=(CHECK,))
    push(world)
    world.cli("dispatch", "later")
    world.cli("run")
    done = world.cli("revert", "one", "--why", "x", code=1)
    assert "one/code.py" in done.stdout + done.stderr
    assert "text-conflict" in done.stdout + done.stderr
    assert world.main_files() >= {"one/code.py"}


def test_open_work_that_depends_on_it_waits_with_the_reason(world: World) -> None:
    world.card("needy", needs='["one"]', command="mkdir needy; echo x > needy/x")
    push(world)
    world.cli("dispatch", "needy")
    world.cli("train", "hold", "needy", "--reason", "not yet")
    assert world.ask("revert", "one", "--why", "x")["dependants"] == ["needy"]
    world.cli("run")
    shape = world.ask("show", "needy")
    assert shape["state"] == "waiting"
    assert "reverted" in json.dumps(shape)


def test_a_revert_that_turns_the_suite_red_does_not_land(world: World) -> None:
    world.write("base/test_base.py", "import os\ndef test_base():\n    assert os.path.exists('one/code.py')\n")
    push(world)
    world.cli("revert", "one", "--why", "x")
    world.cli("run", code=None)
    assert "one/code.py" in world.main_files()
    assert world.ask("show", "revert-one")["state"] == "waiting"


def test_a_revert_that_is_reverted_restores_the_change_and_its_state(world: World) -> None:
    world.cli("revert", "one", "--why", "x")
    world.cli("run")
    world.cli("revert", "revert-one", "--why", "It was right after all.")
    world.cli("run")
    assert "one/code.py" in world.main_files()
    assert world.ask("show", "one")["state"] == "landed"
    assert world.ask("show", "revert-one")["state"] == "reverted"
    world.cli("audit")
    assert world.ask("revert", "one", "--why", "It was not.")["slug"] == "revert-one-2"


def test_a_branch_of_somebody_else_is_not_taken_over(world: World) -> None:
    world.git("push", "-q", "origin", "HEAD:refs/heads/agent/revert-one")
    before = world.git("rev-parse", "agent/revert-one", at=world.remote)
    done = world.cli("revert", "one", "--why", "x", code=1)
    assert "name-taken" in done.stdout + done.stderr
    assert world.git("rev-parse", "agent/revert-one", at=world.remote) == before


def test_a_revert_that_its_cap_refuses_leaves_nothing_on_the_remote(world: World) -> None:
    world.write("tasks/caps.txt", "vertical-slice 0\n")
    push(world)
    world.cli("revert", "one", "--why", "x", code=1)
    assert "agent/revert-one" not in world.git("branch", "--list", "agent/*", at=world.remote)


@pytest.mark.parametrize("style", ["squash", "rebase"])
def test_whichever_way_it_landed_it_is_taken_back_whole_and_restored_whole(tmp_path: Path, style: str) -> None:
    """Of work that an agent made in several commits no part stays behind."""
    world = World.make(tmp_path, policy=f"train: {{checks: ['true'], sign_off: none, style: {style}}}\n")
    world.write("list", "1\n2\n3\n")
    commit = "git add -A; git -c user.name=q -c user.email=q@x commit -qm step"
    world.card("a", owns='["list", "a/**"]', command=f"mkdir a; echo 1 > a/x; {commit}; sed -i s/2/two/ list; {commit}")
    world.card("b", command="mkdir b; echo x > b/x")
    world.push()
    world.cli("dispatch", "a", "b")
    world.cli("run")
    assert "two" in world.git("show", "HEAD:list", at=world.remote)
    world.cli("revert", "a", "--why", "x")
    world.cli("run")
    assert "a/x" not in world.main_files()
    assert "1\n2\n3" == world.git("show", "HEAD:list", at=world.remote)
    world.cli("revert", "revert-a", "--why", "It was right.")
    world.cli("run")
    assert {"a/x", "b/x"} <= world.main_files()
    assert "1\ntwo\n3" == world.git("show", "HEAD:list", at=world.remote)


def test_what_needs_it_and_has_landed_is_named_by_the_command_and_where_the_revert_is_red(tmp_path: Path) -> None:
    world = World.make(tmp_path, policy="train: {checks: ['test ! -e b/x || test -e a/x'], sign_off: none}\n")
    world.card("a", command="mkdir a; echo x > a/x")
    world.card("b", needs='["a"]', command="mkdir b; echo x > b/x")
    world.push()
    for slug in "ab":
        world.cli("dispatch", slug)
        world.cli("run")
    said = world.cli("revert", "a", "--why", "x").stdout
    assert "b says that it depends on a; it has landed" in said
    world.cli("run", code=None)
    told = world.ask("show", "revert-a")
    assert ("waiting", "check-failed") == (told["state"], told["waiting"]["rule"])
    assert "interlock revert b --why" in told["waiting"]["ask"]
    assert {"a/x", "b/x"} <= world.main_files()
    world.cli("revert", "b", "--why", "x")
    world.cli("run", code=None)
    world.cli("decide", "revert-a", "--abandon", "--reason", "built on b")
    world.cli("revert", "a", "--why", "x")
    world.cli("run", code=None)
    assert {"a/x", "b/x"}.isdisjoint(world.main_files()), world.cli("status", "--all").stdout


def test_a_change_whose_card_is_gone_is_taken_back_all_the_same(world: World) -> None:
    (world.repo / "tasks" / "one.yaml").unlink()
    push(world)
    world.cli("revert", "one", "--why", "x")
    world.cli("run")
    assert "one/code.py" not in world.main_files()


def test_said_three_times_at_once_it_is_one_revert(world: World) -> None:
    words = [sys.executable, "-m", "interlock", "revert", "one", "--why", "x", "--json"]
    many = [subprocess.Popen(words, cwd=world.repo, env=world.env, stdout=subprocess.PIPE) for _ in range(3)]
    jobs = {json.loads(each.communicate(timeout=200)[0])["job"] for each in many}
    assert len(jobs) == 1
    world.cli("run")
    assert "one/code.py" not in world.main_files()
