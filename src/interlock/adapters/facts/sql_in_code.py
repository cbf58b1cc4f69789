"""Tells what SQL says, in files and in texts of code that plainly are SQL; statements are sql_schema's, words sql_words'."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from interlock.adapters.facts.sql_schema import Schema
from interlock.adapters.facts.sql_words import split, words
from interlock.core.merge.facts import Mark

MOST_CHARS: Final = 50_000
"""Longer texts in code are data."""

_PLAIN = re.compile(
    r"""\s*(?:
      (?P<ddl>CREATE\s+(?:OR\s+REPLACE\s+)?(?:TEMP(?:ORARY)?\s+|UNIQUE\s+|MATERIALIZED\s+)*(?:TABLE|VIEW|INDEX)\s
      |ALTER\s+TABLE\s|DROP\s+(?:TABLE|VIEW)\s)
      |(?P<dml>INSERT\s+(?:OR\s+\w+\s+)?INTO\s+[\w."`\[]+\s*(?:\(|VALUES|SELECT|DEFAULT|$)
      |UPDATE\s+[\w."`\[\]]+\s+(?:(?:AS\s+)?\w+\s+)?SET\s+[\w."`\[]+\s*=
      |DELETE\s+FROM\s+[\w."`\[]+\s*(?:;|WHERE|USING|RETURNING|$))
      |(?P<query>(?:WITH\s+(?:RECURSIVE\s+)?\w+\s*(?:\([^)]*\)\s*)?AS\s*\(|SELECT\s)[\s\S]*?\sFROM\s+[\w."`\[(])
    )""",
    re.VERBOSE | re.IGNORECASE,
)
_SIGNS = re.compile(r"[*,=;()?$%<>]|::|\b(?:WHERE|JOIN|LIMIT|ORDER\s+BY|GROUP\s+BY)\b", re.IGNORECASE)
_FIRST_WORD = re.compile(r"\s*([A-Za-z]+)")


def plainly_sql(text: str) -> bool:
    """Is a text SQL beyond doubt: its verb and clause in one case, and a sign that prose does not have?"""
    if not 10 < len(text) <= MOST_CHARS:
        return False
    found = _PLAIN.match(text)
    if found is None:
        return False
    first = _FIRST_WORD.match(text)
    if first is None or not (first[1].isupper() or first[1].islower()):
        return False
    if found["query"]:
        clause = "FROM" if first[1].isupper() else "from"
        return clause in text and (first[1].isupper() or _SIGNS.search(text) is not None)
    return bool(found["dml"]) or first[1].isupper() or _SIGNS.search(text) is not None


def marks_in_code(text: str, line: int) -> Iterator[Mark]:
    """The tables and columns that a text in code names, if it plainly is SQL; ``line`` is the text's first."""
    if plainly_sql(text):
        yield from marks(text, line)


def marks(text: str, line: int = 1) -> Iterator[Mark]:
    """What all the statements of a text come to, taken in order: a table that is rebuilt is not taken away."""
    schema = Schema(line - 1)
    for statement in split(words(text)):
        schema.take(statement)
    yield from schema.told()
