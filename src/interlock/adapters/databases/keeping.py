"""What tasks' databases leave on this machine: the repository's own mark, and archives under names that are not used twice."""

from __future__ import annotations

import base64
import secrets
from pathlib import Path

from interlock.core.contract import database_names as names
from interlock.host import files


def owner(folder: Path) -> str:
    """The random text that marks this repository's databases; made once, in the folder of its baselines."""
    return _once(folder, "owner", names.OWNER)


def secret(folder: Path) -> str:
    """The random text that passwords of this repository's roles follow from, readable for us alone."""
    return _once(folder, "secret", 32)


def _once(folder: Path, name: str, length: int) -> str:
    path = folder / name
    while True:
        try:
            return path.read_text(encoding="ascii").strip()
        except FileNotFoundError:
            folder.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(f".{name}.{secrets.token_hex(4)}")
        files.write_whole(fresh, new_id(length).encode())
        try:
            path.hardlink_to(fresh)  # the first one wins
        except FileExistsError:
            pass
        finally:
            fresh.unlink()


def new_id(length: int) -> str:
    """A random text of lower case letters and digits, five bits each."""
    return base64.b32encode(secrets.token_bytes(length)).decode().lower()[:length]


def new_archive(folder: Path, name: str, suffix: str) -> Path:
    """A path for the next archive of a database: an earlier one, of a task that was opened again, stays."""
    number = len(archives(folder, name, suffix)) + 1
    return folder / (f"{name}{suffix}" if number == 1 else f"{name}.{number}{suffix}")


def newest_archive(folder: Path, name: str, *suffixes: str) -> str | None:
    """What was kept last of a database, or None."""
    found = [path for suffix in suffixes for path in archives(folder, name, suffix)]
    return str(max(found, key=lambda path: path.stat().st_mtime_ns)) if found else None


def archives(folder: Path, name: str, suffix: str) -> tuple[Path, ...]:
    found: list[Path] = []
    while (path := folder / (f"{name}.{len(found) + 1}{suffix}" if found else f"{name}{suffix}")).exists():
        found.append(path)
    return tuple(found)
