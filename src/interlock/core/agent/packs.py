"""Evidence packs: what one phase of a job hands to the next ones, as values: its size, what is cut, a review's verdict; files are app.phases'."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from interlock.core.contract.agents import PHASES

MOST_BYTES: Final = 64 * 1024
"""Bytes of one pack."""

MOST_TOGETHER: Final = 48 * 1024
"""Bytes of all packs in one prompt: every one of them is paid for in every call of the run."""

_NO_VERDICT: Final = "it gave no verdict."


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """What a phase handed on.  ``source`` tells whether the agent handed it in or it is the last text that it wrote."""

    phase: str
    attempt: int
    text: str
    source: Literal["pack", "last-text"] = "pack"

    @property
    def size(self) -> int:
        """Bytes of the text."""
        return len(self.text.encode())

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    def as_json(self) -> dict[str, Any]:
        """The shape on the record; the text is in a file of the attempt."""
        return {
            "phase": self.phase,
            "attempt": self.attempt,
            "bytes": self.size,
            "digest": self.digest,
            "from": self.source,
        }


def pack(phase: str, attempt: int, text: str, source: Literal["pack", "last-text"]) -> Pack | None:
    """A pack of what was said, cut to what one may have; None when nothing was."""
    text = text.strip()
    if not text:
        return None
    size = len(text.encode())
    if size > MOST_BYTES:
        text = f"{_head(text, MOST_BYTES - 100)}\n\n[Cut: {size} bytes were said, and a pack has {MOST_BYTES}.]"
    return Pack(phase=phase, attempt=attempt, text=text, source=source)


def for_phase(phase: str, packs: Iterable[Pack]) -> tuple[Pack, ...]:
    """The packs that a phase is given, in the order of phases.

    The review of a test plan sees the plan and the card alone: who has read the plan of the work would let the same
    misunderstanding of the requirements pass (seed 003).
    """
    ordered = sorted(packs, key=lambda each: (_rank(each.phase), each.attempt))
    if phase == "review-tests":
        return tuple(each for each in ordered if each.phase == "test-plan")
    return tuple(each for each in ordered if _rank(each.phase) < _rank(phase))


def fitted(packs: Sequence[Pack], most: int = MOST_TOGETHER) -> tuple[str, ...]:
    """The texts of packs as a prompt holds them: together ``most`` bytes of theirs at most, and each cut said.

    The largest are cut first, so that a short pack stays whole beside a long one.
    """
    share = _share([each.size for each in packs], most)
    return tuple(_shown(each, share) for each in packs)


def verdict(text: str) -> str:
    """What a review of a test plan objects; empty when it accepts.

    Only a first line ``verdict: accept`` accepts: a review that crashed, said nothing or said it otherwise never
    counts as clean.
    """
    first, _, rest = text.strip().partition("\n")
    found = re.fullmatch(r"verdict: (accept|object)", first.rstrip())
    if found is None:
        return _NO_VERDICT
    if found[1] == "accept":
        return ""
    return rest.strip() or "it gave no reason."


def _rank(phase: str) -> int:
    return PHASES.index(phase) if phase in PHASES else len(PHASES)


def _share(sizes: Sequence[int], most: int) -> int:
    """The size at which the larger ones are cut so that all together have ``most`` bytes."""
    if sum(sizes) <= most:
        return most
    left, share = most, 0
    ordered = sorted(sizes)
    for number, size in enumerate(ordered):
        share = left // (len(ordered) - number)
        if size > share:
            return share
        left -= size
    return share


def _shown(each: Pack, share: int) -> str:
    if each.size <= share:
        return each.text
    kept = _head(each.text, share)
    return f"{kept}\n[Cut here: {each.size - len(kept.encode())} of {each.size} bytes are left out.]"


def _head(text: str, most: int) -> str:
    """The beginning of a text in at most so many bytes, in whole lines where its first one fits."""
    head = text.encode()[: max(0, most)].decode("utf-8", "ignore")
    return head[: head.rfind("\n")] if "\n" in head else head
