"""Test files of languages whose tests are told by name alone (Go, Java, Kotlin, Ruby): that one is gone is seen, not what it asserts."""

from __future__ import annotations

import re
from typing import Final

from interlock.core.gate.test_code import Assertion, TestCode, TestFile

_GO: Final = re.compile(r"^func\s+((?:Test|Fuzz|Example)\w*)\s*\(", re.MULTILINE)
_JAVA: Final = re.compile(
    r"@(?:Test|ParameterizedTest|RepeatedTest)\b(?:[^(){};]|\([^()]*\))*?(?:void|fun)\s+(`[^`]+`|\w+)\s*\("
)
_RUBY: Final = re.compile(r"^\s*(?:def\s+(test_\w+)|(?:it|specify|test)\s+(['\"][^'\"\n]+['\"]))", re.MULTILINE)
_KINDS: Final = (
    (re.compile(r"(?:.*/)?[^/]*_test\.go"), _GO),
    (re.compile(r"(?:.*/)?(?:[^/]*(?:Test|Tests|IT)|Test[^/]*)\.(?:java|kt)"), _JAVA),
    (re.compile(r"(?:.*/)?(?:[^/]*_(?:test|spec)|test_[^/]*)\.rb"), _RUBY),
)


def read(path: str, data: bytes) -> TestFile | None:
    """A file with each test by its name, as one that demands all of them; None for files of other names and those without tests."""
    pattern = next((tests for names, tests in _KINDS if names.fullmatch(path)), None)
    if pattern is None:
        return None
    text = data.decode("utf-8", "replace")
    found = tuple(
        Assertion(text=name, shape=name, line=text.count("\n", 0, each.start()) + 1)
        for each in pattern.finditer(text)
        for name in (next(filter(None, each.groups())),)
    )
    if not found:
        return None
    name = path.rpartition("/")[2]
    return TestFile(path=path, tests=(TestCode(name=name, kind="test", line=1, asserts=found, body=text),))
