"""The wheel as a stranger gets it: built, installed into a clean environment, and used with an exact environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from tests.acceptance.test_demo import check_demo

ROOT = Path(__file__).resolve().parents[2]
KEPT = ("PATH", "LANG", "SSL_CERT_FILE", "PIP_CERT", "PIP_INDEX_URL", "PIP_DEFAULT_TIMEOUT")

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]


def run(*argv: str | Path, home: Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    env = {name: os.environ[name] for name in KEPT if name in os.environ} | {"HOME": str(home)}
    return subprocess.run([str(arg) for arg in argv], cwd=cwd, env=env, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory, home: Path) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    done = run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, ROOT, home=home, cwd=folder)
    assert done.returncode == 0, done.stderr
    (made,) = folder.glob("interlock-*.whl")
    return made


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory, home: Path, wheel: Path) -> Path:
    """The Python of a clean environment that holds the wheel and what it depends on, without extras."""
    folder = tmp_path_factory.mktemp("clean")
    made = run(sys.executable, "-m", "venv", "--without-pip", folder / "venv", home=home, cwd=folder)
    assert made.returncode == 0, made.stderr
    python = folder / "venv" / "bin" / "python"
    install(python, str(wheel), home)
    demo = run(python, "-m", "interlock", "demo", "--dir", folder / "demo", home=home, cwd=folder)
    assert demo.returncode == 2
    assert "pip install 'interlock[demo]'" in demo.stderr
    assert not (folder / "demo").exists()
    return python


@pytest.fixture(scope="module")
def binaries(plain: Path, home: Path, wheel: Path) -> Path:
    """The bin folder of that environment, once the extra ``demo`` is in it too."""
    install(plain, f"{wheel}[demo]", home)
    return plain.parent


def install(python: Path, what: str, home: Path) -> None:
    done = run(sys.executable, "-m", "pip", "--python", python, "install", "-q", what, home=home, cwd=home)
    assert done.returncode == 0, done.stderr


def test_the_wheel_holds_the_product_and_not_its_tests(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "interlock/demo/agent.py" in names
    assert "interlock/py.typed" in names
    assert any(name.startswith("interlock/adapters/store/migrations/") and name.endswith(".py") for name in names)
    assert not [name for name in names if name.startswith(("tests/", "tools/", "bench/"))]
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_the_main_flow_runs_from_the_wheel(binaries: Path, home: Path, tmp_path: Path) -> None:
    done = run(binaries / "interlock", "demo", "--json", "--dir", tmp_path / "demo", home=home, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    check_demo(done, tmp_path / "demo", tmp_path / "clone")


def test_doctor_tells_what_the_machine_can_do(binaries: Path, home: Path, tmp_path: Path) -> None:
    run("git", "init", "-q", home=home, cwd=tmp_path)
    done = run(binaries / "interlock", "doctor", "--json", home=home, cwd=tmp_path)
    assert done.returncode in (0, 1), done.stderr
    told = json.loads(done.stdout)
    assert told["ok"] is (done.returncode == 0)
    assert told["level"] in ("worktree", "sealed", "snapshot")
    assert told["features"]
    assert all(set(feature) >= {"name", "ok", "why"} for feature in told["features"])


def test_interlock_task_stands_alone(binaries: Path, home: Path, tmp_path: Path) -> None:
    done = run(binaries / "interlock-task", "--help", home=home, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
