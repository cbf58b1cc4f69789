"""What card split costs: each of its runs is metered, counts under every limit before the next one, and is told by usage."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from interlock.app.split import split
from interlock.app.usage import report
from interlock.core.problems import Refused
from interlock.testing.models import Say, ScriptedModels

AGENT = """\
import json, os, pathlib, subprocess, sys, urllib.request

body = {"model": "cheap", "messages": [], "tools": [{"name": "t", "input_schema": {}}]}
headers = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "content-type": "application/json"}
url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)).read()
pathlib.Path(sys.argv[1]).joinpath("README").write_text("changed beside the tree")
subprocess.run(["interlock-task", "pack", "-"], input=b"no card at all", check=True)
"""
POLICY = """\
train: {{checks: ['true'], sign_off: none}}
agent: {{use: command, command: {agent}}}
models: {{vendor: {{url: "{url}", dialects: [anthropic]}}}}
prices: {{cheap: {{input: 1, output: 10}}}}
budget: {budget}
per_day: {day}
"""


def test_the_runs_of_a_split_share_their_limits_and_are_on_the_record(world, town, tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    world.write("docs/plan.md", "Build one and two.\n")
    agent = json.dumps(f"{sys.executable} {tmp_path / 'agent.py'} {world.repo}")
    with ScriptedModels() as models:
        url = models.play("s", Say("hi"))

        def refused(budget: str, day: str) -> str:
            world.write("interlock.yaml", POLICY.format(agent=agent, url=url, budget=budget, day=day))
            world.push()
            with pytest.raises(Refused) as no:
                split(town().ports, "docs/plan.md", "ana")
            assert no.value.refusal.rule == "budget"
            assert "interlock.yaml" in no.value.refusal.would_change, "It is no job whose budget could be raised."
            return no.value.refusal.what

        assert "2000 tokens for the job is spent: 2100 tokens" in refused("{tokens: 2k}", "{usd: 9}")
        assert len(models.journal.of(None)) == 2, "The third run is not started."
        (row, total) = report(town().ports, "phase", since=0.0)
        assert (row.name, row.attempts, row.calls, row.usage.total) == ("plan", 2, 2, 2100)
        assert (total.usd > 0, total.landed) == (True, 0)
        assert "README" in "".join(town().said), "What changed beside its tree meanwhile is told."

        # another one begins anew, but for what its day has cost
        assert "2100 tokens for all work of a day is spent" in refused("{tokens: 9k}", "{tokens: 2100}")
        assert len(models.journal.of(None)) == 2
        assert report(town().ports, "class", since=0.0)[0].attempts == 2
