"""Case DB-05: copying a database that is being written to."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import struct
import subprocess
import sys
import tarfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from interlock.adapters.databases import copying, sqlite_copy
from interlock.adapters.databases.sqlite import SqliteDatabases
from interlock.core.contract import database_names as names
from interlock.core.contract.around import Database
from interlock.core.problems import InterlockError, Refused
from interlock.ports.isolation import Baseline, Branch


def nothing(branch: Branch) -> None:
    raise AssertionError(branch)


def baseline_of(source: Path) -> Baseline:
    folder = source.parent / "baselines"
    return Baseline(
        database=Database(name="app", use="sqlite", baseline=str(source)), digest="", prepare=nothing, folder=folder
    )


def branch_of(source: Path, job: Path) -> Path:
    """The file of the task's own copy."""
    branch = SqliteDatabases().branch(baseline_of(source), "task", job)
    assert branch.file is not None
    assert branch.url == f"sqlite:///{branch.file}"
    assert branch.name == branch.file.name
    return branch.file


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
        target = branch_of(source, tmp_path / "job")
        assert count(target) == 51
        assert {name: digest(tmp_path / name) for name in before} == before
        writer.execute("insert into t values (99)")
        writer.commit()
        assert count(target) == 51, "the copy is its own"
    beside = {path.name.replace(target.name, "") for path in target.parent.iterdir()}
    assert beside <= {"", "-wal", "-shm"}


def test_db_05_a_database_at_rest_gets_no_files_beside_it(tmp_path: Path) -> None:
    source = tmp_path / "app.db"
    wal_writer(source, 5).close()
    before = (digest(source), source.stat().st_mtime_ns)
    target = branch_of(source, tmp_path / "job")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["app.db", "baselines", "job"]
    assert (digest(source), source.stat().st_mtime_ns) == before
    assert count(target) == 5


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
            target = branch_of(source, tmp_path / f"job-{number}")
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
        branch_of(tmp_path / "text.db", tmp_path / "out")
    with pytest.raises(InterlockError, match="is not there"):
        branch_of(tmp_path / "gone.db", tmp_path / "out")
    assert [path for path in (tmp_path / "out").rglob("*") if path.is_file() and path.stat().st_size > 20] == []
    assert SqliteDatabases().owned(baseline_of(tmp_path / "gone.db")) == ()
    assert not (tmp_path / "gone.db").exists()


def test_db_05_a_database_that_stays_locked_is_told_and_not_waited_for_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "app.db"
    monkeypatch.setattr(sqlite_copy, "_BUSY_SECONDS", 0.3)
    monkeypatch.setattr(sqlite_copy, "_TRY_SECONDS", 0.1)
    with closing(sqlite3.connect(source)) as writer:
        writer.execute("create table t (n)")
        writer.commit()
        writer.execute("begin exclusive")
        with pytest.raises(InterlockError, match="locked"):
            branch_of(source, tmp_path / "job")
        writer.rollback()
    branch_of(source, tmp_path / "job")


def test_db_05_a_second_call_keeps_the_tasks_own_database(tmp_path: Path) -> None:
    source = tmp_path / "app.db"
    wal_writer(source, 3).close()
    target = branch_of(source, tmp_path / "job")
    with closing(sqlite3.connect(target)) as one:
        one.execute("delete from t")
        one.commit()
    assert branch_of(source, tmp_path / "job") == target
    assert count(target) == 0


def test_db_05_killed_in_the_middle_the_same_call_heals(tmp_path: Path) -> None:
    source = tmp_path / "app.db"
    with closing(sqlite3.connect(source)) as one:
        one.execute("create table t (n)")
        one.executemany("insert into t values (?)", [("x" * 1000,) for _ in range(20_000)])
        one.commit()
    code = (
        "import sys; from pathlib import Path; from interlock.adapters.databases import sqlite_copy\n"
        "print('up', flush=True); sqlite_copy.copy(Path(sys.argv[1]), Path(sys.argv[2]))"
    )
    for number, delay in enumerate((0.005, 0.02, 0.04)):
        target = tmp_path / f"job-{number}" / "app.database" / names.file_name("app", "task")
        child = subprocess.Popen([sys.executable, "-c", code, str(source), str(target)], stdout=subprocess.PIPE)
        assert child.stdout is not None
        child.stdout.readline()
        try:
            child.wait(delay)
        except subprocess.TimeoutExpired:
            child.kill()
        child.communicate()
        assert branch_of(source, tmp_path / f"job-{number}") == target
        assert count(target) == 20_000
    assert os.path.getsize(source) > 0


def test_db_05_a_copy_that_shares_bytes_is_made_of_a_database_at_rest_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a file system cannot share bytes, a whole copy stands for it: the rule of when is the same."""
    shared = []

    def clone(source: int, target: int) -> bool:
        shared.append(os.fstat(source).st_size)
        os.write(target, os.pread(source, os.fstat(source).st_size, 0))
        return True

    monkeypatch.setattr(copying, "clone", clone)
    source = tmp_path / "app.db"
    with closing(wal_writer(source, 51)) as writer:
        assert count(branch_of(source, tmp_path / "busy")) == 51
        assert shared == [], "rows in the log would be missing"
        writer.execute("pragma wal_checkpoint(truncate)")
        assert count(branch_of(source, tmp_path / "empty-log")) == 51
        assert len(shared) == 1
        writer.execute("insert into t values (99)")
        writer.commit()
        assert count(branch_of(source, tmp_path / "busy-again")) == 52
        assert len(shared) == 1
    assert count(branch_of(source, tmp_path / "rest")) == 52
    assert len(shared) == 2


def test_db_05_sharing_bytes_here_gives_the_same_copy_or_says_that_it_cannot(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"bytes" * 5000)
    with (tmp_path / "one").open("rb") as one, (tmp_path / "two").open("xb") as two:
        done = copying.clone(one.fileno(), two.fileno())
    assert (tmp_path / "two").read_bytes() == (b"bytes" * 5000 if done else b"")


def test_db_05_a_prepared_template_is_made_anew_when_the_baseline_changed(tmp_path: Path) -> None:
    source = tmp_path / "app.db"
    wal_writer(source, 3).close()
    made = []

    def prepare(branch: Branch) -> None:
        assert branch.file is not None
        with closing(sqlite3.connect(branch.file)) as one:
            one.execute("pragma journal_mode=wal")
            one.execute("insert into t values (7)")
            one.commit()
        made.append(branch.file)

    database = Database(name="app", use="sqlite", baseline=str(source), migrate="make migrate")
    baseline = Baseline(database=database, digest="one", prepare=prepare, folder=tmp_path / "baselines")
    copies = [SqliteDatabases().branch(baseline, task, tmp_path / task).file for task in ("a", "b")]
    assert [count(each) for each in copies if each] == [4, 4]
    assert len(made) == 1
    assert count(source) == 3, "the baseline itself is not migrated"
    with closing(sqlite3.connect(source)) as one:
        one.execute("insert into t values (8)")
        one.commit()
    third = SqliteDatabases().branch(baseline, "c", tmp_path / "c").file
    assert third is not None
    assert count(third) == 5
    assert len(made) == 2
    for number in range(4):
        other = replace(baseline, digest=f"digest {number}")
        SqliteDatabases().branch(other, f"task-{number}", tmp_path / f"task-{number}")
    assert len([path for path in (tmp_path / "baselines" / "templates").iterdir() if path.is_dir()]) == 3


# ---------------------------------------------------------------- what a sandbox wrote is never opened
def plant_journal(database: Path, victim: Path) -> None:
    """A hot journal whose super-journal is the victim: whoever opens the database with SQLite deletes that file."""
    page, nonce = 4096, 1234
    with closing(sqlite3.connect(database)) as one:
        one.execute("create table if not exists planted (n)")
        one.commit()
    data = database.read_bytes()[:page]
    total = (nonce + sum(data[at] for at in range(page - 200, 0, -200))) & 0xFFFFFFFF
    magic, name = bytes.fromhex("d9d505f920a163d7"), os.fsencode(victim)
    header = magic + struct.pack(">5I", 1, nonce, database.stat().st_size // page, 512, page)
    record = struct.pack(">I", 1) + data + struct.pack(">I", total)
    signed = sum(byte if byte < 128 else byte - 256 for byte in name) & 0xFFFFFFFF
    trailer = struct.pack(">I", 0x40000000 // page + 1) + name + struct.pack(">2I", len(name), signed) + magic
    database.with_name(f"{database.name}-journal").write_bytes(header.ljust(512, b"\0") + record + trailer)


def prepared_by(tmp_path: Path, prepare: Callable[[Path], object]) -> Baseline:
    def run(branch: Branch) -> None:
        assert branch.file is not None
        prepare(branch.file)

    source = tmp_path / "app.db"
    if not source.exists():
        wal_writer(source, 3).close()
    database = Database(name="app", use="sqlite", baseline=str(source), migrate="make migrate")
    return Baseline(database=database, digest="one", prepare=run, folder=tmp_path / "baselines")


def test_db_05_the_planted_journal_deletes_a_file_when_sqlite_opens_it(tmp_path: Path) -> None:
    victim, database = tmp_path / "victim", tmp_path / "any.db"
    victim.write_text("ours")
    plant_journal(database, victim)
    count_schema(database)
    assert not victim.exists(), "the attack of the next tests would prove nothing"


def test_db_05_a_journal_that_a_migration_planted_deletes_nothing_of_ours(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("ours")
    baseline = prepared_by(tmp_path, lambda file: plant_journal(file, victim))
    for _ in range(2):
        with pytest.raises(Refused, match="-journal is beside it") as caught:
            SqliteDatabases().branch(baseline, "task", tmp_path / "job")
        assert caught.value.refusal.rule == "database"
        assert "close every connection" in caught.value.refusal.would_change
        assert victim.read_text() == "ours"
    assert SqliteDatabases().owned(baseline) == ()
    healed = SqliteDatabases().branch(prepared_by(tmp_path, lambda file: None), "task", tmp_path / "job").file
    assert healed is not None
    assert count(healed) == 3
    assert victim.exists()


def test_db_05_a_journal_beside_the_baseline_or_of_a_task_deletes_nothing_of_ours(tmp_path: Path) -> None:
    victim, source = tmp_path / "victim", tmp_path / "app.db"
    victim.write_text("ours")
    wal_writer(source, 3).close()
    with closing(sqlite3.connect(source)) as one:
        one.execute("pragma journal_mode=delete")
    target = branch_of(source, tmp_path / "job")
    plant_journal(target, victim)
    assert branch_of(source, tmp_path / "job") == target
    kept = SqliteDatabases().release(baseline_of(source), "task", tmp_path / "job")
    assert kept is not None
    assert victim.read_text() == "ours"
    plant_journal(source, victim)
    with pytest.raises(InterlockError, match="could not be copied"):
        branch_of(source, tmp_path / "job")
    assert victim.read_text() == "ours"


def killed_before_it_closed(file: Path) -> None:
    code = (
        "import os, sqlite3, sys; one = sqlite3.connect(sys.argv[1]); one.execute('pragma journal_mode=wal');"
        " one.execute('insert into t values (7)'); one.commit(); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", code, str(file)], check=True)


def linked(file: Path) -> None:
    file.replace(file.with_name("moved"))
    file.symlink_to("moved")


def linked_to_ours(file: Path) -> None:
    file.unlink()
    file.symlink_to(file.parents[3] / "app.db")


def piped(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


BAD: dict[str, tuple[Callable[[Path], object], str]] = {
    "rows that are only in the log": (killed_before_it_closed, "-wal is beside it"),
    "a link": (linked, "not there as a plain file"),
    "a link to a file of ours": (linked_to_ours, "not there as a plain file"),
    "a second name": (lambda f: f.with_name("second").hardlink_to(f), "has a second name"),
    "a pipe": (piped, "not there as a plain file"),
    "nothing": (lambda f: f.unlink(), "not there as a plain file"),
    "a linked log": (lambda f: f.with_name(f"{f.name}-wal").symlink_to(f.parents[3] / "app.db"), "-wal is beside it"),
    "text": (lambda f: f.write_text("this is no database" * 10), "is no SQLite database"),
}


@pytest.mark.parametrize("case", BAD)
def test_db_05_what_a_migration_left_is_a_plain_whole_file_or_refused(tmp_path: Path, case: str) -> None:
    spoil, said = BAD[case]
    with pytest.raises(Refused, match=said):
        SqliteDatabases().branch(prepared_by(tmp_path, spoil), "task", tmp_path / "job")
    assert list((tmp_path / "job").rglob("*.sqlite3")) == []
    assert count(tmp_path / "app.db") == 3
    templates = tmp_path / "baselines" / "templates"
    assert [path for path in templates.glob("app-*") if path.is_dir()] == []


def test_db_05_a_template_is_a_file_that_no_sandbox_wrote(tmp_path: Path) -> None:
    seen: list[int] = []

    def prepare(file: Path) -> None:
        file.with_name("more").write_text("x")
        seen.append(inode(file))

    baseline = prepared_by(tmp_path, prepare)
    assert SqliteDatabases().branch(baseline, "task", tmp_path / "job").file
    (folder,) = [path for path in (tmp_path / "baselines" / "templates").iterdir() if path.is_dir()]
    assert [path.name for path in folder.iterdir()] == ["app.sqlite3"]
    assert [inode(folder / "app.sqlite3")] != seen


def test_db_05_a_task_that_took_its_file_away_gets_another_and_no_link_of_its_own_is_written_through(
    tmp_path: Path,
) -> None:
    source, ours = tmp_path / "app.db", tmp_path / "ours"
    wal_writer(source, 3).close()
    target = branch_of(source, tmp_path / "job")
    folder = inode(target.parent)
    target.unlink()
    target.symlink_to(ours)
    target.with_name(f"{target.name}-journal").symlink_to(ours)
    assert branch_of(source, tmp_path / "job") == target
    assert not ours.exists()
    assert count(target) == 3
    assert inode(target.parent) == folder, "a sandbox that has the folder still has it"


def inode(path: Path) -> int:
    return path.stat().st_ino


def count_schema(path: Path) -> int:
    with closing(sqlite3.connect(path)) as one:
        return int(one.execute("select count(*) from sqlite_schema").fetchone()[0])


def test_db_05_a_link_that_a_task_left_is_not_followed_into_an_archive(tmp_path: Path) -> None:
    source, secret = tmp_path / "app.db", tmp_path / "secret"
    wal_writer(source, 3).close()
    secret.write_text("not the task's")
    target = branch_of(source, tmp_path / "job")
    target.with_name(f"{target.name}-wal").symlink_to(secret)
    kept = SqliteDatabases().release(baseline_of(source), "task", tmp_path / "job")
    assert kept is not None
    with tarfile.open(kept) as tar:
        assert tar.getnames() == [target.name]
    target = branch_of(source, tmp_path / "job")
    target.unlink()
    target.symlink_to(secret)
    assert SqliteDatabases().release(baseline_of(source), "task", tmp_path / "job") == kept
    assert not target.is_symlink()
    assert secret.read_text() == "not the task's"
