"""Sections of checkers in a pyproject.toml on both sides: what lets more pass in mypy's and ruff's; of other tools any change counts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

Section = Mapping[str, Any]

_STRICTER: Final = re.compile(
    r"strict\w*|disallow_\w+|warn_\w+|check_untyped_defs|no_implicit_\w+|extra_checks|local_partial_types|enable_error_code"
)
_LOOSER: Final = re.compile(
    r"ignore_\w+|allow_\w+|implicit_\w+|disable_error_code|exclude\w*|follow_imports\w*|skip_\w+|disable_\w+"
)
_LOOK_OF_MYPY: Final = frozenset(
    {
        "show_error_codes",
        "pretty",
        "show_error_context",
        "show_column_numbers",
        "cache_dir",
        "color_output",
        "python_version",
    }
)
_RUFF_FEWER: Final = frozenset({"select", "extend-select", "include"})
_RUFF_MORE: Final = frozenset(
    {"ignore", "extend-ignore", "exclude", "extend-exclude", "extend-per-file-ignores", "per-file-ignores"}
)
_RUFF_FREE: Final = re.compile(
    r"target-version|src|indent-width|cache-dir|output-format|required-version|fix|show-fixes|unsafe-fixes|fixable|unfixable|extend-fixable"
    r"|respect-gitignore|namespace-packages|preview|format(\..*)?|isort(\..*)?"
)
_DEFAULT_RULES: Final = ("E4", "E7", "E9", "F")


def weaker_section(tool: str, before: Section | None, after: Section | None) -> Iterator[str]:
    """What of [tool.X] lets more pass, in words; a tool whose settings are not understood may not be set in another way at all."""
    if before == after:
        return
    if tool == "mypy":
        found = list(_mypy(before or {}, after or {}))
    elif tool == "ruff" and after is not None:
        found = list(_ruff(before, after))
    else:
        found = ["all of it"]
    if found:
        yield f"[tool.{tool}] is another one" + (f": {', '.join(found)}" if found != ["all of it"] else "")


def _mypy(old: Section, new: Section) -> Iterator[str]:
    for key in dict.fromkeys((*old, *new)):
        a, b = old.get(key), new.get(key)
        if key == "overrides" or a == b or key in _LOOK_OF_MYPY:
            continue
        more = b is True or (isinstance(b, list) and set(_list(a)) <= set(b))
        less = b in (None, False) or (isinstance(b, list) and set(b) <= set(_list(a)))
        stricter = (_STRICTER.fullmatch(key) and more) or (_LOOSER.fullmatch(key) and less and key != "follow_imports")
        if not stricter and not (key in ("files", "packages", "modules", "plugins") and old and a is not None and more):
            yield key
    known = [each for each in old.get("overrides", []) if isinstance(each, dict)]
    now = [each for each in new.get("overrides", []) if isinstance(each, dict)]
    for each in now:
        keys = {key: value for key, value in each.items() if key != "module"}
        bad = [
            k for k, v in keys.items() if not (k == "ignore_missing_imports" or (_STRICTER.fullmatch(k) and v is True))
        ]
        if each not in known and bad:
            yield f"{', '.join(bad)} for {each.get('module')}"
    if any(each not in now and any(map(_STRICTER.fullmatch, each)) for each in known):
        yield "overrides"


def _ruff(old: Section | None, new: Section) -> Iterator[str]:
    a, b = _flat(old or {}), _flat(new)
    for key in dict.fromkeys((*a, *b)):
        x, y, name = a.get(key), b.get(key), key.removeprefix("lint.")
        if x == y or _RUFF_FREE.fullmatch(name):
            continue
        if name == "line-length" and (old is None or (isinstance(y, int) and y <= (x if isinstance(x, int) else 88))):
            continue
        if (
            name in _RUFF_FEWER
            and (name != "select" or x is not None or not _fewer_than_default(y))
            and not _lost(x, y)
        ):
            continue
        if name.partition(".")[0] in _RUFF_MORE and not _lost(y, x):
            continue
        yield key


def _fewer_than_default(select: object) -> bool:
    rules = _list(select)
    return not all(any(each == "ALL" or rule.startswith(each) for each in rules) for rule in _DEFAULT_RULES)


def _lost(before: object, after: object) -> bool:
    return bool([each for each in _list(before) if each not in _list(after)])


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _flat(section: Section, before: str = "") -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in section.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{before}{key}.")
        else:
            found[f"{before}{key}"] = value
    return found
