"""Whether a history holds, offline: the chain and signatures by core, then logs, reports and landed commits as they are here."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from interlock.app.clones import jobs_elsewhere, whose_files
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
    read_checkpoint,
)
from interlock.core.job.chain import Filed, Linked
from interlock.core.job.evidence import CheckRun, Evidence
from interlock.core.job.lifecycle import Job, State
from interlock.core.problems import InterlockError, Misuse
from interlock.ports import LandingRow, Ports, Signer

_AT_ONCE: Final = 2000
_CHUNK: Final = 1 << 20
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
    text = ports.repo.checkpoint(ports.store.history())
    walk, found, notes = look_at_history(ports.signer, _links(ports), rows, landings, text, trusted=trusted)
    subjects = {row.subject for row in rows}
    said = {number: each for subject in subjects for number, each in ports.store.evidence(subject)}
    keys = trusted or tuple(walk.keys.values())
    landed = [row for row in landings if job is None or row.job == job.id]
    chosen = _chosen(rows, job, landed)
    old = before_signing(walk, rows)
    notes += unsigned_note(old)
    of_now = [row for row in (rows if job is None else chosen) if row.number not in old]
    found += look_at_rows(walk, of_now, said, _opener(ports.signer, keys))
    found += look_at_jobs(walk, ports.store.jobs(open_only=False))
    if job is not None:
        found = [each for each in found if _concerns(each, job, chosen)]
    theirs = jobs_elsewhere(ports, walk.jobs.values())
    files = _Files(ports, rows, said, theirs)
    for row in chosen:
        if row.number in old:
            continue
        of = walk.jobs.get(row.subject)
        found += _complete(row, said[row.number], carded=of is None or not of.reverts)
        found += files.look_at(row, said[row.number])
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


def look_at_history(
    signer: Signer,
    links: Iterable[Linked],
    rows: Sequence[Filed],
    landings: Sequence[LandingRow],
    text: str | None,
    *,
    trusted: Sequence[str],
) -> tuple[Walk, list[AuditFinding], list[str]]:
    """The chain, what landed by it and the checkpoint, of a store or of a bundle; gives what was gathered on the way."""
    links = list(links)
    walk = Walk()
    keys = trusted or tuple(str(link.event.data.get("public")) for link in links if link.event.kind == "key.added")
    kept = read_checkpoint(text, _opener(signer, keys)) if text else None
    if isinstance(kept, Checkpoint):
        walk.asked = frozenset({kept.seq})
    walk.over(links)
    found, notes = list(walk.findings), []
    by_number = {row.number: row for row in rows}
    found += look_at_landings(walk, map(_landed, landings), by_number)
    last = max(by_number, default=0)
    if isinstance(kept, Checkpoint):
        found += look_at_checkpoint(walk, kept, evidence=last, landings=len(landings))
    elif kept is not None:
        found.append(kept)
    elif landings or walk.cited:
        what = "No checkpoint is kept in the mirror, so an end that was cut off would not show. The next evidence makes one."
        found.append(AuditFinding(state="missing", rule="evidence-unsigned", where="checkpoint", what=what))
    if not trusted and walk.keys:
        notes.append("The keys are those that the history names itself; --keys FILE says which ones you trust.")
    return walk, found, notes


def unsigned_note(old: Collection[int]) -> list[str]:
    """A note on rows that an earlier version wrote; none where there are none."""
    if not old:
        return []
    rows = "1 row of evidence was" if len(old) == 1 else f"{len(old)} rows of evidence were"
    return [f"{rows} written before evidence was signed and prove nothing: {', '.join(map(str, sorted(old)[:20]))}."]


def _opener(signer: Signer, keys: Sequence[str]) -> Any:
    return lambda envelope: signer.open(envelope, keys)


def _landed(row: LandingRow) -> Landed:
    names = ("job", "slug", "commit", "tree", "tested_tree", "evidence", "train")
    return Landed(**{name: getattr(row, name) for name in names})


def _job(ports: Ports, name: str | None) -> Job | None:
    if name is None:
        return None
    job = ports.store.find(name)
    if job is None:
        raise Misuse(f"There is no job of {name}.", hint="interlock status lists them; without a name all is audited.")
    return job


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
        more = f" and {len(files) - _SHOWN} more" if len(files) > _SHOWN else ""
        notes.append(f"Another clone keeps these files, so they were not looked at: {', '.join(files[:_SHOWN])}{more}.")
    if landed:
        slugs = ", ".join(row.slug for row in landed)
        notes.append(f"Another clone landed {slugs}, which is not fetched here: interlock run fetches.")
    return notes


class _Files:
    """Logs and reports where the records have them; ``count`` is how many were looked at, ``elsewhere`` what another clone has."""

    def __init__(self, ports: Ports, rows: Sequence[Filed], said: dict[int, Evidence], theirs: Collection[str]) -> None:
        self._ports = ports
        self._theirs = theirs
        self.count = 0
        self.elsewhere: list[str] = []
        # A run that was taken over from another task left its files there.
        self._first = {
            (verdict.run.log, verdict.run.log_digest): row.subject
            for row in reversed(rows)
            for verdict in said[row.number].verdicts
            if not verdict.run.cached
        }

    def look_at(self, row: Filed, said: Evidence) -> Iterator[AuditFinding]:
        for run in (run for verdict in said.verdicts for run in (verdict.run, *verdict.reruns) if run.log):
            taken = self._first.get((run.log, run.log_digest), row.subject) if run.cached else row.subject
            folder = self._folder(run.owner or taken)
            if not run.log_digest:
                what = f"Evidence {row.number} of {row.subject} keeps no digest of the log of '{run.run}'."
                yield AuditFinding(state="missing", rule="artifact", where=f"evidence {row.number}", what=what)
                continue
            of = run.owner or taken
            for name, digest in _kept(run):
                if whose_files(of.replace("train-", "train:"), self._theirs) and not _is_here(folder, name):
                    self.elsewhere.append(f"{of.replace(':', '-')}/{name}")
                elif folder is None:
                    yield self._gone(row, f"{(run.owner or taken).replace(':', '-')}/{name}")
                else:
                    yield from self._look(row, folder / name, digest)

    def _gone(self, row: Filed, path: str) -> AuditFinding:
        what = f"{path}, which evidence {row.number} of {row.subject} rests on, is not there any more."
        return AuditFinding(state="missing", rule="artifact", where=path, what=what)

    def _look(self, row: Filed, path: Path, digest: str) -> Iterator[AuditFinding]:
        self.count += 1
        found = _digest(path)
        if found is None:
            yield self._gone(row, str(path))
        elif found != digest:
            what = f"{path} is not what evidence {row.number} of {row.subject} was given by."
            yield AuditFinding(state="wrong", rule="evidence-edited", where=str(path), what=what)

    def _folder(self, subject: str) -> Path | None:
        name = subject.replace(":", "-")
        known = self._ports.records.names(name)
        return self._ports.records.job(name) if name in known else None


def _is_here(folder: Path | None, name: str) -> bool:
    return folder is not None and (folder / name).exists()


def _kept(run: CheckRun) -> Iterator[tuple[str, str]]:
    """The files that a run left in its job's record, with the digests that were signed."""
    yield run.log, run.log_digest
    yield from run.reports.items()


def _digest(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            found = hashlib.sha256()
            while part := file.read(_CHUNK):
                found.update(part)
            return found.hexdigest()
    except OSError:
        return None


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
    said = "1 job on the default branch was" if foreign == 1 else f"{foreign} jobs on the default branch were"
    return lost, [f"{said} landed by another history, which this one knows nothing of."]


def _records(ports: Ports, job: str) -> tuple[str, ...]:
    try:
        return ports.records.names(job)
    except ValueError:  # a trailer may hold anything
        return ()
