"""Secrets are taken out of what is kept, however the bytes arrive; nothing else is."""

from __future__ import annotations

import base64
import html
import json
import shlex
import tracemalloc
from urllib.parse import quote, quote_plus
from xml.sax.saxutils import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.host.redact import MARK, Redactor, redact_text

TOKEN = b"tok/en+42 \xc3\xa4=Z!"
OTHER = b"hunter2"


def redact(data: bytes, *secrets: bytes, step: int = 1 << 20) -> bytes:
    redactor = Redactor(secrets)
    parts = [redactor.feed(data[at : at + step]) for at in range(0, len(data), step)]
    return b"".join((*parts, redactor.end()))


@pytest.mark.parametrize("step", [1, 2, 3, 5, 7, 1000])
def test_a_secret_is_taken_out_wherever_the_chunks_are_cut(step: int) -> None:
    data = b"before " + TOKEN + b" between " + OTHER + TOKEN + b"\n"
    assert redact(data, TOKEN, OTHER, step=step) == b"before [redacted] between [redacted][redacted]\n"


@pytest.mark.parametrize(
    "form",
    [
        base64.b64encode(TOKEN),
        base64.b64encode(TOKEN).rstrip(b"="),
        base64.urlsafe_b64encode(b"\xff\xfe\xfd" + TOKEN),
        base64.b64encode(b"u:" + TOKEN),
        base64.b64encode(b"me:" + TOKEN),
        base64.b64encode(b"you:" + TOKEN + b":tail"),
        base64.urlsafe_b64encode(b"user:" + TOKEN),
        quote(TOKEN, safe="").encode(),
        quote(TOKEN).encode(),
        quote(TOKEN, safe="").lower().encode().replace(b"z", b"Z"),
        quote_plus(TOKEN).encode(),
        json.dumps(TOKEN.decode()).encode(),
        json.dumps('quoted"secret').encode(),
    ],
)
@pytest.mark.parametrize("step", [1, 4, 1000])
def test_an_encoded_secret_is_taken_out(form: bytes, step: int) -> None:
    kept = redact(b"x " + form + b" y", TOKEN, b'quoted"secret', step=step)
    assert MARK in kept
    assert kept.startswith(b"x ")
    assert kept.endswith(b" y")
    # What is left of Base64 beside the mark holds no whole byte of the secret.
    assert len(kept) <= len(b"x  y") + len(MARK) + 14


def test_basic_authentication_leaks_no_byte_of_the_password() -> None:
    line = b"Authorization: Basic " + base64.b64encode(b"admin:" + TOKEN)
    left = redact(line, TOKEN).removeprefix(b"Authorization: Basic ")
    before, _, after = left.partition(MARK)
    assert base64.b64decode(before + b"=" * (-len(before) % 4)) in (b"admin:", b"admin")
    assert len(after.rstrip(b"=")) <= 1


def test_a_key_of_several_lines_is_taken_out_line_by_line_too() -> None:
    key = b"-----BEGIN KEY-----\nAAAABBBBCCCC\nDDDDEEEEFFFF\n-----END KEY-----"
    assert redact(b"log| DDDDEEEEFFFF\n", key) == b"log| [redacted]\n"
    assert redact(b"<" + key + b">", key, step=5) == b"<[redacted]>"


def test_a_short_secret_is_found_as_it_stands_and_not_by_chance_in_base64() -> None:
    assert redact(b"pin=1234;", b"1234") == b"pin=[redacted];"
    assert redact(base64.b64encode(b"1234"), b"1234") == base64.b64encode(b"1234")


@pytest.mark.parametrize("step", [1, 2, 100])
def test_of_two_secrets_that_begin_alike_the_longer_one_is_taken(step: int) -> None:
    assert redact(b"abcdef abcdx abc", b"abc", b"abcdef", step=step) == b"[redacted] [redacted]dx [redacted]"


@pytest.mark.parametrize("step", [1, 2, 100])
def test_a_secret_that_begins_inside_another_is_not_lost_behind_it(step: int) -> None:
    assert redact(b"xabcd bcd", b"xab", b"bcd", step=step) == b"[redacted]cd [redacted]"
    assert redact(b"aaab", b"aab", step=step) == b"a[redacted]"


@pytest.mark.parametrize("secrets", [(), (b"",), (b"", b"")])
def test_without_a_secret_every_byte_passes_at_once(secrets: tuple[bytes, ...]) -> None:
    redactor = Redactor(secrets)
    assert redactor.feed(b"\x00\xff[redacted]") == b"\x00\xff[redacted]"
    assert redactor.end() == b""


def test_only_what_may_become_a_secret_is_held_back() -> None:
    redactor = Redactor([b"swordfish"])
    assert redactor.feed(b"a prompt> ") == b"a prompt> "
    assert redactor.feed(b"my sword") == b"my "
    assert redactor.feed(b" is sharp") == b"sword is sharp"
    assert redactor.feed(b" a swordfish") == b" a [redacted]"
    assert redactor.feed(b"swordfis") == b""
    assert redactor.end() == b"swordfis"


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.text("ab", max_size=4).map(str.encode), max_size=4),
    st.text("abc", max_size=40).map(str.encode),
    st.integers(1, 7),
)
def test_chunks_never_change_what_comes_out(secrets: list[bytes], data: bytes, step: int) -> None:
    assert redact(data, *secrets, step=step) == redact(data, *secrets)


def test_memory_does_not_grow_with_the_stream() -> None:
    redactor = Redactor([TOKEN])
    chunk = TOKEN[:-1] * 4000
    redactor.feed(chunk)
    tracemalloc.start()
    try:
        out = sum(len(redactor.feed(chunk)) for _ in range(100))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert out > 100 * len(chunk) - len(TOKEN)
    assert peak < 6 * len(chunk)


def test_a_text_for_the_record_loses_its_secrets_and_keeps_the_rest() -> None:
    assert redact_text("ä \udcff key=s3cr3t-value ü", ["s3cr3t-value", ""]) == "ä \udcff key=[redacted] ü"
    assert redact_text("nothing here", []) == "nothing here"


# ---------------------------------------------------------------- how programs that mean no harm spell a secret
ODD = """p@ss'w/rd&<"5>\\$x`y äé"""
LONG = "k3y/" + "0123456789abcdefABCDEF+-" * 9
KEY = "-----BEGIN KEY-----\n" + "\n".join(chr(65 + at) * 64 for at in range(6)) + "\n-----END KEY-----"


def in_lines(data: bytes, width: int, end: bytes = b"\n") -> bytes:
    text = base64.b64encode(data)
    return end.join(text[at : at + width] for at in range(0, len(text), width))


def go_json(text: str) -> str:
    said = json.dumps(text, ensure_ascii=False)[1:-1]
    return said.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


SPELLED = {
    "as it stands": lambda s: s.encode(),
    "hexadecimal": lambda s: s.encode().hex().encode(),
    "hexadecimal, capitals": lambda s: s.encode().hex().upper().encode(),
    "Base64": lambda s: base64.b64encode(s.encode()),
    "Base64 in lines of 76": lambda s: in_lines(b"user:" + s.encode(), 76),
    "Base64 in lines of 64": lambda s: in_lines(s.encode(), 64),
    "Base64 in lines of a mail": lambda s: in_lines(b"xy" + s.encode(), 76, b"\r\n"),
    "Base64 that begins in the line before": lambda s: in_lines(b"x" * 55 + s.encode(), 76),
    "a URL": lambda s: quote(s, safe="").encode(),
    "a URL within a URL": lambda s: quote(quote(s, safe=""), safe="").encode(),
    "JSON": lambda s: json.dumps(s).encode(),
    "JSON within JSON": lambda s: json.dumps(json.dumps(s)).encode(),
    "JSON of Go": lambda s: go_json(s).encode(),
    "JSON of PHP": lambda s: json.dumps(s)[1:-1].replace("/", "\\/").encode(),
    "XML text": lambda s: escape(s).encode(),
    "an XML attribute": lambda s: escape(s, {'"': "&quot;"}).encode(),
    "HTML": lambda s: html.escape(s).encode(),
    "shell quotes": lambda s: shlex.quote(s).encode(),
    "a shell's trace": lambda s: s.replace("'", "'\\''").encode(),
    "UTF-16": lambda s: s.encode("utf-16-le"),
    "UTF-16, the other way round": lambda s: s.encode("utf-16-be"),
}


@pytest.mark.parametrize("step", [1, 7, 64, 1 << 20])
@pytest.mark.parametrize("secret", [ODD, LONG, KEY], ids=["odd", "long", "key"])
@pytest.mark.parametrize("how", SPELLED)
def test_a_secret_is_taken_out_however_a_program_spells_it(how: str, secret: str, step: int) -> None:
    data = SPELLED[how](secret)
    kept = redact(b"before\n" + data + b"\nafter", secret.encode(), step=step)
    assert MARK in kept
    assert kept.startswith(b"before\n")
    assert kept.endswith(b"\nafter")
    # Beside the mark stand what was around the secret, and at most a character of Base64 at each end of it.
    around = {"Base64 that begins in the line before": 76, "Base64 in lines of 76": 8, "Base64 in lines of a mail": 4}
    assert len(kept) <= len(b"before\n\nafter") + len(MARK) + 6 + around.get(how, 0)


@pytest.mark.parametrize("how", ["backwards", "letter by letter"])
def test_who_wants_to_tell_a_secret_still_can(how: str) -> None:
    """What redaction is not: docs/howto/guards-and-secrets.md says so."""
    data = LONG[::-1] if how == "backwards" else " ".join(LONG)
    assert redact(data.encode(), LONG.encode()) == data.encode()
