"""Tests as their syntax shows them: what they assert, what lets them off, under which names reports list them; reading is the adapters' work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from interlock.core.contract.paths import parse

DOUBLE: Final = "double"
"""The key of a name that a test gives to a double which answers by itself."""
_NAMED: Final = tuple(
    map(
        parse,
        (
            "**/test_*.py",
            "**/*_test.py",
            "**/tests.py",
            "**/conftest.py",
            "**/*.test.*",
            "**/*.spec.*",
            "**/*_test.go",
            "**/*_test.rb",
            "**/*_spec.rb",
            "**/*Test.java",
            "**/*Tests.java",
            "**/*IT.java",
            "**/*Test.kt",
            "**/*Tests.kt",
            "**/*Test.cs",
            "**/*Tests.cs",
            "**/*.Tests/**",
            "**/*.bats",
            "**/tests/**",
            "**/test/**",
            "**/testing/**",
            "**/spec/**",
            "**/specs/**",
            "**/e2e/**",
            "**/__tests__/**",
            "**/__mocks__/**",
        ),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assertion:
    """One thing that a test demands: its text, its shape without names and values, and how much it demands.

    ``strength``: 3 an exact value, 2 a relation or an error, 1 only that something is there.  ``weight`` is how often it holds with
    what a table has; ``parts`` how many values one comparison looks at; ``trusted`` stands for a helper that cannot be read here.
    ``subject`` is what is looked at, as it is written; ``bound`` how often the names in it were given a value before, -1 where that was
    not looked at.  ``loose`` is the share by which a value may be off, 1 where anything passes; ``truth``: it compares with true or false.
    ``guard`` is the condition under which alone it is made, empty where there is none or its other branch fails or asserts.
    """

    text: str
    shape: str
    line: int
    strength: int = 2
    weight: int = 1
    parts: int = 1
    trusted: bool = False
    subject: str = ""
    bound: int = -1
    guard: str = ""
    loose: float = 0.0
    truth: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Something that lets a test off: its line, a key that is equal on both sides, and what it is in words.

    ``declared``: it depends on the platform alone and gives a reason; ``here``: it holds on this one.  ``of`` is the test of a file that
    one of the file's marks is about, by name.
    """

    line: int
    key: str
    what: str
    declared: bool = False
    here: bool = False
    of: str = ""

    @property
    def lets_off(self) -> bool:
        """Whether it lets an existing test off: one that is only for other platforms does not."""
        return not self.declared or self.here

    @property
    def sets_aside(self) -> bool:
        """Whether it keeps tests from running, so that it takes nothing away where there were none."""
        return "set aside" in self.what or "not collected" in self.what or "others aside" in self.what


@dataclass(frozen=True, slots=True, kw_only=True)
class TestCode:
    """One test, or a helper that asserts, with what it calls resolved.

    ``ids`` are the ways in which reports name it, without parameters; ``cases`` the rows of its table (None: not told by the text);
    ``table`` is the text of its cases; ``body`` its text; ``collected`` whether a runner finds it by its name and place; ``judges``: a helper that is there to assert.
    """

    __test__ = False

    name: str
    kind: Literal["test", "helper"]
    line: int
    asserts: tuple[Assertion, ...] = ()
    marks: tuple[Mark, ...] = ()
    cases: int | None = 1
    table: str = ""
    body: str = ""
    collected: bool = True
    judges: bool = True
    ids: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """How many assertions it makes when it runs; what a table holds counts for each row."""
        return sum(each.weight for each in self.asserts) * (self.cases or 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class TestFile:
    """The tests of one file, and marks that hold for all of it.

    ``products`` are names that it imports from what is tested; ``swaps`` names that the tests themselves put in place, with line and words.
    """

    __test__ = False

    path: str
    tests: tuple[TestCode, ...] = ()
    marks: tuple[Mark, ...] = field(default=())
    products: frozenset[str] = frozenset()
    swaps: Mapping[str, Mark] = field(default_factory=dict)


Side = Mapping[str, TestFile]


@dataclass(frozen=True, slots=True, kw_only=True)
class Weakness:
    """One way in which a test demands less: where it stands on the base, where on the head, and what happened."""

    name: str
    before: str
    after: str
    what: str

    def __str__(self) -> str:
        return f"{self.after}: {self.name} {self.what} (base: {self.before})"


def is_test_side(path: str) -> bool:
    """Whether a file belongs to the tests by its name or folder: tests, their helpers and their data."""
    return any(pattern.matches(path) for pattern in _NAMED)


def may_hold_tests(path: str) -> bool:
    """Whether tests may stand in a file: one of the tests', or of a language that has them beside the code."""
    return path.endswith(".rs") or is_test_side(path)
