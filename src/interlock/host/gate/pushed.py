"""What a push brings, asked of git in its quarantine with bounds on time and memory; judging it is hook's work."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from interlock.core.gate.changes import RAW, SYMLINK, Change, of_each

MOST_COMMITS: Final = 5_000
_MOST_BYTES: Final = 64 << 20
_SECONDS: Final = 120.0
_LINK_BYTES: Final = 4096


class Unclear(Exception):
    """Git gave no answer, or one that is larger than any honest push makes it; the text says which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """The objects of a push: how many bytes they are unpacked, and those that the push itself does not carry."""

    total: int
    absent: tuple[str, ...]


def git(*args: str, stdin: Iterable[str] = (), env: Mapping[str, str] | None = None, ok: Sequence[int] = (0,)) -> bytes:
    """What git writes; ``stdin`` are its lines.  Raises Unclear for an exit code outside ``ok``, and beyond the bounds."""
    with os.fdopen(os.memfd_create("stdin"), "w+b") as source:
        source.write("".join(f"{line}\n" for line in stdin).encode())
        source.seek(0)
        child = subprocess.Popen(
            ["git", *args], stdin=source, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env
        )
    late = threading.Timer(_SECONDS, child.kill)
    late.start()
    with child:
        assert child.stdout is not None  # noqa: S101 - it is a pipe
        out = child.stdout.read(_MOST_BYTES + 1)
        if len(out) > _MOST_BYTES:
            child.kill()
    late.cancel()
    if len(out) > _MOST_BYTES:
        raise Unclear("What it changes is more than the gate looks at.")
    if child.returncode not in ok:
        raise Unclear(f"git {args[0]} gave no answer about it.")
    return out


def commits(*names: str) -> tuple[str | None, ...]:
    """The full names of commits; None for what is none, a tag that leads to one included.  Raises Unclear."""
    told = git("cat-file", "--batch-check=%(objecttype) %(objectname)", stdin=names).decode().splitlines()
    found = [line.partition(" ") for line in told]
    return tuple(oid if kind == "commit" else None for kind, _, oid in found)


def follows(old: str, new: str) -> bool:
    """Whether new stands on old."""
    return git("rev-list", "-n", "1", old, f"^{new}").strip() == b""


def bases(new: str, upstream: Sequence[str]) -> dict[str, str | None]:
    """The commits of ``new`` that upstream has not, each with where it left upstream; None where it never was part.

    The border of a commit is what lies behind it in upstream; with a single one that is its merge base.
    """
    limits = [f"^{oid}" for oid in upstream]
    listed = git("rev-list", "--topo-order", "--parents", f"--max-count={MOST_COMMITS + 1}", new, *limits)
    lines = listed.decode().splitlines()
    if len(lines) > MOST_COMMITS:
        raise Unclear(f"It brings more than {MOST_COMMITS} commits.")
    border: dict[str, frozenset[str]] = {}
    several: dict[frozenset[str], str | None] = {}
    found: dict[str, str | None] = {}
    for line in reversed(lines):
        commit, *parents = line.split(" ")
        edge = frozenset[str]().union(*(border.get(parent, frozenset((parent,))) for parent in parents))
        border[commit] = edge
        if edge not in several:
            several[edge] = next(iter(edge)) if len(edge) == 1 else _merge_base(commit, upstream)
        found[commit] = several[edge]
        if not parents:
            found[commit] = None
    return found


def _merge_base(commit: str, upstream: Sequence[str]) -> str | None:
    return git("merge-base", commit, *upstream, ok=(0, 1)).decode().strip() or None


def changes(pairs: Mapping[str, str]) -> dict[str, tuple[Change, ...]]:
    """What each commit changes against its base, by commit; new symbolic links with where they lead."""
    out = git("diff-tree", "--stdin", *RAW, stdin=(f"{commit} {base}" for commit, base in pairs.items()))
    found = of_each(out)
    links = _links({each.new_oid for every in found.values() for each in every if each.new_mode == SYMLINK})
    return {
        commit: tuple(
            replace(each, target=links.get(each.new_oid)) if each.new_mode == SYMLINK else each for each in every
        )
        for commit, every in found.items()
    }


def sizes(new: str, seen: Sequence[str]) -> Sizes:
    """What the push carries beyond what its client was shown (``seen``).

    An object that is new to ``seen`` and not in the push is another's, taken by its name alone.
    """
    wanted = _objects(new, *(f"^{oid}" for oid in seen))
    alone = {name: value for name, value in os.environ.items() if name != "GIT_ALTERNATE_OBJECT_DIRECTORIES"}
    if quarantine := os.environ.get("GIT_QUARANTINE_PATH"):
        alone["GIT_OBJECT_DIRECTORY"] = quarantine
    told = git("cat-file", "--batch-check=%(objectname) %(objectsize)", "--buffer", stdin=wanted, env=alone)
    total, absent = 0, []
    for line in told.decode().splitlines():
        oid, size = line.split(" ")
        if size == "missing":
            absent.append(oid)
        else:
            total += int(size)
    if absent:  # the list above is generous about what old history holds already; this one is exact, and slow
        known = set(_objects(*seen))
        absent = [oid for oid in absent if oid not in known]
    return Sizes(total=total, absent=tuple(absent))


def _objects(*ends: str) -> list[str]:
    """What is reached, without the names that it has in trees: a task chooses those, line breaks included."""
    return git("rev-list", "--objects", "--no-object-names", *ends).decode("ascii").split()


def _links(oids: set[str]) -> dict[str, str]:
    """The texts of symbolic links; those that no system would follow, for their length, are left out."""
    if not oids:
        return {}
    told = git("cat-file", "--batch-check=%(objectname) %(objectsize)", stdin=sorted(oids)).decode()
    short = [oid for oid, size in (line.split(" ") for line in told.splitlines()) if int(size) <= _LINK_BYTES]
    out = git("cat-file", "--batch=%(objectsize)", stdin=short)
    found: dict[str, str] = {}
    at = 0
    for oid in short:
        end = out.index(b"\n", at)
        size = int(out[at:end])
        found[oid] = os.fsdecode(out[end + 1 : end + 1 + size])
        at = end + 2 + size
    return found
