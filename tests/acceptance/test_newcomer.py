"""What somebody meets who types things wrong, stops things half way, or follows each next: as it stands."""

from __future__ import annotations

import getpass
import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from interlock.testing.world import World

pytestmark = pytest.mark.long


def last(text: str) -> str:
    return text.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("nonsense",), "interlock --help"),
        (("status", "--jsn"), "interlock status --help"),
        (("retry", "a"), "interlock retry --help"),
        (("card", "new"), "interlock card new --help"),
    ],
)
def test_a_wrong_call_is_told_as_json_where_that_is_asked_for(
    tmp_path: Path, words: tuple[str, ...], hint: str
) -> None:
    done = World.make(tmp_path).cli(*words, "--json", code=2)
    told = json.loads(done.stdout)
    assert (told["code"], told["hint"]) == ("misuse", hint)
    assert told["message"].endswith((".", "?"))
    assert World(tmp_path).cli(*words, code=2).stdout == ""


@pytest.mark.parametrize("name", ["../x", "tasks/x.yaml", "x.yaml", "/x", "", "a b", "ü", "x" * 200])
def test_a_path_is_no_slug(tmp_path: Path, name: str) -> None:
    world = World.make(tmp_path)
    world.push()
    told = json.loads(world.cli("dispatch", name, "--json", code=2).stdout)
    assert "is no slug of a card" in told["message"]
    assert told["hint"] == ("interlock dispatch x" if len(name) < 20 and "x" in name else "interlock dispatch SLUG")


def test_init_with_nobody_to_ask_says_so_and_writes_nothing(tmp_path: Path) -> None:
    world = World.make(tmp_path)
    (world.repo / "interlock.yaml").unlink()
    told = world.cli("init", code=2).stderr
    assert "There is nobody to ask" in told
    assert "interlock init --yes" in told
    assert not (world.repo / "interlock.yaml").exists()


def test_an_interrupted_run_ends_at_once_and_the_next_call_goes_on(tmp_path: Path) -> None:
    world = World.make(tmp_path)
    go = world.root / "go"
    world.card(
        "slow", command=f"mkdir -p slow; touch slow/begun; until [ -e {go} ]; do sleep 0.1; done; echo 1 > slow/a"
    )
    world.push()
    workspace = Path(json.loads(world.cli("dispatch", "slow", "--json").stdout)["workspace"])
    run = subprocess.Popen(
        [sys.executable, "-m", "interlock", "run"],
        cwd=world.repo,
        env=world.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + 30
    while not (workspace / "slow" / "begun").exists():
        assert time.monotonic() < until
        time.sleep(0.1)
    run.send_signal(signal.SIGINT)
    _, told = run.communicate(timeout=8)
    assert run.returncode == 130
    assert last(told) == "interrupted: the same call goes on where it was."
    assert "Traceback" not in told
    go.touch()
    world.cli("run")
    assert json.loads(world.cli("show", "slow", "--json").stdout)["attempt"] == 1
    assert "has no attempt 9" in world.cli("logs", "slow", "--attempt", "9", code=2).stderr
    assert json.loads(world.cli("train", "show", "--json").stdout)["landed"][0]["slug"] == "slow"


def test_the_next_command_fits_what_a_job_waits_for(tmp_path: Path) -> None:
    world = World.make(tmp_path)
    world.card("wide", command="echo 1 > other")
    world.push()
    world.cli("dispatch", "wide")
    assert last(world.cli("show", "wide").stdout) == "next: interlock run"
    world.cli("run")
    assert last(world.cli("inbox", code=1).stdout) == "next: interlock decide wide --again"
    shown = world.cli("show", "wide").stdout
    assert last(shown) == "next: interlock decide wide --again"
    assert f"job.admitted  {getpass.getuser()}" in shown
    assert last(world.cli("verify", "wide", code=1).stdout) == "next: interlock show wide"
    assert "No job that landed has a tree here." in world.cli("clean", "--landed").stdout


def test_the_default_owner_of_a_card_signs_off_without_naming_himself(tmp_path: Path) -> None:
    world = World.make(tmp_path, policy="train: {checks: ['true'], sign_off: owner}\n")
    world.cli("card", "new", "mine", "--class", "bug-fix", "--goal", "x", "--owns", "mine/**", "--check", "true")
    with (world.repo / "tasks" / "mine.yaml").open("a", encoding="utf-8") as card:
        card.write("agent: {use: command, command: 'mkdir mine; echo 1 > mine/a'}\n")
    world.push()
    world.cli("dispatch", "mine")
    world.cli("run")
    assert "may land" in world.cli("sign-off").stdout


LONG = "x" * 300
NO_JOB = (
    "There is no job of x.",
    "There is no open job of x.",
    "There is no snapshot of x.",
    "x has no job.",
    "x has no task of its own now.",
)
JOBS = ("show", "verify", "logs", "env", "stop", "resume", "restore", "resolve", "up", "down", "open", "audit", "clean")


def test_no_verb_takes_a_path_or_nothing_for_a_slug_and_none_knows_a_job_that_is_not_there(tmp_path: Path) -> None:
    world = World.make(tmp_path)
    world.push()
    for verb in JOBS:
        for name, slug in (("", "SLUG"), ("tasks/x.yaml", "x"), (LONG, "SLUG")):
            told = json.loads(world.cli(verb, name, "--json", code=2).stdout)
            assert told["message"].endswith("is no slug of a card."), (verb, name)
            assert told["hint"] == f"interlock {verb} {slug}"
        told = json.loads(world.cli(verb, "x", "--json", code=2).stdout)
        assert told["message"] in NO_JOB, (verb, told)


@pytest.mark.parametrize("name", ["", "../x", LONG, "é" * 200])
def test_a_card_of_no_name_is_no_fault_of_ours(tmp_path: Path, name: str) -> None:
    world = World.make(tmp_path)
    world.card("plan", checks=("pytest -q",), extra=f"accepted_plan: {LONG}.md\n")
    for where in ((), ("--here",)):
        world.push()
        told = json.loads(world.cli("card", "check", name, *where, "--json", code=1).stdout)
        assert [each["kind"] for each in told["problems"]] == ["slug"]
        assert "is no slug." in told["problems"][0]["what"]
        assert len(told["problems"][0]["what"]) < 200
        plan = json.loads(world.cli("card", "check", "plan", *where, "--json", code=1).stdout)
        assert [each["kind"] for each in plan["problems"]] == ["plan"]


@pytest.mark.parametrize(
    "words",
    [
        ("caps", "set", "bug-fix", "3", "--reason", " "),
        ("revert", "x", "--why", ""),
        ("train", "hold", "x", "--reason", ""),
        ("retry", "x", "--hypothesis", "\t"),
        ("stop", "x", "--as", ""),
        ("sign-off", "--as", " "),
        ("card", "new", "x", "--class", ""),
    ],
)
def test_what_goes_on_the_record_says_something(tmp_path: Path, words: tuple[str, ...]) -> None:
    world = World.make(tmp_path)
    told = json.loads(world.cli(*words, "--json", code=2).stdout)
    option = next(word for word in words if word.startswith("--"))
    assert told["message"] == f"{option} is blank."
    assert not world.git("status", "--porcelain", "--", "tasks/x.yaml")


def test_nothing_to_show_and_nothing_to_dispatch_are_said(tmp_path: Path) -> None:
    world = World.make(tmp_path)
    world.push()
    assert world.cli("dispatch", "--ready").stdout.splitlines() == [
        "No card is due: each has a job, has landed, or is left out.",
        "next: interlock card new SLUG --class CLASS",
    ]
    assert world.ask("dispatch", "--ready") == {"results": []}
    assert world.cli("train", "show").stdout.splitlines()[0] == "No change is in a train, and none has landed."


@pytest.mark.parametrize("group", ["card", "caps", "policy", "train"])
def test_the_help_of_a_group_tells_each_command_in_a_whole_sentence(tmp_path: Path, group: str) -> None:
    told = World.make(tmp_path).cli(group, "--help").stdout
    _, commands = told.split("Commands:\n")
    sentences = re.split(r"\n  (?=\S)", commands.rstrip())
    assert all(each.endswith(".") and not each.endswith("..") for each in sentences)
    assert max(map(len, told.splitlines())) <= 80


def test_overlap_counts_branches_as_a_person_does(tmp_path: Path) -> None:
    world = World.make(tmp_path)
    world.push()
    assert world.cli("overlap").stdout == "No branch is open, so no file is changed by two.\n"
    for slug, told in (
        ("a", "Only one branch is open, so no file is changed by two."),
        ("b", "No file is changed by two of 2 branches."),
    ):
        world.git("switch", "-qc", f"agent/{slug}", "main")
        world.write(f"{slug}.txt", slug)
        world.git("add", "--all")
        world.git("commit", "-qm", slug)
        assert world.cli("overlap").stdout.splitlines()[-1] == told
