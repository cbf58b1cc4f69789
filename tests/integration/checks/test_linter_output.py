"""Findings in the output of linters and type checkers, and outputs that show nothing; the real tools are run where they are here."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from interlock.adapters.checks import linter_output, sarif
from interlock.adapters.checks.faults import BadReport

BIN = Path(sys.executable).parent


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("src/a.py:3: error: Bad type  [arg-type]", ("arg-type", "src/a.py", 3, "Bad type", "error")),
        (
            "src/a.py:3:9: F401 [*] `os` imported but unused",
            ("F401", "src/a.py", 3, "[*] `os` imported but unused", "warning"),
        ),
        ("src/a.ts(12,5): error TS2322: Type 'x' is bad.", ("TS2322", "src/a.ts", 12, "Type 'x' is bad.", "error")),
        ("  a.py:1:2 - error: Not there (reportX)", ("reportX", "a.py", 1, "Not there", "error")),
        ("a.c:4:1: warning: unused [-Wunused]", ("no-rule", "a.c", 4, "unused [-Wunused]", "warning")),
        ("a.py:7: note: See here", ("no-rule", "a.py", 7, "See here", "note")),
    ],
)
def test_lines_of_known_shapes(line: str, expected: tuple[object, ...]) -> None:
    (found,) = linter_output.findings([line])
    assert (found.rule, found.file, found.line, found.text, found.level) == expected


@pytest.mark.parametrize(
    "lines",
    [
        [],
        ["done"],
        ["see http://a.example:80: it is up"],
        ["12:30:11: nothing"],
        ["All checks passed!", "warning: No Python files found under the given path(s)"],
        ["Found 3 errors in 1 file (checked 1 source file)", "a.py:1: error: x  [y]"],
        ["Success: no issues found in 0 source files"],
    ],
)
def test_output_that_shows_nothing_is_no_proof(lines: list[str]) -> None:
    with pytest.raises(BadReport):
        linter_output.findings(lines)


def test_a_silent_tool_passes_by_a_line_that_the_check_asks_for() -> None:
    assert linter_output.findings(["Files: 12"], shown=True) == ()


@pytest.mark.parametrize("tool", ["ruff", "mypy"])
def test_what_the_real_tools_write(tool: str, tmp_path: Path) -> None:
    program = shutil.which(tool, path=str(BIN))
    if program is None:
        pytest.skip(f"{tool} is not installed beside this Python")
    (tmp_path / "a.py").write_text("import os\n\nx: int = 'a'\n")
    asks = {"ruff": ["check", "--output-format=concise", "--isolated", "--no-cache"], "mypy": ["--cache-dir=/dev/null"]}
    done = subprocess.run([program, *asks[tool], "a.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    found = linter_output.findings(done.stdout.splitlines(), tree=tmp_path)
    assert [(each.file, each.rule) for each in found] == [("a.py", {"ruff": "F401", "mypy": "assignment"}[tool])]
    (tmp_path / "a.py").write_text("x = 1\n")
    done = subprocess.run([program, *asks[tool], "a.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert linter_output.findings(done.stdout.splitlines()) == ()


def test_real_sarif(tmp_path: Path) -> None:
    program = shutil.which("ruff", path=str(BIN))
    if program is None:
        pytest.skip("ruff is not installed beside this Python")
    (tmp_path / "a.py").write_text("import os\n")
    words = [program, "check", "--output-format=sarif", "--isolated", "--no-cache", "."]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, check=False)
    (found,) = sarif.parse(done.stdout, tree=tmp_path)
    assert (found.rule, found.file, found.line, found.level) == ("F401", "a.py", 1, "error")
