"""Nothing that runs in a sandbox finds the key of its models: not in its environment, its files or /proc, nor in what it is told."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.integration.host.boxes import Box, a_box
from tests.integration.models import searching
from tests.integration.models.standing import KEY, OWN, TOKEN

from interlock.core.agent.gateway import MODEL_PORT, Ceiling, ModelGateway, Upstream, to_json
from interlock.core.agent.usage import Price
from interlock.core.sandbox import Sandbox
from interlock.host import environment, processes
from interlock.host.models import serving
from interlock.testing.models import Say, ScriptedModels


@pytest.fixture
def box() -> Iterator[Box]:
    with a_box() as made:
        yield made


def search(box: Box, walls: Sandbox, values: Mapping[str, str]) -> dict[str, Any]:
    """What a search from within finds."""
    (box.root / "tree" / "searching.py").write_bytes(Path(searching.__file__).read_bytes())
    box.own()
    disguised = bytes(byte ^ 1 for byte in KEY.encode()).hex()
    env = environment.inside(values, walls)
    script = f"sleep 60 & python3 searching.py {disguised}; kill %1"
    ended, output = box.run(script, walls, env=env, limits=processes.Limits(wall=60))
    assert ended.exit_code == 0, output
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    return found


def test_a_task_that_looks_everywhere_finds_no_key_while_its_calls_carry_it(box: Box) -> None:
    with ScriptedModels() as models:
        url = models.play("s", Say("hi"), key=KEY)
        given = ModelGateway(
            upstreams=(Upstream(name="v", dialects=("anthropic",), url=url, key=KEY),),
            token=TOKEN,
            listen="unix",
            record=str(box.root / "log"),
            ledgers=str(box.root / "ledgers"),
            ledger=OWN,
            prices={"cheap": Price(input=1.0, output=10.0)},
            ceilings=(Ceiling(scope="attempt", text="900 tokens for the attempt", tokens=900),),
        )
        (box.root / "spec.json").write_text(json.dumps(to_json(given)))
        with serving(given, box.root, user=box.user) as served:
            binds, inward = (*box.sandbox.binds, *served.binds), (*box.sandbox.inward, *served.relays)
            walls = replace(box.sandbox, binds=binds, inward=inward)
            said = search(box, walls, {"MODELS": f"http://127.0.0.1:{MODEL_PORT}/v", "TOKEN": TOKEN})
            refused = served.refused()
        assert [each.auth for each in models.journal.of("s")] == [KEY]
    assert said["found"] == []
    assert said["looked"] > 100
    assert said["statuses"] == [200, 402]
    assert "900 tokens for the attempt" in refused
    assert list(box.root.glob("models-*")) == []
    assert KEY not in (box.root / "log" / "models.jsonl").read_text()


def test_the_search_finds_a_key_that_lies_about(box: Box) -> None:
    (box.root / "home" / "left.txt").write_text(f"key = {KEY}\n")
    found = search(box, box.sandbox, {"LEFT": KEY})["found"]
    assert {"variable LEFT", "/home/agent/left.txt"} <= set(found)
    assert any(where.startswith("/proc/") for where in found)
    assert any(where.startswith("memory of") for where in found)
