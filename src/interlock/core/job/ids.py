"""Names of the things that are told apart by identity; making new ones is the app's work."""

from __future__ import annotations

from typing import NewType

JobId = NewType("JobId", str)
Slug = NewType("Slug", str)
Oid = NewType("Oid", str)


def branch_of(slug: str) -> str:
    """The branch a job of this card works on; looked up, never trusted as identity."""
    return f"agent/{slug}"


def attempt_key(job: str, attempt: int) -> str:
    return f"attempt:{job}:{attempt}"
