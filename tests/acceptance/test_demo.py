"""interlock demo as a visitor runs it: its figures, and the history that it leaves, checked without its help.

It runs once, from the wheel (test_wheel), which is all of it; with INTERLOCK_TESTS=full also from the source.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.needs import FULL

ENV = {k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "INTERLOCK_", "PYTEST_"))}


def run(*argv: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, cwd=cwd, env=ENV, capture_output=True, text=True, check=False)


def demo(*args: str) -> subprocess.CompletedProcess[str]:
    return run(sys.executable, "-m", "interlock", "demo", *args)


def git(cwd: Path, *args: str) -> str:
    done = run("git", *args, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_folder_that_is_not_empty_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine", encoding="utf-8")
    done = demo("--dir", str(tmp_path))
    assert done.returncode == 2
    assert "not an empty folder" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.timeout(300)
@pytest.mark.long
@pytest.mark.skipif(not FULL, reason="it runs from the wheel")
def test_the_whole_life_of_tasks_with_every_refusal(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    done = demo("--json", "--dir", str(folder))
    assert done.returncode == 0, done.stderr[-3000:]
    check_demo(done, folder, tmp_path / "clone")


def check_demo(done: subprocess.CompletedProcess[str], folder: Path, clone: Path) -> None:
    """What landed, what was refused and why, as the demo says it and as its folder and narration show it."""
    result = json.loads(done.stdout.splitlines()[-1])
    assert sorted(result["landed"]) == ["gift-greeting", "gift-wrap", "net-price", "rounding"]
    assert result["refused"] == {
        "loyalty": "cap",
        "order-tax": "red-together",
        "quick-search": "outside",
        "box-labels": "outside",
        "low-stock": "no-tests",
        "order-export": "empty-diff",
        "stock-tests": "tests-removed",
    }
    assert result["main_green"] is True
    assert result["over_cap"] == 0
    assert result["seconds"] > 1
    check_history(folder, clone)
    check_narration(done.stderr)


def check_history(folder: Path, clone: Path) -> None:
    """Every commit of the default branch is green, and what was refused is not on it."""
    git(folder, "clone", "-q", str(folder / "remote.git"), str(clone))
    commits = git(clone, "rev-list", "--first-parent", "--reverse", "HEAD").split()
    assert len(commits) >= 4
    for commit in commits:
        git(clone, "checkout", "-q", commit)
        suite = run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=clone)
        assert suite.returncode == 0, suite.stdout
    assert (clone / "shop" / "wrapping" / "__init__.py").exists()
    assert "net_price" in (clone / "shop" / "prices" / "__init__.py").read_text(encoding="utf-8")
    assert not (clone / "shop" / "search").exists()
    assert (clone / "shop" / "stock" / "units.py").exists()
    assert "test_no_more_is_taken" in (clone / "tests" / "stock" / "test_stock.py").read_text(encoding="utf-8")


def check_narration(told: str) -> None:
    """Each command is told, and each refusal with its reason and what would change it."""
    for command in ("dispatch", "run", "status", "decide", "sign-off", "train show", "card check", "init"):
        assert f"$ interlock {command}" in told
    for rule in ("cap", "depends-on", "outside", "no-tests", "tests-removed", "empty-diff", "red-together"):
        assert f"refused ({rule})" in told
    assert "what would change it" in told
