"""Processes by identity: finding, naming and ending them."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from tests.integration.watching import wait_until

from interlock.host import tree


@contextmanager
def sleeper(**env: str) -> Iterator[subprocess.Popen[bytes]]:
    child = subprocess.Popen(["sleep", "600"], env={**os.environ, **env})
    try:
        yield child
    finally:
        child.kill()
        child.wait()


def test_a_living_process_has_an_identity_and_a_dead_one_none() -> None:
    with sleeper() as child:
        who = tree.identify(child.pid)
        assert who is not None
        assert tree.alive(who)
        assert tree.label(who) == f"{child.pid} sleep"
        assert tree.from_json(who.as_json()) == who
    assert not tree.alive(who)
    assert tree.identify(child.pid) is None


def test_a_zombie_does_not_live() -> None:
    with sleeper() as child:
        who = tree.identify(child.pid)
        assert who is not None
        child.kill()
        wait_until(lambda: not tree.alive(who))
        assert tree.identify(child.pid) == who, "it is still there, unreaped"


def test_what_is_no_identity_is_refused() -> None:
    for data in (None, 7, {}, {"pid": "x", "start": 1, "boot": ""}, {"pid": 1}, [1, 2, 3]):
        assert tree.from_json(data) is None


def test_names_with_blanks_and_brackets_are_read() -> None:
    code = "import time; open('/proc/self/comm', 'w').write('a) b (c'); print('up', flush=True); time.sleep(600)"
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    try:
        assert child.stdout is not None
        child.stdout.readline()
        who = tree.identify(child.pid)
        assert who is not None
        assert tree.label(who) == f"{child.pid} a) b (c"
    finally:
        child.kill()
        child.communicate()


def test_marked_processes_are_found_by_the_whole_value_and_by_age() -> None:
    value = secrets.token_hex(8)
    with sleeper(MARK_OF_TEST=value) as child, sleeper(MARK_OF_TEST=value + "0"):
        who = tree.identify(child.pid)
        assert who is not None
        assert tree.marked(f"MARK_OF_TEST={value}") == (who,)
        assert tree.marked(f"MARK_OF_TEST={value}", since=who.start) == (who,)
        assert tree.marked(f"MARK_OF_TEST={value}", since=who.start + 1) == ()


def test_a_sweep_ends_what_is_marked_and_nothing_else() -> None:
    value = secrets.token_hex(8)
    with sleeper(MARK_OF_TEST=value) as ours, sleeper() as other:
        assert tree.sweep(f"MARK_OF_TEST={value}") == (f"{ours.pid} sleep",)
        assert ours.wait() == -signal.SIGKILL
        assert other.poll() is None


def test_an_identity_of_another_boot_gets_no_signal() -> None:
    with sleeper() as child:
        who = tree.identify(child.pid)
        assert who is not None
        stale = replace(who, boot="0" * 36)
        assert not tree.send(stale, signal.SIGKILL)
        assert tree.end((stale,)) == ()
        assert child.poll() is None
