"""Marks for tests that need something of the machine: they fail in CI where it is missing, and skip with the reason elsewhere."""

from __future__ import annotations

import os

import pytest

from interlock.host.sandbox import identity
from interlock.host.sandbox.probe import probe


def _missing_sandbox() -> str | None:
    if os.environ.get("CI") == "true":
        return None
    found = probe(identity.default_user())
    return None if found.ok else f"{found.why} {found.fix}"


needs_sandbox = pytest.mark.skipif(_missing_sandbox() is not None, reason=_missing_sandbox() or "")
"""Real bubblewrap, real namespaces."""
