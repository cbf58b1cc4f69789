"""The search for keys of tests/acceptance/test_sealed_keys finds one that lies about: that it finds none there means something."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.host.boxes import Box, a_box
from tests.integration.models import searching
from tests.integration.models.standing import KEY

from interlock.host import environment, processes


@pytest.fixture
def box() -> Iterator[Box]:
    with a_box() as made:
        yield made


def test_the_search_finds_a_key_that_lies_about(box: Box) -> None:
    (box.root / "home" / "left.txt").write_text(f"key = {KEY}\n")
    (box.root / "tree" / "searching.py").write_bytes(Path(searching.__file__).read_bytes())
    box.own()
    disguised = bytes(byte ^ 1 for byte in KEY.encode()).hex()
    env = environment.inside({"LEFT": KEY}, box.sandbox)
    script = f"sleep 60 & python3 searching.py {disguised}; kill %1"
    ended, output = box.run(script, box.sandbox, env=env, limits=processes.Limits(wall=60))
    assert ended.exit_code == 0, output
    found = json.loads(output.splitlines()[-1])["found"]
    assert {"variable LEFT", "/home/agent/left.txt"} <= set(found)
    assert any(where.startswith("/proc/") for where in found)
    assert any(where.startswith("memory of") for where in found)
