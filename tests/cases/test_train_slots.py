"""The train with several slots: changes are tested at once, each on those before it, and land as they become green."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.integration.watching import wait_until

from interlock.core.job.events import Event
from interlock.wiring import open_ports

pytestmark = pytest.mark.long

TWO = "train: {{checks: [{check}], slots: {slots}, sign_off: none{more}}}\n"


def agent(path: str) -> str:
    return f"mkdir -p $(dirname {path}) && echo x > {path}"


def held(world, *slugs: str, check: str = "'true'", slots: int = 2, more: str = "", **commands: str) -> None:
    """Changes that are ready and held, so that the train finds all of them at once."""
    world.write("interlock.yaml", TWO.format(check=check, slots=slots, more=more))
    for slug in slugs:
        world.card(slug, command=commands.get(slug, agent(f"{slug}/x")))
    world.push()
    world.cli("dispatch", *slugs)
    for slug in slugs:
        world.cli("train", "hold", slug, "--reason", "together")
    world.cli("run")


def go(world, *slugs: str):
    for slug in slugs:
        world.cli("train", "add", slug)
    return world.cli("run")


def rules(world) -> dict[str, str]:
    return {job["slug"]: job["waits_for"] for job in world.ask("status")["jobs"]}


def check_landed(world, *slugs: str) -> None:
    landed = world.ask("train", "show")["landed"]
    assert set(slugs) == {row["slug"] for row in landed}
    assert all(row["tree"] == row["tested_tree"] for row in landed)
    tested = {row["commit"] for row in landed}
    line = world.git("rev-list", "--first-parent", "HEAD", at=world.remote).splitlines()
    assert tested <= set(line)
    assert world.git("rev-parse", "HEAD", at=world.remote) == landed[-1]["commit"]


def test_two_slots_land_what_is_green_and_put_out_the_red_one(world):
    slugs = "abcde"
    log = world.root / "runs"
    held(world, *slugs, check=json.dumps(f"echo $INTERLOCK_TRAIN >> {log}; test ! -e c/x"))
    go(world, *slugs)
    check_landed(world, *"abde")
    assert rules(world)["c"] in ("red-alone", "red-together"), "By which of its runs was first."
    assert "c/x" not in world.main_files()


def test_three_slots_find_the_pair_that_is_red_together_and_the_older_one_lands(world):
    held(world, *"abcd", check=json.dumps("test ! -e b/x || test ! -e d/x"), slots=3)
    go(world, *"abcd")
    check_landed(world, *"abc")
    (job,) = world.ask("status")["jobs"]
    assert ("d", "red-together") == (job["slug"], job["waits_for"])
    (asked,) = world.ask("status")["needs_a_person"]
    assert "ed together with" in asked["what"]
    named = asked["what"].partition("with ")[2].partition(", which")[0].split(", ")
    assert "b" in named
    assert named == ["b"] or "among these; which of them, no run shows." in asked["what"], "No more than was seen."


def test_two_runs_are_really_made_at_the_same_time(world):
    """Each run waits until another one is there, so that a train of one slot would never end well."""
    meet = world.root / "meet"
    meet.mkdir()
    meet.chmod(0o777)
    check = f"mktemp -p {meet} >/dev/null; for i in $(seq 200); do test $(ls {meet} | wc -l) -ge 2 && exit 0; sleep 0.05; done; exit 1"
    held(world, "a", "b", check=json.dumps(check))
    go(world, "a", "b")
    check_landed(world, "a", "b")


def test_a_change_that_does_not_merge_is_told_and_the_others_go_on(world):
    world.write("a/x", "one\n")
    held(world, "a", "c", a="echo a > a/x")
    world.write("a/x", "by hand\n")
    world.push("by hand")
    go(world, "a", "c")
    check_landed(world, "c")
    assert {"a": "text-conflict"} == rules(world)
    (asked,) = world.ask("status")["needs_a_person"]
    assert "does not merge with the default branch: a/x." in asked["what"]


def test_who_becomes_ready_joins_the_train_that_is_in_test(world):
    held(world, "a", "b", "late", check=json.dumps("sleep 0.5"))
    for slug in ("a", "b"):
        world.cli("train", "add", slug)
    world.cli("train", "add", "late")
    world.cli("run")
    check_landed(world, "a", "b", "late")
    assert {1} == {row["train"] for row in world.ask("train", "show")["landed"]}


def test_a_solo_change_is_tested_and_lands_by_itself(world):
    """A migration beside slices: no run holds it and another."""
    check = json.dumps("true")
    world.write("interlock.yaml", TWO.format(check=check, slots=2, more=""))
    world.card("a", command=agent("a/x"))
    world.card("m", command=agent("migrations/m"), klass="migration", owns='["migrations/**"]')
    world.card("b", command=agent("b/x"))
    world.push()
    for slug in "amb":
        world.cli("dispatch", slug)
        world.cli("train", "hold", slug, "--reason", "together")
    world.cli("run")
    go(world, *"amb")
    check_landed(world, *"amb")
    landings = {row["slug"]: row["commit"] for row in world.ask("train", "show")["landed"]}
    assert 1 == list(landings.values()).count(landings["m"])
    show = world.git("show", "-s", "--format=%P", landings["m"], at=world.remote)
    assert 2 == len(show.split())


def test_a_red_head_is_tried_again_and_the_flake_is_on_the_record(world):
    mark = world.root / "seen"
    held(world, "a", check=json.dumps(f"test -e {mark} || {{ touch {mark}; exit 1; }}"))
    world.root.chmod(0o777)
    go(world, "a")
    check_landed(world, "a")
    (flake,) = world.ask("train", "show")["flakes"]
    assert (["a"], True) == (flake["members"], bool(flake["tests"]))
    assert "flaky: " in world.cli("train", "show").stdout


@pytest.mark.parametrize("slots", [1, 2])
def test_a_head_that_fails_again_and_again_is_put_out_after_so_many_and_the_others_land(world, slots):
    held(world, *"abc", check=json.dumps("test ! -e a/x"), slots=slots, more=", retries: 2")
    go(world, *"abc")
    check_landed(world, "b", "c")
    (asked,) = world.ask("status")["needs_a_person"]
    assert ("a", "red-alone") == (asked["slug"], asked["rule"])


@pytest.mark.parametrize("slots", [1, 3])
def test_a_semantic_pair_hidden_in_five_is_named_by_symbol_and_file_and_the_older_one_lands(world, slots):
    """One renames a function, another one calls it by its old name in a new file; each is green alone."""
    log = world.root / "runs"
    world.root.chmod(0o777)
    world.write("b/lib.py", "def load(path):\n    return path\n")
    world.write("d/keep.py", "")
    check = f"echo run >> {log}; for f in d/use.py; do test ! -e $f || PYTHONPATH=. python3 $f; done"
    world.write("interlock.yaml", TWO.format(check=json.dumps(check), slots=slots, more=""))
    commands = {
        "b": "sed -i 's/def load/def load_from/' b/lib.py",
        "d": "printf 'from b.lib import load\\n\\nprint(load(1))\\n' > d/use.py",
    }
    for slug in "abcde":
        world.card(slug, command=commands.get(slug, agent(f"{slug}/x")), checks=(check,))
    world.push()
    world.cli("dispatch", *"abcde")
    for slug in "abcde":
        world.cli("train", "hold", slug, "--reason", "together")
    world.cli("run")
    before = len(log.read_text().splitlines())
    go(world, *"abcde")
    runs = len(log.read_text().splitlines()) - before
    check_landed(world, *"abce")
    (asked,) = world.ask("status")["needs_a_person"]
    assert ("d", "red-together") == (asked["slug"], asked["rule"])
    assert "ed together with b, which lands first." in asked["what"]
    assert "load in " in asked["what"]
    assert "d/use.py" in asked["what"] or "b/lib.py" in asked["what"]
    assert runs <= 5 or slots > 1


def test_one_that_is_red_with_what_landed_meanwhile_is_told_which_of_it(world):
    """The others of its kind landed before it was tested at all; prediction names the one, on the base that both began on."""
    world.write("b/lib.py", "def load(path):\n    return path\n")
    world.write("d/keep.py", "")
    check = "for f in d/use.py; do test ! -e $f || PYTHONPATH=. python3 $f; done"
    held(
        world,
        *"abcd",
        check=json.dumps(check),
        b="sed -i 's/def load/def load_from/' b/lib.py",
        d="printf 'from b.lib import load\\n\\nprint(load(1))\\n' > d/use.py",
    )
    go(world, *"abc")
    check_landed(world, *"abc")
    go(world, "d")
    (asked,) = world.ask("status")["needs_a_person"]
    assert ("d", "red-together") == (asked["slug"], asked["rule"])
    assert "Green alone, red together with b, which lands first." in asked["what"]
    seen = asked["what"].partition("That it is this one is predicted; it was seen red with ")[2].partition(".")[0]
    assert sorted(seen.split(", ")) == ["a", "b", "c"]
    assert "Suspected: load in " in asked["what"]


# ---------------------------------------------------------------- runs that are of no use any more
SLOW = "test -e a/x && test -e b/x && {{ until test -e {pid}; do sleep 0.05; done; exit 0; }}; sh -c 'echo $$ > {pid}; exec sleep 900'"
"""Each change alone takes for ever, and both together pass once that has begun: then what runs of the first one is of no use."""


def is_alive(pid: int) -> bool:
    """Whether that process is there and is the one that was meant."""
    return Path(f"/proc/{pid}/cmdline").exists() and b"sleep" in Path(f"/proc/{pid}/cmdline").read_bytes()


def running(world) -> subprocess.Popen[bytes]:
    """``interlock run`` beside the test."""
    words = [sys.executable, "-m", "interlock", "run"]
    return subprocess.Popen(words, cwd=world.repo, env=world.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def train_events(world) -> list[Event]:
    return list(open_ports(world.repo).store.events("train:1"))


def test_a_run_that_is_of_no_use_any_more_is_ended_and_nothing_of_it_is_believed(world):
    pid = world.root / "pid"
    world.root.chmod(0o777)
    held(world, "a", "b", check=json.dumps(SLOW.format(pid=pid)))
    go(world, "a", "b")
    check_landed(world, "a", "b")
    events = train_events(world)
    (cancelled,) = [event for event in events if event.kind == "train.cancelled"]
    job = cancelled.data["members"]
    assert len(job) == 1
    assert job not in [event.data["members"] for event in events if event.kind == "train.ran"]
    assert not pid.exists() or not is_alive(int(pid.read_text())), "Its process is gone."
    train = open_ports(world.repo).store.train(1)
    assert train is not None
    assert not train.running


def test_killed_while_a_useless_run_goes_on_it_heals_and_the_run_is_cancelled(world):
    pid, green = world.root / "pid", world.root / "go"
    world.root.chmod(0o777)
    slow = SLOW.format(pid=pid).replace(f"-e {pid};", f"-e {green};")
    held(world, "a", "b", check=json.dumps(slow))
    for slug in ("a", "b"):
        world.cli("train", "add", slug)
    with running(world) as first:
        wait_until(lambda: pid.exists() and pid.read_text().strip())
        first.kill()
    green.touch()
    world.cli("run")
    check_landed(world, "a", "b")
    kinds = [(event.kind, len(event.data.get("members", ()))) for event in train_events(world)]
    assert ("train.ran", 1) not in kinds
    wait_until(lambda: not is_alive(int(pid.read_text())))


@pytest.mark.parametrize("slots", [1, 2])
def test_a_run_of_a_change_that_a_person_holds_meanwhile_is_ended_and_the_others_land(world, slots):
    pid = world.root / "pid"
    world.root.chmod(0o777)
    slow = f"test -e a/x || exit 0; sh -c 'echo $$ > {pid}; exec sleep 900'"
    held(world, "a", "b", check=json.dumps(slow), slots=slots)
    for slug in ("a", "b"):
        world.cli("train", "add", slug)
    with running(world) as run:
        wait_until(lambda: pid.exists() and pid.read_text().strip())
        world.cli("train", "hold", "a", "--reason", "it is wrong")
        assert run.wait(timeout=60) == 0
    check_landed(world, "b")
    assert not is_alive(int(pid.read_text()))
    assert "train.cancelled" in [event.kind for event in train_events(world)]
