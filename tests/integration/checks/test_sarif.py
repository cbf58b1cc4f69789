"""SARIF reports: findings with their place and identity, and runs that prove nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from interlock.adapters.checks import sarif
from interlock.adapters.checks.faults import BadReport


def result(rule: str = "R1", file: str = "src/a.py", line: int = 3, text: str = "bad", **more: Any) -> dict[str, Any]:
    place = {"artifactLocation": {"uri": file}, "region": {"startLine": line}}
    return {"ruleId": rule, "message": {"text": text}, "locations": [{"physicalLocation": place}], **more}


def report(*results: dict[str, Any], version: str = "2.1.0", **run: Any) -> bytes:
    whole = {"tool": {"driver": {"name": "lint", "rules": []}}, "results": list(results), **run}
    return json.dumps({"version": version, "runs": [whole]}).encode()


FAILED: dict[str, Any] = {"invocations": [{"executionSuccessful": False}]}
SAID: dict[str, Any] = {
    "invocations": [
        {
            "executionSuccessful": True,
            "toolExecutionNotifications": [{"level": "error", "message": {"text": "no memory"}}],
        }
    ]
}


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "empty"),
        (b"{", "not JSON"),
        (b"[]", "not SARIF"),
        (report(version="2.0.0"), "not SARIF"),
        (b'{"version": "2.1.0", "runs": []}', "no run"),
        (b'{"version": "2.1.0", "runs": [], "runs": [{}]}', "twice"),
        (b'{"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "x"}}}]}', "computed no results"),
        (b'{"version": "2.1.0", "runs": [{"results": []}]}', "names no tool"),
        (report(**FAILED), "did not succeed"),
        (report(invocations=[{}]), "did not succeed"),
        (report(**SAID), "no memory"),
        (report(externalPropertyFileReferences={"results": [{"location": {}}]}), "other files"),
        (report(result(level="fatal")), "level fatal"),
        (b'{"version": "2.1.0", "runs": ' + b"[" * 100_000, "nested|JSON"),
        (b'{"version": NaN}', "NaN"),
    ],
)
def test_a_run_that_proves_nothing_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(BadReport, match=why):
        sarif.parse(data)


def test_of_another_tree_alone(tmp_path: Path) -> None:
    there = report(result(file="file:///elsewhere/src/a.py"))
    with pytest.raises(BadReport, match="another tree"):
        sarif.parse(there, tree=tmp_path)


def test_places_are_of_the_tree(tmp_path: Path) -> None:
    bases = {"SRC": {"uri": f"file://{tmp_path}/src/"}}
    based = result(file="x%20y.py")
    based["locations"][0]["physicalLocation"]["artifactLocation"]["uriBaseId"] = "SRC"
    found = sarif.parse(
        report(result(file=f"file://{tmp_path}/src/a.py"), result(file="./src/b.py"), based, originalUriBaseIds=bases),
        tree=tmp_path,
    )
    assert [finding.file for finding in found] == ["src/a.py", "src/b.py", "src/x y.py"]


def test_level_kind_and_message_come_from_the_rule_where_the_result_is_silent() -> None:
    rules = [{"id": "R9", "defaultConfiguration": {"level": "error"}, "messageStrings": {"m": {"text": "no {0} here"}}}]
    one = {"ruleIndex": 0, "message": {"id": "m", "arguments": ["tabs"]}}
    data = report(
        one, result(kind="pass"), result(baselineState="absent"), tool={"driver": {"name": "t", "rules": rules}}
    )
    (found,) = sarif.parse(data)
    assert (found.rule, found.level, found.text, found.file) == ("R9", "error", "no tabs here", "(no file)")


def test_identity_outlives_lines_that_move() -> None:
    def identity(**more: Any) -> str:
        return sarif.parse(report(result(**more)))[0].identity

    assert identity(line=3) == identity(line=30)
    assert identity(text="unused, see line 3") == identity(text="unused, see line 9")
    assert identity(text="one") != identity(text="two")
    assert identity(file="src/b.py") != identity()
    marked = {"partialFingerprints": {"hash": "1"}}
    assert identity(text="one", **marked) == identity(text="two", **marked)


def test_suppressions_count_when_nobody_rejected_them() -> None:
    data = report(
        result(suppressions=[{"kind": "inSource"}]),
        result(suppressions=[{"kind": "external", "status": "rejected"}]),
        result(suppressions=[]),
    )
    assert [finding.suppressed for finding in sarif.parse(data)] == [True, False, False]


def test_what_a_report_says_is_fit_to_be_shown() -> None:
    (found,) = sarif.parse(report(result(rule="E\x1b[31m1", file="a\u202eb.py", text="one\ntwo\x1b]0;x\x07")))
    assert (found.rule, found.file, found.text) == ("E1", "ab.py", "one two")
