"""At level sealed a phase that may only read cannot write its tree, and hands on all the same; so does the run that splits a plan."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.needs import needs_sandbox

from interlock.testing.world import World

pytestmark = [needs_sandbox, pytest.mark.long]

POLICY = """\
train: {checks: ['true'], sign_off: none}
agent: {use: command, command: bash agents/split.sh}
classes:
  planned: {kind: parallel, phases: [plan, implement]}
"""
PHASES = """\
if [ "$INTERLOCK_PHASE" = plan ]; then
  mkdir p 2> /dev/null && echo a read-only phase wrote > p/x
  echo x > early 2> /dev/null && echo early
  echo "the tree is $(touch early 2> /dev/null && echo open || echo shut)" | interlock-task pack -
else
  mkdir -p p && grep -o 'the tree is [a-z]*' "$INTERLOCK_PROMPT_FILE" | head -1 > p/said
fi
"""
SPLIT = """\
touch early 2> /dev/null && echo early
test -f docs/plan.md || exit 1
interlock-task pack - <<END
slug: one
class: tests
goal: "$(touch early 2> /dev/null && echo open || echo shut)"
accepted_plan: docs/plan.md
owned_paths: [src/one/**]
checks: [pytest -q]
stop_when: [a change outside owned_paths is needed]
integration_owner: TBD
END
"""


def test_reading_phases_cannot_write(tmp_path: Path) -> None:
    world = World.make(tmp_path / "w", policy=POLICY, caps="planned 1\n", level="sealed")
    world.write("agents/p.sh", PHASES)
    world.write("agents/split.sh", SPLIT)
    world.write("docs/plan.md", "Build one.\n")
    world.card("p", klass="planned", command="bash agents/p.sh")
    world.push()
    assert world.ask("dispatch", "p")["level"] == "sealed"
    world.cli("run")
    assert world.git("show", "HEAD:p/said", at=world.remote) == "the tree is shut"
    rows = world.ask("show", "p")["attempts"]
    assert [(row["phase"], row["state"]) for row in rows] == [("plan", "phased"), ("implement", "worked")]

    made = world.ask("card", "split", "docs/plan.md")
    assert made["ready"] is True
    assert 'goal: "shut"' in (Path(made["folder"]) / "one.yaml").read_text()
