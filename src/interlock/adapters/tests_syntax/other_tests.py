"""Test files of Go, Java, Kotlin and Ruby by text: tests by name, what sets one aside, and one that can no longer fail; not what it asserts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from interlock.core.gate.test_code import Assertion, Mark, TestCode, TestFile

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
# What sets tests aside, and by what a test can fail, in each of them.
_ASIDE: Final = {
    "go": re.compile(r"^//go:build[^\n]*|^// \+build[^\n]*|\bt\.Skip(?:f|Now)?\([^\n]*", re.MULTILINE),
    "java": re.compile(
        r"@(?:Disabled|Ignore|Enabled(?:If|On|For)\w*|DisabledIf\w*)\b[^\n]*|\bAssum(?:e|ptions)\.\w+\([^\n]*"
        r"|\bassumeTrue\([^\n]*|\bassumeFalse\([^\n]*|throw new (?:\w+\.)*(?:TestAbortedException|SkipException)\b"
    ),
    "rb": re.compile(
        r"^\s*(?:skip|pending)\b[^\n]*|^\s*x(?:it|describe|context|specify)\b[^\n]*|\bskip:\s*(?!false)[^\n]*",
        re.MULTILINE,
    ),
}
_FAILS: Final = {
    "go": re.compile(
        r"\b\w+\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)\(|\b(?:assert|require|is|qt|gomega)\.\w+\(|\bcmp\.\w+\(|\bExpect\(|\bpanic\("
        r"|[(,]\s*t\s*[,)]|\b\w*(?:[aA]ssert|[cC]heck|[vV]erify|[eE]xpect|[rR]equire|[mM]ust|[eE]qual|[rR]un|[tT]est)\w*\("
    ),
    "java": re.compile(
        r"\b\w*(?:assert|verify|expect|fail|should|check|require|andExpect|isEqualTo)\w*\s*[({]|\bthrow\b|\bassert\b|expected\s*=",
        re.IGNORECASE,
    ),
    "rb": re.compile(r"\b(?:assert|refute|expect|must_|wont_|should|flunk|raise|verify|check)\w*"),
}
# A skip for quick runs, or for a platform that is not this one, is none here.
_SOMETIMES: Final = re.compile(
    r"if (?:testing\.Short\(\)|runtime\.GOOS == \"(?:windows|darwin|plan9|js|wasip1|android|ios|aix|\w+bsd)\")\s*\{\s*\Z"
)
# Go builds no test from a file or folder of such a name, or on one platform alone.
_NOT_BUILT: Final = re.compile(
    r"(?:.*/)?(?:[._][^/]*|testdata/.*|[^/]*_(?:windows|darwin|freebsd|openbsd|netbsd|plan9|js|wasip1|android|ios|solaris|aix)(?:_\w+)?_test\.go)"
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
        for name in (_name(each),)
    )
    if not found:
        return None
    name = path.rpartition("/")[2]
    kind = "go" if name.endswith(".go") else "rb" if name.endswith(".rb") else "java"
    return TestFile(
        path=path,
        tests=(
            TestCode(
                name=name,
                kind="test",
                line=1,
                asserts=found,
                body=text,
                collected=kind != "go" or not _NOT_BUILT.fullmatch(path),
            ),
        ),
        marks=tuple(_marks(text, kind, [*pattern.finditer(text)])),
    )


def _marks(text: str, kind: str, tests: list[re.Match[str]]) -> Iterator[Mark]:
    """What sets tests aside, and tests in which nothing can fail; each with the test that it is about, if it is about one."""
    for found in _ASIDE[kind].finditer(text):
        if kind == "go" and _SOMETIMES.search(text[: found.start()]):
            continue
        what = " ".join(found[0].split())[:80]
        of = _about(text, found, tests)
        line = text.count("\n", 0, found.start()) + 1
        yield Mark(line=line, key=f"aside {of} {what}", what=f"is set aside by {what}", of=of)
    for at, each in enumerate(tests):
        body = text[each.end() : tests[at + 1].start() if at + 1 < len(tests) else len(text)]
        name = _name(each)
        if not name.startswith(("Example", "Fuzz")) and not _FAILS[kind].search(body):
            line = text.count("\n", 0, each.start()) + 1
            yield Mark(line=line, key=f"idle {name}", what=f"has {name}, in which nothing can fail", of=name)


def _about(text: str, found: re.Match[str], tests: list[re.Match[str]]) -> str:
    """The test that holds it, or that it is written over; empty where it is about the whole file or a class."""
    after = next((each for each in tests if each.end() > found.start()), None)
    over = found[0].lstrip().startswith("@") and after is not None
    if over and after is not None:
        between = text[found.end() : max(after.start(), found.end())]
        return "" if re.search(r"\b(?:class|interface|object)\s", between) else _name(after)
    before = [each for each in tests if each.start() < found.start()]
    return _name(before[-1]) if before else ""


def _name(test: re.Match[str]) -> str:
    return str(next(filter(None, test.groups())))
