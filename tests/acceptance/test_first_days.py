"""What somebody meets in an empty repository, after a landing, and where a gate comes to no verdict: words that lead on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from interlock.app.init import detect
from interlock.testing.world import World
from interlock.wiring import found_in_tasks

pytestmark = pytest.mark.long


def last(text: str) -> str:
    return text.splitlines()[-1]


def test_without_a_commit_nobody_is_sent_where_nothing_can_be_fetched(tmp_path: Path) -> None:
    world = World.make(tmp_path)
    for verb in ("audit", "idle"):
        told = world.cli(verb, code=1).stderr
        assert "Push a first commit to the default branch" in told
    assert json.loads(world.cli("audit", "--json", code=1).stdout)["holds"] is False


def test_status_leads_to_a_card_where_there_is_none_and_to_its_dispatch_where_there_is(tmp_path: Path) -> None:
    world = World.make(tmp_path)
    assert last(world.cli("status").stdout) == "next: interlock card new SLUG --class CLASS"
    world.card("a", command="mkdir -p a && echo 1 > a/x")
    assert last(world.cli("status").stdout) == "next: interlock dispatch --ready", "a card at hand, never fetched"
    world.push()
    world.cli("card", "check")
    assert last(world.cli("status").stdout) == "next: interlock dispatch --ready"
    world.cli("dispatch", "a")
    assert last(world.cli("status").stdout) == "next: interlock run"
    world.cli("run")
    assert last(world.cli("status").stdout) == "next: interlock card new SLUG --class CLASS", "all landed"
    assert last(world.cli("status", "--all").stdout) == "next: interlock card new SLUG --class CLASS"
    assert "card new" in last(world.cli("status", at=world.remote).stdout), "a bare one, never fetched, has no folder"
    landed = world.cli("up", "a", code=2).stderr
    assert "a has landed" in landed
    assert last(landed) == "hint: interlock show a"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("scope", "none", "--base", "main", "--head", "main"), {"ok": False, "violations": []}),
        (("scope", "none", "--head", "nowhere"), {"ok": False, "violations": []}),
        (("verify", "none"), {"verified": False, "checks": []}),
        (("card", "check", "--here"), {"ready": False, "problems": [], "overlaps": [], "order": []}),
        (("policy", "branch", "/dev/null"), {"ok": False}),
        (("policy", "checks", "/dev/null", "--commit", "0" * 40, "--require", "x"), {"ok": False}),
        (("audit", "none"), {"holds": False}),
    ],
)
def test_a_gate_without_a_verdict_says_no_in_its_own_words(
    tmp_path: Path, words: tuple[str, ...], told: dict[str, object]
) -> None:
    world = World.make(tmp_path)
    world.push()
    at = world.remote if words[0] == "card" else world.repo
    answer = json.loads(world.cli(*words, "--json", code=None, at=at).stdout)
    assert {name: answer[name] for name in told} == told
    assert {"code", "message", "hint"} <= set(answer)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "it is not there."),
        (b"{", "it is no JSON in line 1, column 2."),
        (b"\xff\xfe", "it is no"),
        (b"[]", "its parts are not what they should be."),
        (b"{}", "it has no format."),
        (b'{"format": "interlock-history/1"}', "it has no events."),
        (b"[" * 100_000, "it is nested too deep."),
    ],
)
def test_a_file_that_is_no_history_is_refused_in_words(tmp_path: Path, text: bytes | None, said: str) -> None:
    world = World.make(tmp_path)
    file = tmp_path / "given"
    if text is not None:
        file.write_bytes(text)
    told = json.loads(world.cli("audit", "--bundle", str(file), "--json", code=2).stdout)["message"]
    assert told.startswith(f"{file} is no exported history: {said}")
    assert told.endswith(".")
    assert not told.endswith("..")
    keys = json.loads(world.cli("audit", "--keys", str(file), "--json", code=2).stdout)["message"]
    assert keys.startswith(str(file))
    assert keys.endswith(".")
    for raw in ("Errno", "codec", "char 0", "'format'"):
        assert raw not in told + keys


def test_one_is_not_told_as_many(tmp_path: Path) -> None:
    world = World.make(tmp_path)
    world.card("a", command="mkdir -p a && echo 1 > a/x")
    world.push()
    world.cli("dispatch", "a")
    world.cli("run")
    target = tmp_path / "history.json"
    told = world.cli("audit", "a").stdout + world.cli("audit", "--export", str(target)).stdout
    assert "2 rows of evidence" in told
    assert "1 landing," in told
    assert "1 key." in told
    for wrong in (" 1 rows", " 1 landings", " 1 keys", " 1 files", " 1 events"):
        assert wrong not in told


def test_init_names_the_python_that_a_task_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools, shims = tmp_path / "tools", tmp_path / "home" / "shims"
    for folder, names in ((tools, ("python3",)), (shims, ("python", "go"))):
        folder.mkdir(parents=True)
        for name in names:
            (folder / name).write_text("#!/bin/sh\n")
            (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{shims}:{tools}")
    monkeypatch.setenv("INTERLOCK_TOOLS", str(tools))
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    finds = found_in_tasks()
    assert [finds(name) for name in ("python", "python3", "go")] == [False, True, False]
    found = detect(frozenset({"pyproject.toml"}), finds)
    assert (found.check, found.absent) == ("python3 -m pytest -q", None)
    assert detect(frozenset({"pyproject.toml"})).check == "python -m pytest -q"
    assert detect(frozenset({"pyproject.toml"}), lambda _: False).absent == "python"
    assert detect(frozenset({"go.mod"}), finds).absent == "go"
    assert detect(frozenset({"README.md"}), finds).absent is None


def test_init_tells_which_program_a_sealed_task_would_not_find(tmp_path: Path) -> None:
    world = World.make(tmp_path)
    (world.repo / "interlock.yaml").unlink()
    world.write("Cargo.toml", "")
    told = world.cli("init", "--yes").stdout
    if detect(frozenset({"Cargo.toml"}), found_in_tasks()).absent is None:
        pytest.skip("Every task of this machine finds cargo.")
    assert "A sealed task finds no cargo on this machine, so cargo test would end with 127 there." in told
    assert "finds no" not in world.cli("init", "--yes").stdout, "nothing is proposed any more"


def test_restore_leads_on(tmp_path: Path) -> None:
    world = World.make(tmp_path)
    world.card("a", command="mkdir -p a && echo 1 > a/x")
    world.push()
    world.cli("dispatch", "a")
    world.cli("decide", "a", "--abandon", "--reason", "x")
    world.cli("clean", "a")
    assert last(world.cli("restore", "a").stdout) == "next: interlock shell a"
    assert Path(world.ask("show", "a")["workspace"]).is_dir()


def test_what_waits_for_an_approval_says_the_one_command_that_lets_it_go_on(tmp_path: Path) -> None:
    policy = "train: {checks: ['true'], sign_off: none}\nsecrets: {TOKEN: {command: 'echo tok-1', approval: deploy}}\n"
    world = World.make(tmp_path, policy=policy)
    world.card("a", command="mkdir -p a && echo 1 > a/x", extra="needs: {secrets: [TOKEN]}\n")
    world.push()
    world.cli("dispatch", "a")
    world.cli("run")
    (item,) = world.ask("inbox", code=1)["needs_a_person"]
    assert item["ask"] == "interlock decide a --approve deploy."
    inside = World(world.root)
    told = inside.start(("decide", "a", "--approve", "deploy"), world.repo, {**world.env, "INTERLOCK_JOB": "j1"})
    assert "unset INTERLOCK_JOB there" in told.stderr
    world.cli("decide", "a", "--approve", "deploy")
    world.cli("run")
    assert "a/x" in world.main_files()
