"""The real Claude Code inside our walls, behind the gateway and under the runner, and a card that it lands; opt-in as test_real_claude."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from tests.integration.agents.claude_runs import ENV, HOWTO
from tests.integration.agents.codexes import KEY, Codex, a_sealed
from tests.needs import needs_sandbox

from interlock.core.agent.gateway import ModelGateway
from interlock.core.agent.usage import UNKNOWN, Price, Usage
from interlock.core.contract.card import AgentChoice
from interlock.ports.agents import Assignment, Reading
from interlock.ports.processes import End
from interlock.testing.models import Loop, Run, Say, ScriptedModels, Write
from interlock.testing.world import World

pytestmark = [pytest.mark.skipif(not os.environ.get(ENV), reason=HOWTO), needs_sandbox]

ONE = Usage(uncached_input=800, cache_read=200, cache_write=0, output=50, reasoning=0)
DUMP = "env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'; cat $(find $HOME -type f | head -50) 2>/dev/null; true"


class Claude(Codex):
    """The same place, with Claude Code in it."""

    def assignment(self, number: int = 1, **more: object) -> Assignment:
        return super().assignment(number, **{"choice": AgentChoice(use="claude"), **more})

    def gateway(self, number: int) -> ModelGateway:
        made = super().gateway(number)
        (upstream,) = made.upstreams
        return replace(
            made,
            upstreams=(replace(upstream, dialects=("anthropic",)),),
            prices={"claude-opus-5-5": Price(input=4, output=20, cache_read=0.2)},
        )

    def read(self, end: End, number: int = 1, *, before: Usage = UNKNOWN) -> Reading:
        return self.agents.read("claude", self.folder(number), end, before=before, usd_before=None)


@pytest.fixture
def models() -> Iterator[ScriptedModels]:
    with ScriptedModels() as server:
        yield server


@pytest.fixture(autouse=True)
def on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``claude`` on PATH, as an installed one is."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "claude").symlink_to(os.environ[ENV])
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


@pytest.fixture
def claude(models: ScriptedModels) -> Iterator[Claude]:
    with a_sealed(models, "sealed") as codex:
        yield Claude(codex.root, models, "sealed", codex.box)


def test_in_a_sealed_room_it_edits_and_finds_no_key(claude: Claude, models: ScriptedModels) -> None:
    models.play("sealed", Write("new.txt", "hi\n"), Run(DUMP), Say("All done."), key=KEY)
    end = claude.run()
    reading = claude.read(end)
    assert (end.how, end.exit_code, reading.outcome.kind) == ("exited", 0, "completed"), claude.output()[-2000:]
    assert (claude.tree / "new.txt").read_text() == "hi\n"
    assert reading.seen.usage == ONE + ONE + ONE
    # The vendor's key was shown to the vendor, and nothing inside ever held it.
    assert {each.auth for each in models.journal.of("sealed")} == {KEY}
    assert KEY.encode() not in claude.output()
    assert sorted(each.name for each in claude.tree.iterdir()) == ["new.txt"]


def test_a_phase_that_reads_cannot_write_even_with_a_command(claude: Claude, models: ScriptedModels) -> None:
    models.play("sealed", Run("echo x > new.txt"), Run("interlock-task note seen"), Say("I looked."))
    reading = claude.read(claude.run(writable=False))
    assert list(claude.tree.iterdir()) == []
    assert reading.seen.failed_tools == 1
    assert reading.outcome.kind == "completed"
    assert len(list((claude.root / "spool").rglob("*-note.json"))) == 1


def test_its_money_ends_it(claude: Claude, models: ScriptedModels) -> None:
    models.play("sealed", Loop())
    reading = claude.read(claude.run(usd_left=0.01))
    assert (reading.outcome.kind, reading.outcome.limit) == ("limit", "money")


def test_a_stop_gives_its_cost_and_leaves_nothing(claude: Claude, models: ScriptedModels) -> None:
    models.play("sealed", Run("touch started; python3 -c 'import time; time.sleep(300)'"), Say("Never."))
    ends: list[End] = []
    thread = threading.Thread(target=lambda: ends.append(claude.run()))
    thread.start()
    for _ in range(300):
        if (claude.tree / "started").exists():
            break
        time.sleep(0.1)
    claude.runs.cancel(claude.folder())
    thread.join(60)
    (end,) = ends
    reading = claude.read(end)
    assert (end.how, reading.outcome.kind) == ("cancelled", "cancelled")
    assert reading.seen.usage == ONE
    assert not [
        each for each in psutil.process_iter(["cmdline"]) if "time.sleep(300)" in " ".join(each.info["cmdline"] or ())
    ]


def test_it_lands_a_card_and_is_told_early_what_it_may_not(tmp_path: Path, models: ScriptedModels) -> None:
    steps = (Write("README.md", "x"), Write("a/new.txt", "hi\n"), Run("test -f a/new.txt"), Say("All done."))
    url = models.play("card", *steps, key=KEY)
    secret = tmp_path / "key"
    secret.write_text(KEY)
    secret.chmod(0o600)
    policy = (
        "train: {checks: ['true'], sign_off: none}\n"
        f"secrets: {{MODEL_KEY: {{file: {secret}}}}}\n"
        f"models: {{scripted: {{url: {json.dumps(url)}, dialects: [anthropic], key: MODEL_KEY}}}}\n"
    )
    world = World.make(tmp_path / "w", policy=policy, level="sealed")
    world.card("a", checks=("test -f a/new.txt",))
    card = world.repo / "tasks" / "a.yaml"
    card.write_text(card.read_text().replace('agent: {use: command, command: "true"}', "agent: {use: claude}"))
    world.push()
    world.cli("dispatch", "a")
    done = world.cli("run", code=None)
    assert "a/new.txt" in world.main_files(), done.stdout + done.stderr
    assert "README.md" not in world.main_files()
    shown = world.ask("show", "a")
    (attempt,) = shown["attempts"]
    assert (attempt["agent"], attempt["outcome"]) == ("claude", "denied")
    assert attempt["usage"]["output"] == 200
    assert "Write was refused: README.md." in [each["text"] for each in shown["history"]]
    record = Path(shown["record"])
    assert [path for path in record.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()] == []
