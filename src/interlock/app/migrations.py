"""Migrations of a task's own database, once for each state of their files in its tree; branching it is isolate's work."""

from __future__ import annotations

import hashlib
import json
import shlex
from pathlib import Path
from typing import Final

from interlock.app.rooms import Furnished
from interlock.app.templates import Staging
from interlock.core.contract.around import Database
from interlock.core.contract.card import Card
from interlock.core.contract.paths import decider, parse
from interlock.core.contract.policy import Policy
from interlock.core.job.lifecycle import Job
from interlock.core.problems import Refused, refused
from interlock.ports.bundle import Ports
from interlock.ports.processes import Done

_SECONDS: Final = 1800.0
_SHOWN: Final = 12


def migrate(ports: Ports, job: Job, card: Card, policy: Policy, staging: Staging, done: Furnished) -> bool:
    """Run the migrations of the card's database in the task's room; False when these were run already.

    Raises Refused (database) with the last lines when they fail.
    """
    database = policy.database(card.needs.database) if card.needs.database else None
    if database is None or database.migrate is None:
        return False
    record = ports.records.job(job.id) / "services"
    mark = record / "migrated.json"
    digest = _digest(database, staging)
    if digest is not None and _before(mark) == digest:
        return False
    number = sum(1 for _ in record.glob("migrate-*.log")) + 1
    log = record / f"migrate-{number}.log"
    ports.narrate(f"{job.slug}: {database.migrate}")
    ran = ports.commands.run(database.migrate, done.room, done.env, log, seconds=_SECONDS, redact=done.redact)
    if ran.code != 0:
        raise _failed(database, ran, log)
    fresh = mark.with_suffix(".new")
    fresh.write_text(json.dumps({"digest": digest, "log": log.name}), encoding="utf-8")
    fresh.replace(mark)
    return True


def _before(mark: Path) -> str | None:
    try:
        found: str | None = json.loads(mark.read_text(encoding="utf-8"))["digest"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found


def _digest(database: Database, staging: Staging) -> str | None:
    """Of the command and the migration files as the task has them; None when that cannot be told, so that they run."""
    patterns = [parse(pattern) for pattern in database.files]
    if not patterns:
        return None
    heads = shlex.join(sorted({pattern.head or "." for pattern in patterns}))
    staging.empty()
    found = staging.run(
        f"for head in {heads}; do [ ! -e ./$head ] || find ./$head -name .git -prune -o -type f "
        f"-exec sha256sum -z -- '{{}}' +; done > {shlex.quote(staging.inside)}/sums"
    )
    listing = staging.read("sums")
    staging.empty()
    if found.code != 0 or listing is None:
        return None
    pairs = {}
    for line in listing.decode("utf-8", "surrogateescape").split("\0"):
        digest, _, path = line.partition("  ")
        name = path.removeprefix("./").removeprefix("./")
        if name and decider(patterns, name) is not None:
            pairs[name] = digest
    whole = json.dumps([database.migrate, sorted(pairs.items())])
    return hashlib.sha256(whole.encode("utf-8", "surrogateescape")).hexdigest()


def _failed(database: Database, ran: Done, log: Path) -> Refused:
    last = "\n".join(ran.tail.strip().splitlines()[-_SHOWN:])
    how = "did not end in time" if ran.timed_out else f"ended with {ran.code}"
    return refused(
        rule="database",
        what=f"The migrations of {database.name} failed: {database.migrate} {how}.\n{last}",
        why=f"Services start on a database that fits the task's tree. The whole log is {log}.",
        would_change="Mend the migration in the task's tree, then say interlock up again; it runs once more.",
        holders=(database.name,),
    )
