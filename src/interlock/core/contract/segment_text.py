"""From the text of one segment of a pattern to its tokens: wildcards, classes, and brackets that are only a folder's name."""

from __future__ import annotations

import re
from typing import Final

from interlock.core.contract.segment import (
    ANY_NAME,
    NAME_CHARS,
    Segment,
    Spans,
    Token,
    common,
    literal,
    normalised,
    without,
)
from interlock.core.contract.spelling import PatternError

_WILD: Final = frozenset("*?[")
_ESCAPED: Final = frozenset("[]*?{}!~")
_BRACES: Final = re.compile(r"\{[^{}]*(?:,|\.\.)[^{}]*\}")
_POSIX: Final = re.compile(r"\[[:.=]\w*[:.=]\]")


def read_segment(text: str, pattern: str) -> Segment:
    """The segment that the text of it means; ``pattern`` is the whole pattern, for messages.

    Brackets that make up a whole segment, as frameworks name folders (``[id]``, ``[[...slug]]``), are literal.
    Elsewhere ``[`` is literal unless it closes a class with ranges in order.  Raises PatternError.
    """
    if "{" in text:
        _check_braces(text, pattern)
    if not _WILD.intersection(text):
        return literal(text)
    if "**" in text:
        raise _stars(text, pattern)
    if text == "*":
        return ANY_NAME
    if whole_bracket(text):
        return literal(text)
    tokens, classes = _tokens(text, pattern)
    if not all(isinstance(token, str) for token in tokens):
        return Segment(tokens, None, classes)
    name = "".join(token for token in tokens if isinstance(token, str))
    if name in (".", ".."):
        raise PatternError(
            what=f'"{pattern}" holds the part "{text}", which is "{name}" and nothing else.',
            why="No file or folder has that name.",
            fix="Name a path from the root of the repository, such as src/billing/**.",
        )
    return Segment(tokens, name, classes)


def whole_bracket(text: str) -> bool:
    """Whether the segment is one bracket group from its first to its last character."""
    if not (text.startswith("[") and text.endswith("]")):
        return False
    depth = 0
    for at, char in enumerate(text):
        depth += (char == "[") - (char == "]")
        if depth == 0:
            return at == len(text) - 1
    return False


def escaped(text: str) -> str:
    """The segment with every bracket taken literally, as one writes it in a pattern."""
    return text if whole_bracket(text) else text.replace("[", "[[]")


def _tokens(text: str, pattern: str) -> tuple[tuple[Token, ...], bool]:
    tokens: list[Token] = []
    classes = False
    at = 0
    while at < len(text):
        char = text[at]
        if char == "[" and (group := _class_at(text, at, pattern)) is not None:
            token, at = group
            classes = classes or not (isinstance(token, str) and token in _ESCAPED)
            tokens.append(token)
            continue
        tokens.append(None if char == "*" else NAME_CHARS if char == "?" else char)
        at += 1
    return tuple(tokens), classes


def _class_at(text: str, start: int, pattern: str) -> tuple[Token, int] | None:
    """The class that begins at ``start`` and the place after it, or None when the bracket is literal."""
    body_at = start + 1
    negated = text[body_at : body_at + 1] in ("!", "^")
    body_at += negated
    end = text.find("]", body_at + 1)
    if end < 0:
        return None
    if _POSIX.match(text, start + 1):
        raise PatternError(
            what=f'"{pattern}" holds a named class of characters.',
            why="Named classes such as [:digit:] are not known.",
            fix="Write the characters out, such as [0-9].",
        )
    ranges = _ranges(text[body_at:end])
    if ranges is None:
        return None
    chars = without(NAME_CHARS, ranges) if negated else common(NAME_CHARS, ranges)
    if not negated and len(chars) == 1 and chars[0][0] == chars[0][1]:
        return chr(chars[0][0]), end + 1
    return chars, end + 1


def _ranges(body: str) -> Spans | None:
    """The characters of a class's body, or None when a range in it runs backwards."""
    found: list[tuple[int, int]] = []
    at = 0
    while at < len(body):
        low = high = ord(body[at])
        if body[at + 1 : at + 2] == "-" and at + 2 < len(body):
            high = ord(body[at + 2])
            at += 2
        if high < low:
            return None
        found.append((low, high))
        at += 1
    return normalised(found)


def _check_braces(text: str, pattern: str) -> None:
    group = _BRACES.search(text)
    if group is None:
        return
    inner = group.group()[1:-1]
    choices = [pattern.replace(group.group(), choice, 1) for choice in inner.split(",")] if "," in inner else []
    fix = f"Write one pattern for each: {', '.join(choices)}." if choices else "Write one pattern for each."
    raise PatternError(
        what=f'"{pattern}" holds a choice in braces.',
        why="There are no braces in patterns: they would be read as a name that holds them.",
        fix=f"{fix} A name that really holds a brace is written with [{{] in its place.",
    )


def _stars(text: str, pattern: str) -> PatternError:
    if text.startswith("**") and len(text.strip("*")) and "**" not in text.lstrip("*"):
        better_segment = f"**/*{text.lstrip('*')}"
    elif text.endswith("**") and "**" not in text.rstrip("*"):
        better_segment = f"{text.rstrip('*')}*/**" if text.rstrip("*") else "**"
    else:
        better_segment = re.sub(r"\*\*+", "*", text)
    better = "/".join(better_segment if part == text else part for part in pattern.split("/"))
    return PatternError(
        what=f'"{pattern}" holds ** inside the part "{text}".',
        why="** stands for whole folders, so it is a part of its own.",
        fix=f"Write {better}.",
        better=better,
    )
