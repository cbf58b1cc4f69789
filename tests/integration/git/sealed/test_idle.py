"""When a sealed task last moved: a file, a ref or a process counts, the date of a commit does not."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from tests.integration.git.sealed.agent import KINDS, Sealed, sealed

from interlock.adapters.git.sealed import idle
from interlock.adapters.git.sealed.layout import Kind

pytest_plugins = ("tests.integration.git.fixtures",)
pytestmark = pytest.mark.usefixtures("no_user_settings")


@pytest.fixture(params=KINDS)
def made(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sealed:
    kind: Kind = request.param
    return sealed(tmp_path, kind, monkeypatch)


def touched(task: Sealed) -> float:
    return idle.last_touched(task.layout, task.task)


@pytest.mark.parametrize(
    "act",
    [
        "echo x > src/new",
        "echo x >> src/a.py",
        "rm src/b.py",
        "chmod 600 README.md",
        "GIT_COMMITTER_DATE='2001-01-01T00:00:00Z' git commit -q --allow-empty --date 2001-01-01T00:00:00Z -m old",
        "git update-ref refs/heads/agent/t HEAD; git branch x",
    ],
)
def test_what_the_agent_does_counts(made: Sealed, act: str) -> None:
    before = touched(made)
    time.sleep(0.05)
    moment = time.time()
    made.run(act)
    assert touched(made) >= moment - 0.02 > before - 0.02


def test_looking_and_old_times_do_not_count(made: Sealed) -> None:
    made.run("touch -d 2037-01-01 README.md")
    os.utime(made.layout.tree(made.task) / "README.md", (1, 1))
    before = touched(made)
    time.sleep(0.05)
    made.run("cat README.md src/a.py; git log --oneline >/dev/null")
    made.repo.head_of(made.place)
    assert touched(made) == before
    assert before <= time.time()


def test_a_busy_process_moves_now_and_is_an_occupant(made: Sealed) -> None:
    assert idle.occupants(made.layout, made.task) == ()
    with made.lives("echo here; while :; do :; done"):
        time.sleep(0.3)
        assert time.time() - touched(made) < 0.2
        assert idle.occupants(made.layout, made.task)
    assert idle.occupants(made.layout, made.task) == ()


def test_somebody_in_the_folder_of_the_task_is_an_occupant(made: Sealed) -> None:
    import subprocess

    with subprocess.Popen(["sleep", "60"], cwd=made.place.path) as child:
        try:
            assert f"{child.pid} sleep" in idle.occupants(made.layout, made.task)
        finally:
            child.kill()
