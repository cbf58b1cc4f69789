"""Reading commits, trees and files of one repository by plumbing alone; nothing is written and no index is looked at."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from interlock.adapters.git import diffs
from interlock.adapters.git.discover import discover
from interlock.adapters.git.errors import GitFailed, NoMergeBase, UnknownRef
from interlock.adapters.git.plumbing import GitDir, names
from interlock.core.problems import Refused
from interlock.ports.repository import Blob

if TYPE_CHECKING:  # verbs that must start at once import this
    from pathlib import Path

    from interlock.core.gate.changes import Change
    from interlock.ports.meeting import Melting

CARD_TRAILER: Final = "Interlock-Card"
JOB_TRAILER: Final = "Interlock-Job"
_JOB: Final = re.compile(rb"^Interlock-Job:[ \t]*(\S+)[ \t]*$", re.MULTILINE)
_COMMITTED: Final = re.compile(rb"^committer .* (\d+) [-+]\d+$", re.MULTILINE)
_SKEW: Final = 86_400  # seconds by which the clocks of two machines may differ


@dataclass(frozen=True, slots=True)
class Reader:
    """The reading side of a repository: the mirror, or the repository at hand with any ref of it."""

    git: GitDir

    def resolve_many(self, refs: Sequence[str]) -> tuple[str, ...]:
        """The commits that refs lead to.  Raises UnknownRef for the first that names none."""
        if not refs:
            return ()
        asked = "".join(f"{ref}^{{commit}}\n" for ref in refs)
        lines = self.git.text("cat-file", "--batch-check=%(objectname)", stdin=asked.encode()).splitlines()
        found = []
        for ref, line in zip(refs, lines, strict=True):
            if " " in line or not ref.strip() or "\n" in ref:
                raise UnknownRef(ref)
            found.append(line)
        return tuple(found)

    def resolve(self, ref: str) -> str:
        return self.resolve_many([ref])[0]

    def read_many(self, asked: Sequence[tuple[str, str]]) -> tuple[Blob | None, ...]:
        """The files at (commit, path), None where there is no file; one process for all of them."""
        if not asked:
            return ()
        specs = [f"{commit}:{path}".encode("utf-8", "surrogateescape") for commit, path in asked]
        out = self.git.run("cat-file", "--batch", "-z", stdin=b"\0".join(specs) + b"\0").out
        found: list[Blob | None] = []
        at = 0
        for spec in specs:
            if out.startswith(spec + b" ", at):  # "missing", "ambiguous", "submodule"
                at = out.index(b"\n", at + len(spec)) + 1
                found.append(None)
                continue
            end = out.index(b"\n", at)
            oid, kind, size = out[at:end].split(b" ")
            data = out[end + 1 : end + 1 + int(size)]
            at = end + 2 + int(size)
            found.append(Blob(oid=oid.decode(), data=data) if kind == b"blob" else None)
        return tuple(found)

    def read(self, commit: str, path: str) -> bytes | None:
        blob = self.read_many([(commit, path)])[0]
        return blob.data if blob else None

    def blob_oid(self, commit: str, path: str) -> str | None:
        blob = self.read_many([(commit, path)])[0]
        return blob.oid if blob else None

    def files(self, commit: str, under: str = "") -> tuple[str, ...]:
        """Paths of all files of a commit, below the folder ``under`` when it is given."""
        where = [f"{under.rstrip('/')}/"] if under else []
        args = ("--literal-pathspecs", "ls-tree", "-r", "-z", "--name-only", "--full-tree", commit, "--", *where)
        return tuple(names(self.git.run(*args).out))

    def tree_of(self, commit: str) -> str:
        return self.git.text("rev-parse", "--verify", "--quiet", f"{commit}^{{tree}}")

    def last_change(self, commit: str, path: str = "") -> float | None:
        """When a path last changed in a commit's history, in seconds since the epoch; None where it never was."""
        where = ["--", path] if path else []
        words = ("--literal-pathspecs", "rev-list", "--max-count=1", "--timestamp", commit, *where)
        found = self.git.run(*words).out.split()
        return float(found[0]) if found else None

    def is_ancestor(self, old: str, new: str) -> bool:
        return self.git.run("merge-base", "--is-ancestor", old, new, ok=(0, 1)).code == 0

    def common(self, one: str, other: str) -> str | None:
        """The best common ancestor of two commits: one of them where it is an ancestor of the other."""
        return self.git.run("merge-base", one, other, ok=(0, 1)).text.strip() or None

    def changes(self, base: str, head: str) -> tuple[Change, ...]:
        """What head changes against its merge base with base; takes refs too.  Raises NoMergeBase, UnknownRef."""
        if not (diffs.OID.fullmatch(base) and diffs.OID.fullmatch(head)):
            base, head = self.resolve_many([base, head])
        found = diffs.changes_many(self.git, base, [head])[head]
        if isinstance(found, Refused):
            raise found
        return found

    def changes_many(self, base: str, heads: Sequence[str]) -> Mapping[str, tuple[Change, ...] | Refused]:
        """The same for many heads in a handful of processes; a head without a verdict has its refusal instead."""
        return diffs.changes_many(self.git, base, heads)

    def cards_named(self, base: str, head: str) -> tuple[str, ...]:
        """Slugs that the trailers of head's own commits name, whatever its branch is called.

        Raises Refused (``shallow``) when some of those commits are not here: they could name one.
        """
        cut = self.git.path / "shallow"
        if cut.is_file() and not set(cut.read_text().split()).isdisjoint(self._own(base, head)):
            raise NoMergeBase(base, head, shallow=True)
        form = f"--format=%(trailers:key={CARD_TRAILER},valueonly)"
        lines = self.git.text("log", form, f"{base}..{head}", seconds=600.0).splitlines()
        return tuple(dict.fromkeys(line.partition("@")[0].strip() for line in lines if line.strip()))

    def _own(self, base: str, head: str) -> list[str]:
        return self.git.text("rev-list", f"{base}..{head}", seconds=600.0).split()

    def patch(self, base: str, head: str) -> str:
        """The textual difference of two commits; no program of a configuration has a part in it."""
        words = ("diff-tree", "-p", "-r", "--no-ext-diff", "--no-textconv", "--no-relative", "--no-color", base, head)
        return self.git.run(*words, seconds=120.0).out.decode("utf-8", "replace")

    def branches(self, base: str) -> dict[str, str]:
        """agent/* branches that are not merged into base, local before remote: short name → commit.

        A branch that stands here and on a remote is one branch; the local one is meant.
        """
        refs = self.git.refs("refs/heads/agent/", "refs/remotes/*/agent/**")
        found: dict[str, tuple[str, str]] = {}
        for name, oid in refs.items():
            _, kind, rest = name.split("/", 2)
            short = rest if kind == "heads" else rest.split("/", 1)[1]
            if kind == "heads" or short not in found:
                found[short] = (name.split("/", 2)[2], oid)
        return unmerged(self.git, base, dict(found.values()))

    @contextmanager
    def melting(self, base: str) -> Iterator[Melting]:
        """A place to merge heads with a base, thrown away afterwards; see matrix."""
        from interlock.adapters.git.matrix import melting_pot

        with melting_pot(self.git, base) as pot:
            yield pot


def open_reader(start: Path) -> Reader:
    """The repository around a folder, only read: any ref of it, no set-up, no network.  Raises Misuse where there is none."""
    return Reader(discover(start).git().with_options("core.commitGraph=false"))


def unmerged(git: GitDir, base: str, branches: Mapping[str, str]) -> dict[str, str]:
    """Those of the branches that hold a commit which base does not, and whose job did not land there as another commit.

    A branch is landed too when its tip carries a job's trailer and a commit in base's history carries the same: so it is
    with the styles squash and rebase, and it stays so when that commit was reverted.
    """
    if not branches:
        return {}
    asked = "\n".join([*dict.fromkeys(branches.values()), f"^{base}"])
    try:
        ahead = set(git.text("rev-list", "--stdin", stdin=asked.encode()).split())
    except GitFailed:
        return dict(branches)  # cannot be told: counted as not merged, so that none is overlooked
    left = {name: oid for name, oid in branches.items() if oid in ahead}
    try:
        landed = _landed(git, base, tuple(dict.fromkeys(left.values())))
    except GitFailed:
        return left  # as above
    return {name: oid for name, oid in left.items() if oid not in landed}


def _landed(git: GitDir, base: str, tips: Sequence[str]) -> frozenset[str]:
    """The tips whose job a commit in base's history names; the history is read only where a tip names one, and from its time on."""
    jobs, oldest = _jobs(git, tips)
    if not jobs:
        return frozenset()
    words = ("log", f"--format=%(trailers:key={JOB_TRAILER},valueonly)", f"--grep=^{JOB_TRAILER}: ")
    told = git.text(*words, f"--since={oldest - _SKEW}", base, seconds=600.0)
    landed = {line.strip() for line in told.splitlines()}
    return frozenset(tip for tip, job in jobs.items() if job in landed)


def _jobs(git: GitDir, tips: Sequence[str]) -> tuple[dict[str, str], int]:
    """The jobs that the commits themselves name in their trailers, and when the oldest of those was committed."""
    if not tips:
        return {}, 0
    out = git.run("cat-file", "--batch", "--buffer", stdin="\n".join(tips).encode() + b"\n", seconds=600.0).out
    found: dict[str, str] = {}
    times: list[int] = []
    at = 0
    for tip in tips:
        end = out.index(b"\n", at)
        size = int(out[at:end].split(b" ")[2])
        head, _, text = out[end + 1 : end + 1 + size].partition(b"\n\n")
        at = end + size + 2
        named = _JOB.findall(text.rstrip().rpartition(b"\n\n")[2])
        committed = _COMMITTED.search(head)
        if named and committed:
            found[tip] = named[-1].decode("utf-8", "replace")
            times.append(int(committed[1]))
    return found, min(times, default=0)
