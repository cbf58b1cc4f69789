"""Pairs of changes that merge as text: those that break each other are found by facts, their look-alikes are not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cases.semantic_world import Case, Meeting, cases
from tests.needs import FULL

CASES = cases("mixed", "python", "sound", "sound_python")
SHARED = [case for case in CASES if case["name"][0] in "NP" and case["name"][1:3].isdigit()]


def ids(case: Case) -> str:
    return str(case["name"])


@pytest.fixture(scope="module")
def meeting(tmp_path_factory: pytest.TempPathFactory) -> Meeting:
    return Meeting.made(tmp_path_factory.mktemp("meeting"), CASES)


def test_there_are_scenarios_of_both_kinds() -> None:
    names = [case["name"] for case in CASES]
    assert len(set(names)) == len(names)
    assert len(SHARED) == 28
    assert sum(case["breaks"] for case in CASES) > 60
    assert sum(not case["breaks"] for case in CASES) > 45


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_a_pair_is_found_if_and_only_if_it_breaks(meeting: Meeting, case: Case) -> None:
    found = meeting.found(case["name"])
    assert bool(found) == case["breaks"], [pair.why for pair in found]
    for pair in found:
        assert {place.change for place in pair.places} == {"a", "b"}
        assert pair.why.endswith(".")
        assert pair.action.endswith(".")


def test_at_most_one_of_the_mixed_ones_is_left_to_the_train(meeting: Meeting) -> None:
    breaking = [case["name"] for case in SHARED if case["breaks"]]
    assert sum(bool(meeting.found(name)) for name in breaking) >= len(breaking) - 1


RUN = [case for case in CASES if (run := case.get("check", "true")) != "true" and (FULL or "$TSC" not in run)]
"""The compiler is dear, and not on every machine: it is run with INTERLOCK_TESTS=full alone."""


@pytest.mark.long
@pytest.mark.parametrize("case", RUN, ids=ids)
def test_the_merged_tree_breaks_when_it_is_run_and_the_younger_side_alone_does_not(
    meeting: Meeting, case: Case, tmp_path: Path
) -> None:
    compiler = shutil.which("tsc")
    if "$TSC" in case["check"] and compiler is None and os.environ.get("CI") != "true":
        pytest.skip("no tsc here: this one stands by the rule of the language")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    env = {"PATH": path, "TSC": compiler or "", "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(tmp_path)}
    outcome = {}
    for which in ("b", "both"):
        revision = meeting.merged(case["name"]) if which == "both" else f"{case['name']}/{which}"
        folder = meeting.write(revision, tmp_path / which)
        outcome[which] = subprocess.run(
            ["sh", "-c", case["check"]], cwd=folder, env=env, capture_output=True, check=False
        )
    told = {which: (done.returncode, done.stderr[-500:]) for which, done in outcome.items()}
    assert (outcome["both"].returncode != 0) == case["breaks"], told
    assert outcome["b"].returncode == 0, told
