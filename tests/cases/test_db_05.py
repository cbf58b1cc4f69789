"""Case DB-05: copying a database that is being written to."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from interlock.adapters.databases import sqlite
from interlock.adapters.databases.sqlite import SqliteDatabases
from interlock.core.problems import InterlockError


def count(path: Path) -> int:
    with closing(sqlite3.connect(path)) as one:
        return int(one.execute("select count(*) from t").fetchone()[0])


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def wal_writer(path: Path, rows: int) -> sqlite3.Connection:
    writer = sqlite3.connect(path)
    writer.execute("pragma journal_mode=wal")
    writer.execute("pragma wal_autocheckpoint=0")
    writer.execute("create table t (n integer)")
    writer.commit()
    writer.executemany("insert into t values (?)", [(number,) for number in range(rows)])
    writer.commit()
    return writer


def test_db_05_rows_that_are_only_in_the_log_are_copied_and_the_source_is_untouched(tmp_path: Path) -> None:
    source = tmp_path / "app.db"
    with closing(wal_writer(source, 51)) as writer:
        plain = tmp_path / "plain.db"
        plain.write_bytes(source.read_bytes())
        with pytest.raises(sqlite3.OperationalError, match="no such table"):
            count(plain)
        before = {name: digest(tmp_path / name) for name in ("app.db", "app.db-wal")}
        given = SqliteDatabases().branch(source, tmp_path / "job" / "app.sqlite3")
        target = tmp_path / "job" / "app.sqlite3"
        assert given == {"DATABASE_NAME": "app.sqlite3", "DATABASE_URL": f"sqlite:///{target}"}
        assert count(target) == 51
        assert {name: digest(tmp_path / name) for name in before} == before
        writer.execute("insert into t values (99)")
        writer.commit()
        assert count(target) == 51, "the copy is its own"
    names = {path.name for path in (tmp_path / "job").iterdir()}
    assert names <= {"app.sqlite3", "app.sqlite3-wal", "app.sqlite3-shm"}


def test_db_05_a_database_at_rest_gets_no_files_beside_it(tmp_path: Path) -> None:
    source = tmp_path / "app.db"
    wal_writer(source, 5).close()
    before = (digest(source), source.stat().st_mtime_ns)
    SqliteDatabases().branch(source, tmp_path / "copy.db")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["app.db", "copy.db"]
    assert (digest(source), source.stat().st_mtime_ns) == before
    assert count(tmp_path / "copy.db") == 5


WRITER = """
import sqlite3, sys
one = sqlite3.connect(sys.argv[1]); one.execute("pragma journal_mode=wal"); one.execute("create table t (n, m)"); one.commit()
print("up", flush=True)
n = 0
while True:
    n += 1
    one.execute("insert into t values (?, 'a')", (n,)); one.execute("insert into t values (?, 'b')", (n,)); one.commit()
"""


def test_db_05_a_copy_under_a_busy_writer_is_one_moment(tmp_path: Path) -> None:
    source = tmp_path / "app.db"
    child = subprocess.Popen([sys.executable, "-c", WRITER, str(source)], stdout=subprocess.PIPE)
    try:
        assert child.stdout is not None
        child.stdout.readline()
        for number in range(5):
            target = tmp_path / f"copy-{number}.db"
            SqliteDatabases().branch(source, target)
            with closing(sqlite3.connect(target)) as one:
                assert one.execute("pragma integrity_check").fetchone() == ("ok",)
                pairs = one.execute("select n, count(*) from t group by n having count(*) != 2").fetchall()
            assert pairs == [], "both rows of a transaction, or none"
    finally:
        child.kill()
        child.communicate()


def test_db_05_what_cannot_be_copied_is_a_loud_failure_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("this is no database, and long enough to be taken for one" * 100)
    with pytest.raises(InterlockError, match="could not be copied"):
        SqliteDatabases().branch(tmp_path / "text.db", tmp_path / "out" / "copy.db")
    with pytest.raises(InterlockError, match="is not there"):
        SqliteDatabases().branch(tmp_path / "gone.db", tmp_path / "out" / "copy.db")
    assert list((tmp_path / "out").iterdir()) == []
    assert not (tmp_path / "gone.db").exists()


def test_db_05_a_database_that_stays_locked_is_told_and_not_waited_for_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "app.db"
    monkeypatch.setattr(sqlite, "_BUSY_SECONDS", 0.3)
    monkeypatch.setattr(sqlite, "_TRY_SECONDS", 0.1)
    with closing(sqlite3.connect(source)) as writer:
        writer.execute("create table t (n)")
        writer.commit()
        writer.execute("begin exclusive")
        with pytest.raises(InterlockError, match="locked"):
            SqliteDatabases().branch(source, tmp_path / "copy.db")
        writer.rollback()
    SqliteDatabases().branch(source, tmp_path / "copy.db")


def test_db_05_a_second_call_keeps_the_tasks_own_database(tmp_path: Path) -> None:
    source, target = tmp_path / "app.db", tmp_path / "copy.db"
    wal_writer(source, 3).close()
    SqliteDatabases().branch(source, target)
    with closing(sqlite3.connect(target)) as one:
        one.execute("delete from t")
        one.commit()
    SqliteDatabases().branch(source, target)
    assert count(target) == 0


def test_db_05_killed_in_the_middle_the_same_call_heals(tmp_path: Path) -> None:
    source = tmp_path / "app.db"
    with closing(sqlite3.connect(source)) as one:
        one.execute("create table t (n)")
        one.executemany("insert into t values (?)", [("x" * 1000,) for _ in range(20_000)])
        one.commit()
    code = (
        "import sys; from pathlib import Path; from interlock.adapters.databases.sqlite import SqliteDatabases\n"
        "print('up', flush=True); SqliteDatabases().branch(Path(sys.argv[1]), Path(sys.argv[2]))"
    )
    for number, delay in enumerate((0.005, 0.02, 0.04)):
        target = tmp_path / f"copy-{number}.db"
        child = subprocess.Popen([sys.executable, "-c", code, str(source), str(target)], stdout=subprocess.PIPE)
        assert child.stdout is not None
        child.stdout.readline()
        try:
            child.wait(delay)
        except subprocess.TimeoutExpired:
            child.kill()
        child.communicate()
        SqliteDatabases().branch(source, target)
        assert count(target) == 20_000
    assert os.path.getsize(source) > 0
