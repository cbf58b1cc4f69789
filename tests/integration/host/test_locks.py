"""Locks: one holder, told by its pid, and free again when it dies."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from interlock.host import locks

HOLDER = """
import sys, time
from pathlib import Path
from interlock.host import locks
lock = locks.take(Path(sys.argv[1]))
print("held" if lock else "refused", flush=True)
time.sleep(600)
"""


def holding(path: Path) -> subprocess.Popen[str]:
    child = subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    return child


def test_a_held_lock_is_refused_with_the_pid_of_its_holder(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    child = holding(path)
    try:
        assert locks.is_held(path)
        assert locks.take(path) is None
        began = time.monotonic()
        with pytest.raises(locks.LockHeld, match=f"held by process {child.pid}") as caught, locks.held(path, wait=0.1):
            pass
        assert caught.value.holder == child.pid
        assert 0.1 <= time.monotonic() - began < 2.0
    finally:
        child.kill()
        child.communicate()
    assert not locks.is_held(path)
    lock = locks.take(path)
    assert lock is not None
    assert locks.holder(path) == os.getpid()
    lock.release()


def test_it_excludes_threads_of_one_process_as_well(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    inside = 0
    most = 0

    def work() -> None:
        nonlocal inside, most
        with locks.held(path):
            inside += 1
            most = max(most, inside)
            time.sleep(0.005)
            inside -= 1

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_a_lock_that_nobody_made_is_not_held(tmp_path: Path) -> None:
    assert not locks.is_held(tmp_path / "lock")
    assert locks.holder(tmp_path / "lock") is None


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic"):
        locks.take(tmp_path / "lock")
    assert not (tmp_path / "elsewhere").exists()
