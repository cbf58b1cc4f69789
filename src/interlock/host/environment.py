"""The exact environment of agents and checks: a short list of what they inherit, and the task's own values over it.

Everything else stays outside: secrets, and whatever redirects a repository (``GIT_*``).  The list is no sandbox:
a process of the same user can read the user's files.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from interlock.core.sandbox import HOME, RUN, Sandbox
from interlock.ports.isolation import Room

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


HARMLESS: Final = frozenset({"LANG", "TZ"})
"""What a sandbox inherits when it is set, beside every ``LC_*``."""

BIN: Final = f"{RUN}/bin"
_USUAL_PATH: Final = ("/usr/local/bin", "/usr/bin", "/bin")
_OWN: Final = frozenset({"PATH", "HOME", "TMPDIR", "USER", "LOGNAME", "SHELL"})
"""Names that mean something else inside, so that not even a policy can let them in."""


def of_room(values: Mapping[str, str], room: Room) -> dict[str, str]:
    """The environment of a process in a room: ``inside`` where a sandbox stands around it, else ``exact``."""
    return exact(values) if room.sandbox is None else inside(values, room.sandbox)


def inside(values: Mapping[str, str], sandbox: Sandbox, *, source: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a process in a sandbox: as ``exact``, but of this machine only what means the same inside.

    ``values`` name paths as they are inside.  PATH keeps those entries that can be seen there, below the programs or
    at one of the sandbox's tools.  The way to proxy and gate is in it.
    """
    from interlock.host.network import settings
    from interlock.host.sandbox import own_tools, toolchains

    outer = os.environ if source is None else source
    wanted = HARMLESS | (set(values.get(PASSED, "").split()) - _OWN)
    kept = {name: value for name, value in outer.items() if name in wanted or name.startswith("LC_")}
    own = {
        "HOME": HOME,
        "USER": "agent",
        "LOGNAME": "agent",
        "SHELL": "/bin/bash",
        "PATH": ":".join((BIN, *visible(outer.get("PATH", ""), (*sandbox.tools, *toolchains.tools())))),
    }
    network = settings.environment(sandbox, python=own_tools.python().path)
    return exact({**own, **values, **network}, source=kept)


def visible(path: str, tools: Iterable[str]) -> tuple[str, ...]:
    """The entries of a PATH that are there inside a sandbox, in their order; the usual ones when there are none."""
    from interlock.host.sandbox.system import is_shown

    shown = tuple(tools)
    found = dict.fromkeys(
        entry
        for entry in path.split(":")
        if entry.startswith("/") and (is_shown(entry) or any(_holds(tool, entry) for tool in shown))
    )
    return tuple(found) or _USUAL_PATH


def _holds(tool: str, entry: str) -> bool:
    """Whether an entry of PATH stands below a tool's folder, or is the folder that a tool stands in."""
    return Path(entry).is_relative_to(tool) or Path(tool).parent == Path(entry)
