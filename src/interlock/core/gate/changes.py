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
    note for people (an added file whose content equals a deleted one).
    """

    path: str
    status: Status
    old_mode: int
    new_mode: int
    old_oid: str = ""
    new_oid: str = ""
    target: str | None = None
    renamed_from: str | None = None
