"""card split that is killed: its agent ends with it, what that cost is on the record, and the next run puts the rest away."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from interlock.app import doctor, leftover, split
from interlock.app.usage import report
from interlock.core.problems import Refused
from interlock.host.folder import Folder
from interlock.testing.models import Say, ScriptedModels

AGENT = """\
import json, os, pathlib, sys, time, urllib.request

body = {"model": "cheap", "messages": [], "tools": [{"name": "t", "input_schema": {}}]}
headers = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "content-type": "application/json"}
url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)).read()
pathlib.Path(sys.argv[1]).write_text(str(os.getpid()))
time.sleep(300)
"""
POLICY = """\
train: {{checks: ['true'], sign_off: none}}
agent: {{use: command, command: {agent}}}
models: {{vendor: {{url: "{url}", dialects: [anthropic]}}}}
prices: {{cheap: {{input: 1, output: 10}}}}
"""


def until(met: Callable[[], object], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < deadline, "It did not come to that."
        time.sleep(0.05)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_split_leaves_no_agent_and_is_put_away(world, town, tmp_path: Path, how: signal.Signals) -> None:
    """One that is interrupted puts away by itself what a kill leaves to the next run."""
    left = how is signal.SIGKILL
    (tmp_path / "agent.py").write_text(AGENT)
    at_work = tmp_path / "pid"
    world.write("docs/plan.md", "Build one and two.\n")
    agent = json.dumps(f"{sys.executable} {tmp_path / 'agent.py'} {at_work}")
    with ScriptedModels() as models:
        world.write("interlock.yaml", POLICY.format(agent=agent, url=models.play("s", Say("hi"))))
        world.push()
        words = [sys.executable, "-m", "interlock", "card", "split", "docs/plan.md"]
        quiet = subprocess.DEVNULL
        command = subprocess.Popen(words, cwd=world.repo, env=world.env, stdin=quiet, stdout=quiet, stderr=quiet)
        try:
            until(lambda: at_work.exists() and at_work.read_text())
            ports = town().ports
            (name,) = ports.records.names("split-")
            assert leftover.found(ports) == (), "Its command lives: it is nobody's leftover."
            leftover.sweep(ports)
            folder = ports.records.attempt(name, 1)
            assert ports.runs.alive(folder)
            at_it = Folder(folder).agent()
            assert at_it is not None
            assert Path(f"/proc/{at_it.pid}").exists()
        finally:
            os.kill(command.pid, how)
            command.wait()
        until(lambda: not ports.runs.alive(folder))
        until(lambda: not Path(f"/proc/{at_it.pid}").exists())
        assert leftover.found(ports) == ((name,) if left else ())
        told = {each.name: each for each in doctor.examine(doctor.repository_probes(ports), "worktree").features}
        assert (told["card splits"].ok, name in told["card splits"].why) == (not left, left)

        before = report(ports, "phase", since=0.0)[-1]
        town().run()
        (row, total) = report(ports, "phase", since=0.0)
        assert (row.name, row.calls, row.usage.total) == ("plan", 1, 1050)
        assert total.usd == before.usd > 0
        (end,) = (each for each in ports.store.events(name) if each.step == "settle")
        assert (end.data["outcome"], end.data["calls"]) == ("interrupted", 1)
        assert not (ports.records.job(name) / "tree").exists()
        assert leftover.found(ports) == ()
        town().run()
        assert sum(name in line for line in town().said) == left


def test_a_split_that_never_began_leaves_nothing(world, town) -> None:
    world.write("docs/plan.md", "Build one.\n")
    world.push()
    with pytest.raises(Refused) as refused:
        split.split(town().ports, "docs/plan.md", "ana")
    assert refused.value.refusal.rule == "no-agent"
    assert town().ports.records.names("split-") == ()
