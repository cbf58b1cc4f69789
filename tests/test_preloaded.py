"""A command that forks from what is loaded already is, to all that it can see and to who calls it, a process started afresh."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests import preloaded

from interlock.testing.world import World, start

LOOK = """
import json, os, signal, sys, threading
print(json.dumps({
    "env": dict(os.environ), "cwd": os.getcwd(), "argv": sys.argv[1:], "path": sys.path[0], "name": __name__,
    "stdin": sys.stdin.read(), "encoding": [sys.stdout.encoding, sys.stdout.errors, sys.stderr.errors],
    "threads": threading.active_count(), "interrupt": str(signal.getsignal(signal.SIGINT)),
    "open": sorted(int(name) for name in os.listdir("/proc/self/fd"))[:3], "group": os.getpgid(0) == os.getpid(),
}))
print("caf\\udce9", file=sys.stderr)
sys.exit(int(sys.argv[1]))
"""


def test_it_sees_what_a_fresh_process_sees(tmp_path: Path) -> None:
    program = tmp_path / "look.py"
    program.write_text(LOOK)
    env = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "ONLY": "this"}
    fresh = subprocess.run(
        [sys.executable, str(program), "7", "a b"],
        cwd=tmp_path,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="surrogateescape",
    )
    forked = preloaded.run(str(program), ["7", "a b"], cwd=tmp_path, env=env)
    assert (forked.returncode, forked.stdout, forked.stderr) == (7, fresh.stdout, fresh.stderr)


def test_the_command_answers_the_same(tmp_path: Path) -> None:
    world = World.make(tmp_path / "w")
    world.card("a", owns="[b/**]", reads="[nowhere/**]")
    world.push()
    for words in (
        ("card", "check", "--json"),
        ("nonsense",),
        ("overlap", "main", "--base", "main"),
        ("dispatch", "../x"),
    ):
        fresh, forked = (way(words, world.repo, world.env) for way in (start, preloaded.interlock))
        assert (forked.returncode, forked.stdout, forked.stderr) == (fresh.returncode, fresh.stdout, fresh.stderr)


def test_a_signal_and_a_deadline_end_it(tmp_path: Path) -> None:
    program = tmp_path / "end.py"
    program.write_text("import os, signal, sys, time\nos.kill(os.getpid(), 9) if sys.argv[1:] else time.sleep(60)\n")
    assert preloaded.run(str(program), ["now"], cwd=tmp_path, env={}).returncode == -9
    with pytest.raises(subprocess.TimeoutExpired):
        preloaded.run(str(program), [], cwd=tmp_path, env={}, timeout=0.3)
