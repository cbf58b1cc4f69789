"""The newest signed checkpoint of the history, kept in the mirror where the history itself is not; what it says is core's."""

from __future__ import annotations

from typing import Final

from interlock.adapters.git.blobs import read_blobs
from interlock.adapters.git.mirror import Mirror

REFS: Final = "refs/interlock/checkpoints/"
TRAILER: Final = "Interlock-Job"
_LONG: Final = 600.0
_HEX: Final = frozenset("0123456789abcdef")
_MOST: Final = 5000
"""So many earlier checkpoints are looked at."""


def write(mirror: Mirror, history: str, text: str) -> None:
    """Keep a checkpoint; the ones before stay in the ref's log.  Raises GitFailed."""
    mirror.ensure()
    git = mirror.git
    oid = git.text("hash-object", "-w", "--stdin", stdin=text.encode())
    git.run("update-ref", "--create-reflog", "-m", "interlock: checkpoint", f"{REFS}{history}", oid)


def read(mirror: Mirror, history: str) -> str | None:
    """The newest checkpoint of a history, or None when there is none."""
    ref = f"{REFS}{history}"
    if not mirror.path.is_dir():
        return None
    found = mirror.git.run("cat-file", "blob", ref, ok=(0, 128))
    return found.text if found.code == 0 else None


def earlier(mirror: Mirror, history: str) -> tuple[str, ...]:
    """Checkpoints of a history that were kept before the newest, the last first, as far as the ref's log and the objects go."""
    try:
        lines = (mirror.path / "logs" / f"{REFS}{history}").read_text("utf-8", "replace").splitlines()
    except OSError:
        return ()
    oids = [line.split(" ", 2)[1] for line in reversed(lines) if line.count(" ") > 1]
    found = [oid for oid in dict.fromkeys(oids) if set(oid) <= _HEX][1:_MOST]
    return tuple(data.decode("utf-8", "replace") for data in read_blobs(mirror.git, found) if data is not None)


def histories(mirror: Mirror) -> tuple[str, ...]:
    """The histories of which a checkpoint is kept."""
    if not mirror.path.is_dir():
        return ()
    return tuple(name.removeprefix(REFS) for name in mirror.git.refs(REFS))


def landed_jobs(mirror: Mirror, commit: str) -> dict[str, str]:
    """Jobs that commits in the history of ``commit`` say they landed: job → commit, the newest one that says so."""
    form = f"--format=%H%x09%(trailers:key={TRAILER},valueonly,separator=%x20)"
    text = mirror.git.text("log", form, f"--grep=^{TRAILER}: ", commit, seconds=_LONG)
    found: dict[str, str] = {}
    for line in text.splitlines():
        oid, _, jobs = line.partition("\t")
        found = dict.fromkeys(jobs.split(), oid) | found
    return found
