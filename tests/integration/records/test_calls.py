"""Calls of an attempt, from the lines that its gateway left; what is no such line is left out."""

from __future__ import annotations

import json
from pathlib import Path

from interlock.adapters.records import JobRecords
from interlock.core.agent.usage import Usage
from interlock.ports.agents import Call

GOOD = {
    "at": 5.0,
    "upstream": "anthropic",
    "model": "m\x1b[31m",
    "usage": {"uncached_input": 1, "output": -2},
    "seconds": 1.5,
    "status": 200,
    "refused": "",
    "estimated": True,
    "metered": True,
}


def test_only_calls_of_models_are_told_and_the_older_file_comes_first(tmp_path: Path) -> None:
    records = JobRecords(tmp_path)
    assert records.calls("j", 1) == ()
    folder = records.attempt("j", 1)
    lines = [
        GOOD,
        {**GOOD, "metered": False},
        {**GOOD, "metered": False, "refused": "no", "status": 404},
        {**GOOD, "usage": [1]},
        {"at": 1},
        [GOOD],
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "models.jsonl").write_text(text + "{\n" + "[" * 20_000 + "\n" + json.dumps(GOOD)[:40])
    (folder / "models.jsonl.1").write_text(json.dumps({**GOOD, "at": 1.0}) + "\n")
    found = records.calls("j", 1)
    assert [(call.at, call.status) for call in found] == [(1.0, 200), (5.0, 200), (5.0, 404)]
    expected = Call(
        at=5.0,
        upstream="anthropic",
        model=found[1].model,
        usage=Usage(uncached_input=1),
        seconds=1.5,
        status=200,
        estimated=True,
    )
    assert found[1] == expected
    assert "\x1b" not in found[1].model
    assert records.ledgers() == tmp_path / "ledgers"
    assert records.ledgers().is_dir()
