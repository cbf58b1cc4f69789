"""What is kept for good: jobs with their events and landings, and the signatures that hold them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from interlock.core.contract.policy import Cap, Kind
from interlock.core.gate.caps import Lane
from interlock.core.gate.request import Admitted, Request
from interlock.core.job.events import Event, NewEvent
from interlock.core.job.evidence import CheckRun, Evidence
from interlock.core.job.lifecycle import Job
from interlock.core.merge.forge import Approval, ChangeRow
from interlock.core.merge.train import TrainState
from interlock.core.problems import Refusal

if TYPE_CHECKING:  # every verb imports the ports, and few need what these are of
    from interlock.core.job.chain import Filed, Linked
    from interlock.core.job.seals import Seal
    from interlock.core.job.verified import Verified


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
    def jobs_of(self, jobs: Sequence[str]) -> tuple[Job, ...]:
        """Jobs by their ids, in that order, all as of one moment.  Raises UnknownJob."""
        ...

    def find(self, slug: str) -> Job | None:
        """The open job of a slug, else its newest, else None; a job id is found as well."""
        ...

    def jobs(self, *, open_only: bool = True) -> tuple[Job, ...]: ...
    def landed_slugs(self) -> frozenset[str]: ...
    def record(self, event: NewEvent, *, expect: int | None = None) -> Event:
        """Write one event and the state it leads to, in one transaction.

        For ``job.published`` the proof is derived again from the evidence of its head, signed with a key that the policy
        lets sign; a ``policy_digest`` in the data binds it to that policy.  What lands is written by ``land`` alone.  Raises IllegalTransition, UnknownJob, Stale when ``expect`` is not the
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
        listed: Collection[str] = (),
    ) -> Verified | Refusal:
        """The proof from signed evidence that a commit is verified, as core.job.verified derives it, or why there is none.

        Where keys are ``listed`` by their ids, what another one signed proves nothing (evidence-key).
        """
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

    def seals(self) -> tuple[Seal, ...]:
        """The signatures of the events, one for each transaction that wrote some, in their order."""
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
    def check_signed(self, subjects: Sequence[str], listed: Collection[str]) -> None:
        """Whether each event of these jobs and trains was signed by a key that may (all: none is ``listed``).

        Raises Refused (evidence-unsigned, evidence-edited, evidence-key): they could not land.
        """
        ...

    def check_landing(self, event: NewEvent, landings: Sequence[LandingRow]) -> None:
        """Whether ``land`` would write this now, which is asked before anything is pushed.  Raises Refused as it does."""
        ...

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

    def open(self, envelope: str, keys: Iterable[str], *, listed: Collection[str] = ()) -> bytes:
        """What an envelope holds when one of these public keys signed it, and where some are ``listed`` by id, one of those.

        Raises Refused (evidence-edited, evidence-unsigned, evidence-key).
        """
        ...

    def listed(self) -> tuple[str, ...]:
        """The ids of keys that may sign by the default branch as last fetched; empty where it lists none.

        Raises Refused (evidence-key) when it cannot be read.
        """
        ...

    def check(self) -> None:
        """Look whether what this user's key signs would count.  Raises Refused (secret, evidence-key) when it would not."""
        ...

    def told(self) -> str:
        """One line on the key for a person; makes none."""
        ...


class Anchor(Protocol):
    """Keeps the newest signed checkpoint of each history outside of its database."""

    def keep(self, history: str, checkpoint: str) -> None: ...
    def kept(self, history: str) -> str | None: ...
