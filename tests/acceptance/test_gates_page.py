"""The page that shows each gate refusing does so: its blocks run one after the other, and what it promises under each appears."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "gates.md"
BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = "== block"


def steps() -> list[tuple[str, list[str]]]:
    """Each block with the words that have to appear in what it prints."""
    found: list[tuple[str, list[str]]] = []
    for kind, text in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        if kind == "sh":
            found.append((text, []))
        else:
            found[-1][1].extend(text.splitlines())
    return found


@pytest.mark.timeout(600)
@pytest.mark.long
def test_every_gate_of_the_page_refuses_as_it_says(tmp_path: Path) -> None:
    config = tmp_path / "gitconfig"
    config.write_text("[user]\n\tname = Ana\n\temail = ana@example.org\n", encoding="utf-8")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "INTERLOCK_", "PYTEST_", "XDG_"))}
    env = kept | {
        "GIT_CONFIG_GLOBAL": str(config),
        "HOME": str(tmp_path / "home"),
        "INTERLOCK_PORT_REGISTRY": str(tmp_path / "ports"),
        "PATH": f"{Path(sys.executable).parent}:{kept['PATH']}",
    }
    (tmp_path / "home").mkdir()
    folder = tmp_path / "try"
    folder.mkdir()
    blocks = steps()
    assert sum(1 for _, words in blocks if words) >= 9
    script = "\n".join(f"echo '{MARK} {n}'\n{text}" for n, (text, _) in enumerate(blocks))
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    said = dict(re.findall(rf"^{MARK} (\d+)\n(.*?)(?=^{MARK} |\Z)", done.stdout, re.MULTILINE | re.DOTALL))
    for number, (text, words) in enumerate(blocks):
        for word in words:
            assert word in said[str(number)], f"{text}\n---\n{said[str(number)][-3000:]}"
