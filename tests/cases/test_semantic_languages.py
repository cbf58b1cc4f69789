"""Pairs of changes in Go, Java, TypeScript, JavaScript and SQL: those that break each other are found, their look-alikes are not."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cases.semantic_world import FOLDER, Case, Meeting
from tests.needs import FULL

LANGUAGES = ("go", "java", "sql", "typescript")
CASES: dict[str, list[Case]] = {
    name: json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8")) for name in LANGUAGES
}
ALL = [case for name in LANGUAGES for case in CASES[name]]
TOOLS = {"javac": shutil.which("javac"), "node": shutil.which("node"), "python3": sys.executable}
"""javac is dear, and not on every machine: run with INTERLOCK_TESTS=full alone."""


def ids(case: Case) -> str:
    return str(case["name"])


@pytest.fixture(scope="module")
def meeting(tmp_path_factory: pytest.TempPathFactory) -> Meeting:
    return Meeting.made(tmp_path_factory.mktemp("languages"), ALL)


@pytest.mark.parametrize("language", LANGUAGES)
def test_there_are_scenarios_of_both_kinds(language: str) -> None:
    breaking = sum(case["breaks"] for case in CASES[language])
    assert breaking >= 10
    assert len(CASES[language]) - breaking >= 9


@pytest.mark.parametrize("case", ALL, ids=ids)
def test_a_pair_is_found_if_and_only_if_it_breaks(meeting: Meeting, case: Case) -> None:
    found = meeting.found(case["name"])
    assert bool(found) == case["breaks"], [pair.why for pair in found]
    assert all(pair.line for pair in found)


def command(case: Case) -> str:
    """What is run on a tree: one that needs a compiler or an interpreter stands under ``run``."""
    return str(case.get("run") or case.get("check") or "")


RUN = [case for case in ALL if (tool := command(case).split(" ")[0]) in TOOLS and (FULL or tool != "javac")]


@pytest.mark.long
@pytest.mark.parametrize("case", RUN, ids=ids)
def test_the_merge_fails_when_it_is_run_and_neither_the_base_nor_a_side_does(
    meeting: Meeting, case: Case, tmp_path: Path
) -> None:
    tool = command(case).split(" ")[0]
    if TOOLS[tool] is None and os.environ.get("CI") != "true":
        pytest.skip(f"no {tool} here: this one stands by the rule of the language")
    for which in ("base", "a", "b", "both"):
        revision = meeting.merged(case["name"]) if which == "both" else f"{case['name']}/{which}"
        folder = meeting.write(revision, tmp_path / which)
        env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
        done = subprocess.run(["sh", "-c", command(case)], cwd=folder, env=env, capture_output=True, check=False)
        assert (done.returncode != 0) == (which == "both" and case["breaks"]), (which, done.stderr[-500:])
