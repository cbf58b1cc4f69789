"""Logs and reports as an audit finds them, by their digests; what signed evidence says of them is core's."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Final

from interlock.app.clones import whose_files
from interlock.core.job.audit import AuditFinding
from interlock.core.job.chain import Filed
from interlock.core.job.evidence import CheckRun, Evidence
from interlock.ports.bundle import Ports

_CHUNK: Final = 1 << 20


class KeptFiles:
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
            if row.number in said
            for verdict in said[row.number].verdicts
            if not verdict.run.cached
        }

    def look_at(self, row: Filed, said: Evidence) -> Iterator[AuditFinding]:
        for run in (run for verdict in said.verdicts for run in (verdict.run, *verdict.reruns) if run.log):
            taken = self._first.get((run.log, run.log_digest), row.subject) if run.cached else row.subject
            of = run.owner or taken
            folder = self._folder(of)
            if not run.log_digest:
                what = f"Evidence {row.number} of {row.subject} keeps no digest of the log of '{run.run}'."
                yield AuditFinding(state="missing", rule="artifact", where=f"evidence {row.number}", what=what)
                continue
            for name, digest in _kept(run):
                if whose_files(of.replace("train-", "train:"), self._theirs) and not _is_here(folder, name):
                    self.elsewhere.append(f"{of.replace(':', '-')}/{name}")
                elif folder is None:
                    yield self._gone(row, f"{of.replace(':', '-')}/{name}")
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
    """The SHA-256 of a plain file; None for what is none: a link, or a pipe that would be waited for."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return None
            found = hashlib.sha256()
            while part := file.read(_CHUNK):
                found.update(part)
            return found.hexdigest()
    except OSError:
        return None
