"""Taking secrets out of bytes or a text before it is kept or shown; where secrets come from is adapters.secrets' work.

It finds a secret as it stands, as JSON and as a URL write it, and within Base64.  Who wants to tell a secret in
other words (reversed, in hexadecimal, character by character) still can: redaction is against accidents.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import quote, quote_plus

MARK: Final = b"[redacted]"
ENCODED_LEAST: Final = 8
"""Bytes from which on a secret's encoded forms and single lines are looked for: shorter ones would hit by chance."""

_HEAD: Final = 3
# Characters of Base64 that also hold bits of what stands before, by how many bytes of a group of three those are.
_SHARED: Final = (0, 2, 3)


class Redactor:
    """Replaces each secret by ``[redacted]``, also where it is cut into several pieces; holds back less than one secret."""

    def __init__(self, secrets: Iterable[bytes]) -> None:
        """Take the secrets; empty ones are left out, so that without any the bytes pass as they are."""
        self._forms = sorted(
            {form for secret in secrets for form in _forms(secret)}, key=lambda form: (-len(form), form)
        )
        heads = sorted({form[:_HEAD] for form in self._forms})
        self._any = re.compile(b"|".join(map(re.escape, self._forms))) if self._forms else None
        self._head = re.compile(b"(?=" + b"|".join(map(re.escape, heads)) + b")")
        self._longest = len(self._forms[0]) if self._forms else 0
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
        found = self._search(text, 0) if any(form in text for form in self._forms) else None
        while found is not None and found.start() < open_at:
            parts += (text[at : found.start()], MARK)
            at = found.end()
            found = self._search(text, at)
        parts.append(text[at:open_at])
        return b"".join(parts), max(at, open_at)

    def _search(self, text: bytes, at: int) -> re.Match[bytes] | None:
        return self._any.search(text, at) if self._any is not None else None

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
        return any(len(form) > len(rest) and form.startswith(rest) for form in self._forms)


def redact_text(text: str, secrets: Iterable[str]) -> str:
    """A whole text without the secrets, for what goes on the record: tails, messages, notes.

    What was redacted before stays as it is, also where a secret is a part of the word that stands there.
    """
    known = [secret.encode("utf-8", "surrogatepass") for secret in secrets]
    redactor = Redactor(known)
    data = text.encode("utf-8", "surrogatepass")
    parts = data.split(MARK) if any(secret in MARK for secret in known if secret) else [data]
    return MARK.join(redactor.feed(part) + redactor.end() for part in parts).decode("utf-8", "surrogatepass")


def _forms(secret: bytes) -> Iterator[bytes]:
    """A secret as it may appear, longest spelling or not; a secret of several lines also line by line."""
    if not secret:
        return
    yield secret
    if len(secret) < ENCODED_LEAST:
        return
    yield from _base64(secret)
    for safe in ("", "/"):
        quoted = quote(secret, safe=safe).encode()
        yield from (quoted, re.sub(rb"%..", lambda match: match[0].lower(), quoted))
    yield quote_plus(secret).encode()
    for ascii_only in (True, False):
        yield json.dumps(secret.decode("utf-8", "surrogateescape"), ensure_ascii=ascii_only)[1:-1].encode(
            "utf-8", "surrogateescape"
        )
    lines = secret.splitlines()
    if len(lines) > 1:
        yield from (line for line in lines if len(line) >= ENCODED_LEAST)


def _base64(secret: bytes) -> Iterator[bytes]:
    """What Base64 makes of the secret wherever it stands in what was encoded, such as ``user:secret``."""
    for before, shared in enumerate(_SHARED):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            whole = encode(bytes(before) + secret)
            yield whole[shared : (before + len(secret)) * 8 // 6]
            if not before:
                yield whole.rstrip(b"=")
