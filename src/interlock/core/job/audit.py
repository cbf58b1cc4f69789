"""What a history says about itself: chain, signatures, rows and checkpoint against each other; files and repository are the app's to ask."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal

from interlock.core.job.chain import FILED, FIRST, KEYS, Filed, Linked, breaks, canonical, signed_json
from interlock.core.job.events import Event
from interlock.core.job.evidence import Evidence
from interlock.core.job.kinds import KINDS
from interlock.core.job.lifecycle import TRANSITIONS, IllegalTransition, Job, Waiting, admit, apply
from interlock.core.job.seals import Seal, unsealed
from interlock.core.job.statement import CHECKPOINT
from interlock.core.job.trust import doubt, named, signer_of
from interlock.core.problems import Refused

State = Literal["wrong", "missing"]

_HOLDS_NOTHING: Final = frozenset({"stale-evidence", "evidence-unsigned", "evidence-key"})
"""Rules that say that a proof is not there, where another one says that something was changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFinding:
    """One place where a history does not hold: what is there is ``wrong``, or what should be there is ``missing``.

    ``where`` names the row or file: ``event 7``, ``evidence 3``, ``landing billing``, ``checkpoint``, a path.
    """

    state: State
    rule: str
    where: str
    what: str

    def as_json(self) -> dict[str, str]:
        return {"state": self.state, "rule": self.rule, "where": self.where, "what": self.what}


@dataclass(frozen=True, slots=True, kw_only=True)
class Landed:
    """A row that says that a change landed: what the chain must say too."""

    job: str
    slug: str
    commit: str
    tree: str
    tested_tree: str
    evidence: int
    train: int
    at: float


@dataclass(slots=True)
class Walk:
    """What is gathered while a chain is walked once from its beginning: nothing that grows with every event but the counts.

    ``cited`` is the event that binds a row of evidence, by number; ``keys`` are public keys by their id, ``seen`` the machine that each is said to be of and when, ``landed`` what
    trains say that they landed, ``jobs`` the jobs as their events make them, ``waived`` what people accepted (job, rule,
    person), ``at`` digests at the numbers asked for, ``signed_since`` when the first key was named, in seconds since the epoch,
    ``beyond`` subjects of which only a newer version knows all events.
    """

    asked: frozenset[int] = frozenset()
    count: int = 0
    last: int = 0
    cited: dict[int, Event] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    seen: dict[str, tuple[str, float]] = field(default_factory=dict)
    landed: list[Mapping[str, Any]] = field(default_factory=list)
    jobs: dict[str, Job] = field(default_factory=dict)
    waived: set[tuple[str, str, str]] = field(default_factory=set)
    at: dict[int, str | None] = field(default_factory=dict)
    signed_since: float = math.inf
    beyond: set[str] = field(default_factory=set)
    findings: list[AuditFinding] = field(default_factory=list)

    def over(self, links: Iterable[Linked]) -> None:
        """Walk a whole chain, noting each place where it does not hold."""
        for broken in breaks(self._seen(links), FIRST, 0):
            self._wrong(f"event {broken.seq}", broken.what)

    def _seen(self, links: Iterable[Linked]) -> Iterator[Linked]:
        for link in links:
            self.count, self.last = self.count + 1, link.event.seq
            if link.event.seq in self.asked:
                self.at[link.event.seq] = link.digest
            try:
                self._take(link.event)
            except (IllegalTransition, LookupError, TypeError, ValueError, AttributeError) as fault:
                told = str(fault) if isinstance(fault, IllegalTransition) else "Its data cannot be read."
                self._wrong(
                    f"event {link.event.seq}", f"Event {link.event.seq} does not fit what was before it. {told}"
                )
            yield link

    def _take(self, event: Event) -> None:
        subject = event.subject
        if isinstance(event.kind, str) and event.kind not in KINDS:
            self._newer(event)
        elif subject in self.beyond:
            return
        elif subject.startswith(FILED):
            self.cited[int(event.data["evidence"])] = event
        elif subject == KEYS:
            self.keys[event.step] = str(event.data["public"])
            self.seen[event.step] = (str(event.data.get("runner", "")), event.at)
            self.signed_since = min(self.signed_since, event.at)
        elif event.kind == "train.landed":
            self.landed += [_told(event, each) for each in event.data["landed"]]
        elif event.kind == "job.admitted":
            self.jobs[subject] = admit(event)
        elif subject in self.jobs:
            self.jobs[subject] = apply(self.jobs[subject], event)
            if "waive" in event.data:
                self.waived.add((subject, str(event.data["waive"]), event.actor))
        elif event.kind in TRANSITIONS and not subject.startswith(("split-", "train:", "class:")):
            raise IllegalTransition(f"Nothing admitted {subject}.")

    def _newer(self, event: Event) -> None:
        self.beyond.add(event.subject)
        what = (
            f"Event {event.seq} is of the kind {event.kind[:60]}, which this version of Interlock does not know: a newer version "
            "wrote it. Its digest and signature are looked at all the same; audit with that version for what it says."
        )
        self.findings.append(AuditFinding(state="missing", rule="newer-version", where=f"event {event.seq}", what=what))

    def _wrong(self, where: str, what: str) -> None:
        self.findings.append(AuditFinding(state="wrong", rule="evidence-edited", where=where, what=what))


def _told(event: Event, each: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a train says of one landing.  Raises ValueError or LookupError for what is no such thing."""
    shape = {name: each[name] for name in ("slug", "job", "commit", "tree")}
    shape["tested_tree"] = each.get("tested_tree", shape["tree"])
    if not all(isinstance(value, str) for value in shape.values()):
        raise ValueError("a landing is told in texts")
    return {**shape, "train": int(event.subject.removeprefix("train:")), "at": event.at}


def before_signing(walk: Walk, rows: Iterable[Filed]) -> frozenset[int]:
    """Numbers of rows that an earlier version wrote, which signed nothing: older than the first key, and all that was signed."""
    first = min(walk.cited, default=None)
    return frozenset(
        row.number
        for row in rows
        if row.envelope is None
        and row.number not in walk.cited
        and isinstance(row.at, int | float)
        and row.at < walk.signed_since
        and (first is None or row.number < first)
    )


Opened = Callable[[str], bytes]


def look_at_rows(
    walk: Walk, rows: Iterable[Filed], said: Mapping[int, Evidence] | None, opened: Opened
) -> Iterator[AuditFinding]:
    """Each row of evidence against its envelope and the chain; ``said`` are the rows' documents as values, where known."""
    seen: set[int] = set()
    for row in rows:
        if row.number in seen:
            what = f"{named(row)} stands there twice."
            yield AuditFinding(state="wrong", rule="evidence-replayed", where=f"evidence {row.number}", what=what)
        seen.add(row.number)
        yield from _unheard(walk, row)
        bound = walk.cited.get(row.number)
        cited = str(bound.data.get("envelope")) if bound is not None else None
        fault = doubt(row, said.get(row.number) if said else None, cited=cited, opened=opened)
        if fault is not None:
            lost = fault.rule in _HOLDS_NOTHING and not (row.envelope is None and cited)
            yield AuditFinding(
                state="missing" if lost else "wrong", rule=fault.rule, where=f"evidence {row.number}", what=fault.what
            )
        elif bound is not None and bound.subject != f"{FILED}{row.subject}":
            what = f"{named(row)} is of {bound.subject.removeprefix(FILED)} by the chain."
            yield AuditFinding(state="wrong", rule="evidence-edited", where=f"evidence {row.number}", what=what)
    for number in sorted(walk.cited.keys() - seen):
        subject = walk.cited[number].subject.removeprefix(FILED)
        what = f"Evidence {number} of {subject} is in the chain, and its row is gone."
        yield AuditFinding(state="missing", rule="evidence-edited", where=f"evidence {number}", what=what)


def _unheard(walk: Walk, row: Filed) -> Iterator[AuditFinding]:
    """What a row says that people accepted, and the chain does not say that they did."""
    said = row.doc.get("waived") if isinstance(row.doc, Mapping) else None
    for rule, by in said.items() if isinstance(said, Mapping) else ():
        if (row.subject, rule, by) not in walk.waived:
            what = f"{named(row)} says that {by} accepted {rule}, and the chain does not."
            yield AuditFinding(state="wrong", rule="evidence-edited", where=f"evidence {row.number}", what=what)


def look_at_landings(walk: Walk, rows: Iterable[Landed], filed: Mapping[int, Filed]) -> Iterator[AuditFinding]:
    """Each landing against what the chain says that landed, and against the evidence that it cites."""
    told = {(each["job"], each["commit"]): each for each in walk.landed}
    for row in rows:
        where, proof = f"landing {row.slug}", filed.get(row.evidence)
        said = told.pop((row.job, row.commit), None)
        if said is None or any(
            said[name] != getattr(row, name) for name in ("slug", "tree", "tested_tree", "train", "at")
        ):
            what = (
                f"The chain does not say that {row.slug} landed as {row.commit[:12]} with tree {row.tree[:12]} by train "
                f"{row.train}, tested as {row.tested_tree[:12]}, at the time that its row has."
            )
            yield AuditFinding(state="wrong", rule="landed-otherwise", where=where, what=what)
        if proof is None:
            what = f"Evidence {row.evidence}, on which {row.slug} landed, is gone."
            yield AuditFinding(state="missing", rule="stale-evidence", where=where, what=what)
        elif (proof.commit, proof.tree, proof.tree) != (row.commit, row.tree, row.tested_tree):
            what = (
                f"{row.slug} landed as {row.commit[:12]} with tree {row.tree[:12]}, and evidence {row.evidence} is of "
                f"{proof.commit[:12]} with tree {proof.tree[:12]}."
            )
            yield AuditFinding(state="wrong", rule="tree-mismatch", where=where, what=what)
    for (_, commit), each in told.items():
        what = f"The chain says that {each['slug']} landed as {commit[:12]}, and its row is gone."
        yield AuditFinding(state="missing", rule="landed-otherwise", where=f"landing {each['slug']}", what=what)


def look_at_jobs(walk: Walk, rows: Iterable[Job]) -> Iterator[AuditFinding]:
    """Each job's row against what its events make: a row that knows more shows that the end of its history was cut off."""
    known = set()
    for row in rows:
        known.add(row.id)
        if row.id in walk.beyond:
            continue
        made = walk.jobs.get(row.id)
        if made is None:
            what = f"Job {row.id} of {row.slug} has a row, and the chain does not know it."
            yield AuditFinding(state="missing", rule="evidence-edited", where=f"job {row.id}", what=what)
        elif row.rev > made.rev:
            what = (
                f"Job {row.id} of {row.slug} has had {row.rev} events, and the chain holds {made.rev}: events are gone."
            )
            yield AuditFinding(state="missing", rule="evidence-edited", where=f"job {row.id}", what=what)
        elif fields := differing(row, made):
            what = f"Job {row.id} of {made.slug} has other words in its row than its events make: {', '.join(fields)}."
            yield AuditFinding(state="wrong", rule="evidence-edited", where=f"job {row.id}", what=what)
    for job in sorted(walk.jobs.keys() - known):
        what = f"The chain admitted job {job} of {walk.jobs[job].slug}, and its row is gone."
        yield AuditFinding(state="missing", rule="evidence-edited", where=f"job {job}", what=what)


def differing(row: Job, made: Job) -> tuple[str, ...]:
    """Fields in which a job's row is not what its events make of it."""
    names = Job.__dataclass_fields__
    return tuple(name for name in names if _plain(getattr(row, name)) != _plain(getattr(made, name)))


def _plain(value: Any) -> bytes:
    return canonical(asdict(value) if isinstance(value, Waiting) else value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """What was signed about a history and kept elsewhere: its last event and digest, and how much of the rest there was."""

    seq: int
    digest: str
    evidence: int
    landings: int
    at: str
    sealed: int | None = None


def read_checkpoint(text: str, opened: Opened) -> Checkpoint | AuditFinding:
    """A checkpoint from its envelope, or why it says nothing."""
    try:
        signed = signed_json(opened(text))
        told, digest = signed["predicate"], str(signed["subject"][0]["digest"]["sha256"])
        counts = {name: int(told[name]) for name in ("seq", "evidence", "landings")}
        if signed["predicateType"] == CHECKPOINT:
            sealed = int(told["sealed"]) if "sealed" in told else None
            return Checkpoint(digest=digest, at=str(told["at"]), sealed=sealed, **counts)
    except Refused as fault:
        state: State = "missing" if fault.refusal.rule in _HOLDS_NOTHING else "wrong"
        return AuditFinding(
            state=state, rule=fault.refusal.rule, where="checkpoint", what=f"The checkpoint: {fault.refusal.what}"
        )
    except (ValueError, LookupError, TypeError):
        pass
    what = "What is signed as a checkpoint is none."
    return AuditFinding(state="wrong", rule="evidence-edited", where="checkpoint", what=what)


def look_at_checkpoint(walk: Walk, kept: Checkpoint, *, evidence: int, landings: int) -> Iterator[AuditFinding]:
    """The chain against a checkpoint of it; ``evidence`` is the last row's number."""
    seq, at = kept.seq, kept.at
    if walk.last < seq:
        what = f"The history ends with event {walk.last}, and had {seq} at {at}: its end was cut off."
        yield AuditFinding(state="missing", rule="evidence-edited", where=f"event {seq}", what=what)
    elif walk.at.get(seq) != kept.digest:
        what = f"Event {seq} has another digest than at {at}: the history before it was written anew."
        yield AuditFinding(state="wrong", rule="evidence-edited", where=f"event {seq}", what=what)
    if evidence < kept.evidence or landings < kept.landings:
        there = f"{kept.evidence} rows of evidence and {kept.landings} landings"
        what = f"There were {there} at {at}, and {evidence} and {landings} are left."
        yield AuditFinding(state="missing", rule="evidence-edited", where="checkpoint", what=what)


def look_at_seals(
    walk: Walk, seals: Sequence[Seal], opened: Opened, known: Iterable[Checkpoint]
) -> Iterator[AuditFinding]:
    """Each event against the signature of the transaction that wrote it; what is older than the first one is left out.

    ``known`` are checkpoints, which say since when events are signed, so that signatures cannot be taken away as a whole.
    """
    said = {each.sealed for each in known if each.sealed is not None}
    first = min((seal.first for seal in seals), default=None)
    since = min((*said, *(() if first is None else (first,))), default=None)
    if since is None:
        return
    for each in unsealed(seals, walk.at, opened, since=since, last=walk.last):
        told = [signer_of(seal.envelope) in walk.keys for seal in seals if each.first <= seal.seq <= each.last]
        untrusted = each.unread and each.refusal.rule == "evidence-unsigned" and all(told)
        state: State = "missing" if each.gone or untrusted or each.refusal.rule == "evidence-key" else "wrong"
        yield AuditFinding(state=state, rule=each.refusal.rule, where=f"event {each.first}", what=each.refusal.what)
