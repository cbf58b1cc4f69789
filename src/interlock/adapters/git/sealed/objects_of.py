"""Objects carried between the mirror and a task's private store: plain files copied within bounds, hashed again on the way in."""

from __future__ import annotations

import re
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from interlock.adapters.git import objects
from interlock.adapters.git.errors import GitFailed
from interlock.adapters.git.mirror import Mirror
from interlock.adapters.git.sealed import looking, store
from interlock.adapters.git.sealed.layout import Layout, Task

MOST_BYTES: Final = 1_000_000_000
MOST_FILES: Final = 200_000
_LOOSE: Final = re.compile(r"[0-9a-f]{38}([0-9a-f]{24})?")
_PACK: Final = re.compile(r"pack-[0-9a-f]{40}([0-9a-f]{24})?\.(pack|idx)")


@contextmanager
def copied(mirror: Mirror, layout: Layout, task: Task) -> Iterator[Path]:
    """A copy of the private store's objects, without what it says of other stores; taken away afterwards.

    What is beyond the bounds, no plain file or not named like an object is left out.
    """
    parent = mirror.path / "tmp"
    parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="private-", dir=parent) as name:
        target = Path(name) / "objects"
        for each in ("info", "pack"):
            (target / each).mkdir(parents=True)
        _copy(layout.tree(task), target)
        yield target


def _copy(root: Path, target: Path) -> None:
    bytes_left, files_left = MOST_BYTES, MOST_FILES
    folders = [name for name in looking.entries(root, ".git/objects", 1000) if re.fullmatch(r"[0-9a-f]{2}", name)]
    for folder in ("pack", *sorted(folders)):
        wanted = _PACK if folder == "pack" else _LOOSE
        with suppress(OSError), looking.folder(root, f".git/objects/{folder}") as at:
            for name in looking.entries(root, f".git/objects/{folder}", files_left):
                if not wanted.fullmatch(name):
                    continue
                (target / folder).mkdir(exist_ok=True)
                with suppress(OSError):
                    if looking.copy_at(at, name, target / folder / name, bytes_left):
                        size = (target / folder / name).stat().st_size
                        files_left, bytes_left = files_left - 1, bytes_left - size


def take(mirror: Mirror, layout: Layout, task: Task, wants: list[str]) -> list[str]:
    """Bring commits of the private store into the mirror; gives those that are there whole now, in their order."""
    if all(_whole(mirror, oid, [task.base]) for oid in wants):
        return wants
    with copied(mirror, layout, task) as source:
        return bring(mirror, source, wants, [task.base])


def bring(mirror: Mirror, source: Path, wants: Iterable[str], known: list[str]) -> list[str]:
    """The same from a copy of the store; ``known`` are commits that the mirror has with all their history."""
    found = []
    for oid in wants:
        if not _whole(mirror, oid, known):
            with suppress(GitFailed):
                objects.fetch_local(mirror.git, source, [oid], known)
            if not _whole(mirror, oid, known):
                continue
        found.append(oid)
    return found


def _whole(mirror: Mirror, oid: str, known: list[str]) -> bool:
    if objects.present(mirror.git, [oid]) != [oid]:
        return False
    kind = mirror.git.text("cat-file", "-t", oid)
    return kind == "commit" and objects.complete(mirror.git, [oid], known)


def give(mirror: Mirror, layout: Layout, task: Task, commit: str) -> None:
    """Bring a commit of the mirror into the private store, as far as the store that tasks share lacks it.

    Raises OSError where the private store is not made of folders any more.
    """
    haves = objects.present(mirror.git, store.fed(layout))
    parent = mirror.path / "tmp"
    parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="giving-", dir=parent) as name:
        objects.send_local(mirror.git, Path(name), [commit], haves)
        for file in sorted(Path(name).rglob("*"), key=lambda file: file.suffix == ".idx"):
            if stat.S_ISREG(file.lstat().st_mode):
                inside = file.relative_to(name)
                looking.write(layout.tree(task), f".git/objects/{inside}", file.read_bytes(), mode=0o444)
