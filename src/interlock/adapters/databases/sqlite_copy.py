"""A consistent copy of a SQLite file, also while others write to it; which one is needed and when is sqlite's work."""

from __future__ import annotations

import os
import secrets
import shutil
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote

from interlock.adapters.databases import copying
from interlock.core.problems import InterlockError, Refused, refused
from interlock.host import files

_BUSY_SECONDS: Final = 10.0
_TRY_SECONDS: Final = 0.5
_ALL_PAGES: Final = -1  # in one step, so that a busy writer cannot make it start over
_SIDE_FILES: Final = ("-wal", "-shm")
_MAGIC: Final = b"SQLite format 3\0"


def copy(source: Path, target: Path) -> None:
    """Copy a database to target, whole or not at all: in constant time where files can share bytes and it is at rest.

    Otherwise by SQLite's backup API: a plain copy would leave out the write-ahead log (case DB-05).
    Raises InterlockError when it is busy or no database.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        with _reading(source) as opened:
            if not _share(opened, source, temporary):
                with closing(sqlite3.connect(temporary)) as fresh:
                    opened.backup(fresh, pages=_ALL_PAGES, progress=_patience(), sleep=0.02)
        with temporary.open("rb+") as file:
            files.sync(file.fileno())
        temporary.replace(target)
        files.sync_folder(target.parent)
    except sqlite3.Error as fault:
        raise InterlockError(
            f"The database {source} could not be copied: {fault}.",
            hint="See that it is a SQLite database, that it can be read, and that nobody holds it locked.",
        ) from fault
    finally:
        for stale in (temporary, *(_beside(temporary, suffix) for suffix in (*_SIDE_FILES, "-journal"))):
            stale.unlink(missing_ok=True)


def new(target: Path) -> None:
    """An empty database."""
    with closing(sqlite3.connect(target)) as fresh:
        fresh.execute("vacuum")


def take(source: Path, target: Path) -> None:
    """Copy the bytes of a database at rest that code of the repository wrote to a path where nothing is.

    SQLite never opens such a file here: it does what a journal beside it says, and that one can name any file of ours
    as one to delete.  Raises Refused (database) when it is no plain file of its own or has changes outside itself.
    """
    for suffix in ("-wal", "-journal"):
        with suppress(FileNotFoundError):
            facts = _beside(source, suffix).lstat()
            if facts.st_size or not stat.S_ISREG(facts.st_mode):
                raise _refused(f"{source.name}{suffix} is beside it and not empty")
    try:
        with files.open_plain(source) as descriptor:
            if os.fstat(descriptor).st_nlink != 1:
                raise _refused(f"{source.name} has a second name")
            if os.pread(descriptor, len(_MAGIC), 0) not in (b"", _MAGIC):
                raise _refused(f"{source.name} is no SQLite database")
            _take(descriptor, target)
    except (files.Unsafe, FileNotFoundError) as fault:
        raise _refused(f"{source.name} is not there as a plain file") from fault


def _take(source: int, target: Path) -> None:
    with open(source, "rb", closefd=False) as old, target.open("xb") as new:
        if not copying.clone(old.fileno(), new.fileno()):
            shutil.copyfileobj(old, new, 1 << 20)
        new.flush()
        files.sync(new.fileno())


def _refused(found: str) -> Refused:
    return refused(
        rule="database",
        what=f"The prepared database cannot be used: {found}.",
        why="It is copied as one plain file, and never opened outside the sandbox that wrote it.",
        would_change="Let migrate and seed close every connection to it, so that all changes are in the file.",
    )


def state(path: Path | None) -> str:
    """What changes whenever a database is written to: size and time of its files."""
    if path is None:
        return ""
    found = []
    for part in (path, _beside(path, "-wal")):
        with suppress(FileNotFoundError):
            facts = part.stat()
            if facts.st_size:
                found.append(f"{part} {facts.st_ino} {facts.st_size} {facts.st_mtime_ns}")
    return "\n".join(found)


def _share(opened: sqlite3.Connection, source: Path, target: Path) -> bool:
    """Let target share the bytes of a database at rest; False when it is not, or the file system cannot.

    While we read, nobody can change the file itself: writers wait, or write to the log, which is seen to be empty.
    """
    opened.execute("begin")
    try:
        opened.execute("select count(*) from sqlite_schema").fetchone()
        if any(_size(_beside(source, suffix)) for suffix in ("-wal", "-journal")):
            return False
        with source.open("rb") as old, target.open("xb") as new:
            shared = copying.clone(old.fileno(), new.fileno())
        if not shared:
            target.unlink()
        return shared
    finally:
        opened.rollback()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _patience() -> Callable[[int, int, int], None]:
    """A callback that ends a copy which makes no headway: the library itself would try for ever."""
    deadline = time.monotonic() + _BUSY_SECONDS

    def look(status: int, _remaining: int, _total: int) -> None:
        if status in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) and time.monotonic() >= deadline:
            raise sqlite3.OperationalError(f"it stayed locked for {_BUSY_SECONDS:g} s")

    return look


@contextmanager
def _reading(baseline: Path) -> Iterator[sqlite3.Connection]:
    """The baseline, opened for reading; side files that only our look brought about go again."""
    fresh = [beside for suffix in _SIDE_FILES if not (beside := _beside(baseline, suffix)).exists()]
    uri = f"file:{quote(str(baseline.resolve()))}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True, timeout=_TRY_SECONDS)) as source:
        yield source
    if len(fresh) == len(_SIDE_FILES):
        _tidy(baseline)


def _tidy(baseline: Path) -> None:
    """Let SQLite itself take the empty side files away: as the last one to close it, which it makes sure of."""
    wal = _beside(baseline, "-wal")
    if not wal.exists() or wal.stat().st_size:
        return
    with suppress(sqlite3.Error), closing(sqlite3.connect(baseline, timeout=_TRY_SECONDS)) as last:
        last.execute("pragma schema_version").fetchone()


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)
