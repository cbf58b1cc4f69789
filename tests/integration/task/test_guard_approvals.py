"""Commands that a person must approve: refused inside the task with a request on the spool, until the name is there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.integration.task.guarded import PATH, World, bubblewrap

from interlock.core.contract.around import ApprovalRule

RULES = (
    ApprovalRule(name="deploy", commands=("terraform apply*", "git push production", "anything *")),
    ApprovalRule(name="dns", commands=("odd'tool $(touch x)*", "tool it's*", "tool --zone=*")),
)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> World:
    bwrap = bubblewrap()
    if bwrap is None:
        if os.environ.get("CI") == "true":
            pytest.fail("bubblewrap is missing.")
        pytest.skip("bubblewrap cannot be used here")
    return World.make(tmp_path_factory.mktemp("first") / "w", bwrap)


@pytest.fixture
def world(tmp_path: Path, first: World) -> World:
    made = first.copy(tmp_path / "w")
    for name in ("terraform", "anything", "tool"):
        program = made.root / "real" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f'#!/bin/sh\necho "$0 $*" >> {made.root}/ran\n')
        program.chmod(0o755)
    return made


def guard(world: World, *approved: str) -> tuple[str, ...]:
    return world.guard(rules=RULES, approved=approved, search=f"{world.root}/real:{PATH}")


def run(world: World, line: str):
    return world.shell(f"PATH={world.bin}:{world.root}/real:{PATH}; {line}")


def ran(world: World) -> list[str]:
    file = world.root / "ran"
    return file.read_text().splitlines() if file.exists() else []


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("terraform apply -auto-approve", "deploy"),
        ("terraform -chdir=x apply", "deploy"),
        ("anything", "deploy"),
        ("anything at all", "deploy"),
        ("git push production main", "deploy"),
        ('tool "it\'s on"', "dns"),
        ("tool add --zone=x", "dns"),
        ("env terraform apply", "deploy"),
        ("sh -c 'terraform apply'", "deploy"),
    ],
)
def test_it_is_refused_and_asked_for_until_a_person_approved_it(world: World, line: str, name: str) -> None:
    guard(world)
    done = run(world, line)
    assert done.returncode == 1
    assert ran(world) == []
    assert f"needs the approval {name}" in done.stderr
    assert f"interlock decide one --approve {name}" in done.stderr
    (note,) = world.notes()
    assert note["data"]["guard"] == "approval"  # type: ignore[index]
    assert note["data"]["approval"] == name  # type: ignore[index]
    if line.startswith("git"):
        return
    guard(world, "deploy" if name == "dns" else "dns")
    assert run(world, line).returncode == 1
    assert ran(world) == []
    guard(world, name)
    assert run(world, line).returncode == 0
    assert len(ran(world)) == 1


@pytest.mark.parametrize("line", ["terraform plan", "terraform fmt -check", "tool list", "terraform apply --help"])
def test_harmless_calls_of_the_same_programs_run(world: World, line: str) -> None:
    guard(world)
    done = run(world, line)
    assert done.returncode == 0, done.stderr
    assert len(ran(world)) == 1
    assert world.notes() == []


def test_only_programs_that_are_there_get_a_guard(world: World) -> None:
    assert {"anything", "tool", "git", "rm"} <= set(guard(world))
    there = world.guard(rules=RULES, search=PATH)
    assert {"anything", "tool"}.isdisjoint(there)
    assert world.shell("command -v tool").returncode == 127
    assert world.shell("rm -rf ../two").returncode == 1


def test_an_agent_cannot_approve_by_its_environment(world: World) -> None:
    guard(world)
    line = 'INTERLOCK_APPROVED=deploy approved=deploy _il_ask="" PATH="$PATH" terraform apply'
    assert run(world, line).returncode == 1
    assert ran(world) == []


def test_a_pattern_cannot_run_anything_in_the_guards_script(world: World) -> None:
    guard(world)
    run(world, "tool list; terraform plan")
    assert not (world.tree / "x").exists()
