"""What a person is shown of an attempt's end: what a known agent's stream said, in lines; never the stream itself."""

from __future__ import annotations

import json
from pathlib import Path

from interlock.app.last_words import last_words
from interlock.app.show import show
from interlock.core.agent.packs import Pack
from interlock.core.job.events import NewEvent
from interlock.ports.processes import End

GOLDEN = Path(__file__).parents[1] / "integration" / "agents" / "golden" / "codex" / "edit.jsonl"


def test_a_known_agents_stream_is_told_a_pack_that_objects_is_shown_and_a_commands_lines_stay(world, town):
    world.card("a")
    world.push()
    town().dispatch("a")
    ports, job = town().ports, town().job("a")
    folder = ports.records.attempt(job.id, 1)
    folder.mkdir(parents=True, exist_ok=True)
    stream = json.dumps({"type": "x", "text": "y" * 900_000}) + "\n" + GOLDEN.read_text()
    (folder / "output.log").write_text(stream)
    ports.store.record(
        NewEvent(subject=job.id, attempt=1, step="start", kind="attempt.started", data={"agent": "codex"})
    )
    raw = "\n".join(("…cut here", *GOLDEN.read_text().splitlines(), "a line of no stream", "stderr: it broke"))
    end = End(how="exited", exit_code=1, seconds=1.0, tail=raw)
    lines = last_words(ports, town().job("a"), 1, end).splitlines()
    assert 2 < len(lines) <= 10
    assert not [line for line in lines if "{" in line or "…" in line]
    assert lines[-2:] == ["a line of no stream", "stderr: it broke"]
    assert any(line.startswith(("said: ", "edit ", "command ")) for line in lines), lines
    plan = Pack(phase="review-tests", attempt=1, text="verdict: object\n" + "more\n" * 40)
    assert last_words(ports, town().job("a"), 1, end, plan).splitlines() == ["verdict: object", *["more"] * 9]


def test_a_sign_off_says_in_the_history_what_was_signed(world, town):
    world.card("a")
    world.push()
    town().dispatch("a")
    ports, job = town().ports, town().job("a")
    ports.store.approve(job.id, "1" * 40, "@ana", text="signed off train 1")
    ports.store.approve(job.id, "2" * 40, "@ana")
    texts = [line["text"] for line in show(ports, "a").history if line["actor"] == "@ana"]
    assert texts == ["signed off train 1", "signed off 222222222222"]
