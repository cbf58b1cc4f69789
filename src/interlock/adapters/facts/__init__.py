"""Turns the bytes of a file into facts, by the reader that its path asks for, and keeps them by their object name; judging is core's."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Final

from interlock.adapters.facts.cache import FactCache
from interlock.adapters.facts.migrations import migration_marks
from interlock.core.merge.facts import VERSION, FileFacts

Reading = Callable[[str, bytes], FileFacts]

_BY_SUFFIX: Final = {
    ".py": "python",
    ".pyi": "python",
    ".ts": "typescript",
    ".tsx": "typescript",
    ".mts": "typescript",
    ".cts": "typescript",
    ".js": "typescript",
    ".jsx": "typescript",
    ".mjs": "typescript",
    ".cjs": "typescript",
    ".go": "go",
    ".java": "java",
    ".sql": "sql",
    ".ddl": "sql",
    ".sh": "shell",
    ".bash": "shell",
    ".zsh": "shell",
    ".mk": "shell",
    ".bats": "shell",
    ".env": "shell",
    ".json": "data",
    ".yaml": "data",
    ".yml": "data",
    ".toml": "data",
    ".ini": "data",
    ".cfg": "data",
    ".properties": "data",
    ".css": "web",
    ".scss": "web",
    ".html": "web",
    ".htm": "web",
    ".graphql": "schemas",
    ".gql": "schemas",
    ".proto": "schemas",
}
_BY_NAME: Final = {
    "Makefile": "shell",
    "makefile": "shell",
    "GNUmakefile": "shell",
    "Justfile": "shell",
    "justfile": "shell",
    "Procfile": "shell",
    "Dockerfile": "shell",
    "Containerfile": "shell",
    "Jenkinsfile": "shell",
    "yarn.lock": "data",
    "uv.lock": "data",
    "poetry.lock": "data",
    "Cargo.lock": "data",
    "Gemfile.lock": "data",
    "npm-shrinkwrap.json": "data",
    "go.sum": "data",
    "go.mod": "go",
    "settings.gradle": "data",
    "settings.gradle.kts": "data",
    "build.gradle": "data",
    "build.gradle.kts": "data",
}
_REQUIREMENTS: Final = re.compile(r"(?:[\w-]*requirements[\w-]*|constraints)\.(?:txt|in)")
_MOST_AT_HAND: Final = 4000
MOST_BYTES: Final = 3_000_000


def reader_of(path: str) -> str | None:
    """The name of the reader for a path; None for files that say nothing."""
    name = path.rpartition("/")[2]
    if name in _BY_NAME:
        return _BY_NAME[name]
    if _REQUIREMENTS.fullmatch(name):
        return "data"
    if name.startswith((".env", "Dockerfile.")) or name.endswith(".Dockerfile"):
        return "shell"
    dot = name.rfind(".")
    if dot <= 0:
        return "other" if migration_marks(path, b"") else None
    return _BY_SUFFIX.get(name[dot:]) or ("other" if migration_marks(path, b"") else None)


class FactReaders:
    """The facts of files, read once for a path and an object name; safe where several processes read at once.

    ``folder`` is where they are kept, None to keep them in memory alone.
    """

    def __init__(self, folder: Path | None = None, *, most_entries: int = 50_000) -> None:
        self._kept = FactCache(folder, VERSION, most_entries=most_entries) if folder is not None else None
        self._at_hand: dict[tuple[str, str], FileFacts] = {}
        self._readings: dict[str, Reading] = {}

    def looks_at(self, path: str) -> bool:
        """Whether a file of that path can say anything; others need not be fetched."""
        return reader_of(path) is not None

    def known(self, path: str, oid: str) -> FileFacts | None:
        """The facts as kept, without the bytes; None where the file has to be read."""
        if (path, oid) in self._at_hand:
            return self._at_hand[path, oid]
        reader = reader_of(path)
        facts = self._kept.get(reader, path, oid) if self._kept is not None and reader is not None else None
        if facts is not None:
            self._hold(path, oid, facts)
        return facts

    def read(self, path: str, oid: str, data: bytes) -> FileFacts:
        """The facts of a file.  What no reader can read carries the reason as its fault; nothing is raised."""
        found = self.known(path, oid)
        if found is not None:
            return found
        reader = reader_of(path)
        if reader is None:
            return FileFacts(language="other")
        facts = self._reading(reader, path, data)
        self._hold(path, oid, facts)
        if self._kept is not None:
            self._kept.put(reader, path, oid, facts)
        return facts

    def _hold(self, path: str, oid: str, facts: FileFacts) -> None:
        if len(self._at_hand) >= _MOST_AT_HAND:
            for key in list(self._at_hand)[: _MOST_AT_HAND // 4]:
                del self._at_hand[key]
        self._at_hand[path, oid] = facts

    def _reading(self, reader: str, path: str, data: bytes) -> FileFacts:
        if len(data) > MOST_BYTES:
            return FileFacts(language="other", fault=f"The file has more than {MOST_BYTES // 1_000_000} MB.")
        try:
            facts = self._reader(reader)(path, data)
        except Exception as fault:  # noqa: BLE001 - a reader that fails on one file must not end the look at all others
            return FileFacts(language="other", fault=f"The {reader} reader failed: {type(fault).__name__}.")
        own = migration_marks(path, data)
        return replace(facts, marks=(*facts.marks, *own)) if own else facts

    def _reader(self, name: str) -> Reading:
        if name not in self._readings:
            if name == "other":
                self._readings[name] = lambda _path, _data: FileFacts(language="other")
            else:
                self._readings[name] = import_module(f"interlock.adapters.facts.{name}").read
        return self._readings[name]
