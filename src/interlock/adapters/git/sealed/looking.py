"""Files of folders that an agent owns, read and written without following a link or opening anything but plain files."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


@contextmanager
def folder(root: Path, name: str, *, make: int | None = None) -> Iterator[int]:
    """The descriptor of the folder ``name`` below ``root``; with ``make`` (a uid, or -1) missing ones are made for it.

    Raises OSError where a part is missing, a link, or no folder.
    """
    at = os.open(root, _FOLDER)
    try:
        for part in filter(None, name.split("/")):
            if make is not None:
                _made(at, part, make)
            inner = os.open(part, _FOLDER, dir_fd=at)
            os.close(at)
            at = inner
        yield at
    finally:
        os.close(at)


def _made(at: int, part: str, owner: int) -> None:
    with suppress(FileExistsError):
        os.mkdir(part, 0o755, dir_fd=at)
        if owner >= 0:
            os.chown(part, owner, owner, dir_fd=at, follow_symlinks=False)


def read(root: Path, name: str, limit: int) -> bytes | None:
    """The bytes of a plain file of at most ``limit`` bytes; None for anything else."""
    above, _, last = name.rpartition("/")
    with suppress(OSError), folder(root, above) as at:
        return read_at(at, last, limit)
    return None


def read_at(at: int, name: str, limit: int) -> bytes | None:
    """The same for a name in an open folder."""
    with suppress(OSError):
        descriptor = os.open(name, _FILE, dir_fd=at)
        with os.fdopen(descriptor, "rb") as file:
            facts = os.fstat(descriptor)
            if stat.S_ISREG(facts.st_mode) and facts.st_size <= limit:
                data = file.read(limit + 1)
                return data if len(data) <= limit else None
    return None


def copy_at(at: int, name: str, target: Path, limit: int | None = None) -> bool:
    """Copy a plain file of an open folder to a new file of ours, with its time and mode; False for anything else."""
    descriptor = os.open(name, _FILE, dir_fd=at)
    with os.fdopen(descriptor, "rb") as source:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode) or (limit is not None and facts.st_size > limit):
            return False
        with target.open("xb") as file:
            shutil.copyfileobj(source, file, 1 << 20)
            os.fchmod(file.fileno(), stat.S_IMODE(facts.st_mode) & 0o777)
        os.utime(target, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    return True


def entries(root: Path, name: str, limit: int) -> list[str]:
    """The names in a folder, at most ``limit`` of them; empty where there is none."""
    with suppress(OSError), folder(root, name) as at, os.scandir(at) as found:
        return [entry.name for entry, _ in zip(found, range(limit), strict=False)]
    return []


def facts(root: Path, name: str) -> os.stat_result | None:
    """What stands at ``name``, a link as itself; None for nothing."""
    above, _, last = name.rpartition("/")
    with suppress(OSError), folder(root, above) as at:
        return os.stat(last, dir_fd=at, follow_symlinks=False)
    return None


def write(root: Path, name: str, data: bytes, *, mode: int = 0o644, moment: int | None = None) -> None:
    """Put a file down, whole or not at all, owned as ``root`` is; ``moment`` is its time in nanoseconds.

    Raises OSError where its folder is not one.
    """
    owner = owner_of(root)
    above, _, last = name.rpartition("/")
    with folder(root, above, make=owner) as at:
        # One that a killed call leaves is passed over by git, as an object and as a ref.
        fresh = f"tmp_obj_{secrets.token_hex(8)}.lock"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(fresh, flags, mode, dir_fd=at)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                if owner >= 0:
                    os.fchown(descriptor, owner, owner)
                if moment is not None:
                    file.flush()
                    os.utime(descriptor, ns=(moment, moment))
            os.rename(fresh, last, src_dir_fd=at, dst_dir_fd=at)
        except BaseException:
            with suppress(OSError):
                os.unlink(fresh, dir_fd=at)
            raise


def owner_of(root: Path) -> int:
    """The uid that files below ``root`` are to have, or -1 where it is our own anyway."""
    uid = root.lstat().st_uid
    return uid if os.geteuid() == 0 and uid != 0 else -1
