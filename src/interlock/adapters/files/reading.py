"""From a YAML tree to plain values: each asks for one shape and tells exactly what stands there instead.

An own small decoder rather than pydantic: it costs no import (pydantic: 75 ms, half of what a command may use), and its
messages name the place, the key in the words of the file and the text to write.  pydantic makes the JSON Schemas.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from interlock.adapters.files.units import count, seconds
from interlock.adapters.files.wording import last, list_fix, named, text_fix, why_not
from interlock.adapters.files.yaml_tree import Items, Keys, Node, Refused, Text
from interlock.core.contract.paths import parse
from interlock.core.contract.spelling import PatternError, check_spelling
from interlock.core.contract.suggest import nearest
from interlock.core.problems import Problem, Where

T = TypeVar("T")
Decoder = Callable[["Reading", Node, str], T]


class Reading:
    """One file being read: its problems so far, and where each key stands."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.problems: list[Problem] = []
        self.positions: dict[str, tuple[int, int]] = {"": (1, 1)}
        self.spoiled: set[str] = set()

    def tell(self, kind: str, at: tuple[int, int], key: str, *, what: str, why: str, fix: str) -> None:
        """Add a problem at a place; its top key counts as spoiled, so that nothing is said about it twice."""
        self.spoiled.add(key.partition(".")[0].partition("[")[0])
        where = Where(file=self.file, line=at[0], column=at[1])
        self.problems.append(Problem(kind=kind, what=what, why=why, fix=fix, where=where))

    def wrong(self, node: Node, key: str, *, due: str, fix: str) -> None:
        """Tell that a value has another shape than is due; a part that was refused before is passed over."""
        if isinstance(node, Refused):
            self.spoiled.add(key.partition(".")[0].partition("[")[0])
            return
        what = f"{named(key)} is not {due}."
        self.tell("shape", (node.line, node.column), key, what=what, why=why_not(node), fix=fix)

    def at(self, node: Node, key: str) -> None:
        self.positions.setdefault(key, (node.line, node.column))

    # ------------------------------------------------------------ mappings and lists
    def mapping(self, node: Node, key: str, known: Iterable[str], form: str) -> Mapping[str, Node]:
        """The values of a mapping with known keys; others are told with the nearest known one."""
        if not isinstance(node, Keys):
            before = f"{last(key)}: " if key and not key.endswith("]") else ""
            self.wrong(node, key or "The file", due="a mapping", fix=f"Write {before}{form}.")
            return {}
        self.at(node, key)
        known = tuple(known)
        values = {}
        for name, value in node.values.items():
            inner = f"{key}.{name}" if key else name
            self.positions.setdefault(inner, node.at[name])
            if name in known:
                values[name] = value
                continue
            guess = nearest(name, known)
            self.tell(
                "unknown-key",
                node.at[name],
                inner,
                what=f"The key {inner} is not known.",
                why=f"Known here: {', '.join(known)}.",
                fix=f"Write {guess}: instead." if guess else "Leave it out.",
            )
        return values

    def entries(self, node: Node, key: str, form: str) -> Mapping[str, Node]:
        """The values of a mapping with free keys."""
        if not isinstance(node, Keys):
            self.wrong(node, key, due="a mapping", fix=f"Write {last(key)}: {form}.")
            return {}
        for name in node.values:
            self.positions.setdefault(f"{key}.{name}", node.at[name])
        return node.values

    def items(self, node: Node, key: str, decode: Decoder[T | None], form: str) -> tuple[T, ...]:
        """The items of a list that could be read."""
        if not isinstance(node, Items):
            fix = list_fix(node, key, form)
            self.wrong(node, key, due="a list", fix=fix)
            return ()
        found = []
        for number, item in enumerate(node.items):
            self.at(item, f"{key}[{number}]")
            value = decode(self, item, f"{key}[{number}]")
            if value is not None:
                found.append(value)
        return tuple(found)


# ---------------------------------------------------------------- decoders of one value
def text(reading: Reading, node: Node, key: str) -> str | None:
    if isinstance(node, Text) and node.meaning == "text":
        reading.positions[key] = (node.line, node.column)
        return node.value
    reading.wrong(node, key, due="text", fix=text_fix(node, key))
    return None


def filled(reading: Reading, node: Node, key: str) -> str | None:
    """Text that is not blank."""
    value = text(reading, node, key)
    if value is not None and not value.strip():
        reading.wrong(node, key, due="filled in", fix="Fill it in or leave it out.")
        return None
    return value


def texts(reading: Reading, node: Node, key: str) -> tuple[str, ...]:
    return reading.items(node, key, filled, "[first, second]")


def patterns(reading: Reading, node: Node, key: str) -> tuple[str, ...]:
    return reading.items(node, key, pattern, "[src/billing/**, tests/billing/**]")


def pattern(reading: Reading, node: Node, key: str) -> str | None:
    return _spelled(reading, node, key, parse)


def path(reading: Reading, node: Node, key: str) -> str | None:
    """A plain path below the root of the repository."""
    return _spelled(reading, node, key, check_spelling)


def _spelled(reading: Reading, node: Node, key: str, check: Callable[[str], object]) -> str | None:
    value = text(reading, node, key)
    if value is None:
        return None
    try:
        check(value)
    except PatternError as error:
        reading.tell("path", (node.line, node.column), key, what=error.what, why=error.why, fix=error.fix)
        return None
    return value


def whole(least: int, most: int) -> Decoder[int | None]:
    """A whole number in plain digits."""

    def decode(reading: Reading, node: Node, key: str) -> int | None:
        if isinstance(node, Text) and node.meaning == "whole" and least <= int(node.value) <= most:
            reading.positions[key] = (node.line, node.column)
            return int(node.value)
        due = f"a whole number from {least} to {most}"
        reading.wrong(
            node, key, due=due, fix=f"Write {last(key)}: {max(least, min(1, most))} or the like, without quotes."
        )
        return None

    return decode


def flag(reading: Reading, node: Node, key: str) -> bool | None:
    if isinstance(node, Text) and node.meaning == "flag":
        return node.value.lower() == "true"
    reading.wrong(node, key, due="true or false", fix=f"Write {last(key)}: true or {last(key)}: false.")
    return None


def choice(*allowed: str) -> Decoder[str | None]:
    def decode(reading: Reading, node: Node, key: str) -> str | None:
        if isinstance(node, Text) and node.value in allowed:
            reading.positions[key] = (node.line, node.column)
            return node.value
        reading.wrong(node, key, due=f"one of {', '.join(allowed)}", fix=f"Write {last(key)}: {allowed[0]}.")
        return None

    return decode


def duration(reading: Reading, node: Node, key: str, like: str = "10m, 1h30m or 90s") -> float | None:
    """A time in seconds, more than none; ``like`` is what one looks like there."""
    found = seconds(node.value) if isinstance(node, Text) and node.meaning in ("text", "whole", "number") else None
    if found is None or not 0 < found <= 366 * 86400:
        reading.wrong(node, key, due="a duration", fix=f"Write {last(key)}: {like}.")
        return None
    reading.positions[key] = (node.line, node.column)
    return found


def amount(reading: Reading, node: Node, key: str) -> int | None:
    """A count such as 400k."""
    found = count(node.value) if isinstance(node, Text) and node.meaning in ("text", "whole") else None
    if found is None:
        reading.wrong(node, key, due="a count", fix=f"Write {last(key)}: 400000 or {last(key)}: 400k.")
    return found


def number(reading: Reading, node: Node, key: str) -> float | None:
    if isinstance(node, Text) and node.meaning in ("whole", "number") and "n" not in node.value.lower():
        return float(node.value)
    reading.wrong(node, key, due="a number", fix=f"Write {last(key)}: 4 or {last(key)}: 0.5.")
    return None
