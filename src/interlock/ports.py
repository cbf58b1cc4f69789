"""All that the product can touch, as Protocols on one page, with the values that cross them; implementations are adapters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypedDict

from interlock.core.contract.around import ApprovalRule, Browser, Database, Secret, Service
from interlock.core.contract.card import AgentChoice, Card, Check, Level
from interlock.core.contract.policy import Cap, Kind, Policy, Style
from interlock.core.gate.caps import Lane
from interlock.core.gate.changes import Change
from interlock.core.gate.request import Admitted, Request
from interlock.core.job.events import Event, NewEvent
from interlock.core.job.evidence import CheckRun, Evidence
from interlock.core.job.lifecycle import Job
from interlock.core.merge.forge import Approval, ChangeRow
from interlock.core.merge.train import TrainState
from interlock.core.plan import Action
from interlock.core.problems import Problem, Refusal, Refused
from interlock.core.sandbox import Gate, Sandbox

if TYPE_CHECKING:  # every verb waits for this page, and few of them have to do with agents
    from interlock.core.agent.adapter import Capabilities
    from interlock.core.agent.gateway import ModelGateway, Reached
    from interlock.core.agent.outcome import How
    from interlock.core.agent.outcome import Outcome as AgentOutcome
    from interlock.core.agent.seen import Seen, Summary
    from interlock.core.agent.usage import Price, Usage
    from interlock.core.contract.agents import Login
    from interlock.core.gate.test_code import TestFile
    from interlock.core.job.chain import Filed, Linked
    from interlock.core.job.verified import Verified
    from interlock.core.merge.differential import Diagnostic
    from interlock.core.merge.facts import FileFacts
    from interlock.core.merge.melted import Clash, Matrix, MergedTree


# ---------------------------------------------------------------- git
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
class Place:
    """The tree of one task: its folder as this machine sees it, its branch, the level it was made at and its job."""

    path: Path
    branch: str
    base: str
    level: Level = "worktree"
    job: str = ""


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


class Melting(Protocol):
    """Heads merged on one base in a place that is thrown away; no driver, filter or hook of the repository is run."""

    def matrix(self, heads: Sequence[str]) -> Matrix:
        """Every head against the base, and every pair of them, exactly as git merges.  Raises GitFailed."""
        ...

    def merged(self, pairs: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], MergedTree | None]:
        """What pairs of heads make together on the base, None for those that clash; one process for all of them."""
        ...

    def paths(self) -> tuple[str, ...]:
        """Every path of the base."""
        ...

    def read(self, specs: Sequence[str]) -> tuple[bytes | None, ...]:
        """Files by their object, or as TREE:PATH; None for what is not there."""
        ...

    def oids(self, paths: Sequence[str]) -> tuple[str | None, ...]:
        """The objects of files of the base; None for what is not there or is no file."""
        ...

    def placed(self, clashes: Sequence[Clash]) -> tuple[Clash, ...]:
        """The clashes with their lines, where contents clash."""
        ...

    def times(self, heads: Sequence[str]) -> Mapping[str, float]:
        """When each head was committed, in seconds since the epoch."""
        ...

    def present(self, place: Place, head: str) -> str | None:
        """What a task's tree holds now as a commit on ``head``, made here alone; None where that is the head itself.

        Git runs in the trusted mirror's settings, never in the task's.  Raises Refused, GitFailed where it cannot be told.
        """
        ...


class FactsReader(Protocol):
    """Reads what one version of a file says that other changes could break; once for a path and an object name."""

    def looks_at(self, path: str) -> bool:
        """Whether a file of that path can say anything; others need not be fetched."""
        ...

    def known(self, path: str, oid: str) -> FileFacts | None:
        """The facts as kept, without the bytes; None where the file has to be read."""
        ...

    def read(self, path: str, oid: str, data: bytes) -> FileFacts:
        """The facts of a file; its fault says why there are none.  Never raises for what stands in it."""
        ...


class Diagnosing(Protocol):
    """Reads what a checker wrote."""

    def read(self, text: str, reads: Literal["lines", "sarif"], roots: Sequence[str]) -> tuple[Diagnostic, ...] | None:
        """Its findings, with paths as the repository names them where they lie below one of ``roots``; None where it is not of that form."""
        ...


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
        """The heads on the base in their order, in one of three styles with the same tree; ``each`` are the messages of a squash."""
        ...

    def checkpoint(self, history: str) -> str | None:
        """The signed checkpoint of a history that was kept last, outside of the database; None when there is none."""
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


# ---------------------------------------------------------------- files of the contract
@dataclass(frozen=True, slots=True, kw_only=True)
class CardFile:
    """A card file read from a base or from the folder at hand: the card, or the problems that keep it from being one.

    ``draft`` is the card as far as it could be read, and ``spoiled`` the keys that could not, so that everything
    else that is wrong with it can be told at once.
    """

    slug: str
    file: str
    card: Card | None
    problems: tuple[Problem, ...]
    oid: str = ""
    positions: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    draft: Card | None = None
    spoiled: frozenset[str] = frozenset()


class ContractFiles(Protocol):
    """Readers of cards, caps and policy; every problem at once, with file, line and column."""

    def card(self, data: bytes, file: str, slug: str, oid: str = "") -> CardFile: ...
    def caps(self, data: bytes, file: str) -> tuple[tuple[Cap, ...], tuple[Problem, ...]]: ...
    def policy(self, data: bytes, file: str) -> tuple[Policy, tuple[Problem, ...]]: ...


# ---------------------------------------------------------------- history
@dataclass(frozen=True, slots=True, kw_only=True)
class LandingRow:
    """One change that landed: the commit and tree on the default branch, the tree that was tested, its evidence."""

    job: str
    slug: str
    train: int
    commit: str
    tree: str
    tested_tree: str
    evidence: int
    at: float


class Store(Protocol):
    """The durable history.  Each write is one transaction; a repeated step returns the event it wrote before."""

    def begin_sync(self) -> int:
        """The number to hand to ``sync_caps``; take it before the fetch."""
        ...

    def sync_caps(
        self, number: int, base: str, caps: Sequence[Cap], kinds: Mapping[str, Kind], ceiling: int | None
    ) -> bool:
        """Take over caps, kinds and ceiling as read from a base that was fetched after ``begin_sync`` gave the number.

        True: they are in force.  False: another fetch was taken over in between and says something else; begin
        again with a new number and a new fetch.  So whatever is in force was fetched after what it replaced.
        """
        ...

    def admit(self, request: Request) -> Admitted:
        """Decide and take the slot in one transaction; a job that was admitted already is answered again.

        Raises Refused.
        """
        ...

    def lanes(self) -> tuple[Lane, ...]: ...
    def ceiling(self) -> int | None: ...
    def pause(self, class_name: str, by: str, why: str = "") -> None:
        """Let nothing of the class start from now on.  Raises Refused (class) when the class is not known."""
        ...

    def resume(self, class_name: str, by: str = "") -> None: ...
    def job(self, job: str) -> Job: ...
    def find(self, slug: str) -> Job | None:
        """The open job of a slug, else its newest, else None; a job id is found as well."""
        ...

    def jobs(self, *, open_only: bool = True) -> tuple[Job, ...]: ...
    def landed_slugs(self) -> frozenset[str]: ...
    def record(self, event: NewEvent, *, expect: int | None = None) -> Event:
        """Write one event and the state it leads to, in one transaction.

        For ``job.published`` the proof is derived again from the evidence of its head; a ``policy_digest`` in the
        data binds it to that policy.  What lands is written by ``land`` alone.  Raises IllegalTransition, UnknownJob, Stale when ``expect`` is not the
        subject's revision any more, or Refused when the evidence does not suffice.
        """
        ...

    def event(self, subject: str, attempt: int, step: str) -> Event | None: ...
    def events(self, subject: str | None = None, *, after: int = 0) -> tuple[Event, ...]: ...
    def attempts(self, *, since: float, until: float | None = None) -> tuple[Event, ...]:
        """Start and end of every attempt that started in that time, in their order; of jobs, and of runs that belong to none."""
        ...

    def add_evidence(self, evidence: Evidence) -> int: ...
    def evidence(self, subject: str, *, commit: str | None = None) -> tuple[tuple[int, Evidence], ...]: ...
    def proof(
        self,
        subject: str,
        *,
        commit: str,
        policy_digest: str | None,
        card_oid: str | None,
        tree: str | None = None,
        base: str | None = None,
    ) -> Verified | Refusal:
        """The proof from signed evidence that a commit is verified, as core.job.verified derives it, or why there is none."""
        ...

    def filed(self, subject: str | None = None) -> tuple[Filed, ...]:
        """Rows of evidence as they stand, with their envelopes, of one subject or of all, in their order."""
        ...

    def history(self) -> str:
        """Which history this is, by the digest of its first event; empty before there is one."""
        ...

    def chain(self, *, after: int = 0, most: int | None = None) -> tuple[Linked, ...]:
        """Events with their digests in their order, later than ``after`` and at most so many."""
        ...

    def cached_run(self, key: str) -> CheckRun | None:
        """The run that was kept under a key, when this user's key signed it so; any other row is as good as none."""
        ...

    def cache_doubt(self, key: str) -> str:
        """Why a row that stands under a key is not taken over, a whole sentence; empty where none stands or it is."""
        ...

    def cache_run(self, key: str, run: CheckRun) -> None:
        """Sign and keep a run; a row there that would not be taken over is replaced, which the history says (cache.refused).

        Raises Refused (secret, evidence-unsigned) when the key cannot be used.
        """
        ...

    def train(self, number: int | None = None) -> TrainState | None:
        """The train of that number, else the oldest open one; None where there is none.  See open_trains."""
        ...

    def open_trains(self) -> tuple[TrainState, ...]:
        """Trains that have neither landed nor dissolved: those that wait for sign-offs, and at most one that is tested."""
        ...

    def trains(self) -> tuple[TrainState, ...]: ...
    def land(self, event: NewEvent, landings: Sequence[LandingRow]) -> None:
        """Record that a train landed: its event, each landing with its evidence, each job's end, in one transaction.

        Raises Refused (landed-otherwise, tree-mismatch, stale-evidence, sign-off, or the rule of a check) when the evidence of a
        landing does not prove the landed tree on the train's base.
        """
        ...

    def landings(self) -> tuple[LandingRow, ...]: ...
    def changes(self, *, open_only: bool = True) -> tuple[ChangeRow, ...]: ...
    def approve(self, job: str, commit: str, by: str, *, text: str = "") -> None:
        """Keep that a person approved a commit of a job, once; ``text`` says it in words."""
        ...

    def approvals(self, job: str) -> tuple[Approval, ...]: ...
    def close(self) -> None: ...


# ---------------------------------------------------------------- isolation
class Blocks(Protocol):
    """Blocks of ports, in one registry per machine that processes and users share."""

    def claim(
        self, owner: str, families: Mapping[str, int], *, wanted: int | None = None
    ) -> tuple[int, dict[str, int]]:
        """The lowest block whose ports are all free, held for owner (idempotent).  Block 0 is never given."""
        ...

    def release(self, owner: str) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """What the guards on an agent's PATH know: the rules about approvals, what was approved, and folders that are shared."""

    rules: tuple[ApprovalRule, ...] = ()
    approved: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Where commands run: a tree as this machine sees it, and the sandbox around it (None: level worktree).

    ``written`` is the folder of this machine where what commands write into the tree appears: the tree itself, or
    the upper layer of an overlay.
    """

    path: Path
    written: Path
    sandbox: Sandbox | None = None
    guarded: Guarded = field(default_factory=Guarded)


class Workspaces(Protocol):
    """Trees of tasks.  A place says at which level it was made; what is asked of it goes there."""

    def level_for(self, demanded: Level | None) -> Level:
        """The level for a new task: the demanded one, else the best that works here.  Raises Refused (isolation)."""
        ...

    def path_for(self, slug: str, job: str, level: Level) -> Path: ...
    def check_free(self, slug: str, path: Path) -> None:
        """Raise Refused (name-taken) when a branch, ref or folder is in the way; nothing is made."""
        ...

    def create(self, place: Place, slug: str) -> Place:
        """Make tree and branch at the base, or heal a half-made one of the same job; done when it returns."""
        ...

    def exists(self, place: Place) -> bool: ...
    def room(self, place: Place) -> Room:
        """Where the commands of this task run; a sandbox without network, sockets or secrets yet.  Raises Refused."""
        ...

    def fresh(self, commit: str, folder: Path, level: Level) -> AbstractContextManager[Room]:
        """A tree of exactly this commit for checks, made new and taken away afterwards."""
        ...

    def put_back(self, room: Room, commit: str) -> tuple[str, ...]:
        """Make the tracked files of a tree those of the commit again; gives the paths that were not."""
        ...

    def changed(self, place: Place) -> tuple[str, ...]:
        """Paths that differ from the base now, ignored ones too: what a scope that is watched live needs."""
        ...

    def last_touched(self, place: Place) -> float:
        """When a file, a ref or a process of the task last moved, in seconds since the epoch."""
        ...

    def materialise(self, place: Place, target: Path) -> None:
        """Write the task's tree as it is now to a new folder, for an editor.  Raises Refused (name-taken)."""
        ...

    def occupants(self, place: Place) -> tuple[str, ...]:
        """Live processes that work in the tree: ``pid name``; unreadable counts as occupied."""
        ...

    def snapshot(self, place: Place, ref: str) -> SnapshotTaken: ...
    def remove(self, place: Place, ref: str) -> None:
        """Take the tree away after its snapshot; the folder goes to the trash, the branch by expected value."""
        ...

    def restore(self, ref: str, place: Place) -> None: ...
    def evict(self) -> tuple[str, ...]:
        """Take away prepared trees that nothing stands on and the policy does not keep; gives their names."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotTaken:
    """What a snapshot holds: its ref and commit, the paths beyond the branch, and ignored ones that were too large."""

    ref: str
    oid: str
    modified: tuple[str, ...]
    untracked: tuple[str, ...]
    ignored: tuple[str, ...]
    left_out: tuple[str, ...]
    detached: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """One task's database: its name, the URL as this machine reaches it, and the server's address for a relay.

    ``address`` is ``tcp:HOST:PORT`` or ``unix:PATH``; None for a file, which is then ``file``.  ``url`` may hold a
    password and is never put on the record.
    """

    name: str
    url: str
    address: str | None = None
    file: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """What a database is branched from: its policy, the digest of its migration and seed files, and how to prepare it.

    ``prepare`` migrates and seeds a fresh database whose branch it is given, inside a sandbox; it is called only
    when no template of that digest is there.
    """

    database: Database
    digest: str
    prepare: Callable[[Branch], None]
    folder: Path


class Databases(Protocol):
    """One kind of database that tasks can have a branch of (conformance suite: interlock.testing.databases)."""

    def branch(self, baseline: Baseline, task: str, folder: Path) -> Branch:
        """The task's own database, made or found again (idempotent); ``folder`` is the job's record.

        Raises Refused (database) with who is in the way, InterlockError when the server cannot be reached.
        """
        ...

    def release(self, baseline: Baseline, task: str, folder: Path) -> str | None:
        """Archive or drop the task's database, and nobody else's; gives what was kept.  Idempotent.

        Raises InterlockError when it has to be tried again.
        """
        ...

    def owned(self, baseline: Baseline) -> tuple[str, ...]:
        """Tasks that have a database of this kind now, by listing what is there (case DB-06)."""
        ...


# ---------------------------------------------------------------- processes
@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One attempt to start: argv, exact environment, where, the prompt, and the limits in seconds.

    ``startup`` is for the first byte; ``ends`` are values of ``type`` in JSON lines of its output after which it has
    ``after_end`` seconds to leave.  ``gateway`` is served for it outside of the sandbox.  ``split`` keeps what
    it writes to standard error in a file of its own.  ``watched`` are trees that it must leave alone: they are compared
    before and after, where no wall keeps it out.  ``tied`` ends it when the process that called ``run`` dies: nobody
    would come back for it.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    stdin: bytes | None = None
    wall: float = 3600.0
    idle: float = 900.0
    startup: float | None = None
    ends: tuple[str, ...] = ()
    after_end: float = 10.0
    sandbox: Sandbox | None = None
    redact: tuple[str, ...] = ()
    gateway: ModelGateway | None = None
    split: bool = False
    watched: tuple[Path, ...] = ()
    tied: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """How a command of ours inside a task ended: ``code`` None when it was ended; the log's last lines."""

    code: int | None
    seconds: float
    tail: str
    timed_out: bool = False


class Commands(Protocol):
    """Commands that the harness runs in a task's room: migrations, probes, installers, a person's shell."""

    def run(
        self,
        command: str,
        room: Room,
        env: Mapping[str, str],
        log: Path,
        *,
        seconds: float,
        redact: tuple[str, ...] = (),
    ) -> Done:
        """Run ``bash -eo pipefail -c command`` in the tree and wait; all that it started is gone when this returns."""
        ...

    def shell(self, argv: Sequence[str], room: Room, env: Mapping[str, str]) -> int:
        """Hand the terminal to a command in the tree; gives its exit code."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A service as it is now: its process, the port on this machine, its log, and why it ended if it did."""

    name: str
    state: Literal["ready", "starting", "ended"]
    pid: int | None
    port: int | None
    log: Path
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A service to be started: its policy, the port inside and on this machine, and the exact environment."""

    service: Service
    room: Room
    env: Mapping[str, str]
    inside: int | None
    outside: int | None
    redact: tuple[str, ...] = ()


class Services(Protocol):
    """Services beside a task, which outlive the command that started them."""

    def start(self, folder: Path, unit: Unit) -> Running:
        """Start it, or find it running, and wait until it is ready.  Raises Refused (service) with its last lines."""
        ...

    def stop(self, folder: Path, name: str) -> None: ...
    def list(self, folder: Path) -> tuple[Running, ...]: ...


class Browsers(Protocol):
    """Profiles of browsers, one per task and role."""

    def profile(self, browser: Browser, folder: Path) -> Path:
        """The task's own profile for a role, copied from the golden one or found again.  Raises InterlockError."""
        ...


class Secrets(Protocol):
    """Secrets from their one approved source."""

    def read(self, secret: Secret) -> str:
        """The value.  Raises Refused (secret) when the source does not give it."""
        ...

    def check(self, secret: Secret) -> None:
        """Look whether the source is there, without its value; a command is not run.  Raises Refused (secret)."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """How an attempt's process ended.

    ``how``: ``exited`` by itself, ``signalled``, one of the limits, ``budget`` when its gateway refused a
    call, ``ended`` when it had said its last and did not leave, ``cancelled``, ``stopped`` through interlock-task, ``failed-to-start``, or ``interrupted`` when its runner
    died with it.  ``budget`` says which limit that was, ``reached`` says it as data; ``leaked`` names what changed meanwhile in the launch's
    ``watched`` trees, by whomever.
    """

    how: How
    exit_code: int | None
    seconds: float
    tail: str
    leftovers: tuple[str, ...] = ()
    namespace: bool = False
    message: str = ""
    budget: str = ""
    reached: Reached | None = None
    leaked: tuple[str, ...] = ()


class Runs(Protocol):
    """Attempts under their runner process, which outlives us."""

    def run(self, folder: Path, launch: Launch) -> End:
        """Start the attempt of this folder, or attach to it, or read how it ended (idempotent); blocks to its end."""
        ...

    def attach(self, folder: Path) -> End | None:
        """The end of an attempt that was written down, waiting for it; None when there is nothing to attach to."""
        ...

    def cancel(self, folder: Path) -> None: ...
    def alive(self, folder: Path) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """One run to be prepared for an agent: its card, the choice that routing made, prompt, room and values.

    ``folder`` is the attempt's record.  ``gateway`` is what its models are reached through; ``resume`` names a
    session and ``resume_home`` the HOME that it was left in.  ``usd_left`` is what is left of the job's money.
    """

    card: Card
    choice: AgentChoice
    prompt: str
    room: Room
    env: Mapping[str, str]
    folder: Path
    writable: bool = True
    gateway: ModelGateway | None = None
    login: Login | None = None
    resume: str = ""
    resume_home: Path | None = None
    usd_left: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What the record of a run says: its stream folded, how it came out, and the usage that was found."""

    seen: Summary
    outcome: AgentOutcome


class Agents(Protocol):
    """Agents by name: how each is started, and what its stream said."""

    def names(self) -> tuple[str, ...]: ...
    def dialects(self, use: str | None) -> tuple[str, ...]:
        """Dialects of models that an agent's client speaks (core.agent.gateway); none where it reaches no gateway."""
        ...

    def capabilities(self, choice: AgentChoice) -> Capabilities:
        """What the client that would be started can do.  Raises Refused (no-agent) when there is none."""
        ...

    def launch(self, given: Assignment) -> Launch:
        """How to start the run; writes prompt, HOME and tools into the attempt's folder.  Raises Refused (no-agent, login)."""
        ...

    def read(
        self, use: str, folder: Path, end: End, *, before: Usage, usd_before: float | None, resumed: str = ""
    ) -> Reading:
        """What the run of a folder said, from its record; the totals before are of the session ``resumed``."""
        ...

    def has_session(self, use: str, folder: Path) -> bool:
        """Whether the HOME of a run's folder still holds a session of its client, for another run to go on with."""
        ...

    def watch(self, use: str, folder: Path) -> Summary:
        """What a run has said until now."""
        ...

    def told(self, use: str, data: bytes) -> tuple[Seen, ...]:
        """What whole lines of a stream say, for a person who follows it."""
        ...

    def answer(self, folder: Path, asked: str, choice: str, by: str) -> None:
        """Answer a permission that a run waits for, once.  Raises Misuse when it does not wait for that."""
        ...

    def tidy(self, folder: Path, tree: Path) -> tuple[str, ...]:
        """Take away the empty folders that the client's own sandbox left in a tree; gives their names."""
        ...

    def forget(self, folder: Path) -> tuple[str, ...]:
        """Take away the credentials of a subscription that a run had, which has ended; gives what could not be removed.

        Idempotent; does nothing for a run that had none.
        """
        ...

    def tools(self, room: Room, env: Mapping[str, str], folder: Path) -> tuple[Room, dict[str, str]]:
        """The room and values with which a person has what an agent has there: interlock-task and the guards."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call that went through a gateway: when, which model, its tokens, seconds, HTTP status, and why it was refused.

    ``estimated``: the vendor's last word on the tokens never came, so they are told from the size of the call.
    """

    at: float
    upstream: str
    model: str
    usage: Usage
    seconds: float
    status: int
    refused: str = ""
    estimated: bool = False


class Prices(Protocol):
    """Dollars by model."""

    def of(self, model: str, usage: Usage) -> float | None:
        """What a call cost; None when the model or its tokens are not known."""
        ...

    def table(self) -> Mapping[str, Price]:
        """The price of every model that is known, for limits that are kept live."""
        ...


class TestSyntax(Protocol):
    """Tests of files as their syntax shows them."""

    def read(self, files: Mapping[str, bytes], *, head: bool) -> Mapping[str, TestFile]:
        """The tests of those of the files that can be read, with calls between them resolved; ``head`` is the side."""
        ...


class Checks(Protocol):
    """Runs one check in a tree and reads its report."""

    def run(
        self,
        check: Check,
        room: Room,
        env: Mapping[str, str],
        log: Path,
        redact: tuple[str, ...] = (),
        *,
        ask: Callable[[], str | None] = lambda: None,
    ) -> CheckRun:
        """Run it once; ``ask`` is called about seven times a second, and a word from it ends the check and all it started."""
        ...

    def picture_fault(self, data: bytes) -> str:
        """Why bytes are no picture that shows something; empty when they are one, or pictures cannot be read here."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What an agent said through interlock-task; ``at`` in seconds since the epoch, by the agent's own clock."""

    number: int
    verb: Literal["stop", "scope-request", "attach", "note", "pack"]
    text: str
    data: Mapping[str, Any]
    at: float


class Ledger(TypedDict):
    """What a gateway summed up for one attempt: tokens, dollars, calls, and how many of them had no price."""

    tokens: int
    usd: float
    calls: int
    unpriced: int


class Records(Protocol):
    """The files of the job records."""

    def job(self, job: str) -> Path: ...
    def names(self, prefix: str) -> tuple[str, ...]:
        """What has a record, by the beginning of its name, in order."""
        ...

    def attempt(self, job: str, number: int) -> Path: ...
    def spool(self, job: str) -> Path: ...
    def shared(self, job: str, name: str) -> Path:
        """A folder of a job's record that what runs in the task may write."""
        ...

    def granted(self, folder: Path) -> Path:
        """Let what runs in a task write to a folder of ours, also when that is another user's process."""
        ...

    def messages(self, job: str, attempt: int) -> tuple[Message, ...]: ...
    def calls(self, job: str, attempt: int) -> tuple[Call, ...]:
        """Calls of an attempt that went through its gateway, oldest first."""
        ...

    def ledgers(self) -> Path:
        """The folder in which the running totals of all attempts of this repository are."""
        ...

    def ledger(self, job: str, attempt: int) -> Ledger | None:
        """What the gateway of an attempt summed up; holds calls too that ``calls`` has no room for."""
        ...

    def decisions(self, job: str) -> tuple[Mapping[str, Any], ...]:
        """The last refusals of network and gate in a job's attempts, oldest first: kind, at, what, why."""
        ...

    def lock(self, name: str, *, wait: float | None) -> AbstractContextManager[None]: ...


class Signer(Protocol):
    """Signs evidence with this user's key, and opens what any known key signed."""

    @property
    def key_id(self) -> str: ...
    @property
    def public(self) -> str:
        """The public part of the key, as PEM: what the history keeps so that another machine can verify."""
        ...

    @property
    def runner(self) -> str:
        """How this machine is named in what it signs."""
        ...

    def sign(self, statement: bytes) -> str:
        """An envelope around a statement, as JSON text.  Raises Refused (secret) when the key cannot be used."""
        ...

    def open(self, envelope: str, keys: Iterable[str]) -> bytes:
        """What an envelope holds when one of these public keys signed it.  Raises Refused (evidence-edited, evidence-unsigned)."""
        ...

    def told(self) -> str:
        """One line on the key for a person; makes none."""
        ...


class Anchor(Protocol):
    """Keeps the newest signed checkpoint of each history outside of its database."""

    def keep(self, history: str, checkpoint: str) -> None: ...
    def kept(self, history: str) -> str | None: ...


class Clock(Protocol):
    def now(self) -> float: ...


class Engine(Protocol):
    """Carries actions out, each once, and survives a crash between their steps."""

    def start(self, action: Action) -> None: ...
    def running(self) -> frozenset[str]: ...
    def wait(self, timeout: float) -> None:
        """Until an action ends or the time is over."""
        ...

    def failures(self) -> Mapping[str, str]:
        """Actions of this process that ended with a fault: id → last lines.  Each is told once."""
        ...

    def close(self) -> None:
        """Let go; what runs is interrupted as by a crash."""
        ...


# ---------------------------------------------------------------- the bundle
@dataclass(frozen=True, slots=True)
class Ports:
    """Everything a use case may touch; made by wiring, handed in first."""

    repo: Repo
    files: ContractFiles
    store: Store
    blocks: Blocks
    workspaces: Workspaces
    databases: Mapping[str, Databases]
    runs: Runs
    agents: Agents
    prices: Prices
    checks: Checks
    syntax: TestSyntax
    commands: Commands
    services: Services
    browsers: Browsers
    secrets: Secrets
    records: Records
    signer: Signer
    clock: Clock
    narrate: Callable[[str], None]
    new_id: Callable[[], str]
    facts: FactsReader
    diagnosing: Diagnosing
