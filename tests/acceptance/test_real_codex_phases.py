"""A real Codex, sealed: it splits a plan into cards, and does one of them in two phases joined by what it said last."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.integration.agents.codexes import needs_codex
from tests.needs import needs_sandbox

from interlock.testing.models import Say, ScriptedModels, Write
from interlock.testing.world import World

pytestmark = [needs_sandbox, needs_codex, pytest.mark.long, pytest.mark.timeout(240)]

POLICY = """\
train: {{checks: ['true'], sign_off: none}}
models: {{scripted: {{url: '{url}', dialects: [responses]}}}}
prices: {{gpt-5.5: {{input: 1, output: 10}}}}
agent: {{use: codex, model: gpt-5.5}}
classes: {{planned: {{kind: parallel, phases: [plan, implement]}}}}
"""
CARD = """\
slug: notes
class: planned
goal: Write notes
accepted_plan: docs/plan.md
owned_paths: ["notes/**"]
checks: ['true']
stop_when: [a change outside owned_paths is needed]
integration_owner: TBD
"""


def test_codex_splits_a_plan_and_plans_before_it_writes(tmp_path: Path) -> None:
    with ScriptedModels() as models:
        url = models.play("split", Write("early.md", "x\n"), Say(f"```yaml\n{CARD}```"))
        world = World.make(tmp_path / "w", policy=POLICY.format(url=url), caps="planned 1\n", level="sealed")
        world.write("docs/plan.md", "Write notes.\n")
        world.push()
        made = world.ask("card", "split", "docs/plan.md")
        assert made["cards"] == [{"slug": "notes", "owner": None}]
        assert made["runs"][0]["usage"]["output"] > 0
        world.cli("card", "accept", made["proposal"], "--owner", "@ana")

        url = models.play("work", Write("notes/a.md", "hello\n"), Say("Write a.md, then stop."))
        world.write("interlock.yaml", POLICY.format(url=url))
        world.push("the card")
        world.cli("dispatch", "notes")
        world.cli("run")
        shown = world.ask("show", "notes")
        assert shown["state"] == "landed"
        plan, work = shown["attempts"]
        assert (plan["phase"], plan["state"], plan["pack"]["from"]) == ("plan", "phased", "last-text")
        assert (plan["effort"], work["effort"]) == ("high", "medium")
        assert plan["usd"] > 0
        prompt = (Path(shown["record"]) / "attempts" / "2" / "prompt.md").read_text()
        assert "## From the phase plan (attempt 1, 22 bytes)\n\nWrite a.md, then stop." in prompt
        assert world.git("show", "HEAD:notes/a.md", at=world.remote) == "hello"
        assert "early.md" not in world.main_files()
