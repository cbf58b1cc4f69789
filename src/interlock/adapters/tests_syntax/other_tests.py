"""Test files of Go, Rust, Java, Kotlin, C#, Ruby and bats by text: tests by name, what sets one aside, one that cannot fail; not what it asserts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from interlock.adapters.tests_syntax.other_kinds import GO, KINDS, Kind
from interlock.core.gate.test_code import Assertion, Mark, TestCode, TestFile

# A skip for quick runs, or for a platform that is not this one, is none here.
_SOMETIMES: Final = re.compile(
    r"if (?:testing\.Short\(\)|runtime\.GOOS == \"(?:windows|darwin|plan9|js|wasip1|android|ios|aix|\w+bsd)\")\s*\{\s*\Z"
)
# Go builds no test from a file or folder of such a name, or on one platform alone.
_NOT_BUILT: Final = re.compile(
    r"(?:.*/)?(?:[._][^/]*|testdata/.*|[^/]*_(?:windows|darwin|freebsd|openbsd|netbsd|plan9|js|wasip1|android|ios|solaris|aix)(?:_\w+)?_test\.go)"
)


# Maven and Gradle run no test from there.
_PRODUCT: Final = re.compile(r"(?:.*/)?src/main/.*")


def read(path: str, data: bytes) -> TestFile | None:
    """A file with each test by its name, as one that demands all of them; None for files of other names and those without tests.

    What a test asserts is kept as the subject of its assertion, for a person to look at when it changes.
    """
    kind = next((each for each in KINDS if each.files.fullmatch(path)), None)
    if kind is None:
        return None
    text = data.decode("utf-8", "replace")
    tests = [*kind.tests.finditer(text)]
    if not tests:
        return None
    found = tuple(
        Assertion(
            text=_name(each),
            shape=_name(each),
            line=text.count("\n", 0, each.start()) + 1,
            subject="\n".join(line.strip() for line in body.splitlines() if kind.weak.search(line)),
        )
        for each, body in zip(tests, _bodies(text, kind, tests), strict=True)
    )
    hidden = kind is GO and _NOT_BUILT.fullmatch(path)
    one = TestCode(
        name=path.rpartition("/")[2],
        kind="test",
        line=1,
        asserts=found,
        body=text,
        collected=not hidden and not _PRODUCT.fullmatch(path),
    )
    return TestFile(path=path, tests=(one,), marks=tuple(_marks(text, kind, tests)))


def _bodies(text: str, kind: Kind, tests: list[re.Match[str]]) -> list[str]:
    """What stands from each test to the next, without comments."""
    ends = [*(each.start() for each in tests[1:]), len(text)]
    return [kind.comment.sub("", text[each.end() : end]) for each, end in zip(tests, ends, strict=True)]


def _marks(text: str, kind: Kind, tests: list[re.Match[str]]) -> Iterator[Mark]:
    """What sets tests aside, and what in them cannot fail; each with the test that it is about, if it is about one."""
    for found in kind.aside.finditer(text):
        if kind is GO and _SOMETIMES.search(text[: found.start()]):
            continue
        what = " ".join(found[0].split())[:80]
        of = _about(text, found, tests)
        line = text.count("\n", 0, found.start()) + 1
        yield Mark(line=line, key=f"aside {of} {what}", what=f"is set aside by {what}", of=of)
    for each, body in zip(tests, _bodies(text, kind, tests), strict=True):
        name, line = _name(each), text.count("\n", 0, each.start()) + 1
        for hollow in kind.hollow.finditer(body):
            what = " ".join(hollow[0].split())[:80]
            yield Mark(
                line=line, key=f"hollow {name} {what}", what=f"has {name}, where nothing can fail by {what}", of=name
            )
        if not name.startswith(("Example", "Fuzz")) and not kind.fails.search(
            kind.empty.sub("", kind.hollow.sub("", body))
        ):
            yield Mark(line=line, key=f"idle {name}", what=f"has {name}, in which nothing can fail", of=name)


def _about(text: str, found: re.Match[str], tests: list[re.Match[str]]) -> str:
    """The test that holds it, or that it is written over; empty where it is about the whole file or a class."""
    after = next((each for each in tests if each.end() > found.start()), None)
    over = found[0].lstrip().startswith(("@", "#[", "[")) and after is not None
    if over and after is not None:
        between = text[found.end() : max(after.start(), found.end())]
        return "" if re.search(r"\b(?:class|interface|object|mod)\s", between) else _name(after)
    before = [each for each in tests if each.start() < found.start()]
    return _name(before[-1]) if before else ""


def _name(test: re.Match[str]) -> str:
    return str(next(filter(None, test.groups())))
