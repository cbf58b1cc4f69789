"""A real Codex does a task from its card to the default branch, sealed, with its key behind the gateway; another one breaks its card."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.integration.agents.codexes import needs_codex
from tests.needs import needs_sandbox

from interlock.testing.models import Run, Say, ScriptedModels, Write
from interlock.testing.world import World

pytestmark = [needs_sandbox, needs_codex, pytest.mark.long, pytest.mark.timeout(240)]

KEY = "sk-scripted-key-that-stays-outside"
POLICY = """\
train: {{checks: ['true'], sign_off: none}}
secrets: {{SCRIPTED_KEY: {{file: '{key}'}}}}
models: {{scripted: {{url: '{url}', dialects: [responses], key: SCRIPTED_KEY}}}}
agent: {{use: codex, model: gpt-5.5}}
"""
CARD = """\
slug: {slug}
class: vertical-slice
goal: Do {slug}
owned_paths: ["{slug}/**"]
checks: ['true']
done_when: [the checks pass]
stop_when: [a change outside owned_paths is needed]
integration_owner: "@ana"
"""
SEARCH = """\
p=sk-scripted; mkdir -p life
{ cat /proc/*/environ | tr '\\0' '\\n' | grep -c "$p-key"; grep -rla "$p-key" /ws /home /run /tmp /etc /var /root; env; } \
  > life/found 2> /dev/null
true
"""
"""Looks everywhere for the key without naming it in one piece, since a client writes its own commands down."""

BESIDE = 'python3 -c \'import os; os.makedirs("life", exist_ok=True); open("life/by-shell", "w").write("x")\''


def test_a_card_of_codex_lands_without_a_key_inside_and_one_that_breaks_its_card_does_not(tmp_path: Path) -> None:
    """Both get the same model, which writes into ``life``: the paths of one card, and not of the other."""
    with ScriptedModels() as models:
        url = models.play("life", Write("life/notes.md", "hello\n"), Run(SEARCH), Run(BESIDE), Say("Done."), key=KEY)
        (tmp_path / "key").write_text(KEY)
        (tmp_path / "key").chmod(0o600)
        world = World.make(tmp_path / "w", policy=POLICY.format(key=tmp_path / "key", url=url), level="sealed")
        for slug in ("life", "other"):
            world.write(f"tasks/{slug}.yaml", CARD.format(slug=slug))
        world.push()
        for slug in ("life", "other"):
            assert world.ask("dispatch", slug)["level"] == "sealed"
        world.cli("run", code=None)

        def at(path: str) -> str:
            return world.git("show", f"HEAD:{path}", at=world.remote)

        assert {path for path in world.main_files() if not path.startswith("tasks/")} == {
            "interlock.yaml",
            "life/by-shell",
            "life/found",
            "life/notes.md",
        }
        assert at("life/notes.md") == "hello"
        assert at("life/found").splitlines()[0] == "0"
        assert KEY not in at("life/found")
        assert "INTERLOCK_MODEL_KEY" not in at("life/found")
        assert {call.auth for call in models.journal.of("life")} == {KEY}

        life, other = world.ask("show", "life"), world.ask("show", "other")
        assert (life["state"], life["session"]["agent"]) == ("landed", "codex")
        assert life["session"]["usage"] == {
            "uncached_input": 3200,
            "cache_read": 800,
            "cache_write": 0,
            "output": 200,
            "reasoning": 40,
        }
        assert (other["state"], other["waiting"]["rule"]) == ("waiting", "outside")
        assert KEY not in str((life, other))
