"""The Store port over one database: each method is one transaction; the statements are in the modules beside this one."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager

from sqlalchemy import Connection

from interlock.adapters.store import admission, anchoring, changes, events, evidence, jobs, schema, seals, slots, trains
from interlock.adapters.store.engine import Database
from interlock.adapters.store.unsigned import NOBODY, NOWHERE
from interlock.core.contract.policy import Cap, Kind
from interlock.core.gate.caps import Lane
from interlock.core.gate.request import Admitted, Request
from interlock.core.job.chain import Filed, Linked
from interlock.core.job.events import LONE, Event, NewEvent
from interlock.core.job.evidence import CheckRun, Evidence
from interlock.core.job.lifecycle import Job
from interlock.core.job.seals import Seal
from interlock.core.job.verified import Verified
from interlock.core.merge.forge import Approval, ChangeRow
from interlock.core.merge.train import TrainState
from interlock.core.problems import InterlockError, Refusal, Refused
from interlock.ports.history import Anchor, LandingRow, Signer


class SqlStore:
    """The durable history in SQLite or PostgreSQL (implements ports.Store); made by ``open``."""

    def __init__(
        self,
        database: Database,
        now: Callable[[], float],
        signer: Signer = NOBODY,
        anchor: Anchor = NOWHERE,
    ) -> None:
        self._database = database
        self._now = now
        self._signer = signer
        self._anchor = anchor
        self._known: set[str] = set()

    @classmethod
    def open(
        cls,
        url: str,
        now: Callable[[], float] = time.time,
        *,
        signer: Signer = NOBODY,
        anchor: Anchor = NOWHERE,
    ) -> SqlStore:
        """The store at a database's URL, with its schema made current.

        Takes a clock in seconds since the epoch, who signs evidence (by default nobody, so that there can be none), and
        what keeps signed checkpoints outside of the database.  Raises StoreUnusable.
        """
        database = Database(url)
        try:
            schema.ensure(database)
        except BaseException:
            database.close()
            raise
        return cls(database, now, signer, anchor)

    def close(self) -> None:
        self._database.close()

    @contextmanager
    def _write(self, *, seldom: bool = False) -> Iterator[Connection]:
        """A transaction that may write, whose events are signed with it; ``seldom``: most of its kind write none.

        Raises Refused (secret) when the key cannot be used.
        """
        signs = self._signer is not NOBODY
        if signs and not seldom:
            _ = self._signer.key_id  # it takes a moment to load, and nobody should wait for us meanwhile
        with self._database.write() as connection:
            schema.check(connection)
            appended = events.watched(connection)
            yield connection
            if signs and appended:
                if self._signer.key_id not in self._known:
                    seals.add_key(connection, self._signer, self._now())
                seals.add(connection, appended, self._signer)
        if signs and appended:
            self._known.add(self._signer.key_id)

    def _barred(self) -> Refusal | None:
        """Why nothing of this key may stand in jobs and trains, where others could not land them any more; None where it may."""
        if self._signer is NOBODY:
            return None
        try:
            self._signer.check()
        except Refused as fault:
            if fault.code != "evidence-key":
                raise
            return fault.refusal
        except InterlockError:  # rules that cannot be read: what goes on is not lost, and nothing lands meanwhile
            return None
        return None

    # ------------------------------------------------------------ caps and slots
    def begin_sync(self) -> int:
        with self._database.read() as connection:
            return slots.in_force(connection).version

    def sync_caps(
        self, number: int, base: str, caps: Sequence[Cap], kinds: Mapping[str, Kind], ceiling: int | None
    ) -> bool:
        lines = {cap.class_name: cap.cap for cap in caps}
        fetched = slots.Fetched(caps=lines, kinds=dict(kinds), ceiling=ceiling, base=base)
        with self._write(seldom=True) as connection:
            return slots.sync(connection, fetched, number, self._now())

    def admit(self, request: Request) -> Admitted:
        if (barred := self._barred()) is not None:
            raise Refused(barred)
        with self._write() as connection:
            return admission.admit(connection, request, self._now())

    def lanes(self) -> tuple[Lane, ...]:
        with self._database.read() as connection:
            return slots.lanes(connection)

    def ceiling(self) -> int | None:
        with self._database.read() as connection:
            return slots.in_force(connection).ceiling

    def pause(self, class_name: str, by: str, why: str = "") -> None:
        with self._write() as connection:
            slots.set_pause(connection, class_name, by, actor=by, why=why, at=self._now())

    def resume(self, class_name: str, by: str = "") -> None:
        with self._write() as connection:
            slots.set_pause(connection, class_name, None, actor=by, why="", at=self._now())

    # ------------------------------------------------------------ jobs and events
    def job(self, job: str) -> Job:
        with self._database.read() as connection:
            return jobs.load(connection, job)

    def jobs_of(self, names: Sequence[str]) -> tuple[Job, ...]:
        with self._database.read() as connection:
            return jobs.some(connection, names)

    def find(self, slug: str) -> Job | None:
        with self._database.read() as connection:
            return jobs.find(connection, slug)

    def jobs(self, *, open_only: bool = True) -> tuple[Job, ...]:
        with self._database.read() as connection:
            return jobs.listing(connection, open_only=open_only)

    def landed_slugs(self) -> frozenset[str]:
        with self._database.read() as connection:
            return jobs.landed_slugs(connection)

    def record(self, event: NewEvent, *, expect: int | None = None) -> Event:
        if event.subject.startswith(LONE):
            with self._write() as connection:
                return events.record(connection, event, self._now())
        barred = self._barred()
        if event.subject.startswith(trains.PREFIX):
            with self._write() as connection:
                return trains.record(connection, event, self._now(), expect, barred)
        publishes = event.kind == "job.published"
        kept, listed = (self._kept(), self._signer.listed()) if publishes else (None, ())
        with self._write() as connection:
            anchoring.check(connection, kept, self._signer, listed)
            return jobs.record(connection, event, self._now(), expect, self._signer, listed, barred)

    def event(self, subject: str, attempt: int, step: str) -> Event | None:
        with self._database.read() as connection:
            return events.find(connection, subject, attempt, step)

    def events(self, subject: str | None = None, *, after: int = 0) -> tuple[Event, ...]:
        with self._database.read() as connection:
            return events.listing(connection, subject, after)

    def attempts(self, *, since: float, until: float | None = None) -> tuple[Event, ...]:
        with self._database.read() as connection:
            return events.attempts(connection, since, until)

    # ------------------------------------------------------------ evidence
    def add_evidence(self, evidence_: Evidence) -> int:
        self._signer.check()  # what takes a moment is done before anybody has to wait for us
        kept = self._kept()
        with self._write() as connection:
            anchoring.check(connection, kept, self._signer, new=True)
            number = evidence.add(connection, evidence_, self._now(), self._signer)
            checkpoint = anchoring.made(connection, self._now(), self._signer)
        self._anchor.keep(*checkpoint)
        return number

    def evidence(self, subject: str, *, commit: str | None = None) -> tuple[tuple[int, Evidence], ...]:
        with self._database.read() as connection:
            return evidence.listing(connection, subject, commit)

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
        bound = {"policy_digest": policy_digest, "card_oid": card_oid, "tree": tree, "base": base}
        with self._database.read() as connection:
            return evidence.proof_of(connection, subject, commit, self._signer, bound, listed)

    def filed(self, subject: str | None = None) -> tuple[Filed, ...]:
        with self._database.read() as connection:
            return evidence.filed(connection, subject)

    def chain(self, *, after: int = 0, most: int | None = None) -> tuple[Linked, ...]:
        with self._database.read() as connection:
            return events.chain(connection, after, most)

    def seals(self) -> tuple[Seal, ...]:
        with self._database.read() as connection:
            return seals.listing(connection)

    def cached_run(self, key: str) -> CheckRun | None:
        with self._database.read() as connection:
            return evidence.cached_run(connection, key, self._signer)

    def cache_doubt(self, key: str) -> str:
        with self._database.read() as connection:
            return evidence.cache_doubt(connection, key, self._signer)

    def cache_run(self, key: str, run: CheckRun) -> None:
        _ = self._signer.key_id
        with self._write() as connection:
            evidence.cache_run(connection, key, run, self._now(), self._signer)

    # ------------------------------------------------------------ trains and changes
    def train(self, number: int | None = None) -> TrainState | None:
        with self._database.read() as connection:
            return trains.current(connection) if number is None else trains.find(connection, number)

    def open_trains(self) -> tuple[TrainState, ...]:
        with self._database.read() as connection:
            return trains.open_ones(connection)

    def trains(self) -> tuple[TrainState, ...]:
        with self._database.read() as connection:
            return trains.listing(connection)

    def check_signed(self, subjects: Sequence[str], listed: Collection[str]) -> None:
        with self._database.read() as connection:
            seals.check(connection, subjects, self._signer, listed)

    def check_landing(self, event: NewEvent, landings: Sequence[LandingRow]) -> None:
        kept, listed = self._kept(), self._signer.listed()
        with self._database.read() as connection:
            anchoring.check(connection, kept, self._signer, listed)
            trains.check(connection, event, landings, self._signer, listed)

    def land(self, event: NewEvent, landings: Sequence[LandingRow]) -> None:
        self._signer.check()  # the checkpoint of what lands is signed here, whoever ran its checks
        kept, listed = self._kept(), self._signer.listed()
        with self._write() as connection:
            anchoring.check(connection, kept, self._signer, listed)
            fresh = trains.land(connection, event, landings, self._now(), self._signer, listed)
            checkpoint = anchoring.made(connection, self._now(), self._signer) if fresh else None
        if checkpoint is not None:
            self._anchor.keep(*checkpoint)

    def history(self) -> str:
        with self._database.read() as connection:
            return anchoring.history(connection)

    def _kept(self) -> str | None:
        """The checkpoint of this history that is kept elsewhere, asked for before anybody has to wait for us."""
        which = self.history()
        return self._anchor.kept(which) if which else None

    def landings(self) -> tuple[LandingRow, ...]:
        with self._database.read() as connection:
            return trains.landings(connection)

    def changes(self, *, open_only: bool = True) -> tuple[ChangeRow, ...]:
        with self._database.read() as connection:
            return changes.listing(connection, open_only=open_only)

    def approve(self, job: str, commit: str, by: str, *, text: str = "") -> None:
        data = {"approve": commit} | ({"text": text} if text else {})
        approval = NewEvent(subject=job, step=f"approved:{commit}:{by}", kind="job.note", actor=by, data=data)
        self.record(approval)

    def approvals(self, job: str) -> tuple[Approval, ...]:
        with self._database.read() as connection:
            return changes.approvals(connection, job)
