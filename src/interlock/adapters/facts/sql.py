"""Reads a .sql file: tables, columns, views and indexes that it defines, uses or takes away; the words are sql_words'."""

from __future__ import annotations

import re
from typing import Final

from interlock.adapters.facts.sql_in_code import marks
from interlock.core.merge.facts import FileFacts

SUFFIXES: Final = (".sql", ".ddl")
MOST_BYTES: Final = 2_000_000
"""A larger file is a dump of rows."""

_WAY_BACK = re.compile(
    r"(?:[._-]|^)(?:down|undo|rollback|revert)(?:[._-]|$)|(?:^|/)U\d[\w.]*__|(?:^|/)(?:down|undo|rollback|revert)/",
    re.IGNORECASE,
)
_BACK_SECTION = re.compile(
    r"^[ \t]*--[ \t]*(?:\+goose[ \t]+down|migrate:down|\+migrate[ \t]+down|@?(?:down|undo|rollback|revert)\b).*$",
    re.IGNORECASE | re.MULTILINE,
)
_FORTH_SECTION = re.compile(
    r"^[ \t]*--[ \t]*(?:\+goose[ \t]+up|migrate:up|\+migrate[ \t]+up|@?up\b).*$", re.IGNORECASE | re.MULTILINE
)


def read(path: str, data: bytes) -> FileFacts:
    """The facts of a file of SQL statements; the way back of a migration is left out, as nothing runs it on the way forth."""
    if len(data) > MOST_BYTES:
        return FileFacts(
            language="sql",
            fault=f"The file has {len(data) // 1000} KB, more than the {MOST_BYTES // 1000} KB that are read as SQL.",
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return FileFacts(language="sql", fault="The file is not UTF-8.")
    if "\0" in text:
        return FileFacts(language="sql", fault="The file holds zero bytes and is no text.")
    module = path.rsplit(".", 1)[0]
    if _WAY_BACK.search(path):
        return FileFacts(language="sql", module=module)
    return FileFacts(language="sql", module=module, marks=tuple(marks(_forth(text))))


def _forth(text: str) -> str:
    """A text without its sections of the way back; the lines that are left keep their numbers."""
    found = _BACK_SECTION.search(text)
    if found is None:
        return text
    again = _FORTH_SECTION.search(text, found.end())
    if again is None:
        return text[: found.start()]
    blank = "\n" * text.count("\n", found.start(), again.start())
    return text[: found.start()] + blank + _forth(text[again.start() :])
