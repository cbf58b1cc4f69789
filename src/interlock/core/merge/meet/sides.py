"""What two changes bring to their meeting, as values: files before and after, a merged tree to ask, an alarm; rules are not here."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from interlock.core.merge.conflicts import Pair, Spot
from interlock.core.merge.facts import FileFacts

Read = Callable[[str], FileFacts | None]
"""The facts of a path in some tree; None where there is no such file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """One path that a change touches: its facts on the merge base and on the side, None where it is not there.

    A moved file is two of these: the old path without a side, the new one without a base.
    """

    path: str
    base: FileFacts | None
    side: FileFacts | None


@dataclass(frozen=True, eq=False, kw_only=True)
class SideFacts:
    """All that one change does to facts, against the merge base of the two; computed from blobs alone, once for all its pairs.

    ``change`` is the name that findings give it.  Equal to itself only, so that what is derived from it can be kept beside it.
    """

    change: str
    files: tuple[FileChange, ...]
    kept: dict[str, object] = field(default_factory=dict, repr=False)

    def get(self, path: str) -> FileChange | None:
        found = self.kept.get("by path")
        if not isinstance(found, dict):
            found = self.kept["by path"] = {each.path: each for each in self.files}
        change: FileChange | None = found.get(path)
        return change


class Tree:
    """A tree to ask: each path is read once; ``names`` gives the paths right within a folder, where they can be told."""

    def __init__(self, read: Read, names: Callable[[str], Collection[str]] | None = None) -> None:
        self._read = read
        self._names = names
        self._kept: dict[str, FileFacts | None] = {}

    def __call__(self, path: str) -> FileFacts | None:
        if path not in self._kept:
            self._kept[path] = self._read(path)
        return self._kept[path]

    def within(self, folder: str) -> Collection[str]:
        """The paths right within a folder; none where that cannot be told."""
        return self._names(folder) if self._names is not None else ()

    def has(self, path: str) -> bool:
        return self(path) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """A meeting that may be one: what the breaker takes away or claims, and where the user needs it or claims it too.

    ``check`` answers from the merged tree whether it is really so; no alarm is told before it said yes.
    ``paths`` are those that the check reads first, so that they can be fetched in one go.
    """

    rule: str
    symbol: str
    breaker: Spot
    user: Spot
    why: str
    action: str
    check: Callable[[Tree], bool] = field(repr=False, compare=False)
    paths: tuple[str, ...] = ()

    def as_pair(self, a: str, b: str) -> Pair:
        """The alarm as a pair of changes, the older one first."""
        return Pair(
            a=a,
            b=b,
            kind="semantic",
            tier="facts",
            rule=self.rule,
            path=self.user.path,
            line=self.user.line,
            symbol=self.symbol,
            why=self.why,
            places=(self.breaker, self.user),
            action=self.action,
        )
