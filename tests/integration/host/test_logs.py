"""A capped log that its writer left open: what was written is still there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from interlock.host.logs import Cap, Log, seal


@pytest.mark.parametrize("piece", [1, 7, 64, 1000])
@pytest.mark.parametrize("size", [0, 1, 99, 100, 101, 149, 150, 151, 260, 5000])
def test_head_and_tail_are_exact_however_it_is_written(tmp_path: Path, piece: int, size: int) -> None:
    whole = bytes(number % 251 for number in range(size))
    log = Log(tmp_path / "log", Cap(head=100, tail=50))
    for start in range(0, size, piece):
        log.write(whole[start : start + piece])
    log.close()
    kept = (tmp_path / "log").read_bytes()
    mark = f"\n[interlock: {size - 150} bytes cut here]\n".encode()
    assert kept == (whole if size <= 150 else whole[:100] + mark + whole[-50:])
    assert log.cut == (size > 150)
    assert os.listdir(tmp_path) == ["log"]


def test_after_a_crash_the_tail_is_put_in_place_by_the_next_look(tmp_path: Path) -> None:
    log = Log(tmp_path / "log", Cap(head=10, tail=20))
    log.write(bytes(range(100)))
    assert len(os.listdir(tmp_path)) > 1, "the tail is on disk while it is written"
    seal(tmp_path / "log", Cap(head=10, tail=20))
    kept = (tmp_path / "log").read_bytes()
    assert kept.startswith(bytes(range(10)))
    assert kept.endswith(bytes(range(80, 100)))
    assert b"unknown number of bytes cut here" in kept
    seal(tmp_path / "log", Cap(head=10, tail=20))
    assert (tmp_path / "log").read_bytes() == kept


def test_a_second_run_begins_anew(tmp_path: Path) -> None:
    for text in (b"first", b"second"):
        log = Log(tmp_path / "log", Cap())
        log.write(text)
        log.close()
    assert (tmp_path / "log").read_bytes() == b"second"
