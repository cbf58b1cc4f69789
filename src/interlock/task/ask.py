"""What an agent may ask: its card, and whether a path is its own; a courtesy, the gates judge the commit themselves."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from interlock.task.inside import Inside, NotDone

# In the order in which they decide.
_RIGHTS: Final = (
    ("protected", "protected_paths"),
    ("prohibited", "prohibited_paths"),
    ("read-only", "read_only_paths"),
    ("owned", "owned_paths"),
)


def card(inside: Inside, *, as_json: bool) -> int:
    """Show the card as the harness gave it to this attempt."""
    shape = inside.card()
    if as_json:
        print(json.dumps(shape, indent=2, ensure_ascii=False))
    else:
        print("\n".join(_lines(shape.get("card", shape), "")))
    return 0


def may_i(inside: Inside, paths: Sequence[str], *, as_json: bool) -> int:
    """Tell for each path whether it is owned, read-only, prohibited, protected or outside."""
    shape = inside.card()
    answers = [right(shape, inside.relative(path), path) for path in paths]
    if as_json:
        print(json.dumps(answers, ensure_ascii=False))
    else:
        for answer in answers:
            print(f"{answer['right']:<10} {answer['path']}  {answer['why']}")
    return 0 if all(answer["right"] == "owned" for answer in answers) else 1


def right(shape: dict[str, Any], path: str | None, given: str) -> dict[str, str]:
    """What the card says of a path (None: outside of the tree): ``path``, ``right`` and ``why``.  Raises NotDone."""
    if path is None:
        return {"path": given, "right": "outside", "why": "It lies outside the task's tree."}
    for right, key in _RIGHTS:
        if pattern := _first(shape.get(key), path):
            return {"path": path, "right": right, "why": f"By {pattern} under {key}."}
    return {"path": path, "right": "outside", "why": "No pattern of the card names it."}


def _first(patterns: Any, path: str) -> str | None:
    """The first pattern that names the path."""
    from interlock.core.contract.paths import PatternError, decider, parse

    try:
        found = decider([parse(str(pattern)) for pattern in patterns or ()], path)
    except PatternError as fault:
        raise NotDone(f"The card of this job holds a pattern that cannot be read: {fault}") from fault
    return found.text if found else None


def _lines(value: Any, indent: str) -> list[str]:
    """A mapping in the manner of YAML, without what is empty."""
    lines: list[str] = []
    for name, item in value.items():
        if item in (None, "", [], {}):
            continue
        if isinstance(item, dict):
            lines += [f"{indent}{name}:", *_lines(item, indent + "  ")]
        elif isinstance(item, list):
            lines += [f"{indent}{name}:", *(f"{indent}  - {_inline(each)}" for each in item)]
        else:
            lines.append(f"{indent}{name}: {_inline(item)}")
    return lines


def _inline(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
