"""tasks/caps.txt to caps: one class and its cap a line; whether the policy knows the class is core.contract.caps' question."""

from __future__ import annotations

import re
from typing import Final

from interlock.adapters.files.classes import CLASS_NAME
from interlock.core.contract.policy import Cap
from interlock.core.problems import Problem, Where

MAX_CAP: Final = 9_999
MAX_BYTES: Final = 1_000_000
_WHOLE: Final = re.compile(r"0|[1-9][0-9]{0,3}")


def read_caps(data: bytes, file: str) -> tuple[tuple[Cap, ...], tuple[Problem, ...]]:
    """The caps that could be read, in the order of their lines, and every problem of the file.

    ``class cap`` a line, as the seed's scripts read it; ``#`` begins a comment.  An empty file has no caps.
    """
    if len(data) > MAX_BYTES:
        problem = _problem(
            file, 1, 1, "shape", f"The file has {len(data)} bytes.", "A cap is a short line.", "Shorten it."
        )
        return (), (problem,)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        at = data.count(b"\n", 0, error.start) + 1
        return (), (
            _problem(file, at, 1, "shape", "The file is not UTF-8.", "It cannot be read.", "Save it as UTF-8."),
        )
    caps: dict[str, Cap] = {}
    problems: list[Problem] = []
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.partition("#")[0].strip()
        if not line:
            continue
        found = _read_line(line, file, number, len(raw) - len(raw.lstrip()) + 1)
        if isinstance(found, Problem):
            problems.append(found)
        elif (first := caps.get(found.class_name.casefold())) is not None:
            problems.append(_twice(found, first, file))
        else:
            caps[found.class_name.casefold()] = found
    return tuple(caps.values()), tuple(problems)


def _read_line(line: str, file: str, number: int, column: int) -> Cap | Problem:
    name, _, value = line.partition(" ") if " " in line else line.partition("\t")
    value = value.strip()
    if name.endswith(":") or (":" in name and not value):
        class_name, _, rest = line.partition(":")
        return _colon(class_name.strip(), rest.strip(), file, number, column)
    if not CLASS_NAME.fullmatch(name):
        why = "A class name has letters, digits, - and _."
        return _problem(file, number, column, "shape", f'"{name}" is no class name.', why, "Write: vertical-slice 3.")
    if not value:
        why = "A line is a class and its cap."
        return _problem(file, number, column, "cap-value", f"{name} has no cap.", why, f"Write: {name} 1.")
    if not _WHOLE.fullmatch(value):
        return _value(name, value, file, number, column + line.index(value, len(name)))
    return Cap(class_name=name, cap=int(value), line=number)


def _value(name: str, value: str, file: str, number: int, column: int) -> Problem:
    what = f"The cap of {name} is {value}, which is not a whole number from 0 to {MAX_CAP}."
    why = "A cap is a number of jobs, in plain digits: no sign, point, quotes, underscore or leading zero."
    digits = re.sub(r"[^0-9]", "", value).lstrip("0") if re.fullmatch(r"\"?'?[0-9_]+'?\"?", value) else ""
    good = digits if digits and int(digits) <= MAX_CAP else "1"
    return _problem(file, number, column, "cap-value", what, why, f"Write: {name} {good}.")


def _colon(name: str, value: str, file: str, number: int, column: int) -> Problem:
    good = value if _WHOLE.fullmatch(value) else "1"
    what = f"{name} is followed by a colon."
    if value and not _WHOLE.fullmatch(value):
        what += f" Its cap is {value}, which is not a whole number from 0 to {MAX_CAP} either."
    why = "A line is a class and its cap with a space between, so that every script reads the same."
    return _problem(file, number, column, "cap-value", what, why, f"Write: {name} {good}.")


def _twice(cap: Cap, first: Cap, file: str) -> Problem:
    what = f"{cap.class_name} has two caps; the first is in line {first.line}."
    if cap.class_name != first.class_name:
        what = f"{cap.class_name} and {first.class_name} in line {first.line} differ in their case alone."
    why = "Class names are unique ignoring case, and one class has one cap."
    return _problem(file, cap.line, 1, "cap-value", what, why, "Keep one of the two lines.")


def _problem(file: str, line: int, column: int, kind: str, what: str, why: str, fix: str) -> Problem:
    return Problem(kind=kind, what=what, why=why, fix=fix, where=Where(file=file, line=line, column=column))
