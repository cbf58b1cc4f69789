"""A fault of ours on a machine whose disk is full is told in one line, without a log that nobody could write."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """\
import resource, sys
{limit}
from interlock.cli.faults import write_fault
sys.exit(write_fault(ValueError("it broke")))
"""
FULL = "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))"


def tell(home: object, limit: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-B", "-c", PROGRAM.format(limit=limit)]
    return subprocess.run(words, env={"HOME": str(home)}, capture_output=True, text=True, check=False)


def test_a_fault_is_told_whether_or_not_its_log_can_be_written(tmp_path):
    full = tell(tmp_path, FULL)
    assert (3, True) == (full.returncode, "it broke" in full.stderr)
    assert "no log could be written" in full.stderr
    assert "Traceback" not in full.stderr
    kept = tell(tmp_path, "")
    assert (3, True) == (kept.returncode, "hint: the log is" in kept.stderr)
    assert [True] == ["it broke" in path.read_text() for path in tmp_path.rglob("fault-*.log") if path.stat().st_size]
