"""Admission on SQLite and PostgreSQL beside a bare transaction of the same inserts, alone and with four processes racing."""

from __future__ import annotations

import json
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import psycopg
from bench._measure import Report, side_by_side
from tests.integration.store import build
from tests.integration.store.race import audit, race

from interlock.adapters.store import SqlStore, sqlite_url
from interlock.core.job.events import NewEvent
from interlock.testing.postgres import PostgresServer, Unavailable

ROUNDS = 300
IN_FLIGHT = 12
RACING = 150
GOALS = {"SQLite": 0.010, "PostgreSQL": 0.050}

INSERTS = (
    "INSERT INTO event (at, subject, attempt, step, kind, actor, data) VALUES ({0}, {0}, {0}, {0}, {0}, {0}, {0})",
    "INSERT INTO job (id, slug, class, state, rev, born, doc) VALUES ({0}, {0}, {0}, {0}, {0}, 1, {0})",
    "INSERT INTO slot (class, n, job, kind, actor) VALUES ({0}, {0}, {0}, {0}, {0})",
    "INSERT INTO change (job, slug, branch, label, state, opened_at) VALUES ({0}, {0}, {0}, {0}, {0}, {0})",
)


def main() -> None:
    report = Report(f"admission with {IN_FLIGHT} jobs in flight")
    with tempfile.TemporaryDirectory() as folder:
        places = [sqlite_url(Path(folder) / f"{name}.sqlite3") for name in ("admit", "floor", "race")]
        measure(report, "SQLite", places, bare_sqlite)
    try:
        with PostgresServer.start(durable=True) as server:
            measure(report, "PostgreSQL", [server.new_database() for _ in range(3)], bare_postgres)
    except Unavailable as reason:
        report.note(f"PostgreSQL was left out: {reason}")
    report.end()


def measure(report: Report, name: str, urls: list[str], bare: Callable[[str], Callable[[], None]]) -> None:
    """One database: quiet admissions beside the floor, then the race."""
    ours, theirs, racing = urls
    SqlStore.open(theirs).close()
    floor = bare(theirs)
    store = SqlStore.open(ours)
    build.set_caps(store, {"slice": 50, "fix": 50}, ceiling=200)
    for number in range(IN_FLIGHT):
        paths = (f"src/part{number}/**", f"tests/part{number}/**")
        store.admit(build.request(f"held{number}", owned_paths=paths, read_only_paths=("src/shared/*.py",)))
    numbers = count()

    def admit() -> None:
        slug = f"new{next(numbers)}"
        paths = (f"src/{slug}/**", f"tests/{slug}/**", f"docs/{slug}.md")
        store.admit(build.request(slug, "fix", owned_paths=paths, read_only_paths=("src/shared/api.py",)))

    def free() -> None:
        for job in store.jobs()[IN_FLIGHT:]:
            store.record(NewEvent(subject=job.id, step="abandon", kind="job.abandoned", data={"reason": "bench"}))

    found = side_by_side({"floor": floor, "admit": admit, "free": free}, ROUNDS)
    store.close()
    report.times(f"{name}: bare transaction, same inserts", found["floor"])
    report.times(f"{name}: admit", found["admit"], floor=found["floor"], goal_p95=GOALS[name])
    tallies = race(racing, processes=4, attempts=RACING)
    report.times(
        f"{name}: 4 processes racing, caps moving",
        [each for tally in tallies for each in tally.seconds],
        goal_p95=GOALS[name],
    )
    store = SqlStore.open(racing)
    seen = audit(store.events())
    store.close()
    over = seen["over the cap"] + seen["over the ceiling"]
    report.figure(f"{name}: admissions over cap or ceiling", over, f"of {4 * RACING} attempts", goal="0", met=over == 0)


def rows(number: int) -> list[tuple[object, ...]]:
    """The values of one admission's four rows, of about the size of real ones."""
    job = f"floor{number}"
    doc = json.dumps({"card": {"owned_paths": ["src/**"] * 3, "text": "x" * 800}})
    return [
        (1.0, job, 0, "admitted", "job.admitted", "ana", doc),
        (job, job, "slice", "admitted", 1, doc),
        ("slice", number, job, "parallel", "ana"),
        (job, job, f"agent/{job}", "class:slice", "draft", 1.0),
    ]


def bare_sqlite(url: str) -> Callable[[], None]:
    connection = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
    connection.execute("PRAGMA synchronous = NORMAL")
    numbers = count(1)

    def work() -> None:
        connection.execute("BEGIN IMMEDIATE")
        for statement, values in zip(INSERTS, rows(next(numbers)), strict=True):
            connection.execute(statement.format("?"), values)
        connection.execute("COMMIT")

    return work


def bare_postgres(url: str) -> Callable[[], None]:
    connection = psycopg.connect(url)
    numbers = count(1)

    def work() -> None:
        with connection.transaction():
            for statement, values in zip(INSERTS, rows(next(numbers)), strict=True):
                connection.execute(statement.format("%s"), values)

    return work


if __name__ == "__main__":
    main()
