"""What a team's policy puts around its tasks, as values: dependencies, databases, services, browsers, secrets, approvals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Installer = Literal["uv", "pnpm", "npm", "command"]
OnClean = Literal["archive", "drop"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency:
    """Packages that belong in the warm base: the lock files that say which, and the command that installs them.

    ``folder`` is where the lock files' project stands, relative to the tree.
    """

    use: Installer
    lock: tuple[str, ...]
    install: str
    folder: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bases:
    """How long an unused warm base is kept, in seconds, and the bytes that all of them may take."""

    keep: float = 14 * 86_400.0
    disk: int = 20_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxRules:
    """What every sealed task may see beyond the system's own folders: ``tools`` and ``sockets`` of this machine by name."""

    tools: tuple[str, ...] = ()
    sockets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """A database that tasks may ask for by name.

    ``baseline`` is a file for sqlite, a database of the server for postgres, and absent for a server per task.
    ``files`` are patterns of the migrations and fixtures whose digest keys the prepared template; ``migrate`` and
    ``seed`` run inside; ``server`` names the variable that holds the administrator's URL; ``probe`` prints the
    name of the database that the application uses; ``pool`` is how many branches are kept ready.
    """

    name: str
    use: str
    baseline: str | None = None
    migrate: str | None = None
    seed: str | None = None
    files: tuple[str, ...] = ()
    server: str | None = None
    probe: str | None = None
    on_clean: OnClean = "archive"
    pool: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """When a service counts as ready: a port answers, a path gives 2xx or 3xx, or a command ends with 0; in seconds."""

    tcp: str | None = None
    http: str | None = None
    command: str | None = None
    within: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A command that keeps running beside a task.  ``port`` is the variable of the port that it serves."""

    name: str
    run: str
    port: str | None = None
    after: tuple[str, ...] = ()
    ready: Ready | None = None
    infrastructure: bool = False
    url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A file of the tree that is rendered (Jinja2) to another one for each task."""

    source: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Browser:
    """A role: the golden profile on this machine that each task's own profile is copied from."""

    role: str
    golden: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """A secret that cards may ask for, and its one approved source: a variable, a file or a command of this machine.

    ``approval`` names an approval without which it is not handed out.
    """

    name: str
    variable: str | None = None
    file: str | None = None
    command: str | None = None
    approval: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRule:
    """What a person must approve by name first: command lines, hosts, and changed paths, each by pattern."""

    name: str
    commands: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
