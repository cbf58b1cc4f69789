"""Words in code that silence a checker: for a whole file they judge, for a line they are worth a look; which checker runs is judging_commands'."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_WHOLE: Final = (
    (re.compile(rb"^\s*#\s*(?:ruff|flake8):\s*noqa\s*$", re.MULTILINE | re.IGNORECASE), ("ruff", "flake8")),
    (re.compile(rb"^\s*#\s*mypy:\s*(?:ignore-errors|disable-error-code)[^\n]*", re.MULTILINE), ("mypy",)),
    (re.compile(rb"\A(?:\s*#[^\n]*\n|\s*\n)*\s*#\s*type:\s*ignore\b[^\n]*"), ("mypy", "pyright", "basedpyright", "ty")),
    (re.compile(rb"^\s*#\s*pyright:\s*(?:ignore|basic|off)\b[^\n]*", re.MULTILINE), ("pyright", "basedpyright")),
    (re.compile(rb"^\s*#\s*pylint:\s*(?:skip-file|disable=all)\b[^\n]*", re.MULTILINE), ("pylint",)),
    (re.compile(rb"^\s*//\s*@ts-nocheck\b[^\n]*", re.MULTILINE), ("tsc", "vue-tsc", "tsgo", "ts-jest")),
    (re.compile(rb"^\s*/\*\s*eslint-disable\s*(?:--[^\n]*)?\*/", re.MULTILINE), ("eslint",)),
    (
        re.compile(rb"^\s*/[/*]\s*(?:biome-ignore-all|deno-lint-ignore-file|oxlint-disable)\b[^\n]*", re.MULTILINE),
        ("biome", "deno", "oxlint"),
    ),
    (re.compile(rb"^\s*#!\[allow\([^)\n]*(?:warnings|clippy::all)\b[^)\n]*\)\]", re.MULTILINE), ("clippy", "cargo")),
)
_LINE: Final = re.compile(
    rb"#\s*noqa\b|#\s*type:\s*ignore\b|#\s*pyright:\s*ignore\b|#\s*pylint:\s*disable\b|#\s*nosec\b|#\s*pragma:\s*no (?:cover|branch)"
    rb"|//\s*@ts-(?:ignore|expect-error)\b|eslint-disable(?:-next-line|-line)?\b|//\s*nolint\b|(?:istanbul|c8|v8) ignore\b|@SuppressWarnings\b"
    rb"|//\s*biome-ignore\b|#!?\[allow\(|@no_type_check\b|#pragma warning disable|@Suppress\(|//\s*NOSONAR\b|#\s*rubocop:disable\b|\bas any\b|:\s*Any\b|->\s*Any\b|:\s*any\b"
    rb"|#\s*doctest:\s*\+(?:SKIP|ELLIPSIS)\b"
)
_READ: Final = re.compile(r".*\.(?:py|pyi|[cm]?[jt]sx?|vue|svelte|go|java|kt|rs|rb|cs)")


def silenced(path: str, before: bytes | None, after: bytes | None, words: set[str]) -> Iterator[str]:
    """Checkers among the words of the commands that the work silences for a whole file, the base not; in words."""
    if after is None or not _READ.fullmatch(path):
        return
    for pattern, tools in _WHOLE:
        found = pattern.search(after)
        tool = next((each for each in tools if each in words), None)
        if found and tool and not (before and pattern.search(before)):
            yield f"it silences {tool} for the whole file by {found[0].split(b'*/')[0].decode('utf-8', 'replace').strip(' /*')[-60:]}"


def lines_silenced(path: str, before: bytes | None, after: bytes | None) -> int:
    """How many words more silence a checker for a line."""
    if after is None or not _READ.fullmatch(path):
        return 0
    return max(0, len(_LINE.findall(after)) - len(_LINE.findall(before or b"")))
