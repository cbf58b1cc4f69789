"""Small questions about altered forms: options and places, fields that are calculated with, exceptions that must be declared; no rule is here."""

from __future__ import annotations

import re
from collections.abc import Sequence

from interlock.core.merge.facts import Signature, Use
from interlock.core.merge.meet.written import must_be_declared

_NUMBER = re.compile(r":?\s*(?:number|u?int(?:8|16|32|64)?|float(?:32|64)|long|double|short)")


def counts(shape: str) -> bool:
    """Whether a field's type is a number."""
    return _NUMBER.fullmatch(shape.removeprefix("readonly ").strip()) is not None


def uncountable(shape: str) -> bool:
    """Whether a field's type is surely nothing that can be calculated with: a pointer, a list, an object, what may be absent."""
    of = shape.rpartition(":")[2].strip() if shape.startswith((":", "readonly", "optional")) else shape.strip()
    if shape.startswith("*") or of.startswith(("[]", "map[", "chan ")) or of.endswith("[]"):
        return True
    return "optional" in shape.partition(":")[0].split() or of == "string" or ": {" in shape or shape.startswith(":{")


def turned_checked(old: Sequence[str], new: Sequence[str], names: Sequence[str], caught: Sequence[str]) -> bool:
    """Whether an exception of Java's that nobody had to declare must be, and a place that throws it does not."""
    was, is_ = ({each.rpartition(".")[2] for each in bases} for bases in (old, new))
    free = bool(was) and not any(must_be_declared(each) for each in was)
    return free and any(must_be_declared(each) for each in is_) and not {*names, "Exception", "Throwable"} & set(caught)


def regrouped(old: Signature | None, new: Signature | None, use: Use) -> bool:
    """Whether a parameter became a key of an object or the other way round, and the call gives it in the old form."""
    if old is None or new is None or use.call is None or use.call.spread:
        return False
    objects = {int(each.split(":")[1]) for each in use.then if re.fullmatch(r"gives:\d+:object", each)}
    for at, (was, is_) in enumerate(zip(old.names, new.names, strict=False)):
        if at >= use.call.positional:
            return False
        if is_.startswith("{") and was.isidentifier() and was in _keys(is_) and at not in objects:
            return True
        if was.startswith("{") and at in objects and (name := re.match(r"[\w$]+", is_)) and name[0] in _keys(was):
            return True
    return False


def _keys(pattern: str) -> set[str]:
    """The keys that an object pattern takes, nested ones aside."""
    return {found[1] for part in pattern.strip("{} \n").split(",") if (found := re.match(r"\s*([\w$]+)", part))}
