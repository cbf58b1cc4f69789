"""Any shell command as an agent: its environment, its prompt, its tools, and what is refused."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.integration.host.boxes import Box, a_box

from interlock.adapters.agents.command import CommandAgent
from interlock.adapters.agents.known import KnownAgents
from interlock.core.contract.card import AgentChoice, Budget, Card, Check
from interlock.core.problems import Refused
from interlock.core.sandbox import Host, Sandbox
from interlock.host import spool
from interlock.host.attempts import HostRuns
from interlock.ports.agents import Assignment
from interlock.ports.isolation import Room
from interlock.ports.processes import Launch

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
    room = Room(path=tree, written=tree)
    env = {"INTERLOCK_JOB": "j1", "APP_PORT": "3010", "INTERLOCK_ATTEMPT_NUMBER": "1", **values}
    return started(one, prompt, room, env, tmp_path / "attempts" / "1")


def started(one: Card, prompt: str, room: Room, env: dict[str, str], folder: Path) -> Launch:
    agents = KnownAgents(folder.parent / "locks", {"command": CommandAgent()})
    return agents.launch(Assignment(card=one, choice=one.agent, prompt=prompt, room=room, env=env, folder=folder))


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
    names = {path.name for path in Path(first).iterdir()}
    assert "interlock-task" in names
    assert not [name for name in names if name.startswith(("python", "pip", "pytest", "activate"))]
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
    assert not (tmp_path / "attempts" / "1" / "plan.json").exists()


def test_a_prompt_too_long_for_an_argument_is_refused_and_not_cut(tmp_path: Path) -> None:
    (tmp_path / "attempts" / "1").mkdir(parents=True)
    with pytest.raises(Refused, match="cannot be given as an argument"):
        launch(tmp_path, card(prompt="argument"), "x" * 130_000)


def test_doing_it_again_is_the_same_launch(tmp_path: Path) -> None:
    (tmp_path / "attempts" / "1").mkdir(parents=True)
    assert launch(tmp_path, card()) == launch(tmp_path, card())


# ---------------------------------------------------------------- in a sandbox
SCRIPT = """
interlock-task note hello
interlock-task attach work.txt
echo $INTERLOCK_TREE $INTERLOCK_SPOOL $INTERLOCK_PROMPT_FILE $HOME $(pwd) $(command -v interlock-task)
cat $INTERLOCK_PROMPT_FILE; echo
test -z "$TMPDIR" && ! touch $INTERLOCK_PROMPT_FILE 2>/dev/null && echo fixed
"""


@pytest.fixture
def box() -> Iterator[Box]:
    with a_box() as made:
        yield made


def inside(box: Box, one: Card, *, sandbox: Sandbox | None = None, **values: str) -> Launch:
    room = Room(path=box.root / "tree", written=box.root / "tree", sandbox=sandbox or box.sandbox)
    spool = box.root / "spool"
    spool.mkdir(exist_ok=True)
    (spool / "card.json").write_text("{}")
    env = {"INTERLOCK_JOB": "j1", "INTERLOCK_ATTEMPT_NUMBER": "1", "INTERLOCK_SPOOL": str(spool), **values}
    return started(one, PROMPT, room, env, box.root / "attempt")


def test_an_agent_in_a_sandbox_knows_paths_as_they_are_there(box: Box) -> None:
    (box.root / "tree" / "work.txt").write_text("work")
    end = HostRuns().run(box.root / "attempt", inside(box, card(command=SCRIPT)))
    assert (end.how, end.exit_code) == ("exited", 0), end
    lines = (box.root / "attempt" / "output.log").read_text().splitlines()
    paths = (
        "/ws /run/interlock/spool /run/interlock/attempt/prompt.md /home/agent /ws /run/interlock/bin/interlock-task"
    )
    assert lines[2] == paths
    assert "\n".join(lines[3:-1]) == PROMPT.rstrip("\n")
    assert lines[-1] == "fixed"
    said = spool.read(box.root / "spool", 1)
    assert [(each["verb"], each["text"]) for each in said] == [("note", "hello"), ("attach", "work.txt")]
    (kept,) = (box.root / "spool" / "1" / "files").iterdir()
    assert kept.read_text() == "work"


def test_an_agent_in_a_sandbox_can_stop_itself(box: Box) -> None:
    order = inside(box, card(command="interlock-task stop --reason 'no way on'; sleep 600"))
    assert HostRuns().run(box.root / "attempt", order).how == "stopped"


def test_the_environment_in_a_sandbox_inherits_nothing_of_this_machine(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_SECRET_ACCESS_KEY", "SSL_CERT_FILE", "TMPDIR", "WANTED"):
        monkeypatch.setenv(name, "x")
    env = inside(box, card(), INTERLOCK_PASS="WANTED", APP_PORT="3010").env
    assert not {"AWS_SECRET_ACCESS_KEY", "SSL_CERT_FILE", "TMPDIR"} & env.keys()
    assert (env["WANTED"], env["APP_PORT"], env["TERM"], env["HOME"]) == ("x", "3010", "dumb", "/home/agent")
    assert not [value for value in env.values() if str(box.root) in value]


def test_the_way_to_the_proxy_is_in_the_environment_where_there_is_one(box: Box) -> None:
    assert "HTTPS_PROXY" not in inside(box, card()).env
    sandbox = replace(box.sandbox, hosts=(Host(name="example.org"),))
    assert inside(box, card(), sandbox=sandbox).env["HTTPS_PROXY"] == "http://127.0.0.1:3128"


def test_doing_it_again_in_a_sandbox_is_the_same_launch(box: Box) -> None:
    assert inside(box, card()) == inside(box, card())
