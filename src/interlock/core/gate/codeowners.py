"""CODEOWNERS entries that keep card, policy and gates with their owners; writing the file is init's work.

Source of the dialect: GitHub's page about code owners: the last entry that matches decides, a leading ``/`` anchors, ``*`` does not
cross ``/``, and neither negation nor a class of characters exists (case PG-01: one dialect, exported and not reinvented).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from interlock.core.contract.paths import parse

PLACES: Final = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")
"""Where a forge looks for the file, in its order; only the first one counts."""

_OWNER: Final = re.compile(r"@[A-Za-z0-9][A-Za-z0-9-]*(/[A-Za-z0-9._-]+)?|[^\s@#]+@[^\s@#]+\.[^\s@#]+")
_HEAD: Final = """\
# What judges the work of agents belongs to the integration owners.  The last entry that matches decides,
# so these stand at the end of the file.
"""


def is_owner(text: str) -> bool:
    """Whether a forge takes this for an owner: @person, @organisation/team, or an address."""
    return _OWNER.fullmatch(text) is not None


def exported(pattern: str) -> str:
    """The same pattern as CODEOWNERS spells it, or the nearest folder around what it cannot spell.

    A wider entry asks for a review too often, and never too seldom.
    """
    text = parse(pattern).text
    parts: list[str] = []
    for part in text.removesuffix("/**").removesuffix("/").split("/"):
        if set(part) & set("[]!\\"):
            return _written(parts, folder=True)
        parts.append(part)
    if parts[-1] == "**":
        return _written(parts[:-1], folder=True)
    return _written(parts, folder=text.endswith(("/", "/**")))


def _written(parts: Sequence[str], *, folder: bool) -> str:
    if not parts:
        return "*"
    path = "/".join(parts).replace(" ", "\\ ")
    return f"/{path}/" if folder else f"/{path}"


def entries(protected: Sequence[str], owners: Sequence[str], *, file: str = PLACES[0]) -> str:
    """The lines to stand at the end of the file: every protected path, and the file itself, with its owners."""
    who = " ".join(owners)
    paths = dict.fromkeys([*(exported(pattern) for pattern in protected), f"/{file}"])
    return _HEAD + "".join(f"{path} {who}\n" for path in paths)


def missing(text: str, wanted: str) -> tuple[str, ...]:
    """Entries of ``wanted`` that do not stand, with just these owners, behind everything else in an existing file."""
    lines = _entries(text)
    own = _entries(wanted)
    return tuple(line for line in own if line not in lines[-len(own) :])


def _entries(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
