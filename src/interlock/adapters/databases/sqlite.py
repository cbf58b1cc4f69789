"""SQLite databases of tasks (ports.Databases): a copy of the baseline each, prepared once per digest; copying is in sqlite_copy."""

from __future__ import annotations

import json
import shutil
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from interlock.adapters.databases import copying, keeping, sqlite_copy
from interlock.core.contract import database_names as names
from interlock.core.problems import InterlockError
from interlock.host import files, locks
from interlock.ports.isolation import Baseline, Branch

SUFFIX: Final = ".sqlite3.tar.gz"
_WAIT_SECONDS: Final = 1_800.0
_KEPT: Final = 3
_PARTS: Final = ("", "-wal", "-journal")
_SIDES: Final = ("-wal", "-shm", "-journal")


class SqliteDatabases:
    """Files of tasks.  Takes the user that they are given to when we are root: the one that agents run as."""

    def __init__(self, user: int | None = None) -> None:
        self._user = user

    def branch(self, baseline: Baseline, task: str, folder: Path) -> Branch:
        """The task's own file, in a folder of its own below its record; one that is there is the task's and stays.

        Raises InterlockError when the baseline is missing, busy or no database, or what ``prepare`` raises.
        """
        branch = _branch(_home(baseline, folder), names.file_name(baseline.database.name, task))
        target = _file(branch)
        with _turn(folder, baseline):
            if not target.exists():
                self._make(baseline, target)
            _note(baseline, task, target)
        return branch

    def release(self, baseline: Baseline, task: str, folder: Path) -> str | None:
        """Archive the task's file with its write-ahead log, or drop it; gives the archive's path."""
        home = _home(baseline, folder)
        target = home / names.file_name(baseline.database.name, task)
        with _turn(folder, baseline):
            if target.is_file() and not target.is_symlink() and baseline.database.on_clean == "archive":
                _archive(target, keeping.new_archive(folder, baseline.database.name, SUFFIX))
            _clear(home)
            _clear(_making(home))
            _noted(baseline, task).unlink(missing_ok=True)
        return keeping.newest_archive(folder, baseline.database.name, SUFFIX)

    def owned(self, baseline: Baseline) -> tuple[str, ...]:
        """Tasks whose file is there."""
        found = []
        for path in (baseline.folder / "files").glob("*.json"):
            shape = json.loads(path.read_bytes())
            if shape["database"] == baseline.database.name and Path(shape["file"]).exists():
                found.append(str(shape["task"]))
        return tuple(sorted(found))

    def _make(self, baseline: Baseline, target: Path) -> None:
        """Copy it in a folder that no task is let into, and only then put it where one may have been."""
        making = _making(target.parent)
        _clear(making)  # one that was killed half way
        making.mkdir()
        self._copy(baseline, making / target.name)
        copying.give(making, self._user)
        if not target.parent.exists():
            making.rename(target.parent)
        else:
            for suffix in _SIDES:
                with suppress(OSError):  # the task's own, of a database that it took away
                    target.with_name(target.name + suffix).unlink()
            (making / target.name).replace(target)
            _clear(making)
        files.sync_folder(target.parent)
        files.sync_folder(target.parent.parent)

    def _copy(self, baseline: Baseline, target: Path) -> None:
        """Copy the baseline itself, or what ``prepare`` made of it, once per digest."""
        database = baseline.database
        source = Path(database.baseline).expanduser() if database.baseline else None
        if source is not None and not source.is_file():
            raise InterlockError(
                f"The database {source} is not there.",
                hint="Make it, or correct baseline under databases in interlock.yaml.",
            )
        if source is not None and database.migrate is None and database.seed is None:
            sqlite_copy.copy(source, target)
            return
        key = names.hashed(
            "sqlite", baseline.digest, database.migrate or "", database.seed or "", sqlite_copy.state(source)
        )
        template = baseline.folder / "templates" / f"{database.name}-{key}" / f"{database.name}.sqlite3"
        template.parent.parent.mkdir(parents=True, exist_ok=True)
        with locks.held(template.parent.with_suffix(".lock"), wait=_WAIT_SECONDS, refuse=_waited):
            if not template.exists():
                self._prepare(baseline, source, template)
                _evict(template.parent.parent, database.name)
            template.parent.touch()
            sqlite_copy.take(template, target)

    def _prepare(self, baseline: Baseline, source: Path | None, template: Path) -> None:
        """Migrate and seed a copy, and take its bytes to a folder that only we write to: the template, once it is whole."""
        making = template.parent.with_name(f".making-{template.parent.name}")
        ready = template.parent.with_name(f".ready-{template.parent.name}")
        for folder in (making, ready):
            _clear(folder)  # one that was killed half way
            folder.mkdir()
        branch = _branch(making, template.name)
        if source is None:
            sqlite_copy.new(_file(branch))
        else:
            sqlite_copy.copy(source, _file(branch))
        copying.give(making, self._user)
        baseline.prepare(branch)
        sqlite_copy.take(_file(branch), ready / template.name)
        files.sync_folder(ready)
        ready.rename(template.parent)
        files.sync_folder(template.parent.parent)
        shutil.rmtree(making)


def _branch(home: Path, name: str) -> Branch:
    return Branch(name=name, url=f"sqlite:///{home / name}", file=home / name)


def _file(branch: Branch) -> Path:
    if branch.file is None:
        raise TypeError(branch)
    return branch.file


def _home(baseline: Baseline, folder: Path) -> Path:
    """A folder that holds nothing but the database and its side files: a task may be let into it."""
    return folder / f"{baseline.database.name}.database"


def _making(home: Path) -> Path:
    return home.with_name(f".{home.name}.making")


def _clear(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)


def _evict(folder: Path, name: str) -> None:
    """Keep the templates that were used last; a copy that is being made of another reads on in the open file."""
    known = [path for path in folder.glob(f"{name}-*") if path.is_dir()]
    for path in sorted(known, key=lambda each: -each.stat().st_mtime_ns)[_KEPT:]:
        shutil.rmtree(path)


def _noted(baseline: Baseline, task: str) -> Path:
    return baseline.folder / "files" / f"{names.hashed(baseline.database.name, task)}.json"


def _note(baseline: Baseline, task: str, target: Path) -> None:
    """Remember where a task's file is, so that all of them can be listed."""
    path = _noted(baseline, task)
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    shape = {"task": task, "database": baseline.database.name, "file": str(target)}
    files.write_whole(path, json.dumps(shape).encode())


def _archive(source: Path, target: Path) -> None:
    """The file and what belongs to it as they are; they are not opened as a database, since a task wrote them."""
    temporary = target.with_name(f".{target.name}")
    with tarfile.open(temporary, "w:gz") as archive:
        for suffix in _PARTS:
            part = source.with_name(source.name + suffix)
            try:
                with files.open_plain(part) as descriptor, open(descriptor, "rb", closefd=False) as stream:
                    archive.addfile(archive.gettarinfo(arcname=part.name, fileobj=stream), stream)
            except (FileNotFoundError, files.Unsafe):
                continue  # a link that the task put there leads to what is not the task's
    with temporary.open("rb+") as file:
        files.sync(file.fileno())
    temporary.replace(target)
    files.sync_folder(target.parent)


@contextmanager
def _turn(folder: Path, baseline: Baseline) -> Iterator[None]:
    """One process at a time works on a task's database."""
    folder.mkdir(parents=True, exist_ok=True)
    with locks.held(folder / f".{baseline.database.name}.database.lock", wait=_WAIT_SECONDS, refuse=_waited):
        yield


def _waited(fault: locks.LockHeld) -> InterlockError:
    return InterlockError(str(fault), hint="Wait for it; then the same is tried again.")
