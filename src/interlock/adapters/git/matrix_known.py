"""What earlier matrices found, kept in a file of ours so that a new head costs only its own row; it is never the truth, only a memory."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from interlock.adapters.git.bulk_merge import Told
from interlock.core.gate.changes import Change

VERSION: Final = 4
_FILES: Final = 8
_BYTES: Final = 64_000_000
_PARTS: Final = 6
Row = tuple[Told, tuple[Change, ...]]


@dataclass(slots=True)
class Known:
    """Rows by "base head", contents by their triple, whole pairs by "base one other"; without a folder nothing is kept.

    There is one file for each tree of a base and each set of settings; ``plain`` trees hold no attributes.
    """

    folder: Path | None = None
    rows: dict[str, Row] = field(default_factory=dict)
    triples: dict[str, str] = field(default_factory=dict)
    pairs: dict[str, Told] = field(default_factory=dict)
    plain: set[str] = field(default_factory=set)
    _file: Path | None = None
    _had: tuple[set[str], ...] = (set(), set(), set(), set())

    def open(self, tree: str, settings: bytes) -> None:
        """Read what is known for a base's tree under settings; a line that cannot be read is as if it were not there."""
        if self.folder is None:
            return
        digest = hashlib.sha256(b"%d\0%s" % (VERSION, settings)).hexdigest()[:12]
        file = self.folder / f"{tree[:24]}-{digest}.jsonl"
        if file == self._file:
            return
        self._file = file
        for line in _lines(file):
            with suppress(ValueError, KeyError, TypeError):
                self._take(json.loads(line))
        self._had = self._has()

    def _has(self) -> tuple[set[str], ...]:
        return set(self.rows), set(self.triples), set(self.pairs), set(self.plain)

    def _take(self, shape: dict[str, Any]) -> None:
        for key, (told, changes) in shape.get("rows", {}).items():
            self.rows[key] = (_told(told), _changes(changes))
        self.triples |= shape.get("triples", {})
        self.pairs |= {key: _told(told) for key, told in shape.get("pairs", {}).items()}
        self.plain.update(map(str, shape.get("plain", ())))

    def save(self) -> None:
        """Add what is new, as one line; best effort, since all of it can be found again."""
        if self._file is None:
            return
        rows, triples, pairs, plain = self._had
        shape = {
            "rows": {
                key: (_short(told), [part for each in changes for part in _row(each)])
                for key, (told, changes) in self.rows.items()
                if key not in rows
            },
            "triples": {key: kind for key, kind in self.triples.items() if key not in triples},
            "pairs": {key: _short(told) for key, told in self.pairs.items() if key not in pairs},
            "plain": sorted(self.plain - plain),
        }
        if not any(shape.values()):
            return
        with suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            _append(self._file, json.dumps(shape).encode("ascii") + b"\n")
            _trim(self._file.parent)
        self._had = self._has()


def _lines(file: Path) -> list[bytes]:
    try:
        return file.read_bytes().splitlines() if file.stat().st_size <= _BYTES else []
    except OSError:
        return []


def _append(file: Path, line: bytes) -> None:
    """One write, so that two calls at once do not mix their lines; a file that grew too large is begun again."""
    if file.exists() and file.stat().st_size > _BYTES:
        file.unlink()
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, line)
    finally:
        os.close(descriptor)


def _trim(folder: Path) -> None:
    """Keep the files of the last few bases."""
    files = sorted(folder.glob("*.jsonl"), key=lambda file: file.stat().st_mtime, reverse=True)
    for file in files[_FILES:]:
        file.unlink(missing_ok=True)


def _row(change: Change) -> tuple[Any, ...]:
    return change.path, change.status, change.old_mode, change.new_mode, change.old_oid, change.new_oid


def _changes(flat: list[Any]) -> tuple[Change, ...]:
    """Changes of what _row gives of each, one after the other: a list for each of thousands takes a while to read."""
    parts = [iter(flat)] * _PARTS
    return tuple(
        Change(path=path, status=status, old_mode=old_mode, new_mode=new_mode, old_oid=old_oid, new_oid=new_oid)
        for path, status, old_mode, new_mode, old_oid, new_oid in zip(*parts, strict=True)
    )


def _short(told: Told) -> list[Any]:
    return [told.tree, told.clean, *map(list, told.clashes)]


def _told(row: list[Any]) -> Told:
    tree, clean, *clashes = row
    return Told(
        tree=tree, clean=clean, clashes=tuple((path, kind, text) for path, kind, text in clashes) if clashes else ()
    )
