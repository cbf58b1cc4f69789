"""What an agent may say: each becomes one file in the spool, and moves nothing by itself."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

from interlock.host import files, spool
from interlock.task.inside import Inside, Misuse, NotDone

_TEXT_MOST: Final = 8000
_ITEMS_MOST: Final = 50
_FILE_MOST: Final = 32 << 20


def stop(inside: Inside, reason: str, question: str | None, options: Sequence[str]) -> int:
    """End the attempt: the harness does it as soon as it sees the message.  A question alone is the reason as well."""
    reason = _text("reason", reason if reason.strip() else question or "")
    question = _text("question", question) if question else (reason if reason.endswith("?") else "")
    if len(options) > _ITEMS_MOST:
        raise Misuse(f"There are {len(options)} options, and {_ITEMS_MOST} are allowed.")
    data = {"reason": reason, "question": question, "options": [_text("option", option) for option in options]}
    _write(inside, "stop", reason, data)
    print("Recorded. The harness ends this attempt and asks a person.")
    return 0


def scope_request(inside: Inside, paths: Sequence[str], reason: str) -> int:
    """Ask for paths; only a change of the card on the default branch gives them."""
    if len(paths) > _ITEMS_MOST:
        raise Misuse(f"There are {len(paths)} paths, and {_ITEMS_MOST} are allowed.")
    named = [inside.relative(path) for path in paths]
    if None in named:
        raise Misuse(f"{paths[named.index(None)]} lies outside the task's tree.")
    reason = _text("reason", reason)
    _write(inside, "scope-request", reason, {"paths": named, "reason": reason})
    print("Recorded. Until the card on the default branch owns these paths, changes to them are refused.")
    return 0


def note(inside: Inside, text: str) -> int:
    """Put a remark on the record."""
    text = _text("note", text)
    _write(inside, "note", text, {})
    print("Recorded.")
    return 0


def pack(inside: Inside, path: str) -> int:
    """Hand a file on to the next phase, or standard input (-); no link is followed on the way to a file."""
    if path == "-":
        return pack_text(inside, sys.stdin.buffer.read(spool.PACK_MOST + 1))
    named = inside.relative(path)
    if named is None:
        raise Misuse(f"{path} lies outside the task's tree; hand it in with: interlock-task pack - < {path}")
    return pack_text(inside, _read(inside, named))


def pack_text(inside: Inside, data: bytes) -> int:
    """Hand a text on to the next phase."""
    if len(data) > spool.PACK_MOST:
        raise Misuse(f"The pack has more than {spool.PACK_MOST} bytes; say less, or attach what is long.")
    text = data.decode("utf-8", "replace").strip()
    if not text:
        raise Misuse("The pack is empty.")
    _write(inside, "pack", text, {"bytes": len(data)})
    print(f"Recorded: {len(data)} bytes for the next phase. The last pack of this attempt counts.")
    return 0


def attach(inside: Inside, path: str, kind: str) -> int:
    """Copy a file of the task to the record; no link is followed on the way to it."""
    named = inside.relative(path)
    if named is None:
        raise Misuse(f"{path} lies outside the task's tree.")
    data = _read(inside, named)
    digest = hashlib.sha256(data).hexdigest()
    folder = spool.folder_of(inside.spool, inside.attempt) / "files"
    folder.mkdir(parents=True, exist_ok=True)
    files.write_whole(folder / digest, data)
    facts = {"path": named, "file": f"files/{digest}", "kind": _text("kind", kind), "size": len(data), "sha256": digest}
    _write(inside, "attach", named, facts)
    print(f"Recorded: {named}, {len(data)} bytes.")
    return 0


def _read(inside: Inside, path: str) -> bytes:
    try:
        with files.open_beneath(inside.tree, path) as descriptor:
            size = os.fstat(descriptor).st_size
            if size > _FILE_MOST:
                raise NotDone(f"{path} has {size} bytes, and {_FILE_MOST} are allowed.")
            return files.read_open(descriptor, _FILE_MOST)
    except OSError as fault:
        raise NotDone(f"{path} cannot be attached: {_why(fault)}.") from fault


def _why(fault: Exception) -> str:
    """What the system said, without the number and the path that Python puts around it, and without a full stop."""
    return str(getattr(fault, "strerror", None) or fault).removesuffix(".")


def _text(what: str, text: str) -> str:
    text = text.strip()
    if not text:
        raise Misuse(f"The {what} is empty.")
    if len(text) > _TEXT_MOST:
        raise Misuse(f"The {what} has {len(text)} characters, and {_TEXT_MOST} are allowed.")
    return text


def _write(inside: Inside, verb: str, text: str, data: Mapping[str, Any]) -> None:
    try:
        spool.write(inside.spool, inside.attempt, verb, text, data)
    except spool.TooLong as fault:
        raise Misuse(str(fault)) from fault
    except (OSError, spool.SpoolFull) as fault:
        raise NotDone(f"Nothing was recorded: {_why(fault)}.") from fault
