"""Keys and budgets in the whole life of sealed tasks: no key inside, every call on the record, a spent budget ends a loop within one call."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.integration.models import searching
from tests.integration.models.standing import KEY
from tests.needs import needs_sandbox

from interlock.testing.models import Say, ScriptedModels, Tokens
from interlock.testing.world import World

pytestmark = [needs_sandbox, pytest.mark.timeout(240)]

POLICY = """\
train: {{checks: ['true'], sign_off: none}}
secrets: {{MODEL_KEY: {{file: ~/model-key}}}}
models: {{vendor: {{url: "{url}", dialects: [anthropic], key: MODEL_KEY}}}}
prices: {{cheap: {{input: 1, output: 10}}}}
"""
SEARCH = """\
mkdir -p search
export MODELS="$ANTHROPIC_BASE_URL" TOKEN="$ANTHROPIC_API_KEY"
sleep 30 & python3 agents/searching.py {disguised} > search/found.json; kill %1
"""
LOOP = """\
mkdir -p looper
export MODELS="$ANTHROPIC_BASE_URL" TOKEN="$ANTHROPIC_API_KEY"
while python3 -c 'import sys; sys.path.append("agents"); from searching import call; sys.exit(call()[0] != 200)'; do :; done
echo over > looper/over
exec sleep 100
"""


def test_an_agent_finds_no_key_and_a_spent_budget_ends_the_one_that_loops(tmp_path: Path) -> None:
    with ScriptedModels() as models:
        url = models.play("s", Say("hi"), key=KEY, tokens=Tokens(input=1000, cached=0, output=50))
        world = World.make(tmp_path / "w", policy=POLICY.format(url=url), level="sealed")
        key = world.root / "home" / "model-key"
        key.write_text(f"{KEY}\n")
        key.chmod(0o600)
        disguised = bytes(byte ^ 1 for byte in KEY.encode()).hex()
        world.write("agents/searching.py", Path(searching.__file__).read_text())
        world.write("agents/search.sh", SEARCH.format(disguised=disguised))
        world.write("agents/looper.sh", LOOP)
        world.card("search", command="bash agents/search.sh")
        world.card("looper", command="bash agents/looper.sh", extra="budget: {usd: 0.004}\n")
        world.push()
        world.cli("dispatch", "search", "looper")
        world.cli("run", code=None)
        found = json.loads(world.git("show", "HEAD:search/found.json", at=world.remote))
        assert found["found"] == []
        assert found["statuses"] == [200, 200]
        assert found["looked"] > 100
        assert [each.auth for each in models.journal.of("s")] == [KEY] * (2 + 3)
    shown = world.ask("show", "looper")
    assert shown["waiting"]["rule"] == "budget", shown
    assert "usd 0.004 for the job" in shown["waiting"]["what"]
    assert "Raise it for this job" in shown["waiting"]["ask"]
    used = {row["name"]: row for row in world.ask("usage", "--by", "model")["rows"]}
    assert used["cheap"]["calls"] == 5
    assert used["cheap"]["usd"] == pytest.approx(0.0075)
    assert used["cheap"]["landed"] == 1
    for path in (world.repo / ".git" / "interlock").rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path
