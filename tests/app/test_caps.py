"""interlock caps, on a real repository with its remote: show, pause, drain, resume, and a prepared change that is not committed."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from interlock.testing.world import World

pytestmark = pytest.mark.long

CAPS = "vertical-slice 2\ntests 1\nmigration 1\ncross-cutting 1\n"


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World.make(tmp_path / "w", caps=CAPS, policy="train: {checks: ['true'], sign_off: none}\nreview_wip: 3\n")
    for slug in ("a", "b", "c"):
        made.card(slug)
    made.push()
    return made


def row(world: World, name: str) -> dict[str, object]:
    shape = world.ask("caps", "show")
    found: dict[str, object] = next(each for each in shape["classes"] if each["name"] == name)
    return found


def test_show_has_each_class_with_its_cap_and_its_holders(world: World) -> None:
    world.cli("dispatch", "a", "b")
    shape = world.ask("caps", "show")
    assert shape["ceiling"] == {"cap": 3, "used": 2}
    slices = next(each for each in shape["classes"] if each["name"] == "vertical-slice")
    assert (slices["kind"], slices["cap"], slices["used"], slices["paused"]) == ("parallel", 2, 2, False)
    assert [holder["slug"] for holder in slices["holders"]] == ["a", "b"]
    assert all(abs(time.time() - holder["since"]) < 120 for holder in slices["holders"])
    assert next(each for each in shape["classes"] if each["name"] == "bug-fix")["cap"] is None
    text = world.cli("caps", "show").stdout
    assert "2 of 2" in text
    assert "ceiling 3" in text
    refused = world.ask("dispatch", "c", code=1)["refusal"]
    assert (refused["rule"], refused["number"], refused["holders"]) == ("cap", 2, ["a", "b"])


def test_a_branch_that_was_started_elsewhere_is_shown_and_counted(world: World) -> None:
    world.git("checkout", "-q", "-b", "agent/a")
    world.write("a/x.txt", "x")
    world.git("add", "-A")
    world.git("commit", "-q", "-m", "by hand")
    world.git("push", "-q", "origin", "agent/a")
    world.git("checkout", "-q", "main")
    slices = row(world, "vertical-slice")
    assert (slices["used"], [holder["slug"] for holder in slices["holders"]]) == (1, ["agent/a"])  # type: ignore[attr-defined]
    world.cli("dispatch", "b")
    assert world.ask("dispatch", "c", code=1)["refusal"]["holders"] == ["b", "agent/a"]
    assert "started elsewhere" in world.cli("caps", "show").stdout


def test_pausing_is_immediate_and_resuming_ends_it(world: World) -> None:
    world.cli("caps", "pause", "vertical-slice", "--reason", "away", "--as", "ben")
    refused = world.ask("dispatch", "a", code=1)["refusal"]
    assert (refused["rule"], refused["holders"]) == ("paused", ["ben"])
    assert row(world, "vertical-slice")["paused_by"] == "ben"
    world.cli("caps", "resume", "vertical-slice", "--as", "ana")
    world.cli("dispatch", "a")


def test_draining_tells_what_is_still_in_flight(world: World) -> None:
    world.cli("dispatch", "a")
    shape = world.ask("caps", "drain", "vertical-slice", "--as", "ben")
    assert (shape["paused"], shape["drained"], [holder["slug"] for holder in shape["holders"]]) == (True, False, ["a"])
    world.cli("decide", "a", "--abandon", "--reason", "no")
    again = world.ask("caps", "drain", "vertical-slice", "--as", "ben")
    assert (again["drained"], again["holders"]) == (True, [])


@pytest.mark.parametrize("verb", ["pause", "drain", "resume"])
def test_an_unknown_class_is_refused_with_the_known_ones(world: World, verb: str) -> None:
    done = world.cli("caps", verb, "vertical-slize", code=1)
    assert "vertical-slice" in done.stderr
    assert world.ask("caps", verb, "vertical-slize", code=1)["refusal"]["rule"] == "class"


def test_set_prepares_the_file_and_commits_nothing(world: World) -> None:
    head = world.git("rev-parse", "HEAD")
    shape = world.ask("caps", "set", "vertical-slice", "4", "--reason", "reviews take\na day", "--as", "ana")
    assert (shape["before"], shape["cap"], shape["changed"]) == (2, 4, True)
    first, second, *rest = (world.repo / "tasks/caps.txt").read_text().splitlines()
    assert first.startswith("# vertical-slice (was 2), decided by ana on ")
    assert first.endswith(": reviews take a day")
    assert (second, rest) == ("vertical-slice 4", CAPS.splitlines()[1:])
    assert world.git("rev-parse", "HEAD") == head
    assert world.git("status", "--porcelain").split() == ["M", "tasks/caps.txt"]
    assert row(world, "vertical-slice")["cap"] == 2, "What counts is the default branch."
    world.push("cap")
    assert row(world, "vertical-slice")["cap"] == 4


def test_setting_what_is_set_changes_nothing(world: World) -> None:
    assert world.ask("caps", "set", "tests", "1", "--reason", "x")["changed"] is False
    assert (world.repo / "tasks/caps.txt").read_text() == CAPS


@pytest.mark.parametrize(
    ("words", "rule"),
    [(("migration", "2"), "cap-value"), (("vertical-slize", "2"), "class"), (("cross-cutting", "2"), "cap-value")],
)
def test_a_cap_that_would_be_refused_is_not_written(world: World, words: tuple[str, str], rule: str) -> None:
    answer = world.ask("caps", "set", *words, "--reason", "x", code=1)
    assert rule in {problem["kind"] for problem in answer["problems"]}
    assert (world.repo / "tasks/caps.txt").read_text() == CAPS


def test_misuse_ends_with_two(world: World) -> None:
    world.cli("caps", "set", "tests", "-1", "--reason", "x", code=2)
    world.cli("caps", "set", "tests", "many", "--reason", "x", code=2)
    world.cli("caps", "set", "tests", "2", code=2)
