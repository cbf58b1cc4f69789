"""The spool: numbered files through which an agent tells the harness something; who decides what they mean is the app.

An agent may write anything there, so that reading never follows a link, never waits and never raises.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from interlock.host import files
from interlock.host.text import plain

VERBS: Final = ("stop", "scope-request", "attach", "note", "pack")
MOST_BYTES: Final = 64 * 1024
PACK_MOST: Final = 64 * 1024
"""Bytes of the text of a pack; as JSON it may have up to six times as many."""

MOST_MESSAGES: Final = 1000
CARD: Final = "card.json"
_SURE_NS: Final = 1_000_000_000
_NAME: Final = re.compile(rf"(\d{{6}})-({'|'.join(VERBS)})\.json")


class SpoolFull(Exception):
    """The attempt has said as much as it may."""


class TooLong(Exception):
    """A message is larger than a message may be."""


def folder_of(spool: Path, attempt: int) -> Path:
    """Where the messages of one attempt are."""
    return spool / str(attempt)


def write(spool: Path, attempt: int, verb: str, text: str, data: Mapping[str, Any]) -> Path:
    """Add one message, whole or not at all; gives its file.  Raises TooLong, SpoolFull or OSError."""
    folder = folder_of(spool, attempt)
    folder.mkdir(parents=True, exist_ok=True)
    shape = {"verb": verb, "text": text, "data": dict(data), "at": time.time()}
    body = json.dumps(shape, ensure_ascii=True).encode()
    if len(body) > (most := _most(verb)):
        raise TooLong(f"The message has {len(body)} bytes, and {most} are allowed.")
    temporary = folder / f".{secrets.token_hex(8)}"
    files.write_whole(temporary, body)
    try:
        return _link(temporary, folder, verb)
    finally:
        temporary.unlink(missing_ok=True)


def _most(verb: str) -> int:
    return MOST_BYTES + 6 * PACK_MOST if verb == "pack" else MOST_BYTES


def _link(temporary: Path, folder: Path, verb: str) -> Path:
    """Give the message the next free number; two writers never get the same one."""
    number = max((number for number, _ in _listed(folder)), default=0)
    while number < MOST_MESSAGES:
        number += 1
        place = folder / f"{number:06d}-{verb}.json"
        # The number is free when no verb has it: the claim is a file of the number alone.
        try:
            os.link(temporary, folder / f".{number:06d}")
            temporary.rename(place)
        except FileExistsError:
            continue
        return place
    raise SpoolFull(f"{MOST_MESSAGES} messages are there already.")


def read(spool: Path, attempt: int) -> list[dict[str, Any]]:
    """The messages of an attempt in their order: ``number``, ``verb``, ``text``, ``data``, ``at``.

    What is not a message is left out; never raises.
    """
    folder = folder_of(spool, attempt)
    found = (_message(folder, number, name) for number, name in _listed(folder)[:MOST_MESSAGES])
    return [message for message in found if message is not None]


def has_stop(spool: Path, attempt: int) -> bool:
    """Whether the agent asked to be stopped."""
    folder = folder_of(spool, attempt)
    return any(
        name.endswith("-stop.json") and _message(folder, number, name) is not None for number, name in _listed(folder)
    )


class Stop:
    """Whether an agent asked to be stopped, for who asks all the time: the folder is read only when it changed."""

    def __init__(self, spool: str | None, attempt: int) -> None:
        self._spool = None if spool is None else Path(spool)
        self._attempt = attempt
        self._folder = "" if spool is None else str(folder_of(Path(spool), attempt))
        self._known = -1
        self._there = False

    def is_there(self) -> bool:
        if self._spool is None:
            return False
        try:
            changed = os.stat(self._folder).st_mtime_ns  # noqa: PTH116 - asked all the time
        except OSError:
            return False
        if changed != self._known:
            self._there = has_stop(self._spool, self._attempt)
            # What is written within the same tick of the file system's clock does not show in its time.
            self._known = changed if time.time_ns() - changed > _SURE_NS else -1
        return self._there


def _listed(folder: Path) -> list[tuple[int, str]]:
    try:
        if folder.is_symlink():
            return []
        names = [each.name for each in folder.iterdir()]
    except OSError:
        return []
    return sorted((int(match[1]), name) for name in names if (match := _NAME.fullmatch(name)))


def _message(folder: Path, number: int, name: str) -> dict[str, Any] | None:
    verb = name[7:-5]
    try:
        shape = json.loads(files.read_plain(folder / name, most=_most(verb)), parse_constant=_refuse)
        text, data, at = _clean(shape["text"]), _clean(shape["data"]), shape["at"]
        known = (
            shape["verb"] == verb and isinstance(text, str) and isinstance(data, dict) and isinstance(at, int | float)
        )
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return {"number": number, "verb": verb, "text": text, "data": data, "at": at} if known else None


def _refuse(constant: str) -> Any:
    raise ValueError(constant)


def _clean(value: Any) -> Any:
    """The value with every text in it fit to be shown and stored: what an agent says reaches terminals and databases."""
    if isinstance(value, str):
        return plain(value.encode("utf-8", "replace").decode())
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {_clean(name): _clean(item) for name, item in value.items()}
    return value
