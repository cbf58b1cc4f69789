"""What every kind of database must hold (ports.Databases), as pytest tests that the author of a plug-in inherits."""

# ruff: noqa: S101, S608 -- these are tests, and the statements are their own
from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from inspect import getfile
from pathlib import Path
from typing import Any, Final

import pytest

from interlock.core.contract.around import Database
from interlock.ports.isolation import Baseline, Branch, Databases

ROWS: Final = [(1, "one"), (2, "two")]
_SECONDS: Final = 60.0
_CHILD: Final = """
import sys
from interlock.testing.databases import child
child(*sys.argv[1:])
"""


class DatabasesSuite(ABC):
    """Inherit it as ``class TestMine(DatabasesSuite)`` and give the three methods without a body.

    They are also called in a fresh process, which a test then kills: what they need beyond this file, such as a
    server's URL, they take from the environment.
    """

    tasks_connect: bool = True
    """False for files: a sandbox keeps them apart, not the database."""

    @abstractmethod
    def kind(self) -> Databases:
        """The kind under test."""

    @abstractmethod
    def database(self, place: Path) -> Database:
        """A policy's database, which may keep what it needs in the folder ``place``."""

    @abstractmethod
    def execute(self, branch: Branch, statement: str) -> list[tuple[Any, ...]]:
        """Run one statement in a branch, as its task would, durably; gives its rows.  Raises when it is refused."""

    def trespasser(self, mine: Branch, other: Branch) -> Branch:
        """The other's database reached for with my credentials."""
        return replace(other, url=mine.url.replace(mine.name, other.name))

    def make_foreign(self, baseline: Baseline, task: str) -> Callable[[], bool] | None:
        """Make what is not ours under the very name that the task's database would have; gives a look at it.

        None: such a thing cannot be.
        """
        del baseline, task
        return None

    def clean(self, baseline: Baseline) -> None:
        """Take away what a killed process may have left and no call of the port would; after each test."""
        del baseline

    # ---------------------------------------------------------------- parts
    @pytest.fixture
    def place(self, tmp_path: Path) -> Iterator[Path]:
        """A folder for one test; all that tasks still own is released after it."""
        (tmp_path / "jobs").mkdir()
        yield tmp_path
        self.tidy(tmp_path)

    def tidy(self, place: Path) -> None:
        baseline = self.baseline(place)
        for task in self.kind().owned(baseline):
            self.kind().release(
                replace(baseline, database=replace(baseline.database, on_clean="drop")), task, job(place, task)
            )
        self.clean(baseline)

    def baseline(
        self, place: Path, *, digest: str = "one", prepare: Callable[[Branch], None] | None = None
    ) -> Baseline:
        database = replace(self.database(place), migrate="make migrate", seed="make seed", pool=1)
        return Baseline(database=database, digest=digest, prepare=prepare or self.prepare, folder=place / "baselines")

    def prepare(self, branch: Branch) -> None:
        self.execute(branch, "create table words (id integer primary key, word varchar(40))")
        for number, word in ROWS:
            self.execute(branch, f"insert into words values ({number}, '{word}')")

    def words(self, branch: Branch) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.execute(branch, "select id, word from words order by id")]

    def branch(self, place: Path, task: str, **changes: Any) -> Branch:
        return self.kind().branch(self.baseline(place, **changes), task, job(place, task))

    def release(self, place: Path, task: str, *, on_clean: str = "archive") -> str | None:
        baseline = self.baseline(place)
        database = replace(baseline.database, on_clean="drop" if on_clean == "drop" else "archive")
        return self.kind().release(replace(baseline, database=database), task, job(place, task))

    def killed(self, place: Path, verb: str, task: str, seconds: float | None) -> bool:
        """Do it in a process that is killed after seconds (None: once it prepares); False when it was done by then."""
        argv = [sys.executable, "-c", _CHILD, getfile(type(self)), type(self).__name__, verb, str(place), task]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(each for each in sys.path if each)}
        with subprocess.Popen(argv, env=env, stdout=subprocess.PIPE) as process:
            try:
                if process.stdout is None or b"ready" not in process.stdout.readline():
                    raise AssertionError(f"The process did not begin: {process.wait(_SECONDS)}.")
                process.wait(_SECONDS if seconds is None and verb != "prepare" else seconds or 0.01)
            except subprocess.TimeoutExpired:
                return True
            finally:
                process.kill()
        return False

    # ---------------------------------------------------------------- refusals
    def test_a_task_cannot_enter_the_database_of_another(self, place: Path) -> None:
        if not self.tasks_connect:
            pytest.skip("files of tasks are kept apart by their sandboxes")
        mine, other = self.branch(place, "mine"), self.branch(place, "other")
        reached = self.trespasser(mine, other)
        assert reached.url not in {mine.url, other.url}
        with pytest.raises(Exception) as caught:  # noqa: PT011 -- the driver's own error
            self.words(reached)
        assert not isinstance(caught.value, AssertionError)
        assert self.words(other) == ROWS

    def test_what_is_not_ours_is_neither_used_nor_taken_away(self, place: Path) -> None:
        look = self.make_foreign(self.baseline(place), "first")
        if look is None:
            pytest.skip("nothing foreign can have the name of a task's database here")
        with pytest.raises(Exception, match=r"not carry our mark|not ours"):
            self.branch(place, "first")
        self.release(place, "first", on_clean="drop")
        assert look(), "the foreign database is gone"
        assert self.kind().owned(self.baseline(place)) == ()

    def test_a_preparation_that_fails_is_told_and_leaves_nothing_that_would_be_used(self, place: Path) -> None:
        def fail(branch: Branch) -> None:
            self.execute(branch, "create table halfway (id integer primary key)")
            raise RuntimeError("the migration failed")

        with pytest.raises(RuntimeError, match="the migration failed"):
            self.branch(place, "first", prepare=fail)
        assert self.kind().owned(self.baseline(place)) == ()
        branch = self.branch(place, "first")
        assert self.words(branch) == ROWS
        with pytest.raises(Exception) as caught:  # noqa: PT011 -- the driver's own error
            self.execute(branch, "select id from halfway")
        assert not isinstance(caught.value, AssertionError)

    # ---------------------------------------------------------------- branches
    def test_a_branch_has_what_was_migrated_and_seeded(self, place: Path) -> None:
        branch = self.branch(place, "first")
        assert self.words(branch) == ROWS
        assert (branch.file is None) != (branch.address is None)
        assert branch.address is None or branch.address.startswith(("tcp:", "unix:/"))

    def test_asked_for_again_it_is_the_same_one_with_the_task_s_own_rows(self, place: Path) -> None:
        first = self.branch(place, "first")
        self.execute(first, "insert into words values (3, 'mine')")
        again = self.branch(place, "first")
        assert again == first
        assert self.words(again) == [*ROWS, (3, "mine")]

    def test_it_is_prepared_once_and_anew_for_another_digest(self, place: Path) -> None:
        seen: list[str] = []

        def count(branch: Branch) -> None:
            seen.append(branch.name)
            self.prepare(branch)
            self.execute(branch, f"insert into words values (9, 'made {len(seen)}')")

        one, two = self.branch(place, "a", prepare=count), self.branch(place, "b", prepare=count)
        assert len(seen) == 1
        other = self.branch(place, "c", digest="two", prepare=count)
        assert len(seen) == 2
        assert [self.words(each)[-1] for each in (one, two, other)] == [(9, "made 1"), (9, "made 1"), (9, "made 2")]
        assert self.branch(place, "a", digest="two", prepare=count) == one, "a task keeps its own database"

    def test_two_tasks_with_conflicting_migrations_do_not_see_each_other(self, place: Path) -> None:
        one, two = self.branch(place, "one"), self.branch(place, "two")
        assert one.name != two.name
        self.execute(one, "alter table words add column price integer")
        self.execute(one, "insert into words values (3, 'one', 7)")
        self.execute(two, "alter table words rename column word to price")
        self.execute(two, "insert into words values (3, 'two')")
        assert self.execute(one, "select word, price from words where id = 3")[0] == ("one", 7)
        assert self.execute(two, "select price from words where id = 3")[0] == ("two",)
        self.execute(two, "drop table words")
        assert len(self.words(one)) == 3

    def test_names_that_look_alike_are_different_databases(self, place: Path) -> None:
        long = "a-very-long-name-of-a-task-" * 5
        tasks = ("a-b", "a_b", "a--b", f"{long}1", f"{long}2")
        branches = {task: self.branch(place, task) for task in tasks}
        assert len({branch.name for branch in branches.values()}) == len(tasks)
        for number, task in enumerate(tasks):
            self.execute(branches[task], f"insert into words values (3, 'row {number}')")
        assert [self.words(branches[task])[-1] for task in tasks] == [
            (3, f"row {number}") for number in range(len(tasks))
        ]
        assert self.kind().owned(self.baseline(place)) == tuple(sorted(tasks))

    def test_many_at_once_get_one_each(self, place: Path) -> None:
        found: dict[str, Branch | Exception] = {}

        def ask(task: str) -> None:
            try:
                found[task] = self.branch(place, task)
            except Exception as fault:  # noqa: BLE001 -- shown by the assertion below
                found[task] = fault

        threads = [threading.Thread(target=ask, args=(f"task-{number}",)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        branches = [each for each in found.values() if isinstance(each, Branch)]
        assert len(branches) == len(threads), found
        assert len({branch.name for branch in branches}) == len(threads)
        assert all(self.words(branch) == ROWS for branch in branches)

    # ---------------------------------------------------------------- the end
    def test_released_it_is_gone_and_what_it_held_is_kept(self, place: Path) -> None:
        branch, other = self.branch(place, "first"), self.branch(place, "other")
        self.execute(branch, "insert into words values (3, 'mine')")
        kept = self.release(place, "first")
        assert kept is not None
        assert Path(kept).stat().st_size > 0
        assert self.release(place, "first") == kept, "a second time is the same"
        assert self.kind().owned(self.baseline(place)) == ("other",)
        assert self.words(other) == ROWS
        if self.tasks_connect:
            with pytest.raises(Exception) as caught:  # noqa: PT011 -- the driver's own error
                self.words(branch)
            assert not isinstance(caught.value, AssertionError)
        else:
            assert branch.file is not None
            assert not branch.file.exists()

    def test_dropped_it_leaves_nothing(self, place: Path) -> None:
        self.branch(place, "first")
        assert self.release(place, "first", on_clean="drop") is None
        assert self.release(place, "first", on_clean="drop") is None
        assert self.release(place, "never there", on_clean="drop") is None
        assert self.kind().owned(self.baseline(place)) == ()

    def test_a_task_that_is_opened_again_gets_a_new_one_and_the_old_archive_stays(self, place: Path) -> None:
        self.execute(self.branch(place, "first"), "insert into words values (3, 'old')")
        kept = self.release(place, "first")
        assert self.words(self.branch(place, "first")) == ROWS
        again = self.release(place, "first")
        assert kept is not None
        assert again is not None
        assert again != kept
        assert Path(kept).exists()

    # ---------------------------------------------------------------- crashes
    def test_killed_while_it_prepares_the_next_call_heals(self, place: Path) -> None:
        assert self.killed(place, "prepare", "first", None)
        assert self.kind().owned(self.baseline(place)) == ()
        branch = self.branch(place, "first")
        assert self.words(branch) == ROWS
        assert self.kind().owned(self.baseline(place)) == ("first",)

    def test_killed_at_any_moment_the_next_call_heals(self, place: Path) -> None:
        self.branch(place, "warm")
        began = time.monotonic()
        self.branch(place, "whole")
        whole = time.monotonic() - began
        for number, share in enumerate((0.1, 0.4, 0.7, 0.95)):
            task = f"task-{number}"
            self.killed(place, "branch", task, share * whole)
            assert self.words(self.branch(place, task)) == ROWS
            self.killed(place, "release", task, share * whole)
            self.release(place, task)
            assert self.kind().owned(self.baseline(place)) == ("warm", "whole")


def job(place: Path, task: str) -> Path:
    """The record's folder of a task's job."""
    return place / "jobs" / task[-40:].strip(" -")


def child(file: str, name: str, verb: str, place: str, task: str) -> None:
    """In a fresh process: say ready, then do what will be killed."""
    spec = importlib.util.spec_from_file_location("suite_of_a_plug_in", file)
    if spec is None or spec.loader is None:
        raise ImportError(file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    suite: DatabasesSuite = getattr(module, name)()

    def wait(branch: Branch) -> None:
        with suppress(Exception):
            suite.execute(branch, "create table halfway (id integer primary key)")
        print("ready", flush=True)
        time.sleep(_SECONDS)

    if verb == "prepare":
        suite.branch(Path(place), task, prepare=wait)
        return
    suite.kind()
    print("ready", flush=True)
    if verb == "branch":
        suite.branch(Path(place), task)
    else:
        suite.release(Path(place), task)
