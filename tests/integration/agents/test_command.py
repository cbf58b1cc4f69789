"""Any shell command as an agent: its environment, its prompt, its tools, and what is refused."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from interlock.adapters.agents.command import CommandAgents
from interlock.core.contract.card import AgentChoice, Budget, Card, Check
from interlock.core.problems import Refused
from interlock.host.attempts import HostRuns
from interlock.ports import Launch, Place

PROMPT = "Do 'this' and \"that\".\n$HOME `id`; rm -rf /\nGrüße"


def card(**agent: object) -> Card:
    choice = AgentChoice(**{"use": "command", "command": "true", **agent})  # type: ignore[arg-type]
    return Card(
        slug="a",
        class_name="tests",
        owned_paths=("a/**",),
        checks=(Check(run="true"),),
        stop_when=("x",),
        integration_owner="@ana",
        agent=choice,
    )


def launch(tmp_path: Path, one: Card, prompt: str = PROMPT, **values: str) -> Launch:
    tree = tmp_path / "tree"
    tree.mkdir(exist_ok=True)
    place = Place(path=tree, branch="agent/a", base="0" * 40)
    env = {"INTERLOCK_JOB": "j1", "APP_PORT": "3010", "INTERLOCK_ATTEMPT_NUMBER": "1", **values}
    return CommandAgents().launch(one, prompt, place, env, tmp_path / "attempts" / "1")


@pytest.mark.parametrize(
    ("by", "command"),
    [
        ("file", 'cat "$INTERLOCK_PROMPT_FILE"'),
        ("stdin", "cat"),
        ("argument", "printf %s"),
        ("argument", "true && printf %s  "),
    ],
)
def test_the_prompt_reaches_the_agent_byte_by_byte(tmp_path: Path, by: str, command: str) -> None:
    (tmp_path / "attempts" / "1").mkdir(parents=True)
    end = HostRuns().run(tmp_path / "attempts" / "1", launch(tmp_path, card(prompt=by, command=command)))
    assert (end.how, end.exit_code) == ("exited", 0)
    assert (tmp_path / "attempts" / "1" / "output.log").read_bytes() == PROMPT.encode()


def test_standard_input_is_empty_unless_it_is_the_prompt(tmp_path: Path) -> None:
    (tmp_path / "attempts" / "1").mkdir(parents=True)
    end = HostRuns().run(tmp_path / "attempts" / "1", launch(tmp_path, card(command="cat; pwd")))
    assert end.tail == str(tmp_path / "tree")


def test_the_environment_is_the_list_and_the_tasks_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", "/elsewhere")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("INTERLOCK_STORE", "postgresql://u:p@h/d")
    (tmp_path / "attempts" / "1").mkdir(parents=True)
    env = launch(tmp_path, card(model="m1", effort="low")).env
    assert not {"GIT_DIR", "AWS_SECRET_ACCESS_KEY", "INTERLOCK_STORE"} & env.keys()
    assert env["TERM"] == "dumb"
    assert env["APP_PORT"] == "3010"
    assert env["INTERLOCK_ATTEMPT"] == "j1.1"
    assert env["INTERLOCK_TREE"] == str(tmp_path / "tree")
    assert (env["INTERLOCK_MODEL"], env["INTERLOCK_EFFORT"]) == ("m1", "low")


def test_our_python_does_not_hide_the_projects(tmp_path: Path) -> None:
    (tmp_path / "attempts" / "1").mkdir(parents=True)
    first, _, _ = launch(tmp_path, card()).env["PATH"].partition(":")
    assert [path.name for path in Path(first).iterdir()] == ["interlock-task"]
    assert subprocess.run([f"{first}/interlock-task", "--help"], env={}, capture_output=True).returncode == 0


def test_limits_are_the_cards_and_otherwise_the_usual_ones(tmp_path: Path) -> None:
    (tmp_path / "attempts" / "1").mkdir(parents=True)
    usual = launch(tmp_path, card())
    assert (usual.wall, usual.idle) == (3600.0, 900.0)
    own = launch(tmp_path, replace(card(), budget=Budget(wall=60.0, idle=5.0)))
    assert (own.wall, own.idle) == (60.0, 5.0)


@pytest.mark.parametrize("agent", [{"use": None}, {"use": "codex"}, {"command": None}, {"command": ""}])
def test_what_is_no_command_is_refused(tmp_path: Path, agent: dict[str, object]) -> None:
    with pytest.raises(Refused) as caught:
        launch(tmp_path, card(**agent))
    assert caught.value.refusal.rule == "no-agent"
    assert not (tmp_path / "attempts").exists()


def test_a_prompt_too_long_for_an_argument_is_refused_and_not_cut(tmp_path: Path) -> None:
    (tmp_path / "attempts" / "1").mkdir(parents=True)
    with pytest.raises(Refused, match="cannot be given as an argument"):
        launch(tmp_path, card(prompt="argument"), "x" * 130_000)


def test_doing_it_again_is_the_same_launch(tmp_path: Path) -> None:
    (tmp_path / "attempts" / "1").mkdir(parents=True)
    assert launch(tmp_path, card()) == launch(tmp_path, card())
