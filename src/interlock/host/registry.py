"""The claims of ports on this machine: one folder that all users share, a file for each of them; who may claim is the adapter's.

Every user writes only the own file, whole and durable, so that the folder can be sticky like a temporary one.  All
of them take one lock.  It lies outside HOME and the temporary folder, which sandboxes and sessions see differently.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from interlock.core.problems import in_words
from interlock.host import files

FOLDER: Final = "INTERLOCK_PORT_REGISTRY"
"""The variable that names another folder; all who share the machine's ports must name the same."""

PLACES: Final = ("/var/lib/interlock/ports", "/var/tmp/interlock-ports", "/dev/shm/interlock-ports")  # noqa: S108 - checked when used
_SHARED: Final = 0o1777
_MOST: Final = 16 << 20


class RegistryUnusable(Exception):
    """The registry cannot be used; the text says which file and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A block that somebody holds.

    ``spans`` are its ports as (first, last); ``store`` is the file of the history that the owner belongs to, or a
    name where it is no file; ``at`` and ``released`` are seconds since the epoch (released: None while it is held).
    """

    owner: str
    store: str
    uid: int
    block: int
    families: dict[str, int]
    spans: tuple[tuple[int, int], ...]
    at: float
    released: float | None = None

    @property
    def ports(self) -> Iterator[int]:
        for first, last in self.spans:
            yield from range(first, last + 1)

    def is_void(self) -> bool:
        """Whether its store is gone, which frees it; a store that may not be looked at is there."""
        if not self.store.startswith("/"):
            return False
        try:
            Path(self.store).stat()
        except (FileNotFoundError, NotADirectoryError):
            return True
        except OSError:
            return False
        return False


class Registry:
    """The shared folder."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    @contextmanager
    def locked(self) -> Iterator[Shelf]:
        """All claims, while nobody else can change them.  Raises RegistryUnusable."""
        folder = _folder(self._folder)
        try:
            lock = _open_lock(folder / "lock")
        except OSError as fault:
            raise RegistryUnusable(
                f"The lock of the port registry {folder} cannot be opened: {in_words(fault)}."
            ) from fault
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield Shelf(folder)
        finally:
            os.close(lock)


class Shelf:
    """The claims as they stand under the lock: ``others`` are those of other users, ``own`` can be saved."""

    def __init__(self, folder: Path) -> None:
        self._own_file = folder / f"{os.getuid()}.json"
        self.others = [claim for file in folder.glob("*.json") if file != self._own_file for claim in _foreign(file)]
        self.own = _own(self._own_file)

    @property
    def claims(self) -> list[Claim]:
        return [*self.others, *self.own]

    def save(self, own: list[Claim]) -> None:
        """Make these the claims of this user; durable when it returns."""
        shape = {"version": 1, "claims": [asdict(claim) for claim in own]}
        files.write_whole(self._own_file, json.dumps(shape).encode(), mode=0o644)
        self.own = own


def _folder(given: Path | None) -> Path:
    """The given or named folder, else the first usable one that is there, else the first that can be made."""
    named = given or (Path(os.environ[FOLDER]) if os.environ.get(FOLDER) else None)
    if named is not None:
        named.mkdir(parents=True, exist_ok=True)
        return named
    places = [Path(place) for place in PLACES]
    there = next((place for place in places if _usable(place)), None)
    made = there or next((place for place in places if _make(place)), None)
    if made is None:
        raise RegistryUnusable(
            f"No folder for the port registry can be written: {', '.join(PLACES)}; name one in {FOLDER}."
        )
    return made


def _usable(place: Path) -> bool:
    try:
        facts = place.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(facts.st_mode) and os.access(place, os.W_OK | os.X_OK)


def _make(place: Path) -> bool:
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.mkdir(exist_ok=True)
        place.chmod(_SHARED)
    except OSError:
        return False
    return True


def _open_lock(path: Path) -> int:
    """The lock file for reading, which is all that a lock needs; opening another user's with O_CREAT is refused by Linux."""
    while True:
        with suppress(FileNotFoundError):
            return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        with suppress(FileExistsError):
            made = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
            os.fchmod(made, 0o666)
            return made


def _own(path: Path) -> list[Claim]:
    try:
        return _claims(files.read_plain(path, most=_MOST))
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError) as fault:
        raise RegistryUnusable(
            f"{path} cannot be read ({in_words(fault)}); move it away once no task of yours is open."
        ) from fault


def _foreign(path: Path) -> list[Claim]:
    """Claims of another user; a file that is not theirs, or not readable, claims nothing: probing is what is left."""
    try:
        if str(path.lstat().st_uid) != path.stem:
            return []
        return _claims(files.read_plain(path, most=_MOST))
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _claims(data: bytes) -> list[Claim]:
    return [_claim(item) for item in json.loads(data)["claims"]]


def _claim(item: dict[str, Any]) -> Claim:
    spans = tuple((int(first), int(last)) for first, last in item["spans"])
    return Claim(**{**item, "spans": spans})
