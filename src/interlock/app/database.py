"""The database of one job: its baseline by digest, its branch, the proof that the application uses it; kinds are adapters."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import cast
from urllib.parse import quote, urlsplit, urlunsplit

from interlock.core.contract.around import Database
from interlock.core.contract.card import Card, Level
from interlock.core.contract.database_names import digest, same_database
from interlock.core.contract.paths import decider, parse
from interlock.core.contract.policy import Policy
from interlock.core.job.lifecycle import Job
from interlock.core.problems import InterlockError, Refused, refused
from interlock.core.sandbox import RUN, SOCKETS, Bind, Relay
from interlock.ports.bundle import Ports
from interlock.ports.isolation import Baseline, Branch, Databases, Place, Room

INSIDE_PORT = 5432
INSIDE_DATA = f"{RUN}/data"
"""Inside: the folder of the files of file databases."""

_PREPARE_SECONDS = 1800.0
_PROBE_SECONDS = 60.0


def database_of(card: Card, policy: Policy) -> Database | None:
    """The database that the card asks for, by the policy."""
    return policy.database(card.needs.database) if card.needs.database else None


def branch_of_job(ports: Ports, job: Job, card: Card, policy: Policy) -> Branch | None:
    """The job's own database, made or found again; None when its card asks for none.  Raises Refused (database)."""
    database = database_of(card, policy)
    if database is None:
        return None
    return database_branch(ports, database, job.base, level_of(job), task_of(job), job.id)


def database_branch(ports: Ports, database: Database, commit: str, level: Level, task: str, record: str) -> Branch:
    """A task's branch of a database as a commit prepares it; ``record`` names the job record that it belongs to."""
    baseline = baseline_of(ports, database, commit, level)
    return _kind(ports, database).branch(baseline, task, ports.records.shared(record, "data"))


def release_of_job(ports: Ports, job: Job) -> str | None:
    """Archive or drop the job's database, by the policy that it was made under; gives what was kept.

    Raises InterlockError when it has to be tried again.
    """
    database = recorded(ports, job)
    if database is None:
        return None
    baseline = baseline_of(ports, database, job.base, level_of(job))
    return _kind(ports, database).release(baseline, task_of(job), ports.records.shared(job.id, "data"))


def recorded(ports: Ports, job: Job) -> Database | None:
    """The database as the policy had it when the job was isolated; a later policy may know another or none."""
    for step in ("isolate", "isolate-failed"):
        event = ports.store.event(job.id, 0, step)
        if event is not None and event.data.get("database"):
            shape = dict(event.data["database"])
            return Database(**{**shape, "files": tuple(shape["files"])})
    return None


@contextmanager
def throwaway(ports: Ports, database: Database, commit: str, level: Level, record: str) -> Iterator[Branch]:
    """A branch for the checks of one record alone, dropped afterwards; what a killed call left is dropped first.

    Only one at a time is open for a record: its caller holds a lock.
    """
    mine = f"check-{record}-"
    kind = _kind(ports, database)
    folder = ports.records.shared(record, "check-data")
    dropping = baseline_of(ports, replace(database, on_clean="drop"), commit, level)
    for left in kind.owned(dropping):
        if left.startswith(mine):
            kind.release(dropping, left, folder)
    task = f"{mine}{ports.new_id()}"
    try:
        yield kind.branch(baseline_of(ports, database, commit, level), task, folder)
    finally:
        try:
            kind.release(dropping, task, folder)
        except InterlockError as fault:
            ports.narrate(f"The database {task} is still there, and goes with the next check: {fault.message}")


def password_of(url: str) -> tuple[str, ...]:
    """The password in a URL, as the texts that no log may show."""
    found = urlsplit(url).password
    return (found,) if found else ()


def level_of(job: Job) -> Level:
    """The level that the job's tree was made at."""
    return cast(Level, job.level or "worktree")


def task_of(job: Job) -> str:
    """What the job's database is named after: its slug, and its id so that no two jobs of a slug meet."""
    return f"{job.slug}-{job.id}"


def baseline_of(ports: Ports, database: Database, commit: str, level: Level) -> Baseline:
    """What a database is branched from at a commit: the digest of its migration and seed files keys the template."""
    patterns = [parse(pattern) for pattern in database.files]
    files = [path for path in ports.repo.files(commit) if decider(patterns, path) is not None] if patterns else []
    oids = ports.repo.read_many([(commit, path) for path in files])
    pairs = tuple((path, blob.oid) for path, blob in zip(files, oids, strict=True) if blob is not None)
    commands = tuple(each for each in (database.migrate, database.seed) if each)
    folder = ports.repo.common_dir / "interlock" / "databases" / database.name
    return Baseline(
        database=_rooted(ports, database),
        digest=digest(commands, pairs),
        prepare=_preparing(ports, database, commit, level),
        folder=folder,
    )


def _rooted(ports: Ports, database: Database) -> Database:
    """A baseline file is meant below the main checkout."""
    if database.use != "sqlite" or database.baseline is None:
        return database
    return replace(database, baseline=str(ports.repo.top / Path(database.baseline).expanduser()))


def _preparing(ports: Ports, database: Database, commit: str, level: Level) -> Callable[[Branch], None]:
    """Migrate and seed a fresh template, in a tree of the base and behind the same walls as a task."""

    def prepare(branch: Branch) -> None:
        commands = [each for each in (database.migrate, database.seed) if each]
        if not commands:
            return
        record = ports.records.job(f"database-{database.name}")
        with (
            ports.records.lock(f"database-{database.name}", wait=None),
            ports.workspaces.fresh(commit, record / "tree", level) as fresh,
        ):
            room, values = connected(ports, f"database-{database.name}", fresh, branch)
            for command in commands:
                done = ports.commands.run(
                    command,
                    room,
                    values,
                    record / "prepare.log",
                    seconds=_PREPARE_SECONDS,
                    redact=password_of(branch.url),
                )
                if done.code != 0:
                    raise _failed(database, command, done.tail)

    return prepare


def connected(ports: Ports, record: str, room: Room, branch: Branch) -> tuple[Room, dict[str, str]]:
    """A room from which a branch can be reached, and the values that name it there.

    ``record`` names the folder of the job records whose ``sockets`` the relay stands in.
    """
    values = {"DATABASE_NAME": branch.name, "DATABASE_URL": url_for(branch, sandboxed=room.sandbox is not None)}
    if room.sandbox is None:
        return room, values
    sandbox = room.sandbox
    if branch.file is not None:
        ports.records.granted(branch.file.parent)
        bind = Bind(source=str(branch.file.parent), target=INSIDE_DATA, writable=True)
        sandbox = replace(sandbox, binds=(*sandbox.binds, bind))
    elif branch.address is not None:
        folder = ports.records.shared(record, "sockets")
        name = f"database-{ports.new_id()}.sock"  # of this room alone: another one may be open at the same time
        outward = Relay(listen=f"unix:{folder / name}", connect=branch.address)
        inward = Relay(listen=f"tcp:127.0.0.1:{INSIDE_PORT}", connect=f"unix:{RUN}/sockets/{name}")
        bind = Bind(source=str(folder), target=SOCKETS, writable=True)
        binds = sandbox.binds if any(each.target == bind.target for each in sandbox.binds) else (*sandbox.binds, bind)
        sandbox = replace(sandbox, outward=(*sandbox.outward, outward), inward=(*sandbox.inward, inward), binds=binds)
    return replace(room, sandbox=sandbox), values


def url_for(branch: Branch, *, sandboxed: bool) -> str:
    """How the branch is reached: by its own URL, or inside a sandbox on that one's loopback or data folder."""
    if not sandboxed:
        return branch.url
    if branch.file is not None:
        return f"sqlite:///{INSIDE_DATA}/{branch.file.name}"
    found = urlsplit(branch.url)
    user = quote(found.username or "", safe="")
    password = f":{quote(found.password, safe='')}" if found.password else ""
    return urlunsplit((found.scheme, f"{user}{password}@127.0.0.1:{INSIDE_PORT}", found.path, "", ""))


def prove_isolated(ports: Ports, database: Database, branch: Branch, place: Place, values: dict[str, str]) -> None:
    """Have the application print the database that it uses, which must be the task's (case DB-04).  Raises Refused."""
    if database.probe is None:
        return
    record = ports.records.job(place.job)
    room, named = connected(ports, place.job, ports.workspaces.room(place), branch)
    done = ports.commands.run(
        database.probe,
        room,
        values | named,
        record / "probe.log",
        seconds=_PROBE_SECONDS,
        redact=password_of(branch.url),
    )
    if done.code == 0 and same_database(done.tail, branch):
        return
    said = f"ended with {done.code}: {done.tail}" if done.code != 0 else f"printed {done.tail.strip()!r}"
    raise refused(
        rule="database",
        what=f"The application in the task does not use the task's database: the probe {said}.",
        why=f"It must be {branch.name}; an application that reads its own .env would share one with others.",
        would_change="Let the application take DATABASE_URL from its environment first, then dispatch again.",
        holders=(branch.name,),
    )


def _kind(ports: Ports, database: Database) -> Databases:
    try:
        return ports.databases[database.use]
    except KeyError:
        raise InterlockError(
            f"The kind of database {database.use} is not installed.",
            hint="Install interlock with the extra postgres.",
        ) from None


def _failed(database: Database, command: str, tail: str) -> Refused:
    last = os.linesep.join(tail.strip().splitlines()[-8:])
    return refused(
        rule="database",
        what=f"The database {database.name} could not be prepared: {command} failed.\n{last}",
        why="Tasks branch from a template that was migrated and seeded as a whole.",
        would_change="Mend the migration or the seed on the default branch, then dispatch again.",
    )
