"""How else a secret is written by programs that mean no harm: JSON, URLs, XML, shells, Base64, hexadecimal, UTF-16; finding it is redact's."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import quote, quote_plus

ENCODED_LEAST: Final = 8
"""Bytes from which on a secret's encoded forms and single lines are looked for: shorter ones would hit by chance."""

# Characters of Base64 that also hold bits of what stands before, by how many bytes of a group of three those are.
_SHARED: Final = (0, 2, 3)
_FOR_SCRIPTS: Final = ((b"&", b"\\u0026"), (b"<", b"\\u003c"), (b">", b"\\u003e"))


def spellings(secret: bytes) -> Iterator[bytes]:
    """A secret as it may appear in one piece; one of several lines also line by line."""
    if not secret:
        return
    yield secret
    if len(secret) < ENCODED_LEAST:
        return
    yield from _in_json(secret)
    yield from _in_urls(secret)
    yield from _in_markup(secret)
    yield from _in_shells(secret)
    yield from (secret.hex().encode(), secret.hex().upper().encode())
    text = secret.decode("utf-8", "surrogateescape")
    yield from (text.encode(code, "surrogatepass") for code in ("utf-16-le", "utf-16-be"))
    lines = secret.splitlines()
    if len(lines) > 1:
        yield from (line for line in lines if len(line) >= ENCODED_LEAST)


def in_base64(secret: bytes) -> Iterator[bytes]:
    """What Base64 makes of the secret wherever it stands in what was encoded, such as ``user:secret``; it may be broken into lines."""
    if len(secret) < ENCODED_LEAST:
        return
    for before, shared in enumerate(_SHARED):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            whole = encode(bytes(before) + secret)
            yield whole[shared : (before + len(secret)) * 8 // 6]
            if not before:
                yield whole.rstrip(b"=")


def _in_json(secret: bytes) -> Iterator[bytes]:
    """JSON, and JSON as a text within JSON, as a log of events holds what a program printed."""
    for ascii_only in (True, False):
        once = _json(secret, ascii_only)
        scripts = once
        for plain, escaped in _FOR_SCRIPTS:
            scripts = scripts.replace(plain, escaped)
        for form in (once, scripts, once.replace(b"/", b"\\/")):
            yield from (form, _json(form, ascii_only))


def _json(text: bytes, ascii_only: bool) -> bytes:
    said = json.dumps(text.decode("utf-8", "surrogateescape"), ensure_ascii=ascii_only)
    return said[1:-1].encode("utf-8", "surrogateescape")


def _in_urls(secret: bytes) -> Iterator[bytes]:
    for safe in ("", "/"):
        quoted = quote(secret, safe=safe).encode()
        yield from (quoted, re.sub(rb"%..", lambda match: match[0].lower(), quoted))
    yield quote_plus(secret).encode()
    yield quote(quote(secret, safe=""), safe="").encode()


def _in_markup(secret: bytes) -> Iterator[bytes]:
    """XML and HTML, as a report of tests holds what they printed."""
    text = secret.decode("utf-8", "surrogateescape")
    marked = html.escape(text)
    forms = (
        html.escape(text, quote=False),
        marked,
        marked.replace("&#x27;", "&#39;"),
        marked.replace("&#x27;", "&apos;"),
    )
    yield from (form.encode("utf-8", "surrogateescape") for form in forms)
    yield forms[0].replace('"', "&quot;").encode("utf-8", "surrogateescape")


def _in_shells(secret: bytes) -> Iterator[bytes]:
    """Within quotes as a shell's trace and a quoting function write it, and with a backslash before each odd character."""
    yield secret.replace(b"'", b"'\\''")
    yield secret.replace(b"'", b"'\"'\"'")
    yield re.sub(rb'([\\"$`])', rb"\\\1", secret)
    yield re.sub(rb"([^\w@%+=:,./\x80-\xff-])", rb"\\\1", secret)
