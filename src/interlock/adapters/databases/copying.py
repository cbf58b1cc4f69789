"""Copies of files and folders that share their bytes where the file system can (FICLONE); what is copied and when is the caller's."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from pathlib import Path
from typing import Final

_FICLONE: Final = 0x40049409
_CANNOT: Final = frozenset({errno.EOPNOTSUPP, errno.ENOTTY, errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EPERM})


def clone(source: int, target: int) -> bool:
    """Let an open file share the bytes of another; False when the file system cannot.  Raises OSError otherwise."""
    try:
        fcntl.ioctl(target, _FICLONE, source)
    except OSError as fault:
        if fault.errno in _CANNOT:
            return False
        raise
    return True


def copy_file(source: str, target: str) -> str:
    """Copy one plain file at rest, with its mode; for shutil.copytree."""
    with Path(source).open("rb") as old, Path(target).open("xb") as new:
        if not clone(old.fileno(), new.fileno()):
            shutil.copyfileobj(old, new, 1 << 20)
        os.fchmod(new.fileno(), os.fstat(old.fileno()).st_mode & 0o7777)
    return target


def copy_folder(source: Path, target: Path) -> None:
    """Copy a folder at rest to a path where nothing is; links stay links."""
    shutil.copytree(source, target, symlinks=True, copy_function=copy_file)


def give(path: Path, user: int | None) -> None:
    """Make a user the owner of a file or of a folder with all in it, when we may say so (root) and are asked to."""
    if user is None or os.geteuid() != 0:
        return
    os.chown(path, user, user, follow_symlinks=False)
    if path.is_dir() and not path.is_symlink():
        for folder, folders, names in os.walk(path):
            for name in (*folders, *names):
                os.chown(Path(folder) / name, user, user, follow_symlinks=False)
