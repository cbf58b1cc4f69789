"""Reads style sheets and pages: the classes that a sheet defines and the ids that a page has; what they look like is not asked."""

from __future__ import annotations

import re
from typing import Final

from interlock.core.merge.facts import FileFacts, Mark

_COMMENT: Final = re.compile(r"/\*.*?\*/", re.DOTALL)
_CLASS: Final = re.compile(r"\.(-?[A-Za-z_][\w-]*)")
_ID: Final = re.compile(r"""<[a-zA-Z][^<>]*?\sid\s*=\s*["']([\w:.-]+)["']""", re.DOTALL)
_MOST_MARKS: Final = 2000


def read(path: str, data: bytes) -> FileFacts:
    """The classes of a sheet, or the ids of a page."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return FileFacts(language="other", fault="The file is not UTF-8.")
    if path.endswith((".html", ".htm")):
        templated = "{{" in text or "{%" in text
        found = {each[1]: text.count("\n", 0, each.start(1)) + 1 for each in _ID.finditer(text)}
        return FileFacts(language="other", marks=_marks(found, "html-id"), open=templated)
    return FileFacts(language="other", marks=_marks(_classes(text), "css"), open="@import" in text or "@use" in text)


def _marks(found: dict[str, int], scope: str) -> tuple[Mark, ...]:
    marks = [Mark(kind="key", name=name, line=at, role="defines", scope=scope) for name, at in found.items()]
    return tuple(marks[:_MOST_MARKS])


def _classes(text: str) -> dict[str, int]:
    """Classes in what stands before a brace; values are left out."""
    plain = _COMMENT.sub(lambda each: "\n" * each[0].count("\n"), text)
    found: dict[str, int] = {}
    start = 0
    for place, sign in enumerate(plain):
        if sign in "{};":
            if sign == "{":
                for each in _CLASS.finditer(plain, start, place):
                    found.setdefault(each[1], plain.count("\n", 0, each.start()) + 1)
            start = place + 1
    return found
