"""Pairs of changes as large as real ones, written before the rules that judge them: which are found, and that no sound one is blamed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.cases.semantic_world import Case, Meeting, cases, edited_cases
from tests.needs import FULL

FILES = ("unseen_typescript", "unseen_javascript", "unseen_go", "unseen_java", "unseen_mixed", "unseen_second")
ALL = [
    *cases(*FILES),
    *edited_cases("unseen"),
    *edited_cases("unseen_third"),
    *edited_cases("unseen_fourth_python"),
    *edited_cases("unseen_fifth_python"),
    *edited_cases("unseen_fourth_typed"),
    *edited_cases("unseen_fifth_typed"),
]
LEFT_TO_THE_TRAIN = {
    "HJ08_route_renamed_new_client": "a table of routes that is the project's own, and a caller that is handed in",
    "HX10_maven_dependency_removed": "a package that is taken out may still come by way of another one",
    "HT102_user_field_removed_in_generic": "the parameter of a function that a list calls has its type from the list",
    "HT105_string_argument_becomes_object": "what is given is a name, whose type only a checker follows",
    "HJ103_json_key_read_by_require": "a key two steps into a file of data",
    "TT04_repo_get_may_be_missing": "whether the parameter that gets the value bears its absence only a checker follows",
    "TT08_event_payload_field_renamed": "the parameter of a function that a bus calls has its type from the event's name",
    "TT13_result_discriminant_changed": "the parameter of a function that a list calls has its type from the list",
    "JT03_fixture_returns_store_alone": "what comes from another function instead of an object may have the same keys",
    "JT08_data_file_key_renamed": "a key of every value in a file of data, past Object.values",
    "AT03_functional_interface_two_arguments": "a function that is handed to a builder within a class of another file",
    "PT01_factory_fixture_returns_pair": "the result of a function that a fixture makes",
    "PT05_signal_payload_keyword_renamed": "who is called with the keywords is known when it runs",
    "PT10_keyword_only_error_argument": "the type of a caught error is asserted and not declared",
    "QP26_seconds_become_milliseconds": "the unit of a number",
    "QP28_event_renamed_new_subscriber": "whether anything else still publishes an event of that name",
    "QR02_shared_option_renamed_new_command": "the options that a function of the project gives to a command",
    "QR14_template_variable_renamed": "which values a template uses, and whether it may do without them",
    "QR20_duck_sink_needs_close": "what a function asks of a parameter without a type",
    "U27_template_wants_one_more_value": "which values a template uses, and whether it may do without them",
    "U30_translation_placeholder_renamed": "which function fills the blanks of a text, and from what",
    "U33_required_column_added_vs_new_insert": "a table that is made anew, and an INSERT that leaves out its new column",
    "U56_constant_becomes_another_type": "what a use does with a value, only a checker knows",
    "U59_event_carries_other_data_vs_new_handler": "what a list of handlers is called with",
    "U63_shared_value_vs_new_mutation": "that a value is shared now, and who changes it",
    "U64_value_refused_now": "which values a function refuses",
    "U67_marks_become_strict": "a setting that forbids marks which are not listed",
    "U77_pydantic_field_renamed_vs_new_body": "the data of a request, which the framework reads into a model",
    "QG07_receiver_becomes_pointer": "which method set a value has, by pointer or not",
    "QG08_parameter_gets_named_type": "the type of a value that a package from outside gives",
    "RG07_channel_carries_pointers": "the type of an argument that is a chain, against that of a parameter",
    "UT04_generic_constraint_tightened": "whether a type has all that a bound of a parameter wants, only a checker tells",
}
"""What no reading of files can tell, each with the reason."""
COMPILERS = ("tsc", "go", "javac")
"""What is dear, and not on every machine: run with INTERLOCK_TESTS=full alone."""


def tool_of(case: Case) -> str:
    """The program that the proof of a pair needs beside a shell; empty where that is Python."""
    return next((tool for tool in (*COMPILERS, "node") if f"{tool} " in f"{case.get('run', '')} "), "")


def at_hand(case: Case) -> bool:
    """Whether the frameworks that a pair is written for are among what the tests bring."""
    return all(find_spec(name) for name in case.get("needs", ()))


PROVED = [case for case in ALL if FULL or (tool_of(case) not in COMPILERS and at_hand(case))]
"""A missing program is a skip with its reason, and a failure in CI, which asks for none of the compilers."""


def ids(case: Case) -> str:
    return str(case["name"])


@pytest.fixture(scope="module")
def meeting(tmp_path_factory: pytest.TempPathFactory) -> Meeting:
    return Meeting.made(tmp_path_factory.mktemp("unseen"), ALL)


def test_three_of_five_break() -> None:
    share = sum(case["breaks"] for case in ALL) / len(ALL)
    assert len(ALL) >= 150
    assert 0.55 <= share <= 0.65


@pytest.mark.parametrize("case", ALL, ids=ids)
def test_a_pair_is_found_if_and_only_if_it_breaks(meeting: Meeting, case: Case) -> None:
    found = meeting.found(case["name"])
    if case["name"] in LEFT_TO_THE_TRAIN:
        assert not found, "It is found now: take it off the list."
        return
    assert bool(found) == case["breaks"], [pair.why for pair in found]
    assert all(pair.line for pair in found)


PASSED: set[tuple[str, tuple[tuple[str, str], ...]]] = set()
"""Commands and trees: pairs share worlds, and a tree that passed is not run again."""


def without(tool: str) -> bool:
    """Whether a program is missing on a machine where that is no fault."""
    return bool(tool) and shutil.which(tool) is None and os.environ.get("CI") != "true"


@pytest.mark.long
@pytest.mark.parametrize("case", PROVED, ids=ids)
def test_the_merge_fails_when_it_is_run_and_neither_the_base_nor_a_side_does(
    meeting: Meeting, case: Case, tmp_path: Path
) -> None:
    if without(tool_of(case)):
        pytest.skip(f"no {tool_of(case)} here: this one stands by the rule of the language")
    command = str(case.get("run") or case["check"]).replace("python ", f"{sys.executable} ")
    for which in ("base", "a", "b", "both"):
        revision = meeting.merged(case["name"]) if which == "both" else f"{case['name']}/{which}"
        key = (command, tuple(sorted(meeting.tree(revision).items())))
        if key in PASSED:
            assert not (which == "both" and case["breaks"])
            continue
        folder = meeting.write(revision, tmp_path / which)
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"  # scripts of a pair call python by its name
        env = {"PATH": path, "HOME": str(tmp_path), "TMPDIR": str(tmp_path), "GOFLAGS": "-mod=mod"}
        env["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        done = subprocess.run(["sh", "-c", command], cwd=folder, env=env, capture_output=True, check=False)
        assert (done.returncode != 0) == (which == "both" and case["breaks"]), (which, done.stdout, done.stderr)
        if done.returncode == 0:
            PASSED.add(key)
