"""The tutorial works as it stands: its command blocks run one after the other in one shell, and leave what it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tutorial" / "first-task.md"
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.timeout(180)
@pytest.mark.long
def test_every_block_of_the_tutorial_runs(tmp_path: Path) -> None:
    config = tmp_path / "gitconfig"
    config.write_text("[user]\n\tname = Ana\n\temail = ana@example.org\n", encoding="utf-8")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "INTERLOCK_", "PYTEST_"))}
    env = kept | {"GIT_CONFIG_GLOBAL": str(config), "PATH": f"{Path(sys.executable).parent}:{kept['PATH']}"}
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    assert len(blocks) >= 10
    script = "set -e\n" + "\n".join(f"echo '== block {n}'\n{text}" for n, text in enumerate(blocks, 1))
    folder = tmp_path / "tutorial"
    folder.mkdir()
    done = subprocess.run(["bash", "-c", script], cwd=folder, env=env, capture_output=True, text=True, check=False)
    told = done.stdout + done.stderr
    assert done.returncode == 0, told[-4000:]
    assert "shop/prices.py" in told
    assert "outside" in told
    log = subprocess.run(
        ["git", "log", "--format=%s", "main"],
        cwd=folder / "remote.git",
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Tell the price with tax." in log.stdout
    files = subprocess.run(
        ["git", "ls-tree", "-r", "--name-only", "main"],
        cwd=folder / "remote.git",
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "shop/gross.py" in files.stdout
    assert "shop/labels.py" not in files.stdout
