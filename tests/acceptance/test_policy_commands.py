"""interlock policy: the routing in force with its reasons, and the rules that agents are handed, stale ones flagged."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.testing.world import World

POLICY = """\
train: {checks: ['true'], sign_off: none}
agent: {use: codex}
classes:
  docs: {kind: parallel, phases: [plan, implement], agent: {use: claude, effort: high}}
routes:
  - {class: tests, phase: implement, use: claude, model: haiku}
rules: {files: ["docs/rules/**"], stale_days: 30, most_bytes: 380}
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    made = World.make(tmp_path_factory.mktemp("w"), policy=POLICY)
    old = {"GIT_AUTHOR_DATE": "2026-01-01T12:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T12:00:00Z"}
    made.write("docs/rules/old.md", "Be kind.\n")
    made.git("add", "-A")
    _git(made, old, "commit", "-q", "-m", "old")
    made.write("docs/rules/fresh.md", "See `src/gone.py`.\n")
    made.write("AGENTS.md", "An index.\n")
    made.write("CLAUDE.md", "x" * 350)
    made.write("src/a.py", "")
    made.card("t", klass="docs", command="true", extra="risk: low\n")
    text = (made.repo / "tasks/t.yaml").read_text()
    made.write("tasks/t.yaml", text.replace('agent: {use: command, command: "true"}\n', "agent: {model: opus}\n"))
    made.push()
    return made


def _git(world: World, env: dict[str, str], *words: str) -> None:
    import subprocess

    subprocess.run(["git", *words], cwd=world.repo, env={**world.env, **env}, check=True)


def test_what_is_in_force_is_shown_with_its_reason(world: World) -> None:
    found = world.ask("policy", "routes")["routes"]
    assert [(each["class"], each["phase"]) for each in found if each["class"] in ("tests", "docs")] == [
        ("tests", "implement"),
        ("docs", "plan"),
        ("docs", "implement"),
    ]
    tests, plan, _ = (each for each in found if each["class"] in ("tests", "docs"))
    assert (tests["agent"], tests["model"], tests["tier"]) == ("claude", "haiku", None)
    assert (plan["agent"], plan["model"], plan["effort"], plan["tier"]) == ("claude", "opus", "high", "frontier")
    (migration,) = (each for each in found if each["class"] == "migration")
    assert (migration["agent"], migration["effort"]) == ("codex", "high")
    assert (
        migration["why"]
        == "Agent codex by the class or policy; frontier, since others stand on what it changes: effort high."
    )
    (fix,) = (each for each in found if each["class"] == "bug-fix")
    assert (fix["effort"], fix["retry"]["effort"]) == ("medium", "high")
    shown = world.cli("policy", "routes").stdout
    assert "others stand on what it changes" in shown


def test_a_cards_own_phases_are_shown(world: World) -> None:
    found = world.ask("policy", "routes", "t")["routes"]
    assert [(each["phase"], each["model"], each["effort"]) for each in found] == [
        ("plan", "opus", "high"),
        ("implement", "opus", "high"),
    ]
    assert "model opus by the card" in found[0]["why"]
    assert world.ask("policy", "routes", "none", code=2)["code"] == "misuse"


def test_rules_are_shown_with_their_size_and_the_stale_ones_flagged(world: World) -> None:
    codex, claude = world.ask("policy", "rules", code=1)["agents"]
    assert [(each["path"], each["how"], each["bytes"]) for each in codex["files"]] == [
        ("docs/rules/fresh.md", "prompt", 19),
        ("docs/rules/old.md", "prompt", 9),
        ("AGENTS.md", "client", 10),
    ]
    fresh, old, index = codex["files"]
    assert fresh["stale"] == "names src/gone.py, which is not there"
    assert old["stale"].startswith("did not change for ")
    assert index["stale"] == ""
    assert len(old["digest"]) == 64
    assert codex["refusal"] is None
    assert claude["refusal"]["rule"] == "rules-size"
    assert world.ask("policy", "rules", "--agent", "codex")["agents"] == [codex]
    shown = world.cli("policy", "rules", code=1).stdout
    assert "stale: did not change for" in shown
    assert "refused (rules-size): The rules handed over have" in shown


def test_a_policy_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    broken = World.make(tmp_path / "w", policy="routes: [{tier: dear}]\n")
    broken.push()
    assert broken.ask("policy", "routes", code=1)["problems"][0]["line"] == 1


def test_a_morning_after_nothing_says_that_nothing_was_spent(world: World) -> None:
    told = world.cli("report", "--morning").stdout
    assert "No attempt ended in 16 h." in told
    assert "unknown" not in told
