"""The exact environment of agents and checks: a short list of what they inherit, and the task's own values over it.

Everything else stays outside: secrets, and whatever redirects a repository (``GIT_*``).  The list is no sandbox:
a process of the same user can read the user's files.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

INHERITED: Final = frozenset(
    {
        "PATH",
        "HOME",
        "LANG",
        "TZ",
        "TMPDIR",
        "USER",
        "LOGNAME",
        "SHELL",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "REQUESTS_CA_BUNDLE",
        "NODE_EXTRA_CA_CERTS",
        "PIP_CERT",
    }
)
"""What is inherited when it is set, beside every ``LC_*``."""

FIXED: Final[Mapping[str, str]] = {"TERM": "dumb"}
PASSED: Final = "INTERLOCK_PASS"
"""Among the task's values: further names to inherit, separated by blanks (the policy's ``environment``)."""


def exact(values: Mapping[str, str], *, source: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a process of a task: inherited, fixed, then the task's own ``values``.

    ``source`` is what may be inherited from (default: this process's environment).  Names that begin with ``GIT_``
    or ``INTERLOCK_`` are never inherited, not even when the policy names them.
    """
    outer = os.environ if source is None else source
    wanted = INHERITED | set(values.get(PASSED, "").split())
    inherited = {
        name: value
        for name, value in outer.items()
        if (name in wanted or name.startswith("LC_")) and not name.startswith(("GIT_", "INTERLOCK_"))
    }
    own = {name: value for name, value in values.items() if name != PASSED}
    return {**inherited, **FIXED, **own}
