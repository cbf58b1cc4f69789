"""The JSON that scripts rely on: real answers of every command hold the keys that docs/reference/json.md promises."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import click
import pytest

from interlock.cli.main import cli
from interlock.testing.world import World

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "json.md"

CHECK = {"run", "state", "rule", "what", "exit_code", "tests", "seconds", "log", "tail"}
REFUSAL = {"rule", "what", "why", "would_change", "number", "holders", "problems"}
PROBLEM = {"slug", "kind", "what", "why", "fix", "file", "line", "column"}
QUESTION = {"slug", "job", "rule", "what", "ask", "owner", "since", "tail"}


def ask(world: World, *words: str, code: int = 0) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(world.cli(*words, "--json", code=code).stdout)
    return answer


def holds(answer: dict[str, Any], *keys: str) -> None:
    assert set(keys) <= set(answer), f"{sorted(set(keys) - set(answer))} of {sorted(answer)}"


def a_world(root: Path) -> World:
    world = World.make(
        root, policy="train: {checks: ['true'], sign_off: owner}\nreview_wip: 9\n", caps="vertical-slice 3\n"
    )
    world.card("good", command="mkdir -p good && echo 1 > good/a")
    world.card("bad", command="mkdir -p good bad && echo 1 > bad/a && echo 2 > other")
    world.card("third", owns='["good/**"]')
    world.push()
    return world


@pytest.mark.long
def test_answers_hold_what_the_reference_promises(tmp_path: Path) -> None:
    world = a_world(tmp_path)
    check_contract(world)
    check_dispatch(world)
    check_run(world)
    check_gates(world)
    check_train(world)


def check_contract(world: World) -> None:
    checked = ask(world, "card", "check", code=1)
    holds(checked, "source", "ready", "problems", "overlaps", "order", "skipped", "abandoned")
    assert checked["ready"] is False
    holds(checked["overlaps"][0], "a", "b", "kind", "path", "fix")
    assert checked["overlaps"][0]["kind"] == "write-write"
    world.write("tasks/vague.yaml", "slug: vague\nclass: vertical-slice\n")
    vague = ask(world, "card", "check", "vague", "--here", code=1)
    holds(vague["problems"][0], *PROBLEM)
    (world.repo / "tasks" / "vague.yaml").unlink()


def check_dispatch(world: World) -> None:
    admitted = ask(world, "dispatch", "good")
    holds(admitted, "slug", "admitted", "job", "workspace", "branch", "base", "ports", "level", "refusal", "notes")
    assert admitted["admitted"] is True
    assert all(isinstance(number, int) for number in admitted["ports"].values())
    both = ask(world, "dispatch", "third", "bad", code=1)["results"]
    refused = next(item for item in both if not item["admitted"])
    assert refused["slug"] == "third"
    holds(refused["refusal"], *REFUSAL)
    caps = ask(world, "caps", "show")
    holds(caps["ceiling"], "cap", "used")
    lane = next(item for item in caps["classes"] if item["name"] == "vertical-slice")
    holds(lane, "name", "kind", "cap", "used", "paused", "holders")
    assert (lane["cap"], lane["used"], caps["ceiling"]["cap"]) == (3, 2, 9)
    holds(lane["holders"][0], "slug", "since")


def check_run(world: World) -> None:
    ran = ask(world, "run")
    holds(ran, "jobs", "needs_a_person", "train", "landed")
    status = ask(world, "status")
    holds(status["jobs"][0], "slug", "job", "class", "state", "attempt", "waits_for", "since")
    asked = ask(world, "inbox", code=1)["needs_a_person"]
    assert {item["rule"] for item in asked} == {"outside", "sign-off"}
    for item in asked:
        holds(item, *QUESTION)
    assert next(item for item in asked if item["rule"] == "sign-off")["job"] is None
    error = ask(world, "show", "nothing", code=2)
    holds(error, "code", "message", "hint")


def check_gates(world: World) -> None:
    verified = ask(world, "verify", "good")
    holds(verified, "verified", "tree", "commit", "violations", "checks")
    holds(verified["checks"][0], *CHECK)
    assert verified["checks"][0]["tests"] is None
    scope = ask(world, "scope", "bad", "--base", "origin/main", "--head", "agent/bad", code=1)
    holds(scope, "ok", "violations", "card")
    holds(scope["violations"][0], "path", "rule", "old_path")
    holds(scope["card"], "ref", "oid")
    overlap = ask(world, "overlap", "agent/good", "agent/bad", "--base", "origin/main")
    holds(overlap, "files", "cut")


def check_train(world: World) -> None:
    train = ask(world, "train", "show")
    holds(train, "number", "phase", "members", "waits_for", "runs", "landed")
    holds(train["members"][0], "slug", "state", "tested_with", "owner")
    assert train["waits_for"] == ["@ana"]
    signed = ask(world, "sign-off", "--as", "@ana")
    holds(signed, "train", "phase", "candidate", "waits_for")
    ask(world, "run")
    landed = ask(world, "train", "show")["landed"][0]
    holds(landed, "slug", "commit", "tree", "tested_tree", "train", "at")
    assert landed["tree"] == landed["tested_tree"]
    shown = ask(world, "show", "good")
    holds(shown, "state", "evidence", "history", "record")
    holds(shown["history"][0], "seq", "at", "kind", "attempt", "actor", "text")
    doctor = json.loads(world.cli("doctor", "--json", code=None).stdout)
    holds(doctor, "ok", "level", "features")
    holds(doctor["features"][0], "name", "ok", "why")


def test_every_key_that_is_checked_here_is_on_the_page() -> None:
    """The page and this test cannot part silently: what the test demands has to be promised."""
    promised = set(re.findall(r"\w+", PAGE.read_text(encoding="utf-8")))
    assert CHECK | REFUSAL | PROBLEM | QUESTION <= promised


def test_every_command_has_its_shape_on_the_page() -> None:
    """A shape that is promised to be stable has to stand somewhere; what takes no --json is said as well."""
    page = PAGE.read_text(encoding="utf-8")
    missing = [name for name in every_command(cli, "interlock") if not re.search(rf"`(interlock )?{name}[ `]", page)]
    assert not missing


def every_command(command: click.Command, name: str) -> list[str]:
    """The full names of all commands, without the program's own."""
    if not isinstance(command, click.Group):
        return [name.removeprefix("interlock ")]
    context = click.Context(command)
    found = [(each, command.get_command(context, each)) for each in command.list_commands(context)]
    return [full for each, inner in found if inner is not None for full in every_command(inner, f"{name} {each}")]


def test_the_protocol_of_a_manager_takes_no_json_and_no_place_without_a_repository(tmp_path: Path) -> None:
    env = {name: os.environ[name] for name in ("PATH",)} | {"HOME": str(tmp_path)}
    for words, says in ((("mcp",), "repository"), (("mcp", "--json"), "the protocol")):
        done = World.start(words, tmp_path, env)
        assert (done.returncode, says in done.stdout + done.stderr) == (2, True), done
    done = World.start(("policy", "rules", "--agent", "nope", "--json"), tmp_path, env)
    assert (done.returncode, json.loads(done.stdout)["code"]) == (2, "no-agent")
