"""A class with every phase, through the real run: packs handed on, a review that objects, and a plan that may not write."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import pytest

from interlock.testing.world import World

pytestmark = pytest.mark.long

POLICY = """\
train: {checks: ['true'], sign_off: none}
rules: {files: ["docs/rules.md"]}
classes:
  full:
    kind: parallel
    phases: [research, plan, test-plan, review-tests, implement, verify, summarise]
  planned: {kind: parallel, phases: [plan, implement]}
"""
AGENT = """\
import os, pathlib, shutil, subprocess, sys

def pack(text):
    subprocess.run(["interlock-task", "pack", "-"], input=text.encode(), check=True)

root, mode = pathlib.Path(sys.argv[1]), sys.argv[2]
phase = os.environ["INTERLOCK_PHASE"]
shutil.copy(os.environ["INTERLOCK_PROMPT_FILE"], root / f"{mode}-{os.environ['INTERLOCK_ATTEMPT_NUMBER']}-{phase}")
out = pathlib.Path(mode)
match phase:
    case "plan" if mode == "w":
        out.mkdir()
        (out / "x").write_text("early")
        pack("a plan")
    case "review-tests":
        asked = root / "asked"
        pack("verdict: accept" if asked.exists() else "verdict: object\\nNothing tests an empty file.")
        asked.touch()
    case "implement":
        out.mkdir(exist_ok=True)
        (out / "x").write_text("1")
    case "verify":
        (out / "x").write_text("2")
    case _:
        pack(f"what {phase} found " + "and more " * 3)
if phase in ("implement", "verify"):
    pack(f"done in {phase}")
"""


def test_seven_phases_with_packs_a_review_that_objects_and_a_plan_that_writes(tmp_path: Path) -> None:
    world = World.make(tmp_path / "w", policy=POLICY, caps="full 2\nplanned 2\n")
    seen = tmp_path / "seen"
    seen.mkdir()
    (tmp_path / "agent.py").write_text(AGENT)
    world.write("docs/rules.md", "Be kind to files.\n")
    for slug, klass in (("t", "full"), ("w", "planned")):
        world.card(slug, klass=klass, command=f"{sys.executable} {tmp_path / 'agent.py'} {seen} {slug}")
    world.push()
    world.cli("dispatch", "t", "w")
    world.cli("run", code=None)

    # a phase that may only read and writes all the same is refused, and nothing of it lands
    wrote = world.ask("show", "w")
    assert (wrote["state"], wrote["waiting"]["rule"]) == ("waiting", "phase-wrote")
    assert not any(path.startswith("w/") for path in world.main_files())

    # the review objects: what it says is asked, and the job waits
    shown = world.ask("show", "t")
    assert (shown["state"], shown["waiting"]["rule"]) == ("waiting", "test-plan")
    assert "Nothing tests an empty file." in shown["waiting"]["what"]
    assert shown["phases"] == ["research", "plan", "test-plan"]
    world.cli("decide", "t", "Test the empty file too.")
    world.cli("run")

    shown = world.ask("show", "t")
    assert shown["state"] == "landed"
    rows = [(row["attempt"], row["phase"], row["state"]) for row in shown["attempts"]]
    assert rows == [
        (1, "research", "phased"),
        (2, "plan", "phased"),
        (3, "test-plan", "phased"),
        (4, "review-tests", "ended"),
        (5, "test-plan", "phased"),
        (6, "review-tests", "phased"),
        (7, "implement", "phased"),
        (8, "verify", "phased"),
        (9, "summarise", "worked"),
    ]
    assert world.git("show", "HEAD:t/x", at=world.remote) == "2"

    # packs are kept with digest and size, and handed on
    record = Path(shown["record"])
    for row in shown["attempts"]:
        text = (record / "attempts" / str(row["attempt"]) / "pack.md").read_bytes()
        assert row["pack"]["bytes"] == len(text)
        assert row["pack"]["digest"] == hashlib.sha256(text).hexdigest()
        assert row["handed"][0]["path"] == "docs/rules.md"
    prompts = {path.name: path.read_text() for path in seen.glob("t-*")}
    assert (
        f"## From the phase research (attempt 1, {shown['attempts'][0]['pack']['bytes']} bytes)" in prompts["t-2-plan"]
    )
    implement = prompts["t-7-implement"]
    for part in ("what research found", "what plan found", "what test-plan found", "Be kind to files.", "t/**"):
        assert part in implement
    assert implement.index("what research") < implement.index("what plan") < implement.index("what test-plan")
    assert "done in implement" in prompts["t-8-verify"]
    assert "what plan found" not in prompts["t-4-review-tests"]
    assert "what test-plan found" in prompts["t-4-review-tests"]
    assert "Test the empty file too." in prompts["t-5-test-plan"]
    assert "Nothing tests an empty file." in prompts["t-5-test-plan"]
    assert json.dumps(shown)  # the whole answer is plain JSON
