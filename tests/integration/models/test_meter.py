"""Usage as the vendors tell it, cut into any pieces, packed, repeated, null or missing."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from interlock.core.agent.dialect import Dialect
from interlock.core.agent.usage import UNKNOWN, Usage
from interlock.host.models import meter
from interlock.host.models.estimate import estimated
from interlock.host.models.meter import Meter


def sse(*events: Any) -> bytes:
    texts = [each if isinstance(each, str) else json.dumps(each) for each in events]
    return b"".join(f"event: x\ndata: {text}\n\n".encode() for text in texts)


def fed(dialect: Dialect, data: bytes, *, size: int = 1 << 20, coding: str = "", end: bool = True) -> Meter:
    found = Meter(dialect, coding=coding)
    for at in range(0, len(data), size):
        found.feed(data[at : at + size])
    if end:
        found.end()
    return found


START = {
    "type": "message_start",
    "message": {"model": "m", "usage": {"input_tokens": 7, "cache_creation_input_tokens": 3}},
}
CHAT = {"prompt_tokens": 1000, "completion_tokens": 50, "prompt_tokens_details": {"cached_tokens": 200}}


@pytest.mark.parametrize(
    ("dialect", "data"),
    [
        (
            "anthropic",
            sse(START, {"type": "content_block_delta", "delta": {"text": '{"usage": {"output_tokens": 9}}'}}),
        ),
        ("anthropic", b'{"type": "error", "error": {"message": "usage"}}'),
        ("anthropic", b"[1, 2]"),
        ("anthropic", b"\xff\xfe"),
        ("anthropic", b""),
        (
            "responses",
            sse({"type": "response.created", "response": {"usage": None}}, {"type": "response.failed", "response": {}}),
        ),
        (
            "responses",
            sse({"type": "response.in_progress", "response": {"usage": {"input_tokens": 1, "output_tokens": 1}}}),
        ),
        ("responses", b'{"usage": 7}'),
        ("chat", sse({"choices": [{}], "usage": None}, "[DONE]")),
        ("chat", b'{"usage": {"prompt_tokens": true, "completion_tokens": -1}}'[:20]),
        ("chat", b'{"usage": {"prompt_tokens": true, "completion_tokens": -1}}'),
        ("anthropic", b'{"type": "message", "model": "m"}'),
        ("responses", b'{"usage": {"total_tokens": 7}}'),
        ("chat", b"{" * 100_000),
    ],
)
def test_what_is_not_said_is_not_known(dialect: Dialect, data: bytes) -> None:
    found = fed(dialect, data)
    assert not found.whole
    assert found.usage.output is None
    assert found.bytes == len(data)


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
@pytest.mark.parametrize("coding", ["", "gzip"])
def test_a_stream_in_pieces_says_the_same(size: int, coding: str) -> None:
    later = {"type": "message_delta", "usage": {"output_tokens": 40}}
    last = {"type": "message_delta", "usage": {"output_tokens": 50, "cache_read_input_tokens": 2}}
    data = sse(START, "[ping]", later, last, {"type": "message_stop"})
    found = fed("anthropic", gzip.compress(data) if coding else data, size=size, coding=coding)
    assert found.whole
    assert found.model == "m"
    assert found.usage == Usage(uncached_input=7, cache_write=3, cache_read=2, output=50)


def test_openai_counts_cached_input_as_input_and_it_is_taken_out() -> None:
    used = {
        "input_tokens": 1000,
        "input_tokens_details": {"cached_tokens": 200, "cache_write_tokens": 100},
        "output_tokens": 50,
        "output_tokens_details": {"reasoning_tokens": 10},
    }
    expected = Usage(uncached_input=700, cache_read=200, cache_write=100, output=50, reasoning=10)
    for kind in ("response.completed", "response.incomplete", "response.failed"):
        found = fed("responses", sse({"type": kind, "response": {"model": "m", "usage": used}}), end=False)
        assert (found.usage, found.whole, found.model) == (expected, True, "m")
    assert fed("responses", json.dumps({"model": "m", "usage": used}).encode()).usage == expected


def test_usage_so_far_is_no_last_word_and_the_last_event_is() -> None:
    """Some servers give the usage so far with each event of a stream."""
    early = sse({"choices": [{}], "usage": {**CHAT, "completion_tokens": 3}})
    assert not fed("chat", early, end=False).whole
    found = fed("chat", early + sse({"choices": [], "usage": CHAT}, "[DONE]"), end=False)
    assert (found.whole, found.usage) == (True, Usage(uncached_input=800, cache_read=200, output=50))
    assert fed("chat", early).whole  # it ended as it should


def test_a_line_without_end_is_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meter, "MOST_HELD", 1000)
    found = fed("anthropic", sse(START) + b"data: " + b"x" * 5000 + b"\n\n", size=100)
    assert len(found._held) <= 1100
    assert found.usage.uncached_input == 7
    plain = fed(
        "anthropic", b'{"type": "message", "text": "' + b"x" * 5000 + b'", "usage": {"output_tokens": 1}}', size=100
    )
    assert (plain.usage, plain.whole) == (UNKNOWN, False)


def test_what_is_not_known_is_told_from_the_size_and_never_less_than_was_said() -> None:
    assert estimated(UNKNOWN, 3000, 301) == Usage(uncached_input=1000, output=101)
    said = Usage(uncached_input=7, cache_read=5, output=900)
    assert estimated(said, 3000, 30) == Usage(uncached_input=7, cache_read=5, output=900)
