"""Any bytes at all: every reader gives a value or refuses in a sentence, and never breaks."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.adapters.checks import coverage, junit, numbers, openapi, sarif, tap
from interlock.adapters.checks.faults import BadReport

SARIF = {
    "version": "2.1.0",
    "runs": [
        {
            "tool": {"driver": {"name": "Tool", "rules": [{"id": "R", "defaultConfiguration": {"level": "error"}}]}},
            "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": [{"message": {"text": "x"}}]}],
            "artifacts": [{"location": {"uri": "a.py"}}],
            "originalUriBaseIds": {"A": {"uri": "src/", "uriBaseId": "A"}},
            "results": [
                {
                    "ruleIndex": 0,
                    "message": {"id": "m", "arguments": ["a"]},
                    "suppressions": [{"status": "accepted"}],
                    "partialFingerprints": {"a": "b"},
                    "locations": [{"physicalLocation": {"artifactLocation": {"index": 0, "uriBaseId": "A"}}}],
                }
            ],
        }
    ],
}
API = {
    "openapi": "3.0.0",
    "paths": {
        "/a/{b}": {
            "get": {
                "parameters": [
                    {"name": "x", "in": "query", "required": True, "schema": {"$ref": "#/components/schemas/S"}}
                ],
                "responses": {"200": {"content": {"a/b": {"schema": {"allOf": [{"$ref": "#/components/schemas/S"}]}}}}},
            }
        }
    },
    "components": {
        "schemas": {"S": {"type": ["object", "null"], "required": ["a"], "properties": {"a": {"minimum": 1}}}}
    },
}
SAMPLES: dict[Callable[[bytes], Any], bytes] = {
    tap.parse: b"TAP version 14\n1..2\n# Subtest: a\n    ok 1 - x # SKIP\n      ---\n      a: b\n      ...\n    1..1\nok 1 - a\nok 2 {\n    1..0\n}\n",
    junit.parse: b'<testsuite tests="1"><testcase classname="m" name="a"><skipped/></testcase></testsuite>',
    sarif.parse: json.dumps(SARIF).encode(),
    openapi.parse: json.dumps(API).encode(),
    coverage.lcov: b"TN:\nSF:a.js\nDA:1,1,x\nLF:1\nLH:1\nend_of_record\n",
    coverage.cobertura: b'<coverage><sources><source>.</source></sources><class filename="a"><line number="1" hits="1"/></class></coverage>',
    numbers.parse: b'{"benchmarks": [{"fullname": "a", "stats": {"median": 1.0, "rounds": 5}}]}',
    numbers.lines: b"users 3\norders: 4\n",
}
JUNK = (
    b"null",
    b"[]",
    b"{}",
    b"7",
    b"-1",
    b'""',
    b"true",
    b"1e999",
    b"\xff",
    b"\x00",
    b"\n",
    b"#/",
    b"..",
    b"<",
    b"&#0;",
    b"1..9",
)


@pytest.mark.parametrize("read", SAMPLES, ids=lambda read: f"{read.__module__.rpartition('.')[2]}.{read.__name__}")
def test_bytes_that_were_tampered_with_are_read_or_refused(read: Callable[[bytes], Any]) -> None:
    sample = SAMPLES[read]
    read(sample)

    @settings(max_examples=150, deadline=None, database=None)
    @given(st.integers(0, len(sample)), st.integers(0, 40), st.sampled_from(JUNK))
    def spoil(at: int, length: int, junk: bytes) -> None:
        try:
            read(sample[:at] + junk + sample[at + length :])
        except BadReport as fault:
            said = str(fault)
        else:
            return
        assert said.endswith(".")
        assert said[0].isupper() or said[0] in "\"'", said

    spoil()


@pytest.mark.parametrize("document", [SARIF, API], ids=["sarif", "openapi"])
def test_any_part_may_be_of_another_kind(document: Any) -> None:
    """Each value of the document is replaced by one of each kind, in turn."""
    read = sarif.parse if document is SARIF else openapi.parse
    junks: list[Any] = [None, [], {}, "x", 7, True, [[]], [None], {"$ref": "#/paths"}]
    for path in _paths(document):
        for junk in junks:
            try:
                read(json.dumps(_with(document, path, junk)).encode())
            except BadReport:
                continue


def _paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(path for key, each in inner for path in _paths(each, (*at, key)))]


def _with(value: Any, path: tuple[Any, ...], junk: Any) -> Any:
    if not path:
        return junk
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _with(value[path[0]], path[1:], junk)
    return copy
