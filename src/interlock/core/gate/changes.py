"""The changed set of a commit as values; git produces it, scope and overlap judge it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["A", "M", "D", "T"]
SYMLINK = 0o120000
SUBMODULE = 0o160000


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
