"""card split: a real run of a scripted agent whose first batch is handed back with every problem; then a person accepts."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from interlock.testing.world import World

AGENT = """\
import os, pathlib, shutil, subprocess, sys

root = pathlib.Path(sys.argv[1])
number = os.environ["INTERLOCK_ATTEMPT_NUMBER"]
shutil.copy(os.environ["INTERLOCK_PROMPT_FILE"], root / f"prompt-{number}")
if os.environ.get("INTERLOCK_MODEL"):
    (root / "model").write_text(os.environ["INTERLOCK_MODEL"])
if not pathlib.Path("src/a.py").exists():
    sys.exit("the tree of the base is not here")
card = root / f"cards-{number}"
if (root / "ask").exists():
    subprocess.run(["interlock-task", "stop", "--reason", "unclear", "--question", "One or two?"], check=True)
if card.exists():
    subprocess.run(["interlock-task", "pack", "-"], input=card.read_bytes(), check=True)
"""
CARD = """\
slug: {slug}
class: {klass}
goal: Do {slug}
accepted_plan: docs/plan.md
owned_paths: {owns}
depends_on: {needs}
checks: ["pytest -q"]
done_when: [it works]
stop_when: [a change outside owned_paths is needed]
integration_owner: {owner}
"""


def card(slug: str, owns: str, *, klass: str = "vertical-slice", needs: str = "[]", owner: str = "TBD") -> str:
    return CARD.format(slug=slug, owns=owns, klass=klass, needs=needs, owner=owner)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    root = tmp_path_factory.mktemp("w")
    (root / "agent.py").write_text(AGENT)
    agent = json.dumps(f"{sys.executable} {root / 'agent.py'} {root}")
    policy = f"train: {{checks: ['true'], sign_off: none}}\nagent: {{use: command, command: {agent}, model: worse}}\n"
    made = World.make(
        root / "w", policy=policy + "routes: [{phase: plan, model: best}]\nrules: {files: [docs/rules.md]}\n"
    )
    made.write("docs/plan.md", "Build one and two.\n")
    made.write("docs/rules.md", "Be kind to files.\n")
    made.write("src/a.py", "")
    made.card("there", owns="[src/there/**]")
    made.push()
    return made


def hand_in(world: World, number: int, text: str) -> None:
    (world.root.parent / f"cards-{number}").write_text(text)


def handed_in(world: World) -> list[str]:
    return [path.read_text() for path in sorted(world.root.parent.glob("prompt-*"))]


@pytest.fixture(autouse=True)
def _nothing_left(world: World) -> None:
    for path in (*world.root.parent.glob("cards-*"), *world.root.parent.glob("prompt-*")):
        path.unlink()


def test_a_plan_that_is_not_accepted_is_refused(world: World) -> None:
    assert world.ask("card", "split", "docs/other.md", code=1)["refusal"]["rule"] == "plan"
    assert world.ask("card", "accept", "split-00", "--owner", "@ana", code=2)["code"] == "misuse"


def test_problems_are_handed_back_until_a_person_can_accept(world: World, tmp_path: Path) -> None:
    meet = (
        card("one", "[src/one/**, src/there/x.py]", klass="vertical-slize") + "---\n" + card("two", "[src/one/two.py]")
    )
    hand_in(world, 1, meet)
    hand_in(
        world, 2, f"Mended:\n```yaml\n{card('one', '[src/one/**]')}```\n```yaml\n{card('there', '[src/two/**]')}```\n"
    )
    good = card("one", "[src/one/**]", owner='"@bob"') + "---\n" + card("two", "[src/two/**]", needs="[one]")
    hand_in(world, 3, good)
    found = world.ask("card", "split", "docs/plan.md", "--into", str(tmp_path / "cards"))
    assert (found["ready"], found["overlaps"]) == (True, [])
    assert [(run["cards"], len(run["problems"]) > 0) for run in found["runs"]] == [(2, True), (2, True), (2, False)]
    assert found["cards"] == [{"slug": "one", "owner": "@bob"}, {"slug": "two", "owner": None}]
    assert [(node["slug"], node["wave"]) for node in found["graph"]["nodes"]] == [("one", 1), ("two", 2)]

    # every problem came back in its own words, and the plan again; cards that are there count
    first, second, third = handed_in(world)
    assert "Build one and two." in first
    assert "there: owns src/there/**" in first
    assert "tasks/one.yaml:2:8: The class vertical-slize is not known." in second
    assert "one and two both own src/one/two.py" in second
    assert "both own src/there/x.py" in second
    assert "There is a card there already." in third
    assert "Build one and two." in third
    assert "Be kind to files." in third
    assert (world.root.parent / "model").read_text() == "best"

    # only a person accepts, with every owner named, and over no file
    name = found["proposal"]
    inside = {**world.env, "INTERLOCK_JOB": "j"}
    refused = World.start(("card", "accept", name, "--owner", "@ana", "--json"), world.repo, inside)
    assert json.loads(refused.stdout)["refusal"]["rule"] == "approval"
    still_open = world.ask("card", "accept", name, code=1)["refusal"]
    assert (still_open["rule"], still_open["problems"][0]["kind"]) == ("proposal", "owner")
    assert world.ask("card", "accept", name, "--owner", "three=@x", code=2)["code"] == "misuse"
    world.write("tasks/two.yaml", "mine\n")
    assert world.ask("card", "accept", name, "--owner", "@ana", code=1)["refusal"]["rule"] == "name-taken"
    assert not (world.repo / "tasks/one.yaml").exists()
    (world.repo / "tasks/two.yaml").unlink()
    done = world.ask("card", "accept", name, "--owner", "@ana", "--owner", "one=@carol")
    assert done["files"] == ["tasks/one.yaml", "tasks/two.yaml"]
    assert 'integration_owner: "@carol"' in (world.repo / "tasks/one.yaml").read_text()
    assert 'integration_owner: "@ana"' in (world.repo / "tasks/two.yaml").read_text()
    assert world.git("log", "-1", "--format=%s") == "base"
    assert world.ask("card", "check", "--here", "one", "two")["ready"] is True
    (world.repo / "tasks/one.yaml").unlink()
    (world.repo / "tasks/two.yaml").unlink()

    # the cards that were copied can be edited and accepted as well, and an overlap stays refused
    copied = tmp_path / "cards"
    assert sorted(path.name for path in copied.iterdir()) == ["one.yaml", "two.yaml"]
    (copied / "two.yaml").write_text(card("two", "[src/one/**]"))
    overlap = world.ask("card", "accept", str(copied), "--owner", "@ana", code=1)["refusal"]
    assert (overlap["rule"], [each["kind"] for each in overlap["problems"]]) == ("proposal", ["overlap"])


def test_a_proposal_that_is_there_is_written_out_to_be_mended(world: World, tmp_path: Path) -> None:
    hand_in(world, 1, card("one", "[src/one/**]"))
    shown = world.cli("card", "split", "docs/plan.md", "--as", "eve").stdout
    accept = shown.splitlines()[-1].removeprefix("next: interlock ")
    assert accept.endswith("--owner @eve")
    name = accept.split()[2]
    target = tmp_path / "out"
    told = world.cli("card", "accept", name, "--into", str(target)).stdout
    assert told.splitlines()[-1] == f"next: interlock card accept {target}"
    assert [path.name for path in target.iterdir()] == ["one.yaml"]
    assert not (world.repo / "tasks/one.yaml").exists(), "Nothing is accepted by that."
    assert world.ask("card", "accept", name, "--into", str(target), code=2)["code"] == "misuse"
    world.cli(*accept.split())
    assert (world.repo / "tasks/one.yaml").exists()
    (world.repo / "tasks/one.yaml").unlink()


def test_repair_is_bounded_and_what_is_left_is_shown(world: World) -> None:
    """The first run hands in nothing at all, which proposes nothing."""
    for number in (2, 3, 4):
        hand_in(world, number, card("one", "[src/one/**]", klass="none"))
    shown = world.cli("card", "split", "docs/plan.md", code=1).stdout
    _first, second, _third = handed_in(world)
    assert "There is no card in what was handed in." in second
    assert "The class none is not known." in shown
    assert "not ready: mend the cards" in shown
    assert re.search(r"next: interlock card accept split-(\w+) --into cards-\1$", shown)


def test_an_agent_that_asks_is_refused_with_its_question(world: World) -> None:
    (world.root.parent / "ask").touch()
    refused = world.ask("card", "split", "docs/plan.md", code=1)["refusal"]
    (world.root.parent / "ask").unlink()
    assert refused["rule"] == "agent-stopped"
    assert "One or two?" in refused["would_change"]
