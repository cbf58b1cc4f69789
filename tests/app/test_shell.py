"""A person and a task: its shell with the agent's tools, its files, its variables, and what its walls refused."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from tests.needs import needs_sandbox

from interlock.app.shell import open_tree, seen_from_here, shell
from interlock.app.show import show
from interlock.cli.next_command import way_on
from interlock.core.problems import Misuse, Refused
from interlock.testing.world import World

POLICY = """\
train: {checks: ['true'], sign_off: none}
ports: {APP_PORT: 3000, API_PORT: 4000}
browsers: {guest: {}}
"""


@pytest.fixture
def world(request, tmp_path, monkeypatch):
    made = World.make(tmp_path / "w", policy=POLICY, level=getattr(request, "param", "worktree"))
    for name, value in made.env.items():
        monkeypatch.setenv(name, value)
    return made


SEALED = pytest.mark.parametrize("world", ["sealed"], indirect=True)


def begun(world: World, town, **card) -> None:
    world.card("one", **card)
    world.push()
    town().dispatch("one")


def test_a_cleaned_closed_job_is_restored_and_an_open_one_resumed(world, town):
    begun(world, town, command="mkdir -p one && echo x > one/x")
    ports = town().ports
    job = town().job("one")
    Path(job.workspace).rename(world.root / "away")
    for step in (lambda: open_tree(ports, "one", None), lambda: shell(ports, "one", ("true",))):
        with pytest.raises(Refused) as caught:
            step()
        assert caught.value.refusal.would_change.startswith("interlock resume one")
    (world.root / "away").rename(job.workspace)
    town().run()
    assert str(town().job("one").state) == "landed"
    world.cli("clean", "one")
    for step in (lambda: open_tree(ports, "one", None), lambda: shell(ports, "one", ("true",))):
        with pytest.raises(Refused) as caught:
            step()
        assert caught.value.refusal.would_change.startswith("interlock restore one")
    world.cli("restore", "one")
    assert open_tree(ports, "one", None).path.is_dir()


def test_variables_of_no_task_are_refused(world, town):
    world.push()
    with pytest.raises(Misuse):
        seen_from_here(town().ports, "one")


def said(world: World, words: str) -> str:
    return world.cli("shell", "one", "--", "bash", "-c", words, code=None).stdout


WORDS = """\
command -v interlock-task
interlock-task may-i one/x
interlock-task may-i two/x
interlock-task card --json
rm -rf ../* 2>&1
echo "ended with $?"
"""


def test_a_shell_has_the_tools_and_guards_of_an_agent(world, town):
    begun(world, town)
    beside = world.root / "repo" / "interlock.yaml"
    told = said(world, WORDS)
    job = town().job("one")
    assert str(town().ports.records.job(job.id) / "shell" / "bin" / "interlock-task") in told
    assert "one/x" in told
    assert f'"job": "{job.id}"' in told
    assert "ended with 0" not in told
    assert beside.is_file()
    assert Path(job.workspace).is_dir()


@SEALED
@needs_sandbox
@pytest.mark.long
def test_a_sealed_shell_has_them_and_its_notes_arrive(world, town):
    begun(world, town)
    told = said(world, WORDS)
    job = town().job("one")
    assert told.startswith("/run/interlock/bin/interlock-task\n")
    assert f'"job": "{job.id}"' in told
    assert "ended with 0" not in told
    said(world, "interlock-task note seen by a person")
    assert town().ports.records.messages(job.id, 0)[-1].text == "seen by a person"


@SEALED
@needs_sandbox
@pytest.mark.long
def test_a_sealed_tasks_variables_are_those_of_this_machine(world, town):
    begun(world, town, extra="needs: {browser: [guest]}\n")
    job, ports = town().job("one"), town().ports
    values = world.ask("env", "one")
    assert values["APP_PORT"] == str(job.ports["APP_PORT"]) != "3000"
    assert values["API_PORT"] == str(job.ports["API_PORT"]) != "4000"
    assert "INTERLOCK_PASS" not in values
    assert "DATABASE_URL" not in values
    assert Path(values["BROWSER_PROFILE_GUEST"]).is_dir()
    assert Path(values["INTERLOCK_SPOOL"]) == ports.records.spool(job.id)
    inside = said(world, "cat .agent-env")
    assert "APP_PORT=3000" in inside.split()


def test_variables_at_level_worktree_are_those_of_the_task_and_a_shell_can_read_them(world, town):
    begun(world, town)
    lines = world.cli("env", "one").stdout.splitlines()
    values = dict(shlex.split(line)[1].split("=", 1) for line in lines if line.startswith("export "))
    assert values["APP_PORT"] == str(town().job("one").ports["APP_PORT"])
    assert "INTERLOCK_PASS" not in values
    assert Path(values["INTERLOCK_SPOOL"]).is_dir()


@SEALED
@needs_sandbox
@pytest.mark.long
def test_a_sealed_tree_that_is_a_folder_is_opened_as_it_is_and_an_overlay_as_a_copy(world, town):
    begun(world, town)
    job = town().job("one")
    opened = open_tree(town().ports, "one", None)
    assert (opened.path / "interlock.yaml").is_file()
    if (Path(job.workspace) / ".git").is_dir():
        assert (opened.path, opened.copy) == (Path(job.workspace), False)
    else:
        assert opened.copy
    copied = open_tree(town().ports, "one", world.root / "copy")
    assert (copied.path, copied.copy) == (world.root / "copy", True)


def test_show_tells_what_the_walls_refused(world, town):
    begun(world, town)
    ports, job = town().ports, town().job("one")
    lines = [
        {"at": 1.0, "host": "a.example", "port": 443, "allowed": True, "rule": None, "why": "On the list."},
        {"at": 3.0, "host": "evil.example\x1b[2J", "port": 443, "allowed": False, "rule": "network", "why": "No."},
    ]
    (ports.records.attempt(job.id, 1) / "network.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in lines))
    ref = {"at": 2.0, "ref": "refs/heads/main", "old": "", "new": "", "allowed": False, "rule": "gate", "why": "Mine."}
    (ports.records.attempt(job.id, 2) / "gate.jsonl").write_text(f"{json.dumps(ref)}\n")
    assert world.ask("show", "one")["refused"] == [
        {"kind": "gate", "at": 2.0, "what": "push to refs/heads/main", "why": "Mine."},
        {"kind": "network", "at": 3.0, "what": "evil.example:443", "why": "No."},
    ]
    text = world.cli("show", "one").stdout
    assert "refused (network): evil.example:443  No." in text
    assert "a.example:443  On" not in text
    assert show(ports, "one").refused[0]["kind"] == "gate"


def test_an_approval_is_answered_by_approving(world, town):
    world.write("interlock.yaml", f"{POLICY}secrets: {{KEY: {{variable: KEY, approval: vault}}}}\n")
    begun(world, town, command="mkdir -p one && echo x > one/x", extra="needs: {secrets: [KEY]}\n")
    town().run()
    assert town().rule("one") == "approval"
    assert world.ask("show", "one")["waiting"]["rule"] == "approval"
    assert "next: interlock decide one --approve vault" in world.cli("show", "one").stdout
    assert way_on("one", "approval", {}) == "interlock decide one --approve NAME"
