"""Names that are made from a slug; new ids are made by wiring."""

from __future__ import annotations


def branch_of(slug: str) -> str:
    """The branch a job of this card works on; looked up, never trusted as identity."""
    return f"agent/{slug}"
