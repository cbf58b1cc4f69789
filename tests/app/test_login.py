"""A subscription's credentials through a job's life: the agent has them while it runs, and the record never keeps them."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Never

import pytest
from click.testing import CliRunner

from interlock.app import attempt, decide
from interlock.app.show import show
from interlock.app.split import split
from interlock.app.starting import launch_of
from interlock.cli.cmd_show import command
from interlock.core.problems import Refusal, Refused
from interlock.host.attempts import HostRuns
from interlock.ports.processes import Launch

TEXT = "credentials-of-a-subscription"
CLIENT = """\
#!/bin/sh
[ "$1" = --version ] && echo "codex-cli 0.163.0" && exit
cat > /dev/null
mkdir -p a && wc -c < "$HOME/.codex/auth.json" > a/size
echo '{"type": "thread.started", "thread_id": "t1"}'
echo '{"type": "what nobody knows"}'
echo '{"type": "turn.completed", "usage": {"input_tokens": 5, "cached_input_tokens": 0, "output_tokens": 1}}'
"""


class Refusing(HostRuns):
    """Refuses to start what was prepared, as it does for root."""

    def run(self, folder: Path, launch: Launch) -> Never:
        assert TEXT in (folder / "home" / ".codex" / "auth.json").read_text()
        raise Refused(Refusal(rule="root", what="No.", why="No.", would_change="No."))


@pytest.fixture
def kept(world, town):
    """The files on the record that hold the credentials."""

    def look() -> list[str]:
        folder = town().ports.repo.common_dir / "interlock"
        files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
        return [str(path) for path in files if TEXT.encode() in path.read_bytes()]

    return look


def test_no_credentials_stay_when_a_run_is_over_or_was_never_started(world, town, kept, monkeypatch):
    (world.root / "bin").mkdir()
    client = world.root / "bin" / "codex"
    client.write_text(CLIENT)
    client.chmod(0o755)
    monkeypatch.setenv("PATH", f"{client.parent}:{os.environ['PATH']}")
    login = world.root / "auth.json"
    login.write_text(TEXT)
    world.write(
        "interlock.yaml", f"train: {{checks: ['true'], sign_off: none}}\nlogins: {{codex: {{file: {login}}}}}\n"
    )
    for slug in "ab":
        world.card(slug)
        card = world.repo / "tasks" / f"{slug}.yaml"
        card.write_text(card.read_text().replace('agent: {use: command, command: "true"}', "agent: {use: codex}"))
    world.write("plan.md", "Do it.\n")
    world.push()
    town().dispatch("a")
    whole = town().ports
    town().ports = replace(whole, runs=Refusing())
    town().run()
    assert (town().rule("a"), kept()) == ("root", [])
    town().ports = whole
    decide.resume(whole, "a", "ana")
    town().run()
    assert (town().rule("a"), kept()) == ("landed", [])
    assert world.git("show", "HEAD:a/size", at=world.remote) == str(len(TEXT))
    monkeypatch.chdir(world.repo)
    assert "1 of 3 lines that it wrote were not understood" in CliRunner().invoke(command, ["a"]).output
    assert show(whole, "a").attempts[-1]["unknown_lines"] == 1
    with pytest.raises(Refused):
        split(replace(whole, runs=Refusing()), "plan.md", "ana", agent="codex")
    assert kept() == []
    town().dispatch("b")
    job = town().job("b").id
    attempt.start(whole, job, 1)
    launch_of(whole, town().job("b"), 1, whole.records.attempt(job, 1))
    assert len(kept()) == 2, "as after a kill between both"
    decide.abandon(whole, "b", "ana", "no use")
    assert kept() == []
