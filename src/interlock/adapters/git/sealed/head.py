"""Where HEAD and the branches of a task's private repository stand, read as plain files; git never runs in it."""

from __future__ import annotations

import re
from typing import Final

from interlock.adapters.git.discover import BRANCHES
from interlock.adapters.git.sealed import looking
from interlock.adapters.git.sealed.layout import Layout, Task
from interlock.ports.repository import Head

_OID: Final = re.compile(rb"[0-9a-f]{40}([0-9a-f]{24})?")
_NAME: Final = re.compile(r"refs/[\w./@+-]+")
_SMALL: Final = 4096
_PACKED: Final = 16_000_000
_LOG: Final = 4_000_000
_MOST: Final = 2000
_HEADS: Final = ("ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD", "AUTO_MERGE")


def says(layout: Layout, task: Task) -> str:
    """What HEAD says: a full ref name, or an object name when it is detached; empty for anything odd."""
    data = (looking.read(layout.tree(task), ".git/HEAD", _SMALL) or b"").strip()
    if data.startswith(b"ref: "):
        name = data[5:].decode("utf-8", "replace")
        return name if _NAME.fullmatch(name) and ".." not in name else ""
    return data.decode() if _OID.fullmatch(data) else ""


def of(layout: Layout, task: Task) -> Head:
    """The branch that HEAD is on (None: detached, or nothing that can be read) and its commit."""
    name = says(layout, task)
    if name.startswith(BRANCHES):
        return Head(branch=name.removeprefix(BRANCHES), oid=tip(layout, task, name))
    return Head(branch=None, oid=name if _OID.fullmatch(name.encode()) else None)


def tip(layout: Layout, task: Task, ref: str) -> str | None:
    """The commit that a ref's own file names, else what the packed refs say."""
    data = looking.read(layout.tree(task), f".git/{ref}", _SMALL)
    if data is not None:
        return data.strip().decode() if _OID.fullmatch(data.strip()) else None
    return _packed(layout, task).get(ref)


def remembered(layout: Layout, task: Task) -> list[str]:
    """Every commit that the repository names: refs, unfinished operations, and what HEAD and the stash stood on."""
    root = layout.tree(task)
    found = dict.fromkeys(_packed(layout, task).values())
    for name in (*_loose(layout, task, "refs"), *_HEADS, "HEAD"):
        found.update(dict.fromkeys(_words(looking.read(root, f".git/{name}", _SMALL) or b"")))
    for name in ("rebase-merge/orig-head", "rebase-merge/onto", "rebase-apply/orig-head"):
        found.update(dict.fromkeys(_words(looking.read(root, f".git/{name}", _SMALL) or b"")))
    for log in ("HEAD", "refs/stash"):
        for line in (looking.read(root, f".git/logs/{log}", _LOG) or b"").splitlines()[-_MOST:]:
            found.update(dict.fromkeys(word for part in line.split(b" ", 2)[:2] for word in _words(part)))
    return [oid for oid in found if oid.strip("0")]


def _loose(layout: Layout, task: Task, folder: str, depth: int = 8) -> list[str]:
    """The files below a folder of refs, at most so many and so deep."""
    found: list[str] = []
    root = layout.tree(task)
    level = [folder]
    for _ in range(depth):
        inner: list[str] = []
        for each in level:
            names = looking.entries(root, f".git/{each}", _MOST)
            (inner if names else found).extend(f"{each}/{name}" for name in names)
            if len(inner) + len(found) > _MOST:
                return found
        found += [name for name in inner if looking.entries(root, f".git/{name}", 1) == []]
        level = inner
    return list(dict.fromkeys(found))


def _packed(layout: Layout, task: Task) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in (looking.read(layout.tree(task), ".git/packed-refs", _PACKED) or b"").splitlines():
        oid, _, name = line.partition(b" ")
        if _OID.fullmatch(oid):
            found[name.decode("utf-8", "surrogateescape")] = oid.decode()
    return found


def _words(data: bytes) -> list[str]:
    """The object names that the lines of a file begin with."""
    words = (line.split(b" ", 1)[0].split(b"\t", 1)[0].strip() for line in data.splitlines())
    return [word.decode() for word in words if _OID.fullmatch(word)]
