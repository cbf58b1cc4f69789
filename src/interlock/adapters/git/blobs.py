"""Many objects by one ``git cat-file``: what files hold and how their contents are called; which ones are asked for is the callers' work."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from interlock.adapters.git.plumbing import GitDir

_LONG: Final = 300.0


def read_blobs(git: GitDir, specs: Sequence[str]) -> tuple[bytes | None, ...]:
    """The bytes of objects by name (an object id, or tree:path), None for what is not there or is no file."""
    if not specs:
        return ()
    out = _answers(git, "--batch", specs)
    found: list[bytes | None] = []
    at = 0
    for spec in specs:
        name = os.fsencode(spec)
        if out.startswith(name + b" ", at) and not _is_header(out, at, name):
            at = out.index(b"\n", at + len(name)) + 1
            found.append(None)
            continue
        end = out.index(b"\n", at)
        _, kind, size = out[at:end].split(b" ")
        found.append(out[end + 1 : end + 1 + int(size)] if kind == b"blob" else None)
        at = end + 2 + int(size)
    return tuple(found)


def blob_names(git: GitDir, specs: Sequence[str]) -> tuple[str | None, ...]:
    """The object names of files (tree:path), None for what is not there or is no file."""
    if not specs:
        return ()
    out = _answers(git, "--batch-check", specs)
    found: list[str | None] = []
    at = 0
    for spec in specs:
        name = os.fsencode(spec)
        missing = out.startswith(name + b" ", at)
        end = out.index(b"\n", at + len(name) if missing else at)
        words = b"" if missing else out[at:end]
        found.append(words.split(b" ")[0].decode() if b" blob " in words else None)
        at = end + 1
    return tuple(found)


def _answers(git: GitDir, how: str, specs: Sequence[str]) -> bytes:
    """What git says of each name, one after the other."""
    asked = b"".join(os.fsencode(spec) + b"\0" for spec in specs)
    return git.run("cat-file", how, "-z", stdin=asked, seconds=_LONG).out


def _is_header(out: bytes, at: int, name: bytes) -> bool:
    """An object asked for by its own id is answered with that id; what is missing is answered with the name as well."""
    words = out[at : out.index(b"\n", at)].split(b" ") if b" " not in name and b"\n" not in name else []
    return len(words) == 3 and words[2].isdigit()
