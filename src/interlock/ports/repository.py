"""The repository at hand and its trusted mirror: values of commits, and what is asked of git."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:  # every verb imports this, and few need what these are of
    from interlock.core.contract.policy import Style
    from interlock.core.gate.changes import Change
    from interlock.core.problems import Refused
    from interlock.core.sandbox import Gate
    from interlock.ports.isolation import Place
    from interlock.ports.meeting import Melting


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """The default branch as it stands: ``remote`` is its name (None: no remote), ``note`` what a person must know."""

    remote: str | None
    branch: str
    oid: str
    note: str = ""

    @property
    def ref(self) -> str:
        return f"{self.remote}/{self.branch}" if self.remote else self.branch


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    name: str
    email: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What an attempt left in its tree, as one commit on the job's last head; ``empty`` when nothing changed."""

    commit: str
    tree: str
    empty: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Where HEAD of a task's tree stands: the branch's short name, or None when detached."""

    branch: str | None
    oid: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """A commit that holds the base and the heads; ``diff`` names what it changes on the base."""

    commit: str
    tree: str
    diff: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TextConflict:
    """The first head that does not merge with the base and the heads before it, and the paths that clash."""

    head: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inverse:
    """A commit that takes a landed one back, which one that was, and the paths that it changes (none: nothing is left of it)."""

    commit: str
    of: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Landing:
    """The answer of the remote: moved to the commit, or the commit it stands on instead, or its words.

    ``otherwise``: it took the commit, and its branch does not hold it.
    """

    state: Literal["landed", "moved", "rejected", "otherwise"]
    oid: str
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Blob:
    """A file of a commit: its object name and its bytes."""

    oid: str
    data: bytes


class Reader(Protocol):
    """The repository at hand, only read: any ref of it, without set-up, network, index or hooks."""

    def resolve_many(self, refs: Sequence[str]) -> tuple[str, ...]:
        """The commits that refs lead to.  Raises Misuse for the first that names none."""
        ...

    def read_many(self, asked: Sequence[tuple[str, str]]) -> tuple[Blob | None, ...]:
        """The files at (commit, path), None where there is none."""
        ...

    def changes_many(self, base: str, heads: Sequence[str]) -> Mapping[str, tuple[Change, ...] | Refused]:
        """What each head changes against its merge base with base, or the refusal where that cannot be told."""
        ...

    def cards_named(self, base: str, head: str) -> tuple[str, ...]:
        """Slugs that the trailers of head's own commits name, whatever its branch is called."""
        ...

    def patch(self, base: str, head: str) -> str:
        """What head changes against base, for a person or an agent to read; bytes that are no text are replaced."""
        ...

    def branches(self, base: str) -> Mapping[str, str]:
        """agent/* branches, local before remote, that are not merged into base: name → commit."""
        ...

    def melting(self, base: str) -> AbstractContextManager[Melting]:
        """A place to merge heads with ``base``, a commit; gone with all that was written in it when it is left."""
        ...


class Repo(Reader, Protocol):
    """The trusted mirror of the repository; git never runs in a task's tree (facts/isolation §5.3)."""

    @property
    def common_dir(self) -> Path: ...
    @property
    def top(self) -> Path: ...
    @property
    def at_hand(self) -> Path:
        """The work tree that the caller stands in, a linked one too: where files for a person go.  Raises Misuse in a bare one."""
        ...

    @property
    def remote_url(self) -> str | None: ...
    def refresh(self) -> Base:
        """Fetch the remote into the mirror and tell its default branch.  Raises GitFailed, or UnknownBase."""
        ...

    def last_base(self) -> Base:
        """The default branch as of the last fetch, without touching the network."""
        ...

    def read(self, commit: str, path: str) -> bytes | None: ...
    def blob_oid(self, commit: str, path: str) -> str | None: ...
    def files(self, commit: str, under: str = "") -> tuple[str, ...]: ...
    def tree_of(self, commit: str) -> str: ...
    def last_change(self, commit: str, path: str = "") -> float | None:
        """When a path last changed in a commit's history, in seconds since the epoch; without a path the commit's own time."""
        ...

    def changes(self, base: str, head: str) -> tuple[Change, ...]:
        """What head changes against its merge base with base.  Raises NoMergeBase."""
        ...

    def is_ancestor(self, old: str, new: str) -> bool: ...
    def tips(self, branches: Sequence[str]) -> Mapping[str, str]:
        """Where branches of the remote stood at the last fetch; one that was not there is left out."""
        ...

    def agent_branches(self) -> Mapping[str, str]:
        """agent/* branches of the remote that are not merged into the default branch: name → oid."""
        ...

    def landed_slugs(self, commit: str) -> frozenset[str]:
        """Slugs of cards whose work is in the history of a commit, whoever landed it."""
        ...

    def commit_work(self, place: Place, *, parent: str, message: str, author: Author, sign: bool, keep: str) -> Work:
        """Commit the whole tree of a task (tracked and untracked, not ignored) from outside, as one commit on parent.

        The task's branch and index are moved to it; commits that the agent made stay reachable at the ref ``keep``.
        """
        ...

    def head_of(self, place: Place) -> Head: ...
    def import_branch(self, branch: str) -> str: ...
    def merge(
        self, base: str, heads: Sequence[str], *, message: str, style: Style = "merge", each: Sequence[str] = ()
    ) -> Merged | TextConflict:
        """The heads on the base in their order, in one of three styles with the same tree; ``each`` are the messages of a squash.

        Files are merged as the attributes of ``base`` say, and by no program: where they name one, two changes of a file clash.
        """
        ...

    def drivers(self, commit: str, paths: Sequence[str]) -> Mapping[str, str]:
        """The paths of these that the attributes of a commit give to a program to merge: path → its name.  It is never run."""
        ...

    def checkpoint(self, history: str) -> str | None:
        """The signed checkpoint of a history that was kept last, outside of the database; None when there is none."""
        ...

    def earlier_checkpoints(self, history: str) -> tuple[str, ...]:
        """The checkpoints of a history that were kept before that one, the last first, as far as they are there still."""
        ...

    def checkpointed(self) -> tuple[str, ...]:
        """The histories of which a checkpoint is kept here."""
        ...

    def landed_jobs(self, commit: str) -> Mapping[str, str]:
        """Jobs that the commits in the history of ``commit`` say they landed, by their trailers: job → commit."""
        ...

    def lacking(self, base: str, commit: str, heads: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Heads whose change is not whole in a commit on the base, and paths that it changes and no head brought."""
        ...

    def graft(self, onto: str, source: str, paths: Sequence[str]) -> str:
        """A commit on ``onto`` with its tree, but the paths as in ``source``; what is not there is removed.

        Gives ``onto`` itself where nothing differs.  A path is a file or a whole folder.
        """
        ...

    def put_back(self, path: Path, commit: str) -> tuple[str, ...]:
        """Make the tracked files of a tree those of the commit again; gives the paths that were not."""
        ...

    def fresh_tree(self, commit: str, path: Path) -> AbstractContextManager[Path]:
        """A tree of exactly this commit at path, made new and taken away afterwards."""
        ...

    def gate(self, place: Place, *, owned: tuple[str, ...], protected: tuple[str, ...]) -> Gate:
        """What a sealed task may push to: its own branch of the mirror and nothing else."""
        ...

    def equals_commit(self, place: Place, commit: str, *, known: Iterable[str], caches: Sequence[str]) -> bool: ...
    def extra_files(self, place: Place) -> tuple[str, ...]:
        """Untracked and ignored paths of a task's tree, folders with a trailing slash."""
        ...

    def rebase_place(self, place: Place, *, head: str, onto: str, keep: str) -> tuple[str, ...]:
        """Put the merge of head into onto in the task's tree, its branch at onto; gives the paths left with clash marks."""
        ...

    def keep(self, ref: str, oid: str) -> None: ...
    def taken_out(self, head: str, work: str) -> str | None:
        """A commit with head's tree without what another commit did, in its history or not; None where that clashes."""
        ...

    def inverse(self, onto: str, job: str, *, message: str, author: Author) -> Inverse | TextConflict | None:
        """One commit on onto that takes a landed job's work back; the paths in the way; None where it is not in there."""
        ...

    def push_branch(self, branch: str, oid: str, expected: str | None) -> Landing: ...
    def stand(self, branches: Sequence[str]) -> Mapping[str, str]:
        """Where branches of the remote stand at this moment; one that is not there is left out."""
        ...

    def land(self, base: Base, oid: str) -> Landing:
        """Move the remote's default branch from base.oid to oid, and only from there."""
        ...
