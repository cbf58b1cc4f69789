"""Where in a file a part of the contract stands; reading files is the adapters' work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from interlock.core.problems import Problem, Where

Positions = Mapping[str, tuple[int, int]]
"""Key path (``checks[1].run``) → line and column, from 1; the empty key is the whole document."""


@dataclass(frozen=True, slots=True)
class Places:
    """The positions of one file's parts; ``spoiled`` are keys whose fault was told when the file was read."""

    file: str
    at: Positions
    spoiled: frozenset[str] = frozenset()

    def where(self, key: str) -> Where:
        """The place of a key, of the nearest part around it, or of the file."""
        while key and key not in self.at:
            key = key[: max(key.rfind("."), key.rfind("["), 0)]
        line, column = self.at.get(key, (None, None))
        return Where(file=self.file, line=line, column=column)


def in_order(problems: list[Problem]) -> tuple[Problem, ...]:
    """Problems from the top of the file to its end; those of one place keep their order."""
    return tuple(sorted(problems, key=_position))


def _position(problem: Problem) -> tuple[int, int]:
    where = problem.where
    return (0, 0) if where is None else (where.line or 0, where.column or 0)
