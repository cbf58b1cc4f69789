"""Cases SP: processes that hold on, output without end, and bytes that command a terminal."""

from __future__ import annotations

import os
import re
import resource
import secrets
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.integration.watching import seen
from tests.needs import FULL

from interlock.adapters.checks.runner import CheckRunner
from interlock.core.contract.card import Check
from interlock.core.gate.judge import judge_check
from interlock.core.job.evidence import CheckRun
from interlock.host import namespace
from interlock.host.text import Stream, last_lines, plain
from interlock.ports.isolation import Room

ENV = {"PATH": os.environ["PATH"]}


@pytest.fixture(params=["namespace", "subreaper"])
def contain(request: pytest.FixtureRequest) -> bool:
    if request.param == "namespace" and namespace.prefix() is None:
        pytest.skip("no pid namespace can be had here")
    return bool(request.param == "namespace")


def check(tmp_path: Path, run: str, *, contain: bool = True, timeout: float = 60.0) -> CheckRun:
    return CheckRunner(contain=contain).run(
        Check(run=run, timeout=timeout), Room(path=tmp_path, written=tmp_path), ENV, tmp_path / "log" / "one.log"
    )


# ---------------------------------------------------------------- SP-01
@pytest.mark.parametrize(
    "script",
    [
        "bash -c 'exec -a TOKEN sleep 600' & echo hi; wait",
        "setsid bash -c 'exec -a TOKEN sleep 600' & echo hi; exec -a TOKEN sleep 600",
        "(setsid bash -c 'trap \"\" TERM INT HUP; exec -a TOKEN sleep 600' &) ; echo hi; wait; exec -a TOKEN sleep 600",
    ],
)
def test_sp_01_a_limit_bounds_the_whole_tree(tmp_path: Path, contain: bool, script: str) -> None:
    token = f"interlock-test-{secrets.token_hex(6)}"
    began = time.monotonic()
    run = check(tmp_path, script.replace("TOKEN", token), contain=contain, timeout=1.5)
    assert run.timed_out
    assert time.monotonic() - began < 60, "not the 600 s of what it started"
    assert seen(token) == []
    assert run.tail.startswith("hi\n")


def test_sp_01_a_background_server_does_not_hold_the_check_and_is_reported(tmp_path: Path, contain: bool) -> None:
    token = f"interlock-test-{secrets.token_hex(6)}"
    began = time.monotonic()
    run = check(tmp_path, f"bash -c 'exec -a {token} sleep 600' & echo started; exit 0", contain=contain)
    assert time.monotonic() - began < 60, "not the 600 s of what it left"
    assert (run.exit_code, run.tail) == (0, "started")
    assert len(run.leftovers) == 1
    assert re.fullmatch(r"\d+ sleep", run.leftovers[0])
    assert seen(token) == []


# ---------------------------------------------------------------- SP-03
FLOOD = """
import resource, sys
from pathlib import Path
from interlock.adapters.checks.runner import CheckRunner
from interlock.core.contract.card import Check
from interlock.ports.isolation import Room
folder, size = Path(sys.argv[1]), int(sys.argv[2])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
run = CheckRunner().run(
    Check(run=f"head -c {size} /dev/zero | tr '\\\\0' x; head -c 200000 /dev/zero | tr '\\\\0' y >&2; echo; echo last; exit 1"),
    Room(path=folder, written=folder), {"PATH": sys.argv[3]}, folder / "log" / "one.log")
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(run.exit_code, grown, run.tail[-30:].encode())
"""


def flood(tmp_path: Path, size: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FLOOD, str(tmp_path), str(size), os.environ["PATH"]], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    code, grown, tail = done.stdout.split(maxsplit=2)
    assert code == "1"
    assert int(grown) * 1024 < 100_000_000, "memory stays flat"
    assert tail.strip() == repr(b"y" * 25 + b"\nlast")
    log = tmp_path / "log" / "one.log"
    kept = log.read_bytes()
    assert len(kept) < 11 << 20, "the log is capped"
    assert kept.startswith(b"x" * 1000)
    assert kept.endswith(b"y" * 1000 + b"\nlast\n")
    assert re.search(rb"\n\[interlock: \d+ bytes cut here\]\n", kept)
    assert [path.name for path in log.parent.iterdir()] == ["one.log"]


def test_sp_03_a_flood_of_output_is_capped_in_flat_memory(tmp_path: Path) -> None:
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 0
    flood(tmp_path, 200_000_000)


@pytest.mark.long
@pytest.mark.skipif(not FULL, reason="the flood of a tenth of it shows the same; INTERLOCK_TESTS=full")
def test_sp_03_two_gigabytes_of_output_are_capped_in_flat_memory(tmp_path: Path) -> None:
    flood(tmp_path, 2_000_000_000)


# ---------------------------------------------------------------- SP-04
@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"10%\r50%\r100%\n", "100%\n"),
        (b"10%\r100%\r\n", "100%\n"),
        (b"one\r\ntwo\r\n", "one\ntwo\n"),
        (b"\x1b[1;31mred\x1b[0m and \x1b[38;5;12mblue\x1b[m", "red and blue"),
        (b"\x1b]0;title\x07after", "after"),
        (b"\x1b]0;title\x1b\\after", "after"),
        (b"\x1b]8;;http://x.example/\x1b\\link\x1b]8;;\x1b\\ end", "link end"),
        (b"\x1b]52;c;cm0gLXJm\x07", ""),
        (b"\x1b]0;never ended\nnext", "\nnext"),
        (b"\x1b[2J\x1b[H\x1b[10;20Hmoved\x1b[K", "moved"),
        (b"old\x1b[1Gnew", "new"),
        (b"\x1bPq#0\x1b\\sixel \x1b_apc\x1b\\\x1b^pm\x1b\\\x1bXsos\x1b\\end", "sixel end"),
        (b"\x1b(B\x1b=\x1b>\x1b7\x1b8\x1bcplain", "plain"),
        (b"ends in \x1b", "ends in "),
        (b"ends in \x1b[3", "ends in "),
        ("\x9b31mred\x9d0;t\x9c \x85\x90q\x9cx".encode(), "red x"),
        (b"\x9b31m raw", "\ufffd31m raw"),
        ("a\u202eb\u2066c\u2069\u200fd\u061ce\ufefff".encode(), "abcdef"),
        (b"a\x00b\x07c\x0bd\x7fe\x0cf", "abcdef"),
        (b"spin|\x08/\x08-\x08ok", "spinok"),
        (b"tab\tstays\n", "tab\tstays\n"),
        ("größe 漢字 👍🏽".encode(), "größe 漢字 👍🏽"),
    ],
)
def test_sp_04_what_is_shown_commands_nothing(raw: bytes, shown: str) -> None:
    assert plain(raw) == shown


NASTY = b"10%\r\x1b[31m100%\x1b[0m\r\n\x1b]0;evil\x07\x1b]8;;http://x\x1b\\go\x1b]8;;\x1b\\ \xe2\x80\xaex gr\xc3\xb6\xc3\x9fe\nlast\x1b[1m"


@pytest.mark.parametrize("size", range(1, 20))
def test_sp_04_pieces_of_any_size_show_the_same(size: int) -> None:
    stream = Stream()
    pieces = [stream.feed(NASTY[at : at + size]) for at in range(0, len(NASTY), size)]
    assert "".join(pieces) + stream.close() == plain(NASTY) == "100%\ngo x größe\nlast"


def test_sp_04_a_line_without_end_is_given_out_and_not_kept(tmp_path: Path) -> None:
    stream = Stream()
    given = 0
    for _ in range(400):
        given += len(stream.feed(b"x\x1b[0m" * 1000))
    assert given > 200_000
    assert given + len(stream.close()) == 400_000


def test_sp_04_backspaces_and_escapes_take_linear_time() -> None:
    began = time.process_time()
    for piece in (b"a" * 100_000 + b"\x08" * 100_000, b"\x1b]" * 100_000, b"\x1b[" * 100_000, b"\r" * 200_000):
        plain(piece)
    assert time.process_time() - began < 20.0, "quadratic time would be minutes"


def test_sp_04_the_raw_log_is_kept_and_the_tail_is_clean(tmp_path: Path) -> None:
    script = r"""printf 'a 1%%\ra 2%%\n\033]0;pwned\007\033[31mb\033[0m\n'; exit 1"""
    run = check(tmp_path, script)
    assert (tmp_path / "log" / "one.log").read_bytes() == b"a 1%\ra 2%\n\x1b]0;pwned\x07\x1b[31mb\x1b[0m\n"
    assert run.tail == "a 2%\nb"
    verdict = judge_check(Check(run=script), run, None)
    assert "\x1b" not in str(verdict.as_json()["tail"])


def test_sp_04_long_lines_and_many_lines_are_bounded(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"".join(b"%d\n" % number for number in range(1000)) + b"x" * 50_000 + b"\n\n\n")
    lines = last_lines(tmp_path / "log", 5).split("\n")
    assert lines[:4] == ["996", "997", "998", "999"]
    assert len(lines[4]) == 2001
    assert last_lines(tmp_path / "gone") == ""
