"""What an attempt cost when the record of its calls holds less than its gateway's own sum."""

from __future__ import annotations

import json
from typing import Any

import pytest

from interlock.app.costs import taken
from interlock.core.agent.seen import Summary
from interlock.core.agent.usage import Usage

POLICY = "train: {checks: ['true'], sign_off: none}\nprices: {cheap: {input: 1, output: 10}}\n"
CALL = {
    "at": 1.0,
    "upstream": "v",
    "model": "cheap",
    "usage": {"uncached_input": 1000, "output": 50},
    "seconds": 1.0,
    "status": 200,
    "refused": "",
    "estimated": False,
    "metered": True,
}


def test_calls_that_are_off_the_record_still_count(world, town):
    world.write("interlock.yaml", POLICY)
    world.card("a")
    world.push()
    made = town()
    made.dispatch("a")
    ports = made.ports
    line, ledger = ports.records.attempt("j1", 1) / "models.jsonl", ports.records.ledgers() / "2026-11-30/c/j1-1.json"
    ledger.parent.mkdir(parents=True)

    def counted(**said: float) -> Any:
        ledger.write_text(json.dumps({"tokens": 0, "usd": 0.0, "calls": 0, "unpriced": 0, **said}))
        found = taken(ports, "j1", 1, Summary())
        return Usage(**found["usage"]).total, found["usd"], found["calls"], found["usage_from"]

    assert counted() == (None, None, None, "none")
    assert counted(tokens=3150, usd=0.0045, calls=3) == (3150, 0.0045, 3, "gateway")
    line.write_text(json.dumps(CALL) + "\n")
    assert counted(tokens=1050, calls=1, unpriced=1) == (1050, pytest.approx(0.0015), 1, "gateway")
    assert counted(tokens=3150, usd=0.0045, calls=3) == (3150, 0.0045, 3, "gateway")
    assert counted(tokens=3150, calls=3, unpriced=3) == (3150, None, 3, "gateway")
    ledger.write_text('{"tokens": -5}')
    assert taken(ports, "j1", 1, Summary())["calls"] == 1
