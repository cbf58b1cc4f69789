"""Keeps facts on disk by version, reader, path and object name; several processes may write at once, and it never grows without bound."""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import suppress
from pathlib import Path

from interlock.adapters.facts.packing import pack, unpack
from interlock.core.merge.facts import FileFacts

_SHARDS = 256


class FactCache:
    """A folder of small files: read or missed, never wrong; a cut or foreign file is a miss."""

    def __init__(self, folder: Path, version: int, *, most_entries: int) -> None:
        self._folder = folder / f"v{version}"
        self._most = max(4, most_entries // _SHARDS)

    def _place(self, reader: str, path: str, oid: str) -> Path:
        name = hashlib.sha256(f"{reader}\0{path}\0{oid}".encode("utf-8", "surrogateescape")).hexdigest()
        return self._folder / name[:2] / name[2:34]

    def get(self, reader: str, path: str, oid: str) -> FileFacts | None:
        try:
            return unpack(self._place(reader, path, oid).read_bytes())
        except (OSError, ValueError, TypeError, KeyError, IndexError):
            return None

    def put(self, reader: str, path: str, oid: str, facts: FileFacts) -> None:
        """Keep facts; where the folder cannot be written, they are not kept, and nothing else is different."""
        place = self._place(reader, path, oid)
        with suppress(OSError):
            place.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=place.parent, prefix=".new-")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(pack(facts))
                Path(name).replace(place)
            except OSError:
                Path(name).unlink(missing_ok=True)
                raise
            self._bound(place.parent)

    def _bound(self, shard: Path) -> None:
        """Take the older half of a full shard away, and what a killed process left half written."""
        names = list(shard.iterdir())
        if len(names) <= self._most:
            return
        aged: list[tuple[float, Path]] = []
        for each in names:
            with suppress(OSError):
                aged.append((each.stat().st_mtime, each))
        for _, each in sorted(aged)[: len(aged) // 2]:
            with suppress(OSError):
                each.unlink(missing_ok=True)
