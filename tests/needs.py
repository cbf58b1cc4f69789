"""What tests may count on: marks for what they need of the machine, and whether the full sweeps are asked for.

What is missing fails in CI, and is a skip with its reason elsewhere.
"""

from __future__ import annotations

import os

import pytest

from interlock.host.sandbox import identity
from interlock.host.sandbox.probe import probe

FULL = os.environ.get("INTERLOCK_TESTS") == "full"
"""Every boundary instead of one of each kind, the big counts, and every command started afresh."""


def _missing_sandbox() -> str | None:
    if os.environ.get("CI") == "true":
        return None
    found = probe(identity.default_user())
    return None if found.ok else f"{found.why} {found.fix}"


needs_sandbox = pytest.mark.skipif(_missing_sandbox() is not None, reason=_missing_sandbox() or "")
"""Real bubblewrap, real namespaces."""
