"""Files written whole or not at all, and read with care where others can write; what stands in them is the caller's."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Final

_READ: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_FOLDER: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_DIRECTORY
_CHUNK: Final = 1 << 18


class Unsafe(OSError):
    """A path that is not a plain file in its place: a link, a folder, a device, outside, or too large."""


def write_whole(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Put data at path so that, killed at any moment, the old or the new file is there; durable when it returns."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        try:
            write_all(descriptor, data)
            os.fchmod(descriptor, mode)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte, however many calls it takes."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def sync(descriptor: int) -> None:
    """Make an open file's bytes durable."""
    os.fsync(descriptor)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def open_plain(path: Path | str, *, folder: int | None = None) -> Iterator[int]:
    """A descriptor of a plain file, for reading; no link is followed and no pipe is waited for.

    ``folder`` is an open folder that a relative path starts from.  Raises Unsafe, FileNotFoundError or OSError.
    """
    try:
        descriptor = os.open(path, _READ, dir_fd=folder)
    except FileNotFoundError:
        raise
    except OSError as fault:
        raise Unsafe(fault.errno, f"{path} is not a plain file: {fault.strerror}.") from fault
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Unsafe(f"{path} is not a plain file.")
        yield descriptor
    finally:
        os.close(descriptor)


def read_plain(path: Path | str, *, most: int) -> bytes:
    """The bytes of a plain file of at most ``most`` bytes.  Raises Unsafe, FileNotFoundError or OSError."""
    with open_plain(path) as descriptor:
        size = os.fstat(descriptor).st_size
        if size > most:
            raise Unsafe(f"{path} has {size} bytes, and {most} are allowed.")
        return read_open(descriptor, most)


def read_open(descriptor: int, most: int) -> bytes:
    """From an open file, up to ``most`` bytes, also of a file that grows meanwhile."""
    parts: list[bytes] = []
    while most > 0 and (part := os.read(descriptor, min(_CHUNK, most))):
        parts.append(part)
        most -= len(part)
    return b"".join(parts)


@contextmanager
def open_beneath(root: Path, path: str) -> Iterator[int]:
    """A descriptor of a plain file below root, where no part of the relative path is a link.

    Raises Unsafe for an absolute path, ``..``, a link on the way or anything but a plain file.
    """
    *folders, name = _parts(path)
    with _descend(root, folders) as folder, open_plain(name, folder=folder) as descriptor:
        yield descriptor


def remove_beneath(root: Path, path: str) -> None:
    """Remove a file below root if it is there; a link is removed itself.  Raises Unsafe as open_beneath does."""
    *folders, name = _parts(path)
    try:
        with _descend(root, folders) as folder:
            os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return
    except IsADirectoryError as fault:
        raise Unsafe(f"{path} is a folder.") from fault


def _parts(path: str) -> tuple[str, ...]:
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts or "\0" in path:
        raise Unsafe(f"{path!r} is not a path below the folder.")
    return pure.parts


@contextmanager
def _descend(root: Path, folders: list[str]) -> Iterator[int]:
    current = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name in folders:
            try:
                below = os.open(name, _FOLDER, dir_fd=current)
            except FileNotFoundError:
                raise
            except OSError as fault:
                raise Unsafe(fault.errno, f"{name} is not a folder of its own: {fault.strerror}.") from fault
            os.close(current)
            current = below
        yield current
    finally:
        os.close(current)


def tail(path: Path, most: int) -> bytes:
    """The last ``most`` bytes of a file, or nothing when it is not there."""
    try:
        with open_plain(path) as descriptor:
            os.lseek(descriptor, max(0, os.fstat(descriptor).st_size - most), os.SEEK_SET)
            return read_open(descriptor, most)
    except OSError:
        return b""
