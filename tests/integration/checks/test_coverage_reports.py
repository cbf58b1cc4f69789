"""Cobertura and LCOV: lines counted one by one, and reports that are cut, hostile or of another tree."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from interlock.adapters.checks import coverage
from interlock.adapters.checks.faults import BadReport

DOCTYPE = "<!DOCTYPE coverage SYSTEM 'http://cobertura.sourceforge.net/xml/coverage-04.dtd'>"
BOMB = '<!DOCTYPE c [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><coverage>&b;</coverage>'


def cobertura(*lines: tuple[int, int], file: str = "a.py", source: str = "", head: str = "") -> bytes:
    inner = "".join(f'<line number="{number}" hits="{hits}"/>' for number, hits in lines)
    sources = f"<sources><source>{source}</source></sources>" if source else ""
    whole = f'<class name="a" filename="{file}"><methods/><lines>{inner}</lines></class>'
    return f'{head}<coverage line-rate="1">{sources}<packages><package><classes>{whole}</classes></package></packages></coverage>'.encode()


@pytest.mark.parametrize(
    ("read", "data", "why"),
    [
        (coverage.cobertura, b"", "empty"),
        (coverage.cobertura, b"<coverage", "not XML"),
        (coverage.cobertura, b"<testsuite/>", "begins with"),
        (coverage.cobertura, BOMB.encode(), "entities"),
        (coverage.cobertura, b"<coverage/>", "not 100 %"),
        (coverage.cobertura, cobertura(), "not 100 %"),
        (coverage.cobertura, cobertura((1, -1)), "no number"),
        (coverage.cobertura, b"<coverage>" + b"<x>" * 200, "nested"),
        (coverage.lcov, b"", "empty"),
        (coverage.lcov, b"TN:\n", "not 100 %"),
        (coverage.lcov, b"SF:a.js\nDA:1,1\n", "does not end"),
        (coverage.lcov, b"SF:a.js\nDA:1,1\nSF:b.js\n", "cut or glued"),
        (coverage.lcov, b"SF:a.js\nDA:x,1\nend_of_record\n", "cannot be read"),
        (coverage.lcov, b"DA:1,1\n", "cannot be read"),
        (coverage.lcov, b"SF:a.js\nDA:1,1\nLF:7\nend_of_record\n", "7 lines"),
        (coverage.lcov, b"SF:a.js\nLF:0\nLH:0\nend_of_record\n", "not 100 %"),
    ],
)
def test_what_cannot_be_counted_is_refused(read: Callable[[bytes], object], data: bytes, why: str) -> None:
    with pytest.raises(BadReport, match=why):
        read(data)


def test_lines_count_once_whatever_the_header_says(tmp_path: Path) -> None:
    data = cobertura((1, 5), (2, 0), (2, 3), (3, 0), source=f"{tmp_path}/src", head=DOCTYPE)
    assert coverage.cobertura(data, tree=tmp_path) == {"src/a.py": (2, 3)}
    text = f"TN:x\nSF:{tmp_path}/src/a.js\nFN:1,f\nDA:1,4,hash\nDA:2,0\nDA:1,0\nLF:2\nLH:2\nend_of_record\n"
    assert coverage.lcov(text.encode(), tree=tmp_path) == {"src/a.js": (1, 2)}


def test_a_report_of_another_tree_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadReport, match="another tree"):
        coverage.cobertura(cobertura((1, 1), source="/elsewhere/src"), tree=tmp_path)
    with pytest.raises(BadReport, match="another tree"):
        coverage.lcov(b"SF:/elsewhere/a.js\nDA:1,1\nend_of_record\n", tree=tmp_path)
    both = f"SF:/usr/include/x.h\nDA:1,1\nend_of_record\nSF:{tmp_path}/a.c\nDA:1,0\nend_of_record\n"
    assert coverage.lcov(both.encode(), tree=tmp_path)["a.c"] == (0, 1)
