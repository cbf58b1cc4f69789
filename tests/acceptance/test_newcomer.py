"""What somebody meets who types things wrong, stops things half way, or follows each next: as it stands."""

from __future__ import annotations

import getpass
import json
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
