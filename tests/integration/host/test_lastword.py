"""The look for a stream's last word: whatever the pieces, whatever else is in it, and without keeping much."""

from __future__ import annotations

import json

import pytest

from interlock.host.last_line import LINE_MOST, LastWord

LAST = b'{"subtype": "success", "type": "result", "result": "done"}\n'


def told(stream: bytes, *, size: int = 1 << 18, ends: tuple[str, ...] = ("result", "turn.completed")) -> LastWord:
    word = LastWord(ends)
    for at in range(0, len(stream), size):
        word.feed(stream[at : at + size])
    return word


@pytest.mark.parametrize("size", [1, 2, 7, 64, 1 << 18])
@pytest.mark.parametrize(
    ("stream", "seen"),
    [
        (LAST, True),
        (b'{"type":"turn.completed","usage":{}}\r\n', True),
        (b"Welcome to the agent, v1.\nno JSON here\n" + LAST, True),
        (b"\xff\xfe\x00 not text\n" + LAST, True),
        (b'{"text": "\xff\xc3", "type": "result"}\n', True),
        (b"\xef\xbb\xbf" + b"\n" + LAST, True),
        (LAST.rstrip(), False),  # a line that is not ended may go on
        (b'{"type": "assistant", "text": "the type is \\"result\\""}\n', False),
        (b'{"type": "user", "content": {"type": "result"}}\n', False),
        (b'{"type": ["result"]}\n["type", "result"]\n"result"\n{"type": "result"\n', False),
        (b'{"type": "results"}\n', False),
        (b"[" * 5_000 + b'"result"\n', False),
        (b"", False),
    ],
)
def test_the_last_word_is_an_object_whose_own_type_says_so(stream: bytes, seen: bool, size: int) -> None:
    assert told(stream, size=size).seen == seen


def test_a_huge_line_is_passed_over_and_the_next_one_is_seen() -> None:
    huge = json.dumps({"type": "result", "text": "x" * (5 << 20)}).encode() + b"\n"
    word = LastWord(("result",))
    kept = 0
    for at in range(0, len(huge), 1 << 16):
        word.feed(huge[at : at + (1 << 16)])
        kept = max(kept, len(word._line))
    assert not word.seen, "what was not kept is not believed"
    assert kept <= LINE_MOST + (1 << 16)
    word.feed(LAST)
    assert word.seen


def test_a_line_of_the_largest_size_is_still_read() -> None:
    line = json.dumps({"text": "x" * (LINE_MOST - 100), "type": "result"}).encode() + b"\n"
    assert told(line, size=4096).seen


def test_without_words_nothing_is_kept() -> None:
    word = told(b"x" * 10_000, ends=())
    assert (word.seen, len(word._line)) == (False, 0)
