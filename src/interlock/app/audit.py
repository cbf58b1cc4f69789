"""Whether a history holds, offline: the chain and signatures by core, then logs, reports and landed commits as they are here."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from interlock.app.audit_files import KeptFiles
from interlock.app.audit_keys import plain_name
from interlock.app.base import POLICY_FILE
from interlock.app.clones import jobs_elsewhere
from interlock.core.counting import count, some
from interlock.core.job.audit import (
    AuditFinding,
    Checkpoint,
    Landed,
    Walk,
    before_signing,
    look_at_checkpoint,
    look_at_jobs,
    look_at_landings,
    look_at_rows,
    look_at_seals,
    read_checkpoint,
)
from interlock.core.job.chain import Filed, Linked
from interlock.core.job.evidence import Evidence
from interlock.core.job.lifecycle import Job, State
from interlock.core.job.seals import Seal
from interlock.core.job.statement import rfc3339
from interlock.core.problems import InterlockError, Misuse
from interlock.ports.bundle import Ports
from interlock.ports.history import LandingRow, Signer

_AT_ONCE: Final = 2000
_SHOWN: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What an audit looked at and found; ``notes`` are what a reader must know, and no fault."""

    scope: str
    counts: dict[str, int]
    keys: tuple[str, ...]
    findings: tuple[AuditFinding, ...]
    notes: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return not self.findings

    def as_json(self) -> dict[str, Any]:
        return {
            "holds": self.holds,
            "scope": self.scope,
            "looked_at": self.counts,
            "keys": list(self.keys),
            "wrong": [each.as_json() for each in self.findings if each.state == "wrong"],
            "missing": [each.as_json() for each in self.findings if each.state == "missing"],
            "notes": list(self.notes),
        }


def audit(ports: Ports, name: str | None = None, *, trusted: Sequence[str] = ()) -> Audit:
    """Look at the whole history, or at one job with the trains that it landed in; the chain is always looked at whole.

    ``name`` is a slug or a job's id; ``trusted`` are public keys (PEM) that count instead of those of the history.
    Nothing is asked over a network.  Raises Misuse for a name that is not known.
    """
    job = _job(ports, name)
    rows, landings = ports.store.filed(), ports.store.landings()
    listed, unread = _listed(ports)
    walk, found, notes = _history(ports, rows, landings, trusted=trusted, listed=listed)
    found += unread
    subjects = {row.subject for row in rows}
    said = {number: each for subject in subjects for number, each in ports.store.evidence(subject)}
    keys = trusted or tuple(walk.keys.values())
    landed = [row for row in landings if job is None or row.job == job.id]
    chosen = _chosen(rows, job, landed)
    old = before_signing(walk, rows)
    notes += unsigned_note(old)
    of_now = [row for row in (rows if job is None else chosen) if row.number not in old]
    found += look_at_rows(walk, of_now, said, _opener(ports.signer, keys, listed))
    found += _jobs(ports, walk)
    if job is not None:
        found = [each for each in found if _concerns(each, job, chosen)]
    theirs = jobs_elsewhere(ports, walk.jobs.values())
    files = KeptFiles(ports, rows, said, theirs)
    for row in chosen:
        if row.number in old:
            continue
        of = walk.jobs.get(row.subject)
        if (told := said.get(row.number)) is None:
            continue  # that it is not what was signed is found already
        found += _complete(row, told, carded=of is None or not of.reverts)
        found += files.look_at(row, told)
    found += _repository(ports, walk, [row for row in landed if not _is_unseen(ports, row, theirs)], said)
    notes += _elsewhere(files.elsewhere, [row for row in landed if _is_unseen(ports, row, theirs)])
    if job is None:
        lost, foreign = _trailers(ports, walk)
        found += lost
        notes += foreign
    counts = {
        "events": walk.count,
        "evidence": len(chosen),
        "landings": len(landed),
        "files": files.count,
    }
    return Audit(
        scope=job.slug if job else "history",
        counts=counts,
        keys=tuple(walk.keys),
        findings=tuple(dict.fromkeys(found)),
        notes=tuple(notes),
    )


def _history(
    ports: Ports,
    rows: Sequence[Filed],
    landings: Sequence[LandingRow],
    *,
    trusted: Sequence[str],
    listed: Collection[str],
) -> tuple[Walk, list[AuditFinding], list[str]]:
    """The history of the store, with what the mirror keeps of it."""
    which = ports.store.history()
    walk, found, notes = look_at_history(
        ports.signer,
        _links(ports),
        rows,
        landings,
        ports.repo.checkpoint(which),
        seals=ports.store.seals(),
        trusted=trusted,
        listed=listed,
        earlier=ports.repo.earlier_checkpoints(which),
    )
    return walk, found, notes + _others(ports, which)


def look_at_history(
    signer: Signer,
    links: Iterable[Linked],
    rows: Sequence[Filed],
    landings: Sequence[LandingRow],
    text: str | None,
    *,
    seals: Sequence[Seal],
    trusted: Sequence[str],
    listed: Collection[str] = (),
    earlier: Sequence[str] = (),
) -> tuple[Walk, list[AuditFinding], list[str]]:
    """The chain, what landed by it and its checkpoints, of a store or of a bundle; gives what was gathered on the way.

    ``listed`` are the ids of the keys that the policy lets sign (empty: any), ``earlier`` the checkpoints before the newest,
    the last first: one of them shows an end that was cut off together with those after it.
    """
    links = list(links)
    walk = Walk()
    keys = trusted or tuple(
        str(link.event.data.get("public"))
        for link in links
        if link.event.kind == "key.added" and isinstance(link.event.data, dict)
    )
    kept = read_checkpoint(text, _opener(signer, keys, listed)) if text else None
    before = [read_checkpoint(each, _opener(signer, keys, ())) for each in earlier]
    known = [each for each in (kept, *before) if isinstance(each, Checkpoint)]
    walk.asked = frozenset((*(each.seq for each in known), *(each.seq for each in seals)))
    walk.over(links)
    found, notes = list(walk.findings), []
    found += look_at_seals(walk, seals, _opener(signer, keys, listed), known)
    by_number = {row.number: row for row in rows}
    found += look_at_landings(walk, map(_landed, landings), by_number)
    last = max(by_number, default=0)
    judged = (list(look_at_checkpoint(walk, each, evidence=last, landings=len(landings))) for each in known)
    found += next(filter(None, judged), [])
    if isinstance(kept, AuditFinding):
        found.append(kept)
    elif kept is None and (landings or walk.cited):
        what = "No checkpoint is kept in the mirror, so an end that was cut off would not show. The next evidence makes one."
        found.append(AuditFinding(state="missing", rule="evidence-unsigned", where="checkpoint", what=what))
    if others := [key[:12] for key in walk.keys if listed and key not in listed]:
        notes.append(f"The history names keys that interlock.yaml does not list: {', '.join(others)}.")
    if not trusted and not listed and walk.keys:
        notes += _first_seen(walk)
    return walk, found, notes


def _first_seen(walk: Walk) -> list[str]:
    """Notes on keys that nobody listed: since when each is believed, on whose word, and what would change it."""
    notes = []
    for key, (runner, at) in walk.seen.items():
        of = f" as that of {plain_name(runner)}" if runner else ""
        notes.append(
            f"Key {key[:12]} is trusted since it was first seen, {rfc3339(at) or 'at no time'}{of}: list it under evidence.keys."
        )
    notes.append("The keys are those that the history names itself; --keys FILE says which ones you trust.")
    return notes


def unsigned_note(old: Collection[int]) -> list[str]:
    """A note on rows that an earlier version wrote; none where there are none."""
    if not old:
        return []
    rows = count(len(old), "row of evidence was", "rows of evidence were")
    return [f"{rows} written before evidence was signed and prove nothing: {', '.join(map(str, sorted(old)[:20]))}."]


def _opener(signer: Signer, keys: Sequence[str], listed: Collection[str]) -> Any:
    return lambda envelope: signer.open(envelope, keys, listed=listed)


def _listed(ports: Ports) -> tuple[tuple[str, ...], list[AuditFinding]]:
    """The keys that the policy lets sign; where that cannot be told, a finding, and all else is looked at still."""
    try:
        return ports.signer.listed(), []
    except InterlockError as fault:
        what = f"Which keys may sign cannot be told: {fault.message}"
        return (), [AuditFinding(state="missing", rule="evidence-key", where=POLICY_FILE, what=what)]


def _landed(row: LandingRow) -> Landed:
    names = ("job", "slug", "commit", "tree", "tested_tree", "evidence", "train", "at")
    return Landed(**{name: getattr(row, name) for name in names})


def _job(ports: Ports, name: str | None) -> Job | None:
    if name is None:
        return None
    job = ports.store.find(name)
    if job is None:
        raise Misuse(f"There is no job of {name}.", hint="interlock status lists them; without a name all is audited.")
    return job


def _others(ports: Ports, history: str) -> list[str]:
    """A note on histories that ran here and are not this one."""
    others = [each for each in ports.repo.checkpointed() if each != history]
    if not others:
        return []
    return [
        f"The mirror keeps checkpoints of other histories: {', '.join(others)}. Was the database replaced, or is it another one?"
    ]


def _jobs(ports: Ports, walk: Walk) -> list[AuditFinding]:
    """Each job's row against its events; where one cannot even be read, nothing of the product can, and that is told."""
    try:
        return list(look_at_jobs(walk, ports.store.jobs(open_only=False)))
    except (LookupError, TypeError, ValueError, AttributeError):
        what = "A row of a job holds what was never written there, so that no row of a job can be read."
        return [AuditFinding(state="wrong", rule="evidence-edited", where="job", what=what)]


def _links(ports: Ports) -> Iterator[Linked]:
    """The whole chain, so many events at once that nobody who writes has to wait for long."""
    after = 0
    while links := ports.store.chain(after=after, most=_AT_ONCE):
        yield from links
        after = links[-1].event.seq


def _chosen(rows: Sequence[Filed], job: Job | None, landed: Sequence[LandingRow]) -> list[Filed]:
    """The rows of a job and those that its landings cite, or all."""
    cited = {row.evidence for row in landed}
    return [row for row in rows if job is None or row.subject == job.id or row.number in cited]


def _concerns(found: AuditFinding, job: Job, chosen: Sequence[Filed]) -> bool:
    """Whether a finding is about this job: the chain and the checkpoint are about everything."""
    kind, _, which = found.where.partition(" ")
    if kind == "evidence":
        return which in {str(row.number) for row in chosen} or f" of {job.id}" in found.what
    if kind in ("landing", "job"):
        return which in (job.slug, job.id)
    return True


def _complete(row: Filed, said: Evidence, *, carded: bool) -> Iterator[AuditFinding]:
    """Evidence says on which base, under which policy and for which card it holds; a train's is of no one card.

    A revert's card is made of what landed and stands nowhere, so that there is none to name.
    """
    parts = {"the base's commit": said.base, "the base's tree": said.base_tree, "the policy": said.policy_digest}
    if carded and not row.subject.startswith("train:"):
        parts["the card"] = said.card_oid
    if lacking := [name for name, value in parts.items() if not value]:
        what = f"Evidence {row.number} of {row.subject} does not say {', '.join(lacking)}."
        yield AuditFinding(state="missing", rule="stale-evidence", where=f"evidence {row.number}", what=what)


def _is_unseen(ports: Ports, row: LandingRow, theirs: Collection[str]) -> bool:
    """Whether another clone landed a change and this one has not fetched since."""
    if row.job not in theirs:
        return False
    try:
        return not ports.repo.tree_of(row.commit)
    except InterlockError:
        return True


def _elsewhere(files: Sequence[str], landed: Sequence[LandingRow]) -> list[str]:
    """Notes on what only another clone of this store can look at."""
    notes = []
    if files:
        notes.append(f"Another clone keeps these files, so they were not looked at: {some(files, _SHOWN)}.")
    if landed:
        slugs = ", ".join(row.slug for row in landed)
        notes.append(f"Another clone landed {slugs}, which is not fetched here: interlock run fetches.")
    return notes


def _repository(
    ports: Ports, walk: Walk, landed: Sequence[LandingRow], said: dict[int, Evidence]
) -> Iterator[AuditFinding]:
    """What landed, in the mirror: the commit is there, its tree is the tested one, each member's change is whole in it."""
    by_commit: dict[str, list[LandingRow]] = {}
    for row in landed:
        by_commit.setdefault(row.commit, []).append(row)
    base = ports.repo.last_base().oid if landed else ""
    for commit, rows in by_commit.items():
        where, slugs = f"commit {commit}", ", ".join(row.slug for row in rows)
        try:
            tree = ports.repo.tree_of(commit)
            on_branch = ports.repo.is_ancestor(commit, base)
        except InterlockError:
            what = f"Commit {commit[:12]}, as which {slugs} landed, is not in the mirror."
            yield AuditFinding(state="missing", rule="landed-otherwise", where=where, what=what)
            continue
        if wrong := [row for row in rows if row.tree != tree or row.tested_tree != tree]:
            what = f"Commit {commit[:12]} has tree {tree[:12]}, and {wrong[0].tested_tree[:12]} was tested."
            yield AuditFinding(state="wrong", rule="tree-mismatch", where=where, what=what)
        if not on_branch:
            what = f"Commit {commit[:12]}, as which {slugs} landed, is not on the default branch any more."
            yield AuditFinding(state="missing", rule="landed-otherwise", where=where, what=what)
        yield from _whole(ports, walk, rows, said)


def _whole(ports: Ports, walk: Walk, rows: Sequence[LandingRow], said: dict[int, Evidence]) -> Iterator[AuditFinding]:
    """Each member's change in the commit that it landed as, by the head that it was published with."""
    heads = {job.head: row.slug for row in rows if (job := walk.jobs.get(row.job)) is not None and job.head}
    proof = said.get(rows[0].evidence)
    if not heads or proof is None:
        return
    commit = rows[0].commit
    try:
        lacking, _ = ports.repo.lacking(proof.base, commit, tuple(heads))
    except InterlockError as fault:
        what = f"Whether {commit[:12]} holds the work of {', '.join(heads.values())} cannot be told: {fault.message}"
        yield AuditFinding(state="missing", rule="landed-otherwise", where=f"commit {commit}", what=what)
        return
    for head in lacking:
        what = f"Commit {commit[:12]} does not hold the whole change of {heads[head]}, {head[:12]}."
        yield AuditFinding(state="wrong", rule="landed-otherwise", where=f"commit {commit}", what=what)


def _trailers(ports: Ports, walk: Walk) -> tuple[list[AuditFinding], list[str]]:
    """Landings that the default branch itself tells of: those of this history that it lacks, and those of others."""
    told = ports.repo.landed_jobs(ports.repo.last_base().oid)
    known = {job.id for job in walk.jobs.values() if job.state in (State.LANDED, State.REVERTED)}
    lost, foreign = [], 0
    for job, commit in told.items():
        if job in known:
            continue
        if job in walk.jobs or job in _records(ports, job):
            what = f"Commit {commit[:12]} on the default branch landed job {job}, and the history does not say so."
            lost.append(AuditFinding(state="missing", rule="evidence-edited", where=f"commit {commit}", what=what))
        else:
            foreign += 1
    if not foreign:
        return lost, []
    said = count(foreign, "job on the default branch was", "jobs on the default branch were")
    return lost, [f"{said} landed by another history, which this one knows nothing of."]


def _records(ports: Ports, job: str) -> tuple[str, ...]:
    try:
        return ports.records.names(job)
    except ValueError:  # a trailer may hold anything
        return ()
