"""A history as one file, and that file verified without a repository: events, evidence, landings, keys, checkpoint; logs stay behind."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from interlock.app.audit import Audit, look_at_history
from interlock.core.job.audit import look_at_rows
from interlock.core.job.chain import Filed, Linked
from interlock.core.job.events import Event
from interlock.core.problems import Misuse
from interlock.ports import LandingRow, Ports, Signer

FORMAT: Final = "interlock-history/1"
_EVENT: Final = ("seq", "at", "subject", "step", "kind", "attempt", "actor", "data")


def export(ports: Ports, file: Path) -> dict[str, Any]:
    """Write the whole history to a new file; gives its path and what it holds.  Raises Misuse when it is there or cannot be."""
    links = ports.store.chain()
    rows = ports.store.filed()
    keys = [link.event.data["public"] for link in links if link.event.kind == "key.added"]
    shape = {
        "format": FORMAT,
        "events": [asdict(link.event) | {"digest": link.digest} for link in links],
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
        shape = json.loads(file.read_bytes())
        if shape["format"] != FORMAT:
            raise Misuse(f"{file} is of the format {shape['format']!r}.", hint=f"This version reads {FORMAT}.")
        links = [_link(each) for each in shape["events"]]
        rows = [Filed(**each) for each in shape["evidence"]]
        landings = [LandingRow(**each) for each in shape["landings"]]
        text = shape["checkpoint"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as fault:
        raise Misuse(
            f"{file} is no exported history: {fault}.", hint="interlock audit --export FILE writes one."
        ) from fault
    walk, found, notes = look_at_history(signer, links, rows, landings, text, trusted=trusted)
    keys = trusted or tuple(walk.keys.values())
    found += look_at_rows(walk, rows, None, lambda envelope: signer.open(envelope, keys))
    notes.append("Logs, reports and commits are not in a bundle; interlock audit looks at them where they are.")
    counts = {"events": walk.count, "evidence": len(rows), "landings": len(landings), "files": 0}
    return Audit(
        scope=str(file),
        counts=counts,
        keys=tuple(walk.keys),
        findings=tuple(dict.fromkeys(found)),
        notes=tuple(notes),
    )


def _link(shape: Mapping[str, Any]) -> Linked:
    return Linked(event=Event(**{name: shape[name] for name in _EVENT}), digest=shape["digest"])
