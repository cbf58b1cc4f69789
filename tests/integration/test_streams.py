"""A log of any size is printed in blocks: whole characters, no sequence cut in two, no more held than a line."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.cli.streams import BLOCK, LINE_MOST, Following, Plain, Raw, Told, end_of
from interlock.core.agent.seen import Said, Seen


def following(path: Path, printer: Plain | Raw | Told, *parts: bytes) -> Following:
    """A log that grows by these parts, followed after each."""
    log = Following(path, printer)
    log.on()
    for part in parts:
        with path.open("ab") as stream:
            stream.write(part)
        log.on()
    return log


def test_a_character_or_sequence_at_the_end_of_a_block_does_no_harm(tmp_path: Path, capfdbinary) -> None:
    fill = b"y" * (BLOCK - 10) + b"\n"
    parts = fill + "€€€".encode() + b"\x1b[3", b"1mred\x1b[0m\xe2\x82", b"\xac\nend"
    following(tmp_path / "a", Plain(), *parts).close()
    assert capfdbinary.readouterr().out == fill + "€€€red€\nend".encode()
    following(tmp_path / "b", Raw(), *parts).close()
    assert capfdbinary.readouterr().out == b"".join(parts)


def test_a_stream_is_told_by_whole_lines_and_never_held_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    handed: list[int] = []

    def decode(lines: bytes) -> list[Seen]:
        handed.append(len(lines))
        return [Said(text=line.decode()[-9:]) for line in lines.split(b"\n") if line]

    long = b"z" * (LINE_MOST + 1)
    lines = [b"%d " % number + b"x" * 700_000 + b" last %d" % number for number in range(20)]
    log = following(
        tmp_path / "a", Told(decode), b"one\ntw", b"o\n", b"\n".join(lines), b"\n" + long, b"z\nafter\nno end"
    )
    log.close()
    told = capsys.readouterr().out.splitlines()
    assert told[:2] == ["said: one", "said: two"]
    assert [line.rpartition(" ")[2] for line in told[2:-1]] == [str(number) for number in range(20)]
    assert told[-1] == "said: after", "Neither the line that is too long nor what has no end is told."
    assert max(handed) < 2 * BLOCK


def test_an_answer_holds_the_end_of_a_log_alone(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert end_of(log) == {"text": "", "left_out": 0}
    log.write_bytes(b"z" * BLOCK + b"end\xff")
    assert (end_of(log)["text"][-4:], end_of(log)["left_out"]) == ("end\ufffd", 4)
