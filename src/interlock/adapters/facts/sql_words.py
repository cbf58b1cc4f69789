"""Splits SQL of any usual dialect into words and statements; what they mean is sql_in_code's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

_TOKEN = re.compile(
    r"""(?P<space>\s+)
    |(?P<comment>--[^\n]*|\#(?![>\-{])[^\n]*|/\*[\s\S]*?(?:\*/|\Z))
    |(?P<text>'\\'(?=[\s,);]|\Z)|[eEnNbBxX]?'(?:[^'\\]|''|\\[\s\S])*(?:'|\Z))
    |(?P<dollar>\$(?P<tag>[A-Za-z_]\w*)\$[\s\S]*?(?:\$(?P=tag)\$|\Z))
    |(?P<plain>\$\$[\s\S]*?(?:\$\$|\Z))
    |(?P<quoted>"(?:[^"]|"")*"|`[^`]*`|\[[A-Za-z_][^\]\n]*\])
    |(?P<held>\$\{[^}]*\}|\{[^}\n]*\}|[:@$?%][\w(]*\)?[sd]?)
    |(?P<number>\d[\w.]*)
    |(?P<name>[^\W\d][\w$]*)
    |(?P<sign>::|<>|!=|<=|>=|\|\||[\s\S])""",
    re.VERBOSE,
)
_CAST = re.compile(r"::")
_BODY = frozenset({"trigger", "function", "procedure", "package", "event"})
_DEFAULT_SCHEMAS = frozenset({"public", "dbo", "main"})


@dataclass(frozen=True, slots=True)
class Word:
    """A word of SQL: ``low`` is its text in small letters without quotes, ``line`` counts from 1."""

    kind: Literal["name", "quoted", "text", "number", "held", "sign"]
    low: str
    line: int


def words(text: str) -> Iterator[Word]:
    """The words of a text, without space and comments; never fails, whatever the text is."""
    line = 1
    at = 0
    while at < len(text):
        found = _CAST.match(text, at) or _TOKEN.match(text, at)
        if found is None:
            return
        kind = found.lastgroup or "sign"
        whole = found[0]
        match kind:
            case "space" | "comment":
                pass
            case "dollar" | "plain" | "text" | "tag":
                yield Word("text", "''", line)
            case "quoted":
                yield Word("quoted", whole[1:-1].lower(), line)
            case "held":
                yield Word("held", whole, line)
            case "number":
                yield Word("number", whole, line)
            case "name":
                yield Word("name", whole.lower(), line)
            case _:
                yield Word("sign", whole, line)
        line += whole.count("\n")
        at = found.end()


def split(them: Iterator[Word] | list[Word], by: str = ";") -> Iterator[list[Word]]:
    """Pieces between a sign outside of all brackets; bodies of triggers and functions stay in one; none is empty."""
    depth = 0
    inside = 0
    piece: list[Word] = []
    for word in them:
        if word.low == "(":
            depth += 1
        elif word.low == ")":
            depth = max(0, depth - 1)
        elif by == ";" and word.kind == "name":
            inside = _inside(inside, word.low, piece)
        if word.low == by and not inside and (not depth or by == ";"):
            if piece:
                yield piece
            piece, depth = [], 0
        else:
            piece.append(word)
    if piece:
        yield piece


def _inside(inside: int, low: str, piece: list[Word]) -> int:
    """How deep a word is in BEGIN … END of a routine's body."""
    if not piece or piece[0].low != "create" or not any(word.low in _BODY for word in piece[:6]):
        return 0
    if low in {"begin", "case"}:
        return inside + 1
    if low == "end" and piece[-1].low != "end":
        return max(0, inside - 1)
    return inside


def matching(them: list[Word], at: int) -> int:
    """Where the bracket that opens at ``at`` is closed; the end when it is not."""
    depth = 0
    for here in range(at, len(them)):
        if them[here].low == "(":
            depth += 1
        elif them[here].low == ")":
            depth -= 1
            if not depth:
                return here
    return len(them)


def alone(them: list[Word]) -> Iterator[int]:
    """The places of the words outside of all brackets."""
    depth = 0
    for at, word in enumerate(them):
        if word.low == "(":
            depth += 1
        elif word.low == ")":
            depth -= 1
        elif not depth:
            yield at


def name_at(them: list[Word], at: int) -> tuple[str, int]:
    """The table's name that begins at ``at``, in small letters, without a default schema, and where it ends; empty if none."""
    parts: list[str] = []
    while at < len(them) and them[at].kind in {"name", "quoted"}:
        parts.append(them[at].low)
        at += 1
        if at < len(them) and them[at].low == "." and them[at].kind == "sign":
            at += 1
        else:
            break
    if len(parts) > 1 and parts[-2] in _DEFAULT_SCHEMAS:
        parts = parts[-1:]
    return ".".join(parts[-2:]), at
