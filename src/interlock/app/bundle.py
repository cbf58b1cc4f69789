"""A history as one file, and that file verified without a repository: events, evidence, landings, keys, checkpoint; logs stay behind."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from interlock.app.audit import Audit, look_at_history, unsigned_note
from interlock.core.job.audit import AuditFinding, before_signing, look_at_rows
from interlock.core.job.chain import Filed, Linked
from interlock.core.job.events import Event
from interlock.core.job.seals import Seal
from interlock.core.problems import Misuse, in_words
from interlock.ports.bundle import Ports
from interlock.ports.history import LandingRow, Signer

FORMAT: Final = "interlock-history/1"
_NO_CHECKPOINT: Final = "The file holds no checkpoint, so an end that was cut off, or all of it, would not show."
_MOST: Final = 1 << 31
_END_OF_TIME: Final = 1e11
"""A time in seconds that no history reaches, and that a date can still be made of."""

_EVENT: Final = ("seq", "at", "subject", "step", "kind", "attempt", "actor", "data")


def _text(value: object) -> bool:
    return isinstance(value, str)


def _text_or_none(value: object) -> bool:
    return value is None or (isinstance(value, str) and value.isascii())


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63


def _time(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _END_OF_TIME


def _mapping(value: object) -> bool:
    return isinstance(value, dict)


_FIELDS: Final[dict[str, dict[str, Callable[[object], bool]]]] = {
    "event": {
        "seq": _whole,
        "at": _time,
        "subject": _text,
        "step": _text,
        "kind": _text,
        "attempt": _whole,
        "actor": _text,
        "data": _mapping,
        "digest": _text_or_none,
    },
    "evidence": {
        "number": _whole,
        "at": _time,
        "subject": _text,
        "commit": _text,
        "tree": _text,
        "doc": _mapping,
        "envelope": _text_or_none,
    },
    "seal": {"first": _whole, "seq": _whole, "envelope": _text},
    "landing": {
        "job": _text,
        "slug": _text,
        "train": _whole,
        "commit": _text,
        "tree": _text,
        "tested_tree": _text,
        "evidence": _whole,
        "at": _time,
    },
}


def export(ports: Ports, file: Path) -> dict[str, Any]:
    """Write the whole history to a new file; gives its path and what it holds.  Raises Misuse when it is there or cannot be."""
    links = ports.store.chain()
    rows = ports.store.filed()
    keys = [link.event.data["public"] for link in links if link.event.kind == "key.added"]
    shape = {
        "format": FORMAT,
        "events": [asdict(link.event) | {"digest": link.digest} for link in links],
        "seals": [asdict(each) for each in ports.store.seals()],
        "evidence": [asdict(row) for row in rows],
        "landings": [asdict(row) for row in ports.store.landings()],
        "keys": keys,
        "checkpoint": ports.repo.checkpoint(ports.store.history()),
    }
    try:
        with file.open("x", encoding="ascii") as target:
            json.dump(shape, target, indent=1)
            target.write("\n")
    except OSError as fault:
        hint = "Name a file that does not exist, in a folder that does."
        raise Misuse(f"{file} cannot be written: {fault.strerror}.", hint=hint) from fault
    return {"file": str(file), "events": len(links), "evidence": len(rows), "keys": len(keys)}


def audit_bundle(signer: Signer, file: Path, *, trusted: Sequence[str] = ()) -> Audit:
    """Look at an exported history alone: chain, signatures, rows, landings and checkpoint.

    Logs, reports and commits are not in it and are not looked at.  Raises Misuse when the file is no such history.
    """
    try:
        shape = json.loads(_bytes_of(file), object_pairs_hook=_once)
        if shape["format"] != FORMAT:
            raise Misuse(f"{file} is of the format {shape['format']!r}.", hint=f"This version reads {FORMAT}.")
        parts = {name: list(map(dict, shape[name])) for name in ("events", "evidence", "landings")}
        parts["seals"] = list(map(dict, shape.get("seals", ())))  # a file of an earlier version has none
        text = shape["checkpoint"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as fault:
        raise Misuse(
            f"{file} is no exported history: {in_words(fault)}.", hint="interlock audit --export FILE writes one."
        ) from fault
    odd: list[AuditFinding] = []
    links = [_link(each) for each in _readable("event", parts["events"], odd)]
    rows = [Filed(**each) for each in _readable("evidence", parts["evidence"], odd)]
    landings = [LandingRow(**each) for each in _readable("landing", parts["landings"], odd)]
    seals = [Seal(**each) for each in _readable("seal", parts["seals"], odd)]
    walk, found, notes = look_at_history(signer, links, rows, landings, text, seals=seals, trusted=trusted)
    keys = trusted or tuple(walk.keys.values())
    old = before_signing(walk, rows)
    found += look_at_rows(
        walk, [row for row in rows if row.number not in old], None, lambda envelope: signer.open(envelope, keys)
    )
    notes += unsigned_note(old)
    if not text and not any(each.where == "checkpoint" for each in found):
        found.append(AuditFinding(state="missing", rule="evidence-unsigned", where="checkpoint", what=_NO_CHECKPOINT))
    notes.append("Logs, reports and commits are not in a bundle; interlock audit looks at them where they are.")
    counts = {"events": walk.count, "evidence": len(rows), "landings": len(landings), "files": 0}
    return Audit(
        scope=str(file),
        counts=counts,
        keys=tuple(walk.keys),
        findings=tuple(dict.fromkeys((*odd, *found))),
        notes=tuple(notes),
    )


def _bytes_of(file: Path) -> bytes:
    """A plain file's bytes.  Raises ValueError for what is none, such as a pipe, or is larger than a history."""
    if not file.is_file():
        raise ValueError("it is no plain file" if file.exists() else "it is not there")
    if file.stat().st_size > _MOST:
        raise ValueError(f"it is larger than {_MOST >> 20} MiB")
    return file.read_bytes()


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object in which each key stands once: of two, another reader may take the other."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice in it")
    return found


def _readable(kind: str, shapes: Iterable[dict[str, Any]], odd: list[AuditFinding]) -> Iterator[dict[str, Any]]:
    """Rows that have each of their fields, and of its kind; of each other one a finding."""
    for place, shape in enumerate(shapes, 1):
        wrong = [name for name, fits in _FIELDS[kind].items() if name not in shape or not fits(shape[name])]
        if not wrong:
            yield {name: shape[name] for name in _FIELDS[kind]}
            continue
        what = f"The {kind} in place {place} is not what was exported: {', '.join(wrong)} cannot be read."
        odd.append(AuditFinding(state="wrong", rule="evidence-edited", where=f"{kind} {place}", what=what))


def _link(shape: Mapping[str, Any]) -> Linked:
    return Linked(event=Event(**{name: shape[name] for name in _EVENT}), digest=shape["digest"])
