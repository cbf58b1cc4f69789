"""Taking secrets out of bytes or a text before it is kept or shown; how else a secret is spelled is in spellings.

Who wants to tell a secret in other words (reversed, compressed, character by character) still can: redaction is against accidents.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate
from typing import Final

from interlock.core.spellings import ENCODED_LEAST, in_base64, spellings

MARK: Final = b"[redacted]"
__all__ = ["ENCODED_LEAST", "MARK", "Redactor", "redact_text"]

_HEAD: Final = 3
_BREAKS: Final = b"\r\n"
_LINE: Final = re.compile(rb"[^\r\n]+")
_SHORTEST: Final = 48
"""No shorter lines are counted on when Base64 is broken into lines."""


class Redactor:
    """Replaces each secret by ``[redacted]``, also where it is cut into several pieces; holds back less than one secret."""

    def __init__(self, secrets: Iterable[bytes]) -> None:
        """Take the secrets; empty ones are left out, so that without any the bytes pass as they are."""
        known = [secret for secret in secrets if secret]
        self._forms = _longest_first(form for secret in known for form in spellings(secret))
        self._broken = _longest_first(form for secret in known for form in in_base64(secret))
        self._pieces = {piece for form in self._broken for piece in _pieces(form)}
        self._any = re.compile(b"|".join(map(re.escape, self._forms))) if self._forms else None
        heads = {form[:_HEAD] for form in (*self._forms, *self._broken)}
        heads |= {form[:at] + end for form in self._broken for at in range(1, _HEAD) for end in (b"\r", b"\n")}
        self._head = re.compile(b"(?=" + b"|".join(map(re.escape, sorted(heads))) + b")")
        wide = len(self._broken[0]) if self._broken else 0
        self._longest = max(
            len(self._forms[0]) if self._forms else 0, wide + 2 * (wide // _SHORTEST + 2) if wide else 0
        )
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """The bytes that are certain now; what may become a secret stays until ``feed`` or ``end`` tells."""
        if self._any is None:
            return data
        text = self._held + data
        clean, at = self._replace(text, whole=False)
        self._held = text[at:]
        return clean

    def end(self) -> bytes:
        """What was still held back; the redactor may be used again afterwards."""
        text, self._held = self._held, b""
        return self._replace(text, whole=True)[0] if text else b""

    def _replace(self, text: bytes, *, whole: bool) -> tuple[bytes, int]:
        """The text with its secrets replaced, up to where it is certain, and that place."""
        parts: list[bytes] = []
        at = 0
        open_at = len(text) if whole else self._open_at(text)
        # Looking for each form alone is many times quicker than the pattern, and most output holds no secret.
        plain = any(form in text for form in self._forms)
        broken = self._in_lines(text) if any(piece in text for piece in self._pieces) else []
        while (found := self._next(text, at, plain, broken)) and found[0] < open_at:
            parts += (text[at : found[0]], MARK)
            at = found[1]
        parts.append(text[at:open_at])
        return b"".join(parts), max(at, open_at)

    def _next(self, text: bytes, at: int, plain: bool, broken: list[tuple[int, int]]) -> tuple[int, int] | None:
        """Where the next secret begins and ends; of two that begin there, the longer one."""
        whole = self._any.search(text, at) if self._any is not None and plain else None
        places = [whole.span()] if whole is not None else []
        places += next(([place] for place in broken if place[0] >= at), [])
        return min(places, key=lambda place: (place[0], -place[1]), default=None)

    def _in_lines(self, text: bytes) -> list[tuple[int, int]]:
        """Where Base64 of a secret stands, also where it is broken into lines, in their order, the longer one first."""
        lines = [match.span() for match in _LINE.finditer(text)]
        starts = list(accumulate((end - start for start, end in lines), initial=0))
        folded = text.translate(None, _BREAKS)

        def place(at: int) -> int:
            line = bisect_right(starts, at) - 1
            return lines[line][0] + at - starts[line]

        found = []
        for form in self._broken:
            at = folded.find(form)
            while at >= 0:
                found.append((place(at), place(at + len(form) - 1) + 1))
                at = folded.find(form, at + 1)
        return sorted(found, key=lambda place: (place[0], -place[1]))

    def _open_at(self, text: bytes) -> int:
        """The first place from which the rest of the text is the beginning of a secret; the text's end when none is."""
        start = max(0, len(text) - self._longest + 1)
        sure = max(start, len(text) - _HEAD + 1)
        for match in self._head.finditer(text, start):
            if match.start() >= sure:
                break
            if self._may_begin(text[match.start() :]):
                return match.start()
        return next((place for place in range(sure, len(text)) if self._may_begin(text[place:])), len(text))

    def _may_begin(self, rest: bytes) -> bool:
        if any(len(form) > len(rest) and form.startswith(rest) for form in self._forms):
            return True
        folded = rest.translate(None, _BREAKS)
        if not folded or rest[:1] in (b"\r", b"\n"):
            return False
        return any(len(form) > len(folded) and form.startswith(folded) for form in self._broken)


def redact_text(text: str, secrets: Iterable[str]) -> str:
    """A whole text without the secrets, for what goes on the record: tails, messages, notes.

    What was redacted before stays as it is, also where a secret is a part of the word that stands there.
    """
    known = [secret.encode("utf-8", "surrogatepass") for secret in secrets]
    redactor = Redactor(known)
    data = text.encode("utf-8", "surrogatepass")
    parts = data.split(MARK) if any(secret in MARK for secret in known if secret) else [data]
    return MARK.join(redactor.feed(part) + redactor.end() for part in parts).decode("utf-8", "surrogatepass")


def _longest_first(forms: Iterable[bytes]) -> list[bytes]:
    return sorted(set(forms), key=lambda form: (-len(form), form))


def _pieces(form: bytes) -> tuple[bytes, bytes]:
    """Two neighbouring pieces of a form, of which one at most has a break inside."""
    half = min(len(form) // 2, _SHORTEST // 3)
    return form[:half], form[half : 2 * half]
