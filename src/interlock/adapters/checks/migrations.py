"""What is wrong with files of migrations, told from their names and their revisions; whether they run is the run's own answer."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

_NUMBER: Final = re.compile(r"[Vv]?(\d{1,20})(?=\D|$)")
_REVISION: Final = re.compile(r"(down_)?revision\b[^=]{0,80}=")
_NAMED: Final = re.compile(r"['\"]([\w-]{1,80})['\"]")


def doubled(paths: Sequence[str]) -> tuple[str, ...]:
    """Numbers that two migrations of one folder have; ``0001_x.up.sql`` and ``0001_x.down.sql`` are one migration."""
    found: dict[tuple[str, int], set[str]] = defaultdict(set)
    for path in paths:
        folder, name = posixpath.split(path)
        number = _NUMBER.match(name)
        if number is not None:
            found[folder, int(number[1])].add(name.partition(".")[0])
    return tuple(
        f"{folder or '.'} has the number {number} twice: {', '.join(sorted(names))}."
        for (folder, number), names in sorted(found.items())
        if len(names) > 1
    )


def heads(revisions: Sequence[str]) -> tuple[str, ...]:
    """Heads beside each other, from lines such as ``path:down_revision = "a1"`` (Alembic)."""
    own: dict[str, str] = {}
    below: set[str] = set()
    wrong: list[str] = []
    for line in revisions:
        path, _, text = line.partition(":")
        found = _REVISION.match(text.strip())
        if found is None:
            continue
        names = _NAMED.findall(text.strip()[found.end() :][:1000])
        if found[1]:
            below.update(names)
        elif names:
            if names[0] in own and own[names[0]] != path:
                wrong.append(f"The revision {names[0]} is in {own[names[0]]} and in {path}.")
            own[names[0]] = path
    loose = sorted(set(own) - below)
    if len(loose) > 1:
        wrong.append(f"There are {len(loose)} heads: {', '.join(f'{name} in {own[name]}' for name in loose)}.")
    return tuple(wrong)
