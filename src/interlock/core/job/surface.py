"""What a run showed beside its tests: findings, numbers, an interface, pictures, lines; judging it is gate.surfaces' work."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from interlock.core.contract.surfaces import Level

_NUMBERED: Final = re.compile(r"\b(line|lines|column|col|ln) \d+", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFinding:
    """One thing that a tool objects to; ``mark`` is the fingerprint that the tool gave it, if any."""

    rule: str
    file: str
    line: int
    text: str
    level: Level = "warning"
    mark: str = ""
    suppressed: bool = False

    @property
    def identity(self) -> str:
        """The same for the same finding after lines were put in above it: rule, file, and fingerprint or text."""
        return f"{self.rule} {self.file} {self.mark or _NUMBERED.sub(lambda found: found[1], self.text)}"

    @property
    def shown(self) -> str:
        return f"{self.file}:{self.line} {self.rule}: {self.text[:160]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A measured value in the unit of its report; ``rounds`` is None where the report does not tell them."""

    value: float
    rounds: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shot:
    """A picture that a run took: its size, whether it has one colour alone, and how it compares with the expected one.

    ``differs`` is the share of pixels that differ; ``expected`` the SHA-256 of the expected file as it was before the
    run, empty where none was asked for; ``fault`` says why the two could not be compared.
    """

    width: int
    height: int
    blank: bool
    differs: float | None = None
    expected: str = ""
    fault: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
    """All that was asked for and read; None where it was not asked for.

    ``coverage`` is covered and all lines by file; ``interface`` and ``against`` are contracts as gate.api_contract reads
    them; ``expected`` the SHA-256 of each file that something is held against, as it was before the run, also where the run
    then failed; ``lines`` are patterns with the first line that has
    them (0: none); ``up`` tells whether a started program came up; ``schema`` is what migrations left after the first and
    the second run, ``migrations`` what is wrong with their files.
    """

    findings: tuple[ToolFinding, ...] | None = None
    coverage: Mapping[str, tuple[int, int]] | None = None
    numbers: Mapping[str, Number] | None = None
    interface: Mapping[str, Any] | None = None
    against: Mapping[str, Any] | None = None
    expected: Mapping[str, str] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)
    shots: Mapping[str, Shot] | None = None
    up: bool | None = None
    schema: tuple[str, str] | None = None
    migrations: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """What a person or a script wants to see of it, in few words."""
        shown: dict[str, Any] = {}
        if self.findings is not None:
            shown["findings"] = sum(not finding.suppressed for finding in self.findings)
        if self.coverage is not None:
            shown["coverage"] = round(ratio(self.coverage), 2)
        if self.numbers is not None:
            shown["numbers"] = {name: number.value for name, number in self.numbers.items()}
        if self.shots is not None:
            shown["pictures"] = {name: shot.differs for name, shot in self.shots.items()}
        if self.interface is not None:
            shown["operations"] = sum(" " not in place.partition(" ")[2] for place in self.interface)
        if self.lines:
            shown["lines"] = {pattern: number for pattern, number in self.lines.items() if number}
        if self.schema is not None:
            shown["unchanged"] = self.schema[0] == self.schema[1]
        if self.up is not None:
            shown["up"] = self.up
        return shown


def ratio(coverage: Mapping[str, tuple[int, int]]) -> float:
    """Line coverage of all files in percent; of no line at all it is 0."""
    total = sum(lines for _, lines in coverage.values())
    return 100.0 * sum(covered for covered, _ in coverage.values()) / total if total else 0.0


def surface_from(doc: Mapping[str, Any]) -> Surface:
    """The surface that was kept as plain JSON."""
    findings, coverage, numbers, shots, schema = (
        doc.get(name) for name in ("findings", "coverage", "numbers", "shots", "schema")
    )
    return Surface(
        **{
            **doc,
            "findings": tuple(ToolFinding(**each) for each in findings) if findings is not None else None,
            "coverage": {name: (pair[0], pair[1]) for name, pair in coverage.items()} if coverage is not None else None,
            "numbers": {name: Number(**each) for name, each in numbers.items()} if numbers is not None else None,
            "shots": {name: Shot(**each) for name, each in shots.items()} if shots is not None else None,
            "schema": (schema[0], schema[1]) if schema is not None else None,
            "migrations": tuple(doc.get("migrations", ())),
        }
    )
