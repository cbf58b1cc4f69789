"""SQLite databases of tasks: a consistent copy of the baseline, also while others write to it; which is needed is the app's."""

from __future__ import annotations

import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote

from interlock.core.problems import InterlockError
from interlock.host import files

_BUSY_SECONDS: Final = 10.0
_TRY_SECONDS: Final = 0.5
_ALL_PAGES: Final = -1  # in one step, so that a busy writer cannot make it start over
_SIDE_FILES: Final = ("-wal", "-shm")


class SqliteDatabases:
    """Copies by SQLite's backup API (ports.Databases): a plain copy would leave out the write-ahead log (case DB-05)."""

    def branch(self, baseline: Path, target: Path) -> dict[str, str]:
        """Copy the baseline to target, whole or not at all; a target that is there is the task's own and stays.

        Gives DATABASE_NAME and DATABASE_URL.  Raises InterlockError when the baseline is missing, busy or no database.
        """
        if not target.exists():
            if not baseline.is_file():
                raise InterlockError(
                    f"The database {baseline} is not there.",
                    hint="Make it, or correct baseline under databases in interlock.yaml.",
                )
            _copy(baseline, target)
        return {"DATABASE_NAME": target.name, "DATABASE_URL": f"sqlite:///{target}"}


def _copy(baseline: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        with _reading(baseline) as source, closing(sqlite3.connect(temporary)) as copy:
            source.backup(copy, pages=_ALL_PAGES, progress=_patience(), sleep=0.02)
        with temporary.open("rb+") as file:
            files.sync(file.fileno())
        temporary.replace(target)
        files.sync_folder(target.parent)
    except sqlite3.Error as fault:
        raise InterlockError(
            f"The database {baseline} could not be copied: {fault}.",
            hint="See that it is a SQLite database, that it can be read, and that nobody holds it locked.",
        ) from fault
    finally:
        for stale in (temporary, *(_beside(temporary, suffix) for suffix in (*_SIDE_FILES, "-journal"))):
            stale.unlink(missing_ok=True)


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
