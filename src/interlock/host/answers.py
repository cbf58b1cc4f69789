"""A person's answer to a permission that an agent waits for: one file, whole, once; who may answer is the caller's question.

The agent's own stream says what it waits for (interlock.bridge); its folder of answers is read-only where a sandbox
stands around it, and of the same user where there is none.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import time
from pathlib import Path
from typing import Any, Final

from interlock.core.problems import Misuse
from interlock.host import files

DENY: Final = "deny"
"""The choice that always says no, also where the agent offers none that does."""

FOLDER: Final = "answers"
"""The folder of answers in an attempt's."""

_OUTPUT: Final = "output.log"
_ID: Final = re.compile(r"p[0-9]{1,6}")
_ASKED: Final = b'"interlock.asked"'
_LINE_MOST: Final = 8 << 20


def answer(folder: Path, asked: str, choice: str, by: str) -> None:
    """Write an answer into an attempt's ``folder`` of answers, for the bridge that waits for it.

    Raises Misuse for what the agent does not wait for, what was answered already, and a choice that is not offered.
    """
    waiting = _waiting(folder)
    shape = waiting.get(asked)
    place = folder / f"{asked}.json"
    if was_given(folder, asked):
        raise _twice(asked)
    if shape is None:
        open_ones = "; ".join(f"{number} ({each.get('what')})" for number, each in waiting.items()) or "nothing"
        raise Misuse(f"The agent does not wait for {asked}.", hint=f"It waits for {open_ones}.")
    offered = {str(each.get("id")): str(each.get("label")) for each in shape.get("choices") or () if each}
    if choice != DENY and choice not in offered:
        names = ", ".join(f"{name} ({label})" for name, label in offered.items())
        raise Misuse(f"{choice} is no answer to {asked}.", hint=f"Choose one of {names}, or {DENY}.")
    folder.mkdir(exist_ok=True, mode=0o755)
    temporary = folder / f".{secrets.token_hex(8)}"
    body = {"choice": choice, "by": by, "at": time.time()}
    files.write_whole(temporary, json.dumps(body).encode(), mode=0o644)
    try:
        os.link(temporary, place)
    except FileExistsError as fault:
        raise _twice(asked) from fault
    finally:
        temporary.unlink(missing_ok=True)
    files.sync_folder(folder)


def _twice(asked: str) -> Misuse:
    return Misuse(f"{asked} was answered already.", hint="An answer is given once.")


def was_given(folder: Path, asked: str) -> bool:
    """Whether there is an answer in an attempt's ``folder`` of answers, whatever its stream says."""
    return _ID.fullmatch(asked) is not None and (folder / f"{asked}.json").is_file()


def _waiting(folder: Path) -> dict[str, dict[str, Any]]:
    """The permissions that a stream asks for and that were not answered, by their ids; of one id the first."""
    found: dict[str, dict[str, Any]] = {}
    try:
        stream = (folder.parent / _OUTPUT).open("rb")
    except OSError:
        return found
    with stream:
        torn = False
        while line := stream.readline(_LINE_MOST):
            begun, torn = not torn, not line.endswith(b"\n")
            shape = _shape(line) if begun and _ASKED in line else {}
            number = str(shape.get("id"))
            if shape.get("type") == "interlock.asked" and _ID.fullmatch(number):
                found.setdefault(number, shape)
    return {number: shape for number, shape in found.items() if not was_given(folder, number)}


def _shape(line: bytes) -> dict[str, Any]:
    try:
        shape = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return shape if isinstance(shape, dict) else {}
