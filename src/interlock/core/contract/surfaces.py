"""What a check may demand of a real surface, as values of the card; what a run showed is job.surface's, judging it gate.surfaces'."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

Kind = Literal[
    "tests", "types", "lint", "migrations", "fixtures", "smoke", "browser", "visual", "api", "benchmark", "log"
]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
Better = Literal["lower", "higher"]
Level = Literal["note", "warning", "error"]

FACTOR: Final = 1.5
"""A number may be this many times worse than on the base, where the check names no limit."""

ROUNDS: Final = 5
"""Rounds that a benchmark must have had at least, where its report tells them."""

DROP: Final = 1.0
"""Points of line coverage that may be lost against the base, where the check names nothing else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageLimits:
    """Line coverage in percent: of all files together, of each file, and the points that may be lost against the base."""

    at_least: float | None = None
    each: float | None = None
    drop: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """What one measured number must keep to, in the unit of its report.

    ``factor`` is how many times worse than on the base it may be, ``rounds`` how often it must have been measured, and
    ``better`` which direction is good.
    """

    name: str
    at_most: float | None = None
    at_least: float | None = None
    factor: float | None = None
    rounds: int = ROUNDS
    better: Better = "lower"


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A PNG that the run writes; with ``against`` an expected one of the tree, which it may differ from by ``tolerance``.

    ``tolerance`` is a share of the pixels (0.001 is one of a thousand), ``mask`` rectangles that are not looked at: x, y,
    width and height in pixels.
    """

    image: str
    against: str | None = None
    tolerance: float = 0.0
    mask: tuple[tuple[int, int, int, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """When a started program counts as up: it wrote a line, or answers at a URL; and how long it must stay, in seconds."""

    line: str | None = None
    url: str | None = None
    stays: float = 1.0


def given_document(document: str) -> str:
    """The command of a check whose document stands in the tree: nothing has to be run, it must only be there."""
    import shlex

    return f"test -s {shlex.quote(document)}"
