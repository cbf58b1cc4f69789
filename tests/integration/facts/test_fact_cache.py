"""Kept facts: equal after a round trip, a miss where anything is odd, whole under racing processes, and bounded."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest

from interlock.adapters.facts import FactReaders, reader_of
from interlock.adapters.facts.cache import FactCache
from interlock.core.merge.facts import FileFacts, Symbol

SOURCE = b"""
import os
from app.core import Cart, load


class Mine(Cart):
    size: int = 3

    def total(self, deep: bool = False) -> int:
        try:
            return load(os.environ["TOKEN"], deep=deep) + self.size
        except KeyError:
            raise ValueError("x")
"""


def test_facts_are_the_same_when_they_come_from_disk(tmp_path: Path) -> None:
    read = FactReaders(tmp_path).read("app/mine.py", "1" * 40, SOURCE)
    assert read.symbols
    assert read.uses
    assert read.marks
    again = FactReaders(tmp_path)
    assert again.known("app/mine.py", "1" * 40) == read
    assert again.read("app/mine.py", "1" * 40, b"") == read, "It was read anew."


def test_another_path_or_object_is_another_entry(tmp_path: Path) -> None:
    FactReaders(tmp_path).read("app/mine.py", "1" * 40, SOURCE)
    fresh = FactReaders(tmp_path)
    assert fresh.known("app/other.py", "1" * 40) is None
    assert fresh.known("app/mine.py", "2" * 40) is None


@pytest.mark.parametrize("damage", [b"", b"{", b"[1,2]", b"\xff\xfe", b'["python","m",[[1]],[],[],[],false,"",false]'])
def test_a_damaged_entry_is_a_miss_and_is_mended(tmp_path: Path, damage: bytes) -> None:
    whole = FactReaders(tmp_path).read("app/mine.py", "1" * 40, SOURCE)
    (entry,) = [path for path in tmp_path.rglob("*") if path.is_file()]
    entry.write_bytes(damage)
    assert FactReaders(tmp_path).known("app/mine.py", "1" * 40) is None
    assert FactReaders(tmp_path).read("app/mine.py", "1" * 40, SOURCE) == whole
    assert FactReaders(tmp_path).known("app/mine.py", "1" * 40) == whole


def test_a_folder_that_cannot_be_written_only_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "facts").write_text("a file stands where the folder should be")
    assert FactReaders(tmp_path / "facts").read("app/mine.py", "1" * 40, SOURCE).symbols


def test_the_folder_does_not_grow_without_bound(tmp_path: Path) -> None:
    cache = FactCache(tmp_path, 1, most_entries=256 * 4)
    for number in range(3000):
        cache.put("python", f"f{number}.py", "1" * 40, FileFacts(language="python"))
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) <= 256 * 5


def _race(folder: Path, start: int) -> None:
    cache = FactCache(folder, 1, most_entries=256 * 4)
    for turn in range(150):
        name = f"f{(start + turn) % 40}.py"
        big = FileFacts(language="python", symbols=tuple(Symbol(name=name, kind="function", line=n) for n in range(50)))
        found = cache.get("python", name, "1" * 40)
        if found is not None and found != big:
            raise SystemExit(3)
        cache.put("python", name, "1" * 40, big)


def test_processes_that_race_read_a_whole_entry_or_none(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    racers = [context.Process(target=_race, args=(tmp_path, start)) for start in range(4)]
    for each in racers:
        each.start()
    for each in racers:
        each.join()
    assert [each.exitcode for each in racers] == [0, 0, 0, 0]
    assert not list(tmp_path.rglob(".new-*"))


@pytest.mark.parametrize(
    ("path", "reader"),
    [
        ("a/b.py", "python"),
        ("web/x.tsx", "typescript"),
        ("web/x.mjs", "typescript"),
        ("cmd/main.go", "go"),
        ("plugins/go.mod", "go"),
        ("A.java", "java"),
        ("db/1.sql", "sql"),
        ("Makefile", "shell"),
        ("deploy/Dockerfile.web", "shell"),
        (".env.example", "shell"),
        ("uv.lock", "data"),
        ("dev-requirements.txt", "data"),
        (".github/workflows/ci.yml", "data"),
        ("db/migrate/20240101000000_orders.rb", "other"),
        ("logo.png", None),
        ("README.md", None),
        (".gitignore", None),
    ],
)
def test_a_path_chooses_its_reader(path: str, reader: str | None) -> None:
    assert reader_of(path) == reader
    assert FactReaders().looks_at(path) is (reader is not None)


def test_a_reader_that_fails_says_so_and_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    readers = FactReaders()

    def fail(path: str, data: bytes) -> FileFacts:
        raise ZeroDivisionError

    monkeypatch.setitem(readers._readings, "python", fail)
    assert readers.read("a.py", "1" * 40, b"").fault == "The python reader failed: ZeroDivisionError."
