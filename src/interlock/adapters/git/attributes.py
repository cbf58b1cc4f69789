"""Attribute files of a commit, also without the merge drivers that they name; merging by them is merging's and matrix's work."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

from interlock.adapters.git.blobs import read_blobs
from interlock.adapters.git.diffs import OID
from interlock.adapters.git.plumbing import GitDir, packed

_BOM: Final = b"\xef\xbb\xbf"
_FILE: Final = b".gitattributes"
_BUILT_IN: Final = frozenset({b"", b"text", b"binary", b"union"})
_NO_DRIVER: Final = frozenset({"unspecified", "set", "unset", *map(bytes.decode, _BUILT_IN)})
_LONG: Final = 300.0
# As git reads a line (attr.c, quote.c): a pattern, in quotes that are valid or up to a blank, then words between blanks.
# A mark of the encoding is left out before the first line and nowhere else.
_QUOTED: Final = rb'"(?:[^"\\]|\\(?:[abfnrtv"\\]|[0-3][0-7]{2}))*"'
_PATTERN: Final = re.compile(rb"[ \t\r]*((?:" + _QUOTED + rb")|[^ \t\r]*)")
_MERGE: Final = re.compile(rb"(?<![^ \t\r])merge=([^ \t\r]*)")


def attributes_of(git: GitDir, commit: str) -> Mapping[str, bytes]:
    """The attribute files of a commit or tree by their paths; a link is none, as git has it.  Raises GitFailed."""
    return _remembered(git, commit) if OID.fullmatch(commit) else _read(git, commit)


@lru_cache(maxsize=16)
def _remembered(git: GitDir, commit: str) -> Mapping[str, bytes]:
    """A full name means the same for ever, and a train asks about one base again and again."""
    return _read(git, commit)


def _read(git: GitDir, commit: str) -> Mapping[str, bytes]:
    out = git.run("ls-tree", "-r", "-z", "--full-tree", commit, seconds=_LONG).out
    if _FILE + b"\0" not in out:
        return {}
    found: dict[str, str] = {}
    for entry in out.split(b"\0"):
        meta, _, path = entry.partition(b"\t")
        if path.rpartition(b"/")[2] == _FILE and meta.startswith(b"100"):
            found[os.fsdecode(path)] = meta.split(b" ")[2].decode()
    read = read_blobs(git, list(found.values()))
    return {path: data for path, data in zip(found, read, strict=True) if data is not None}


def without_drivers(data: bytes) -> bytes:
    """The same attributes, but a file that a program is to merge counts as binary, which both sides cannot change.

    Only that program knows what two changes of it make together; merged as text they could fit and be broken.
    """
    start = len(_BOM) if data.startswith(_BOM) else 0
    return data[:start] + b"\n".join(map(_without, data[start:].split(b"\n")))


def _without(line: bytes) -> bytes:
    read, nul, unread = line.partition(b"\0")  # git reads a line up to there
    pattern = _PATTERN.match(read)
    if pattern is None or pattern[1].startswith(b"#"):
        return line
    return pattern[0] + _MERGE.sub(_refused, read[pattern.end() :]) + nul + unread


def _refused(found: re.Match[bytes]) -> bytes:
    """No merge in the place of a program, as long as it was: git leaves out lines by their length."""
    return found[0] if found[1] in _BUILT_IN else b"-merge".ljust(len(found[0]))


def dress(root: Path, files: Mapping[str, bytes]) -> None:
    """Lay attribute files below a folder, where git looks for them; names that would lead elsewhere are left out."""
    for path, data in files.items():
        parts = path.split("/")
        if path.startswith("/") or any(part in ("", ".", "..", ".git") for part in parts):
            continue
        target = root.joinpath(*parts)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        except OSError as fault:  # no checkout holds it either, so it says nothing of any file there
            if fault.errno != errno.ENAMETOOLONG:
                raise


def merged_how(git: GitDir, paths: Sequence[str], env: Mapping[str, str]) -> dict[str, str]:
    """What the attribute ``merge`` says of paths, in git's words, by the attribute files that lie there.  Raises GitFailed."""
    if not paths:
        return {}
    out = git.run("check-attr", "-z", "--stdin", "merge", stdin=packed(paths), env=env, seconds=_LONG).out
    told = list(map(os.fsdecode, out.split(b"\0")[:-1]))  # a value may be empty
    return dict(zip(told[::3], told[2::3], strict=True))


def is_driver(value: str) -> bool:
    """Whether a value of the attribute names a program, and none of git's own ways."""
    return value not in _NO_DRIVER
