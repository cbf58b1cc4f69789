"""The changed set of a commit as values; git produces it, scope and overlap judge it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Status = Literal["A", "M", "D", "T"]
SYMLINK = 0o120000
SUBMODULE = 0o160000

# --ignore-submodules=none: a .gitmodules or a setting in the judged repository must not hide a submodule's change.
EXACT: Final = (
    *("-r", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-relative"),
    "--ignore-submodules=none",
)
"""How git tells a difference by exact names, whatever is configured: for ``diff-tree``, which ends each name with a null byte."""

RAW: Final = (*EXACT, "--raw", "--no-abbrev")
"""The same with modes and whole object names, as ``from_raw`` and ``of_each`` read it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One changed path of a difference without rename detection; a rename is a D and an A.

    ``path`` is the name's bytes decoded with surrogateescape; modes are git's (0 where absent); ``target`` is
    the text of a new symbolic link; ``old_oid``/``new_oid`` the blob on either side; ``renamed_from`` is only a
    note for people (an added file whose content equals a deleted one); ``undeclared`` says of a new submodule that
    ``.gitmodules`` beside it does not say where it comes from.
    """

    path: str
    status: Status
    old_mode: int
    new_mode: int
    old_oid: str = ""
    new_oid: str = ""
    target: str | None = None
    renamed_from: str | None = None
    undeclared: bool = False


def from_raw(meta: str, path: str) -> Change:
    """One line of ``git diff-tree --raw`` without rename detection: what stands before the path, and the path."""
    old_mode, new_mode, old_oid, new_oid, letter = meta[1:].split(" ")
    status: Status = letter[0]  # type: ignore[assignment]  # git gives A, M, D or T
    return Change(
        path=path,
        status=status,
        old_mode=int(old_mode, 8),
        new_mode=int(new_mode, 8),
        old_oid="" if status == "A" else old_oid,
        new_oid="" if status == "D" else new_oid,
    )


def of_each(out: bytes) -> dict[str, list[Change]]:
    """What ``git diff-tree --stdin`` with ``RAW`` says, by the commit that it says it of."""
    found: dict[str, list[Change]] = {}
    current: list[Change] = []
    tokens = iter(out.split(b"\0"))
    for token in tokens:
        if token.startswith(b":"):
            current.append(from_raw(token.decode(), next(tokens).decode("utf-8", "surrogateescape")))
        elif token:
            current = found.setdefault(token.decode().strip(), [])
    return found
