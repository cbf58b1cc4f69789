"""What an unquoted YAML scalar means under YAML 1.2, and whether a YAML 1.1 reader would disagree; positions are the tree's."""

from __future__ import annotations

import re
from typing import Final, Literal

Meaning = Literal["text", "empty", "flag", "whole", "number", "unclear"]
"""``unclear``: readers of YAML 1.1 and 1.2 take it for different things, so it may not stand without quotes."""

_NULL: Final = frozenset({"", "~", "null", "Null", "NULL"})
_FLAG: Final = frozenset({"true", "True", "TRUE", "false", "False", "FALSE"})
_WHOLE: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_NUMBER: Final = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
# Source: the types repository of YAML 1.1 (bool, int, float, timestamp, merge, value) and the core schema of 1.2.
_OLD_WORDS: Final = frozenset(
    word for each in ("y", "n", "yes", "no", "on", "off", "=", "<<") for word in (each, each.capitalize(), each.upper())
)
_OLD_NUMBER: Final = re.compile(
    r"""[-+]?(?:
        0[0-9_]+ | 0b[01_]+ | 0x[0-9a-fA-F_]+ | 0o[0-7]+    # octal, binary, hexadecimal
      | [0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?         # base sixty
      | (?=[^_]*_)(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?
      )
      | [0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt\ ].*)?         # dates
    """,
    re.VERBOSE,
)


def meaning(plain: str) -> Meaning:
    """What an unquoted scalar is, by the core schema of YAML 1.2 where 1.1 agrees, else ``unclear``."""
    if plain in _NULL:
        return "empty"
    if plain in _FLAG:
        return "flag"
    if plain in _OLD_WORDS:
        return "unclear"
    return _number(plain) if plain[0] in "+-.0123456789" else "text"


def _number(plain: str) -> Meaning:
    if _WHOLE.fullmatch(plain):
        return "whole"
    if _OLD_NUMBER.fullmatch(plain):
        return "unclear"
    return "number" if _NUMBER.fullmatch(plain) else "text"


def quoted(text: str) -> str:
    """The text as a quoted scalar on one line."""
    if "\n" in text or not text.isprintable():
        return '"' + text.encode("unicode_escape").decode("ascii").replace('"', '\\"') + '"'
    if '"' in text or "\\" in text:
        return "'" + text.replace("'", "''") + "'"
    return f'"{text}"'
