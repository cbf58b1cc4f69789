"""The repository as the rest of Interlock knows it: one object that hands each question to the module that answers it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from interlock.adapters.git import (
    admin,
    anchor,
    commits,
    completeness,
    diffs,
    grafting,
    landed,
    landing,
    merging,
    objects,
    rebasing,
    reverting,
    trees,
)
from interlock.adapters.git.discover import BRANCHES, TASKS, Found, config, discover, remote_of
from interlock.adapters.git.errors import UnknownRef
from interlock.adapters.git.mirror import HEAD, TRACKED, Mirror
from interlock.adapters.git.reader import Reader, unmerged
from interlock.adapters.git.sealed import changes, equal, view, work
from interlock.adapters.git.sealed import head as sealed_head
from interlock.adapters.git.sealed import rebasing as sealed_rebasing
from interlock.adapters.git.sealed.layout import Layout
from interlock.core.contract.policy import Style
from interlock.core.gate.changes import Change
from interlock.core.problems import Misuse, Refused, refused
from interlock.core.sandbox import Gate
from interlock.ports.isolation import Place
from interlock.ports.meeting import Melting
from interlock.ports.repository import Author, Base, Blob, Head, Inverse, Landing, Merged, TextConflict, Work

_REMEMBERED = 512
_SMALL = 1 << 16


def _is_fixed(commit: str, blob: Blob | None) -> bool:
    return len(commit) in (40, 64) and (blob is None or len(blob.data) <= _SMALL)


@dataclass(frozen=True, slots=True)
class GitRepo:
    """The trusted mirror of one repository, made when it is first needed (see ports.Repo)."""

    found: Found
    _known: dict[tuple[str, str], Blob | None] = field(default_factory=dict, compare=False, repr=False)
    _trees: dict[str, str] = field(default_factory=dict, compare=False, repr=False)
    _follows: set[tuple[str, str]] = field(default_factory=set, compare=False, repr=False)
    _bases: dict[bytes, tuple[str, str]] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def open(cls, start: Path) -> GitRepo:
        """The repository around a folder, also from inside a task's tree.  Raises Misuse where there is none."""
        return cls(discover(start))

    @property
    def mirror(self) -> Mirror:
        return Mirror(self.found)

    @property
    def reader(self) -> Reader:
        """What the mirror holds; the user's repository, which an agent can write, is never judged from."""
        mirror = self.mirror
        mirror.ensure()
        return Reader(mirror.git)

    @property
    def common_dir(self) -> Path:
        return self.found.common_dir

    @property
    def top(self) -> Path:
        return self.found.top

    @property
    def at_hand(self) -> Path:
        if self.found.here is None:
            raise Misuse(
                f"{self.found.common_dir} is a bare repository, so there is no folder of files here.",
                hint="Go to a clone of it, and call again there.",
            )
        return self.found.here

    def refresh(self) -> Base:
        """Fetch the remote into the mirror and tell its default branch.  Raises GitFailed, or UnknownBase."""
        return self.mirror.refresh()

    def last_base(self) -> Base:
        """The default branch as of the last fetch, without touching the network."""
        mirror = self.mirror
        stands = mirror.stands()
        if stands is not None and (known := self._bases.get(stands)) is not None:
            return mirror.base(mirror.remote(), *known)
        base = mirror.last_base()
        if stands is not None and stands == mirror.stands():
            self._bases.clear()
            self._bases[stands] = (base.branch, base.oid)
        return base

    # ------------------------------------------------------------ reading
    def read(self, commit: str, path: str) -> bytes | None:
        (blob,) = self.read_many([(commit, path)])
        return blob.data if blob else None

    def read_many(self, asked: Sequence[tuple[str, str]]) -> tuple[Blob | None, ...]:
        """Files of commits; small ones of full commit names are remembered, since such an answer never changes."""
        missing = [each for each in dict.fromkeys(asked) if each not in self._known]
        fresh = dict(zip(missing, self.reader.read_many(missing), strict=True)) if missing else {}
        answer = tuple(fresh[each] if each in fresh else self._known[each] for each in asked)
        if len(self._known) > _REMEMBERED:
            self._known.clear()
        self._known.update({each: blob for each, blob in fresh.items() if _is_fixed(each[0], blob)})
        return answer

    def blob_oid(self, commit: str, path: str) -> str | None:
        (blob,) = self.read_many([(commit, path)])
        return blob.oid if blob else None

    def files(self, commit: str, under: str = "") -> tuple[str, ...]:
        return self.reader.files(commit, under)

    def tree_of(self, commit: str) -> str:
        """The tree of a commit; that of a full commit name is remembered, since it never changes."""
        if (known := self._trees.get(commit)) is not None:
            return known
        tree = self.reader.tree_of(commit)
        if len(commit) in (40, 64):
            if len(self._trees) > _REMEMBERED:
                self._trees.clear()
            self._trees[commit] = tree
        return tree

    def last_change(self, commit: str, path: str = "") -> float | None:
        return self.reader.last_change(commit, path)

    def changes(self, base: str, head: str) -> tuple[Change, ...]:
        """What head changes against its merge base with base.  Raises NoMergeBase."""
        return self.reader.changes(base, head)

    def changes_many(self, base: str, heads: Sequence[str]) -> Mapping[str, tuple[Change, ...] | Refused]:
        return self.reader.changes_many(base, heads)

    def patch(self, base: str, head: str) -> str:
        return self.reader.patch(base, head)

    def cards_named(self, base: str, head: str) -> tuple[str, ...]:
        return self.reader.cards_named(base, head)

    @property
    def remote_url(self) -> str | None:
        """Where the remote is, as the user's repository says now; a path is absolute.  None without one."""
        return remote_of(self.found, config(self.found.git(), "--includes")).url

    def is_ancestor(self, old: str, new: str) -> bool:
        """Whether new holds old; of full names it is remembered which of the two follows, since that never changes."""
        if not (diffs.OID.fullmatch(old) and diffs.OID.fullmatch(new)):
            return self.reader.is_ancestor(old, new)
        if (old, new) not in self._follows and (new, old) not in self._follows:
            common = self.reader.common(old, new)
            if common not in (old, new):
                return False
            if len(self._follows) > _REMEMBERED:
                self._follows.clear()
            self._follows.add((old, new) if common == old else (new, old))
        return old == new or (old, new) in self._follows

    def resolve_many(self, refs: Sequence[str]) -> tuple[str, ...]:
        """The commits that refs of the user's repository lead to, brought into the mirror.  Raises UnknownRef."""
        user = Reader(self.found.git().also_reading(self.mirror.path / "objects"))
        oids = user.resolve_many(refs)
        self._import(oids)
        return oids

    def branches(self, base: str) -> Mapping[str, str]:
        """agent/* branches not merged into base: those of the user's repository, then those of the remote."""
        local = self.found.git().refs(TASKS)
        remote = self.mirror.git.refs(f"{TRACKED}agent/")
        known = {name.removeprefix(BRANCHES): oid for name, oid in local.items()}
        shown = dict(known)
        for name, oid in remote.items():
            if (short := name.removeprefix(TRACKED)) not in known:
                shown[f"origin/{short}"] = oid
        self._import(tuple(known.values()))
        return unmerged(self.reader.git, base, shown)

    @contextmanager
    def melting(self, base: str) -> Iterator[Melting]:
        """A place to merge heads with a base, thrown away afterwards; what was found is remembered beside the mirror."""
        from interlock.adapters.git.matrix import melting_pot
        from interlock.adapters.git.matrix_known import Known

        mirror = self.mirror
        mirror.ensure()
        with melting_pot(mirror.git, base, known=Known(self.found.state / "matrix"), found=self.found) as pot:
            yield pot

    def tips(self, branches: Sequence[str]) -> Mapping[str, str]:
        """Where branches of the remote stood at the last fetch; one that was not there is left out."""
        refs = self.mirror.git.refs(*(f"{TRACKED}{branch}" for branch in branches)) if branches else {}
        found = {branch: refs.get(f"{TRACKED}{branch}") for branch in branches}
        return {branch: oid for branch, oid in found.items() if oid is not None}

    def agent_branches(self) -> Mapping[str, str]:
        """agent/* branches of the remote that are not merged into the default branch: name → oid."""
        git = self.mirror.git
        refs = git.refs(f"{TRACKED}agent/", HEAD)
        base = refs.pop(HEAD, None)
        branches = {name.removeprefix(TRACKED): oid for name, oid in refs.items()}
        return branches if base is None else unmerged(git, base, branches)

    def checkpoint(self, history: str) -> str | None:
        """The signed checkpoint of a history that was kept last; see anchor."""
        return anchor.read(self.mirror, history)

    def earlier_checkpoints(self, history: str) -> tuple[str, ...]:
        return anchor.earlier(self.mirror, history)

    def checkpointed(self) -> tuple[str, ...]:
        return anchor.histories(self.mirror)

    def keep_checkpoint(self, history: str, text: str) -> None:
        anchor.write(self.mirror, history, text)

    def landed_jobs(self, commit: str) -> Mapping[str, str]:
        """Jobs that the commits in the history of ``commit`` say they landed: job → commit."""
        return anchor.landed_jobs(self.mirror, commit)

    # ------------------------------------------------------------ work of tasks
    def landed_slugs(self, commit: str) -> frozenset[str]:
        """Slugs of cards whose work is in the history of a commit, whoever landed it."""
        return landed.landed_slugs(self.mirror, commit, self.is_ancestor)

    def commit_work(self, place: Place, *, parent: str, message: str, author: Author, sign: bool, keep: str) -> Work:
        """Commit the whole tree of a task from outside as one commit on parent; see commits and work."""
        job = commits.Committing(
            mirror=self.mirror, place=place, parent=parent, message=message, author=author, sign=sign, keep=keep
        )
        if place.level == "worktree":
            return commits.commit_work(job)
        return work.commit_work(self._layout, job)

    @property
    def _layout(self) -> Layout:
        return Layout(self.found)

    def head_of(self, place: Place) -> Head:
        """Where HEAD of a task's tree stands.  Raises Refused (workspace-missing)."""
        if place.level == "worktree":
            return admin.head_of(self.found, place)
        return sealed_head.of(self._layout, view.registered(self._layout, place))

    def rebase_place(self, place: Place, *, head: str, onto: str, keep: str) -> tuple[str, ...]:
        """Put the merge of head into onto in the task's tree; see rebasing and sealed_rebasing."""
        job = rebasing.Rebasing(mirror=self.mirror, place=place, head=head, onto=onto, keep=keep)
        if place.level == "worktree":
            return rebasing.rebase_place(job)
        return sealed_rebasing.rebase_place(self._layout, job)

    def gate(self, place: Place, *, owned: tuple[str, ...], protected: tuple[str, ...]) -> Gate:
        """What a sealed task may push to: its own branch of the mirror, from the commit that it stands on now."""
        return Gate(
            repository=str(self.mirror.path),
            branch=place.branch,
            default=self.last_base().branch,
            base=changes.base_of(self._layout, place.job, place.base),
            owned=owned,
            protected=protected,
        )

    def import_branch(self, branch: str) -> str:
        """Bring a branch, local or of the remote, into the mirror and give its commit.

        Raises UnknownRef, or Refused (name-taken) when both exist and neither follows the other.
        """
        mirror = self.mirror
        local = self.found.git().refs(f"{BRANCHES}{branch}").get(f"{BRANCHES}{branch}")
        remote = mirror.git.refs(f"{TRACKED}{branch}").get(f"{TRACKED}{branch}")
        if local is None or local == remote:
            if remote is None:
                raise UnknownRef(branch)
            return remote
        self._import((local,))
        self._pin(f"refs/interlock/imported/{branch}", local)
        if remote is None or self.is_ancestor(remote, local):
            return local
        if self.is_ancestor(local, remote):
            return remote
        raise refused(
            "name-taken",
            f"{branch} is at {local[:12]} here and at {remote[:12]} on the remote, and neither follows the other.",
            "One of the two would be lost.",
            f"Bring them together and push: git push origin {branch}",
        )

    def _import(self, oids: Sequence[str]) -> None:
        """Bring commits of the user's repository into the mirror, hashed again on the way."""
        mirror = self.mirror
        mirror.ensure()
        missing = set(oids) - set(objects.present(mirror.git, oids))
        if missing:
            haves = set(mirror.git.refs(TRACKED).values())
            objects.fetch_local(mirror.git, self.found.common_dir / "objects", sorted(missing), haves)

    def inverse(self, onto: str, job: str, *, message: str, author: Author) -> Inverse | TextConflict | None:
        """One commit on onto that takes a landed job's work back; see reverting."""
        git = self.mirror.git
        commit = reverting.landed_as(git, onto, job)
        if commit is None:
            return None
        return reverting.inverse(git, onto, commit, message.replace("{commit}", commit), author)

    def taken_out(self, head: str, work: str) -> str | None:
        """The combination without one of its changes; see reverting."""
        return reverting.taken_out(self.mirror.git, head, work)

    def keep(self, ref: str, oid: str) -> None:
        """Make a commit reachable at ref in the mirror and in the user's repository."""
        mirror = self.mirror
        store = self.found.common_dir / "objects"
        base = mirror.git.refs(HEAD).get(HEAD)
        haves = [base] if base else []
        if not objects.present(mirror.git, [oid]):
            objects.fetch_local(mirror.git, store, [oid], haves)
        self._pin(ref, oid)
        user = self.found.git()
        if not objects.present(user, [oid]):
            objects.send_local(mirror.git, store, [oid], objects.present(user, haves))
        before = user.refs(ref).get(ref)
        if before != oid:
            user.move(ref, oid, before, why="kept")

    def _pin(self, ref: str, oid: str) -> None:
        git = self.mirror.git
        before = git.refs(ref).get(ref)
        if before != oid:
            git.move(ref, oid, before, why="kept")

    def extra_files(self, place: Place) -> tuple[str, ...]:
        """Untracked and ignored paths of a task's tree; a nested repository ends with a slash."""
        if place.level == "worktree":
            return trees.extra_files(self.mirror, place)
        return equal.extra_files(self.mirror, self._layout, place)

    def equals_commit(self, place: Place, commit: str, *, known: Iterable[str], caches: Sequence[str]) -> bool:
        """True when a task's tree holds exactly the commit and nothing else but known paths and caches."""
        if place.level == "worktree":
            return trees.equals_commit(self.mirror, place, commit, known=known, caches=caches)
        job = equal.Equal(commit=commit, known=frozenset(known), caches=tuple(caches))
        return equal.equals_commit(self.mirror, self._layout, place, job)

    def graft(self, onto: str, source: str, paths: Sequence[str]) -> str:
        """A commit with the tree of onto and the paths as in source; see grafting.graft."""
        return grafting.graft(self.mirror, onto, source, paths)

    def put_back(self, path: Path, commit: str) -> tuple[str, ...]:
        """Make the tracked files of a tree those of the commit again; gives the paths that were not."""
        return trees.put_back(self.mirror, path, commit)

    def fresh_tree(self, commit: str, path: Path) -> AbstractContextManager[Path]:
        """A tree of exactly this commit at path, made new and taken away afterwards."""
        return trees.fresh_tree(self.mirror, commit, path)

    # ------------------------------------------------------------ integration
    def merge(
        self, base: str, heads: Sequence[str], *, message: str, style: Style = "merge", each: Sequence[str] = ()
    ) -> Merged | TextConflict:
        """The base with all heads, or the first head that clashes; see merging.merge."""
        return merging.merge(self.mirror.git, base, heads, message, style=style, each=each)

    def drivers(self, commit: str, paths: Sequence[str]) -> Mapping[str, str]:
        """The paths that a program is to merge, by the attributes of a commit; see merging.drivers."""
        return merging.drivers(self.mirror.git, commit, paths)

    def lacking(self, base: str, commit: str, heads: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Heads whose change is not whole in the commit, and paths that nobody brought; see whole.lacking."""
        return completeness.lacking(self.mirror.git, base, commit, heads)

    def push_branch(self, branch: str, oid: str, expected: str | None) -> Landing:
        """Move a branch of the remote from an expected commit; see landing.push."""
        return landing.push(self.mirror, branch, oid, expected, self.is_ancestor)

    def stand(self, branches: Sequence[str]) -> Mapping[str, str]:
        """Where branches of the remote stand at this moment; see landing.stand."""
        return landing.stand(self.mirror, branches)

    def land(self, base: Base, oid: str) -> Landing:
        """Move the remote's default branch from base.oid to oid, and only from there."""
        return landing.land(self.mirror, base, oid, self.is_ancestor)
