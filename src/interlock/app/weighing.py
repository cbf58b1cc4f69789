"""What a change does to the tests and to what judges it: both sides read from git and compared; the rules are core's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from interlock.core.contract.card import Card, Check
from interlock.core.contract.paths import parse
from interlock.core.gate.changes import SUBMODULE, SYMLINK, Change
from interlock.core.gate.judges import is_ci, judge_judges, touched_judges
from interlock.core.gate.knows_tests import judge_knowing, knows_tests
from interlock.core.gate.shadows import Trees
from interlock.core.gate.test_code import TestFile, is_test_side, may_hold_tests
from interlock.core.gate.test_data import emptied
from interlock.core.gate.tests_kept import STILL, Moves
from interlock.core.gate.weakened import compare, judge_tests
from interlock.core.gate.worth_a_look import worth_a_look
from interlock.core.job.evidence import Verdict
from interlock.ports.bundle import Ports

_SCRIPTS: Final = (".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs")
_CODE: Final = (".py", *_SCRIPTS, ".go", ".java", ".kt", ".rb", ".rs", ".cs", ".bats")
_MOST: Final = 2000
"""Files beyond which only those of the tests are read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """What was found without running anything: verdicts, those that refuse first, and which tests took the place of which."""

    verdicts: tuple[Verdict, ...]
    moves: Moves


def weigh(
    ports: Ports, card: Card, checks: Sequence[Check], changes: Sequence[Change], *, base: str, head: str
) -> Weighed:
    """Judge the change of the work by syntax: tests that demand less, and files that judge it."""
    old, new = _sides(ports, changes, base, head)
    found, moves = compare(old, new)
    commands = [check.run for check in checks] + ([card.loop.gate.run] if card.loop is not None else [])
    both = _Both(ports, base, head)

    def files() -> Sequence[str]:
        return ports.repo.files(base)

    def read_many(paths: Sequence[str]) -> list[bytes | None]:
        return [blob.data if blob else None for blob in ports.repo.read_many([(base, path) for path in paths])]

    touched = touched_judges(commands, changes, both, card.owned_paths, files=files, read_many=read_many)
    knowing = knows_tests(changes, both, files=files, read_many=read_many)
    trees = Trees(both, changes, files, read_many)
    verdicts = (
        judge_tests((*found, *emptied(changes, both, trees))),
        judge_judges(touched),
        judge_knowing(knowing),
        worth_a_look(old, new, changes, both, trees),
    )
    return Weighed(verdicts=tuple(each for each in verdicts if each is not None), moves=moves)


def moves_between(ports: Ports, base: str, head: str) -> Moves:
    """Which tests took the place of which between two commits, for comparing reports of both."""
    changes = ports.repo.changes(base, head)
    if not any(may_hold_tests(change.path) for change in changes):
        return STILL
    return compare(*_sides(ports, changes, base, head))[1]


def protected_differences(
    ports: Ports, protected: Sequence[str], changes: Sequence[Change], *, base: str, head: str
) -> tuple[str, ...]:
    """Protected paths and CI files that are not on the head as they are on the base; checks find them as on the base."""
    patterns = tuple(map(parse, protected))
    paths = [each.path for each in changes if is_ci(each.path) or any(one.matches(each.path) for one in patterns)]
    both = _Both(ports, base, head)
    return tuple(path for path in paths if both(path)[0] != both(path)[1])


def _sides(
    ports: Ports, changes: Sequence[Change], base: str, head: str
) -> tuple[Mapping[str, TestFile], Mapping[str, TestFile]]:
    """The tests of both sides; on the head all code that changed is read, since a test may have gone where none is looked for."""
    code = [each for each in changes if each.path.endswith(_CODE) and SUBMODULE not in (each.old_mode, each.new_mode)]
    before = [each.path for each in code if each.old_oid and may_hold_tests(each.path)]
    after = [
        each.path
        for each in code
        if each.new_oid and each.new_mode != SYMLINK and (may_hold_tests(each.path) or before)
    ]
    if len(after) > _MOST:
        after = [path for path in after if is_test_side(path)]
    if not before and not after:
        return {}, {}
    old = ports.syntax.read(_texts(ports, base, before), head=False)
    new = ports.syntax.read(_texts(ports, head, after), head=True)
    return old, {path: each if may_hold_tests(path) else replace(each, marks=()) for path, each in new.items()}


def _texts(ports: Ports, commit: str, paths: Sequence[str]) -> dict[str, bytes]:
    blobs = ports.repo.read_many([(commit, path) for path in paths])
    return {path: blob.data for path, blob in zip(paths, blobs, strict=True) if blob is not None}


class _Both:
    """A file on the base and on the head."""

    def __init__(self, ports: Ports, base: str, head: str) -> None:
        self._ports, self._base, self._head = ports, base, head
        self._known: dict[str, tuple[bytes | None, bytes | None]] = {}

    def __call__(self, path: str) -> tuple[bytes | None, bytes | None]:
        if path not in self._known:
            self._known[path] = self._read(path)
        return self._known[path]

    def _read(self, path: str) -> tuple[bytes | None, bytes | None]:
        if not path or path.startswith(("/", "../")) or path in (".", ".."):
            return None, None
        old, new = self._ports.repo.read_many([(self._base, path), (self._head, path)])
        return old.data if old else None, new.data if new else None
