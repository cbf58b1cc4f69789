"""Files that take a place in one row by the number in their names, such as migrations: two of one number clash whatever else they are called."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from interlock.core.contract.paths import decider, parse

_NUMBER: Final = re.compile(r"V?0*(?P<number>\d+)(?:[._-]|__)[^/]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class SameNumber:
    """Two or more new files of one folder with one number, and the changes that bring each."""

    folder: str
    number: str
    files: Mapping[str, tuple[str, ...]]

    def as_json(self) -> dict[str, Any]:
        files = {path: list(names) for path, names in self.files.items()}
        return {"folder": self.folder, "number": self.number, "files": files}


def same_numbers(added: Mapping[str, Iterable[str]]) -> tuple[SameNumber, ...]:
    """Numbers that several changes take in one folder under different file names (case DB-08).

    ``added`` maps a change to the paths that it adds.  Files of one change alone are its own matter.
    """
    rows: dict[tuple[str, str], dict[str, list[str]]] = {}
    for change, paths in added.items():
        for path in paths:
            folder, _, name = path.rpartition("/")
            if match := _NUMBER.fullmatch(name):
                rows.setdefault((folder, match["number"]), {}).setdefault(path, []).append(change)
    return tuple(
        SameNumber(folder=folder, number=number, files={path: tuple(names) for path, names in sorted(files.items())})
        for (folder, number), files in sorted(rows.items())
        if len(files) > 1 and len({name for names in files.values() for name in names}) > 1
    )


def counted(found: Sequence[SameNumber], patterns: Sequence[str]) -> tuple[SameNumber, ...]:
    """Those whose files all stand where numbers count."""
    known = [parse(pattern) for pattern in patterns]
    return tuple(each for each in found if all(decider(known, path) is not None for path in each.files))
