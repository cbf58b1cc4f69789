"""The example of docs/howto/add-a-database.md is run as it stands there, under the suite that it inherits."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import interlock

pytestmark = pytest.mark.long
PAGE = Path(__file__).resolve().parents[3] / "docs" / "howto" / "add-a-database.md"
BLOCK = re.compile(r"```python\n# (?P<name>\w+\.py)\n(?P<code>.*?)```", re.DOTALL)


def written(folder: Path) -> tuple[str, ...]:
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    for name, code in blocks:
        (folder / name).write_text(code, encoding="utf-8")
    return tuple(name for name, _ in blocks)


def tried(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join((str(folder), str(Path(interlock.__file__).parents[1])))}
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder), *options]
    return subprocess.run([*argv, "test_folders.py"], cwd=folder, env=env, capture_output=True, text=True)


def test_the_example_holds_what_the_suite_asks(tmp_path: Path) -> None:
    assert written(tmp_path) == ("folders.py", "test_folders.py")
    done = tried(tmp_path)
    assert done.returncode == 0, done.stdout[-3000:]
    assert re.search(r"1[0-9] passed, 2 skipped", done.stdout), done.stdout[-500:]


@pytest.mark.parametrize(
    ("right", "wrong", "test"),
    [
        ('making = root / ".making"', "making = target", "preparation_that_fails"),
        ('baseline.database.name}\\0{task}"', 'baseline.database.name}\\0{task[:6]}"', "look_alike"),
        ("if target.exists():", "if False:", "gone"),
        ("if not branch.file.exists():", "if True:", "asked_for_again"),
    ],
)
def test_the_suite_finds_what_is_wrong_with_a_careless_one(tmp_path: Path, right: str, wrong: str, test: str) -> None:
    written(tmp_path)
    code = (tmp_path / "folders.py").read_text()
    assert right in code
    (tmp_path / "folders.py").write_text(code.replace(right, wrong))
    done = tried(tmp_path, "-x", "-k", test)
    assert done.returncode == 1, done.stdout[-3000:]
    assert "failed" in done.stdout
