"""What a process was started with does not decide how the commands that it starts are judged."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from interlock.testing.world import World

# As a supervisor does that wants no word of its children, or bash after ``trap '' CHLD``.
IGNORING = """\
import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execv(sys.executable, [sys.executable, "-m", "interlock", *sys.argv[1:]])
"""


def test_a_failure_is_one_also_where_the_end_of_children_was_ignored(tmp_path: Path) -> None:
    world = World.make(tmp_path / "w")
    world.card("one", command="mkdir -p one; echo 1 > one/f")
    world.push()

    def call(*words: str) -> subprocess.CompletedProcess[str]:
        whole = [sys.executable, "-c", IGNORING, *words]
        return subprocess.run(whole, cwd=world.repo, env=world.env, capture_output=True, text=True, check=False)

    refused = call("scope", "one", "--json", "--head", "no-such-branch")
    assert refused.returncode == 2, refused.stdout + refused.stderr
    admitted = call("dispatch", "one")
    assert admitted.returncode == 0, admitted.stdout + admitted.stderr
