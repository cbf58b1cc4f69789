"""The one dialect of path patterns: reading one, matching, and exact answers about two; spelling rules are in spelling."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from interlock.core.contract import path_search, segment
from interlock.core.contract.path_search import Items
from interlock.core.contract.segment import ANY_NAME, TooComplex
from interlock.core.contract.segment_text import escaped, read_segment
from interlock.core.contract.spelling import PatternError, check_spelling

__all__ = ["Explained", "Pattern", "PatternError", "decider", "explain", "inside", "intersect", "literal", "parse"]

_BELOW: Items = (ANY_NAME, None)


@dataclass(frozen=True)
class Pattern:
    """A pattern of the contract, as written and as its segments (None: any number of folders).

    ``head`` is the literal beginning of every path that matches, in whole segments; ``rest`` what follows it;
    ``whole_tree`` tells that anything may follow.
    """

    text: str
    items: Items = field(compare=False)
    head: str = field(compare=False)
    rest: Items = field(compare=False)
    whole_tree: bool = field(compare=False)

    def matches(self, path: str) -> bool:
        """Whether a path of the repository (relative, ``/``-separated, no trailing ``/``) matches."""
        names = path
        if self.head:
            if not path.startswith(self.head):
                return False
            names = path[len(self.head) :]
            if not names:
                return all(item is None for item in self.rest)
            if names[0] != "/":
                return False
            names = names[1:]
        if self.whole_tree:
            return bool(names)
        return self.needle in path and _walk(self.rest, names.split("/"))

    def covers(self, folder: str) -> bool:
        """Whether everything below the folder matches; conservative where that is too costly to tell."""
        items = (*literal(folder).items, *_BELOW)
        return _inside(items, self.items)

    def select(self, paths: Iterable[str]) -> list[str]:
        """Those of the paths that match, in their order."""
        needle = self.head or self.needle
        return [path for path in paths if needle in path and self.matches(path)]

    @cached_property
    def needle(self) -> str:
        """A text that every matching path holds: the longest run of literal characters."""
        runs = [run for item in self.items if item is not None for run in _literal_runs(item)]
        return max(runs, key=len, default="")

    @property
    def plain(self) -> bool:
        """Whether the pattern names exactly one path (and what is below it), without any wildcard."""
        return bool(self.head) and self.rest == (None,)

    @cached_property
    def twin(self) -> Pattern | None:
        """The same pattern with every class of characters taken as a name that holds brackets, if there is one."""
        if not any(item is not None and item.classes for item in self.items):
            return None
        return parse("/".join(escaped(part) for part in self.text.split("/")))

    @property
    def meaning(self) -> str:
        """What the pattern names, in words."""
        text = self.text
        if text in ("**", "**/"):
            return "every file"
        if text.endswith("/"):
            return f"everything below {text[:-1]}"
        if text.endswith("/**"):
            return f"everything below {text[:-3]}"
        if self.items[-1] is None:
            return f"{text}, and everything below it where it is a folder"
        return f"files that fit {text}, where * and ? do not cross /"


@lru_cache(maxsize=1 << 14)
def parse(text: str) -> Pattern:
    """The pattern that a text of a card, a class or a policy means.  Raises PatternError with the exact correction."""
    check_spelling(text)
    below = text.endswith("/")
    items: list[segment.Segment | None] = []
    for part in text.removesuffix("/").split("/"):
        if part != "**":
            items.append(read_segment(part, text))
        elif not items or items[-1] is not None:
            items.append(None)
    if items[-1] is None:
        items[-1:] = _BELOW
    elif below:
        items.extend(_BELOW)
    elif items[-1].literal is not None:
        items.append(None)
    return _pattern(text, tuple(items))


def literal(path: str) -> Pattern:
    """The pattern that names this path, and what is below it, whatever characters it holds."""
    return _pattern(path, (*(segment.literal(name) for name in path.split("/")), None))


def _pattern(text: str, items: Items) -> Pattern:
    names: list[str] = []
    for item in items:
        if item is None or item.literal is None:
            break
        names.append(item.literal)
    rest = items[len(names) :]
    return Pattern(text=text, items=items, head="/".join(names), rest=rest, whole_tree=rest in (_BELOW, (None,)))


def _walk(items: Items, names: Sequence[str]) -> bool:
    """Whether the names fit the items; only the last None needs to be tried again, as with ``*`` in a segment."""
    item_at = name_at = 0
    folders = retry = -1
    while name_at < len(names):
        item = items[item_at] if item_at < len(items) else None
        if item_at < len(items) and item is None:
            folders, retry, item_at = item_at, name_at, item_at + 1
        elif item is not None and item.fits(names[name_at]):
            item_at, name_at = item_at + 1, name_at + 1
        elif folders < 0:
            return False
        else:
            retry += 1
            item_at, name_at = folders + 1, retry
    return all(left is None for left in items[item_at:])


def _literal_runs(item: segment.Segment) -> list[str]:
    runs = [""]
    for token in item.tokens:
        if isinstance(token, str):
            runs[-1] += token
        else:
            runs.append("")
    return runs


# ---------------------------------------------------------------- two patterns
def intersect(one: Pattern, other: Pattern, *, outside: Sequence[Pattern] = ()) -> str | None:
    """A path that both patterns match and none of ``outside`` does, or None when there is none.

    Exact; a shortest path is given.  Where the exclusions make that too costly they are left out, so that an
    overlap is reported rather than missed.
    """
    if not _heads_meet(one.head, other.head):
        return None
    near = tuple(
        each.items for each in outside if _heads_meet(each.head, one.head) and _heads_meet(each.head, other.head)
    )
    try:
        found = path_search.find((one.items, other.items), near)
    except TooComplex:
        found = path_search.find((one.items, other.items))
    return None if found is None else "/".join(found)


def inside(one: Pattern, other: Pattern) -> bool:
    """Whether every path of the first pattern is a path of the second.

    Exact up to a bound on the work (20,000 states, far beyond patterns that people write); beyond it the answer
    is False, so that nothing is called a part that was not shown to be one.
    """
    return _heads_meet(one.head, other.head) and _inside(one.items, other.items)


def _inside(one: Items, other: Items) -> bool:
    try:
        return path_search.find((one,), (other,)) is None
    except TooComplex:
        return False


def _heads_meet(one: str, other: str) -> bool:
    """Whether one literal beginning continues the other, segment by segment."""
    if len(one) > len(other):
        one, other = other, one
    return not one or (other.startswith(one) and other[len(one) : len(one) + 1] in ("", "/"))


# ---------------------------------------------------------------- explaining
@dataclass(frozen=True, slots=True)
class Explained:
    """Which pattern decided about a path, if one did, and how it was read."""

    path: str
    pattern: str | None
    why: str


def decider(patterns: Iterable[Pattern], path: str) -> Pattern | None:
    """The first of the patterns that matches the path."""
    return next((pattern for pattern in patterns if pattern.matches(path)), None)


def explain(patterns: Sequence[Pattern], path: str) -> Explained:
    """Which of the patterns decides about the path, in words; where none does, whether a bracket was meant literally."""
    pattern = decider(patterns, path)
    if pattern is not None:
        return Explained(path, pattern.text, f"{pattern.text} names {pattern.meaning}.")
    for each in patterns:
        if each.twin is not None and each.twin.matches(path):
            return Explained(
                path, None, f"{each.text} reads its brackets as a class of characters; write {each.twin.text}."
            )
    return Explained(path, None, "No pattern matches.")
