"""A live ACP agent asks, a person answers through the command line, and the agent goes on where it was."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from interlock.testing.acp_agent import command
from interlock.testing.world import World

pytestmark = [pytest.mark.long, pytest.mark.timeout(180)]

ASKS = {"steps": [{"edit": "a/new.txt", "text": "done\n", "ask": True}, {"say": "Done."}]}


def asked(world: World) -> dict[str, Any]:
    """The permission in the inbox, once it is there."""
    for _ in range(300):
        found: list[dict[str, Any]] = [
            item for item in world.ask("inbox", code=None)["needs_a_person"] if item["kind"] == "permission"
        ]
        if found:
            return found[0]
        time.sleep(0.2)
    raise AssertionError("Nothing was asked.")


def test_a_permission_is_given_while_the_agent_runs_and_nothing_is_given_by_itself(tmp_path):
    world = World.make(tmp_path / "w")
    world.card("a", command=command(ASKS))
    card = world.repo / "tasks/a.yaml"
    card.write_text(card.read_text().replace("use: command", "use: acp"))
    world.push()
    tree = Path(world.ask("dispatch", "a")["workspace"])
    with ThreadPoolExecutor(1) as beside:
        running = beside.submit(world.cli, "run")
        item = asked(world)
        assert (item["slug"], item["owner"], item["rule"]) == ("a", "@ana", "permission")
        time.sleep(1)
        assert not (tree / "a").exists(), "Nothing is given by itself."
        assert [each["label"] for each in item["options"]] == ["Reject", "refuse it", "Allow", "Always allow"]
        text = world.cli("inbox", code=1).stdout
        assert text.splitlines()[-1] == "next: interlock decide a --request=p1 --permit=reject"
        assert "  | a/new.txt: 0 lines, then 1" in text
        assert "  | +done" in text
        assert "does not offer perhaps" in world.cli("decide", "a", "--permit", "perhaps", code=2).stderr
        world.cli("decide", "a", "--permit", "allow", "--as", "eve")
        running.result()
    shown = world.ask("show", "a")
    assert (shown["state"], shown["attempt"]) == ("landed", 1)
    answers = Path(shown["record"]) / "attempts" / "1" / "answers"
    (answer,) = answers.glob("*.json")
    assert json.loads(answer.read_text())["by"] == "eve"


STOPS = (
    'if [ "$INTERLOCK_ATTEMPT_NUMBER" = 1 ]; then interlock-task stop --reason "two ways" --question "Keep it?" '
    "--option keep --option drop; else mkdir -p {0} && echo done > {0}/x; fi"
)


def test_an_answer_goes_on_with_the_session_of_the_agent_that_asked_while_it_is_there(tmp_path):
    world = World.make(tmp_path / "w")
    for name, sessions in (("a", {"sessions": "resume"}), ("b", {})):
        world.card(name, command=command({**sessions, "steps": [{"run": STOPS.format(name)}]}))
        card = world.repo / f"tasks/{name}.yaml"
        card.write_text(card.read_text().replace("use: command", "use: acp"))
    world.push()
    world.cli("dispatch", "a")
    world.cli("dispatch", "b")
    world.cli("run")
    item, _ = world.ask("inbox", code=1)["needs_a_person"]
    assert (item["kind"], item["ask"]) == ("question", "Keep it?")
    assert "command " in item["tail"]
    assert "{" not in item["tail"], "An agent's stream is told, and not shown as it is."
    assert [each["label"] for each in item["options"][:2]] == ["keep", "drop"]
    card = world.repo / "tasks/a.yaml"
    card.write_text(card.read_text().replace('"a/**"', '"a/**", "wider/**"'))
    world.push()
    world.cli("decide", "a", "keep", "--as", "eve")
    world.cli("decide", "b", "keep", "--as", "eve")
    world.cli("run")
    shown = world.ask("show", "a")
    assert (shown["state"], shown["attempt"]) == ("landed", 2)
    assert shown["attempts"][1]["resumes"]["id"] == "s-1"
    prompt = (Path(shown["record"]) / "attempts" / "2" / "prompt.md").read_text()
    assert "Keep it? Decided by eve: keep" in prompt
    assert "- wider/**" in prompt, "The answer came with a wider card."
    assert "# Task a" not in prompt
    fresh = world.ask("show", "b")
    assert (fresh["state"], fresh["attempts"][1].get("resumes")) == ("landed", None)
    prompt = (Path(fresh["record"]) / "attempts" / "2" / "prompt.md").read_text()
    assert "# Task b" in prompt, "Where no session is left, everything is told."
    assert "Keep it? Decided by eve: keep" in prompt
