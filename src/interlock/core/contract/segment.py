"""One segment of a path pattern: its tokens, the names that fit it, and names that fit several at once; whole paths are paths'."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Final

Spans = tuple[tuple[int, int], ...]
"""A set of characters: code points as sorted, disjoint, inclusive ranges."""

Token = str | Spans | None
"""One literal character, a set of characters, or None for any number of any characters (``*``)."""

NAME_CHARS: Final[Spans] = ((1, 46), (48, 0x10FFFF))
"""All that may stand in a name: neither NUL nor ``/``."""

_DOT: Final[Spans] = ((46, 46),)
_NICE: Final = "xabcdefghijklmnopqrstuvwyz0123456789_-XABCDEFGHIJKLMNOPQRSTUVWYZ"
MAX_STATES: Final = 20_000


class TooComplex(Exception):
    """The question needs more states than are worth spending; callers answer on the safe side."""


@dataclass(frozen=True, slots=True)
class Segment:
    """One segment as tokens; ``literal`` is its only name when it holds no wildcard; ``classes`` tells of ``[...]``."""

    tokens: tuple[Token, ...]
    literal: str | None
    classes: bool = False

    def fits(self, name: str) -> bool:
        """Whether a name of one file or folder fits."""
        if self.literal is not None:
            return name == self.literal
        tokens, count, length = self.tokens, len(self.tokens), len(name)
        token = name_at = 0
        star = retry = -1
        while name_at < length:
            if token < count and tokens[token] is None:
                star, retry, token = token, name_at, token + 1
            elif token < count and _holds(tokens[token], name[name_at]):
                token, name_at = token + 1, name_at + 1
            elif star < 0:
                return False
            else:
                retry += 1
                token, name_at = star + 1, retry
        return all(left is None for left in tokens[token:])


def literal(name: str) -> Segment:
    return Segment(tuple(name), name)


ANY_NAME: Final = Segment((None,), None)


def _holds(token: Token, char: str) -> bool:
    if token is None or isinstance(token, str):
        return token is None or token == char
    code = ord(char)
    return any(low <= code <= high for low, high in token)


# ---------------------------------------------------------------- sets of characters
def spans(token: Token) -> Spans:
    if token is None:
        return NAME_CHARS
    return ((ord(token), ord(token)),) if isinstance(token, str) else token


def normalised(ranges: Iterable[tuple[int, int]]) -> Spans:
    """Ranges in any order as a proper set."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def common(one: Spans, other: Spans) -> Spans:
    return tuple(
        (max(low, begin), min(high, end))
        for low, high in one
        for begin, end in other
        if max(low, begin) <= min(high, end)
    )


def without(one: Spans, other: Spans) -> Spans:
    for begin, end in other:
        left = [(low, min(high, begin - 1)) for low, high in one if low < begin]
        right = [(max(low, end + 1), high) for low, high in one if high > end]
        one = tuple(sorted(left + right))
    return one


def _nice(chars: Spans) -> str:
    """One character of the set, a readable one where there is one."""
    return next((char for char in _NICE if _holds(chars, char)), chr(chars[0][0]))


# ---------------------------------------------------------------- names that fit several segments
_State = tuple[tuple[int, ...], tuple[frozenset[int], ...], int]


@lru_cache(maxsize=1 << 15)
def names(required: tuple[Segment, ...], others: tuple[Segment, ...] = ()) -> tuple[tuple[str, frozenset[int]], ...]:
    """Names that fit all of ``required``, each with the set of ``others`` (by number) that it fits too.

    One name for each smallest such set: who asks for a name that avoids ``others`` loses nothing by that.  Exact,
    over all names that git can hold (never empty, ``.`` or ``..``).  Raises TooComplex, which cannot happen for
    two segments without others.
    """
    start: _State = (tuple(0 for _ in required), tuple(frozenset((0,)) for _ in others), 0)
    queue = deque([(start, "")])
    seen = {start}
    found: dict[frozenset[int], str] = {}
    while queue:
        state, word = queue.popleft()
        ended = _ended(state, required, others)
        if ended is not None:
            found.setdefault(ended, _readable(word, required, others, ended))
            if not ended:
                break
        for following, char in _steps(state, required, others):
            if following not in seen:
                seen.add(following)
                queue.append((following, word + char))
        if others and len(seen) > MAX_STATES:
            raise TooComplex
    return tuple((word, fit) for fit, word in found.items() if not any(less < fit for less in found))


def _ended(state: _State, required: tuple[Segment, ...], others: tuple[Segment, ...]) -> frozenset[int] | None:
    """The others that are complete here, or None when a required one is not or the name would be no name."""
    positions, sets, dots = state
    if dots < 3 or not all(_complete(seg, at) for seg, at in zip(required, positions, strict=True)):
        return None
    return frozenset(
        number for number, seg in enumerate(others) if any(_complete(seg, position) for position in sets[number])
    )


def _complete(segment: Segment, position: int) -> bool:
    return all(token is None for token in segment.tokens[position:])


def _steps(state: _State, required: tuple[Segment, ...], others: tuple[Segment, ...]) -> Iterable[tuple[_State, str]]:
    """Every state that one more character leads to, with such a character; ``dots`` counts leading dots up to 3 = a name."""
    positions, sets, dots = state
    moves = [_moves(seg, frozenset((at,))) for seg, at in zip(required, positions, strict=True)]
    other_moves = [_moves(seg, open_at) for seg, open_at in zip(others, sets, strict=True)]
    splits = [spans(token) for each in other_moves for token, _ in each]
    if dots < 3:
        splits.append(_DOT)
    for choice in product(*moves):
        chars = NAME_CHARS
        for token, _ in choice:
            chars = common(chars, spans(token))
        for piece in _pieces(chars, splits):
            char = _nice(piece)
            after = tuple(
                frozenset(following for token, following in each if _holds(token, char)) for each in other_moves
            )
            now = min(dots + 1, 3) if char == "." else 3
            yield (tuple(following for _, following in choice), after, now), char


def _moves(segment: Segment, positions: frozenset[int]) -> list[tuple[Token, int]]:
    """Tokens that can take the next character, each with the position after it."""
    moves: list[tuple[Token, int]] = []
    for position in positions:
        at = position
        while at < len(segment.tokens) and segment.tokens[at] is None:
            moves.append((None, at))
            at += 1
        if at < len(segment.tokens):
            moves.append((segment.tokens[at], at + 1))
    return moves


def _pieces(chars: Spans, splits: list[Spans]) -> list[Spans]:
    """The set cut so that each piece lies wholly inside or outside of each split."""
    pieces = [chars] if chars else []
    for split in splits:
        cut = [half for piece in pieces for half in (common(piece, split), without(piece, split))]
        pieces = [piece for piece in cut if piece]
    return pieces


def _readable(word: str, required: tuple[Segment, ...], others: tuple[Segment, ...], fit: frozenset[int]) -> str:
    """The same kind of name with a stem before its dot, where that fits as well."""
    if not word.startswith("."):
        return word
    longer = "x" + word
    same = frozenset(number for number, seg in enumerate(others) if seg.fits(longer)) == fit
    return longer if same and all(seg.fits(longer) for seg in required) else word
