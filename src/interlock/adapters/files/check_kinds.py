"""The keys of a check that ask for real surfaces, from YAML to values, and what each kind of check cannot do without."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from interlock.adapters.files import reading as read
from interlock.adapters.files.reading import Decoder, Reading
from interlock.adapters.files.wording import last
from interlock.adapters.files.yaml_tree import Items, Keys, Node, Text
from interlock.core.contract.surfaces import KINDS, CoverageLimits, Limit, Picture, Wait, given_document
from interlock.core.gate.line_patterns import fault
from interlock.core.gate.recognise import pytest_command

Table = Mapping[str, Decoder[Any]]
Decode = Callable[[Reading, Node, str, Table, str], dict[str, Any]]

_FORMS: Final[Mapping[str, str]] = {
    "run": 'run: "the command"',
    "report": "report: {junit: out/junit.xml}",
    "state": "state: a command that prints what the database is like, such as sqlite3 app.db .schema",
    "count": "state: a command that prints a name and a number a line",
    "limits": "limits: {users: {at_least: 1}}",
    "wait": "wait: {line: listening} or wait: {url: http://127.0.0.1:$APP_PORT/}",
    "pictures": "pictures: [out/home.png]",
    "against": "pictures: [{image: out/home.png, against: tests/pictures/home.png}]",
    "document": "document: docs/openapi.json",
    "benchmark": "report: {benchmark: out/benchmark.json}",
    "counted": "report: {junit: out/junit.xml}, or a plain pytest command",
    "covered": "report: {cobertura: out/coverage.xml}",
    "measured": "report: {benchmark: out/benchmark.json}",
    "expects": "expects: [a line that it must write] or refuses: [one that it must not]",
}
_NEEDS: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "tests": (("counted", "Tests that nothing counts may be none."),),
    "migrations": (("state", "A migration that runs has not shown what it did."),),
    "fixtures": (
        ("count", "Fixtures that load may still be empty."),
        ("limits", "How many are enough is for the card to say."),
    ),
    "smoke": (("wait", "That a program begins does not show that it comes up."),),
    "browser": (("pictures", "A browser that was driven has to show what it saw."),),
    "visual": (("against", "A difference is one from an expected picture."),),
    "api": (("document", "The interface is what its OpenAPI document says."),),
    "benchmark": (("benchmark", "A number that nobody wrote down cannot be compared."),),
    "log": (("expects", "Output that nothing is asked of proves nothing."),),
}
"""What a kind needs beside its command, each with the reason."""

_TOGETHER: Final = (
    ("coverage", "covered", "Without a report of coverage nothing would be held against it."),
    ("limits", "measured", "Without measured numbers nothing would be held against them."),
    ("against", "document", "Without a document nothing would be held against it."),
    ("heads", "state", "Heads are asked for once the migrations ran and the state was printed."),
    ("files", "state", "Files of migrations are looked at once the migrations ran and the state was printed."),
)
"""Keys that mean nothing alone, what they need, and why."""

_KEYS: Final[Mapping[str, str]] = {
    "count": "state",
    "counted": "report",
    "against": "pictures",
    "benchmark": "report",
    "covered": "report",
    "measured": "report",
}
"""The key of a check that a need is written under."""

_WORDS: Final[Mapping[str, str]] = {
    "count": "state",
    "counted": "report of tests",
    "against": "expected picture",
    "benchmark": "report of a benchmark",
    "covered": "report of coverage",
    "measured": "report of a benchmark and no state",
    "expects": "line that it expects or refuses",
}


def complete(reading: Reading, node: Keys, key: str, values: dict[str, Any]) -> bool:
    """Whether a check has what its kind needs; what is missing is told.  An api check's command is filled in."""
    kind = values.get("kind")
    if kind == "api" and "run" not in node.values and values.get("document"):
        values["run"] = given_document(values["document"])
    whole = True
    for need, why in _NEEDS.get(kind or "", ()):
        if not _has(need, values) and not _spoiled(need, node, values):
            what = f"{key} is of kind {kind} and has no {_WORDS.get(need, need)}."
            reading.tell("missing", (node.line, node.column), key, what=what, why=why, fix=f"Write {_FORMS[need]}.")
            whole = False
    for name, need, why in _TOGETHER:
        if values.get(name) and not _has(need, values) and not _spoiled(need, node, values):
            what, fix = (
                f"{key} has {name} and no {_WORDS.get(need, need)}.",
                f"Write {_FORMS[need]}, or leave {name} out.",
            )
            reading.tell("missing", node.at.get(name, (node.line, node.column)), key, what=what, why=why, fix=fix)
            whole = False
    return whole


def _has(need: str, values: Mapping[str, Any]) -> bool:
    report = values.get("report")
    written = {name for name in ("benchmark", "cobertura", "lcov") if report is not None and getattr(report, name)}
    pictures = values.get("pictures") or ()
    known = {
        "benchmark": "benchmark" in written,
        "covered": bool(written & {"cobertura", "lcov"}),
        "measured": "benchmark" in written or bool(values.get("state")),
        "count": bool(values.get("state")),
        "counted": _is_counted(values),
        "against": bool(pictures) and all(picture.against is not None for picture in pictures),
        "expects": bool(values.get("expects") or values.get("refuses")),
    }
    return known[need] if need in known else bool(values.get(need))


def _is_counted(values: Mapping[str, Any]) -> bool:
    report = values.get("report")
    named = report is not None and (report.junit or report.tap)
    return bool(named) or pytest_command(str(values.get("run") or "")) is not None


def _spoiled(need: str, node: Keys, values: Mapping[str, Any]) -> bool:
    """Whether the key is there and could not be read, which was told already."""
    keys = {"expects": ("expects", "refuses")}.get(need, (_KEYS.get(need, need),))
    for name in keys:
        written = node.values.get(name)
        if written is not None and name not in values:
            return True
        if isinstance(written, Items) and written.items and not values[name]:
            return True
    return False


# ---------------------------------------------------------------- values
def pattern(reading: Reading, node: Node, key: str) -> str | None:
    """Text to look for in a line, with ``*``, ``?`` and ``[...]``."""
    value = read.filled(reading, node, key)
    if value is not None and (why := fault(value)):
        what = f"{_of(key)} cannot be looked for."
        fix = f"Write a part of the line, such as {last(key).partition('[')[0]}: [listening on *]."
        reading.tell("shape", (node.line, node.column), key, what=what, why=why, fix=fix)
        return None
    return value


def _of(key: str) -> str:
    return f"The pattern {last(key)}"


def patterns(reading: Reading, node: Node, key: str) -> tuple[str, ...]:
    return reading.items(node, key, pattern, "[a line, another]")


def percent(reading: Reading, node: Node, key: str) -> float | None:
    """A number from 0 to 100, with or without a percent sign."""
    value = node.value.removesuffix("%").strip() if isinstance(node, Text) else ""
    try:
        found = float(value) if value[:1].isdigit() else -1.0
    except ValueError:
        found = -1.0
    if not 0 <= found <= 100:
        reading.wrong(node, key, due="a number of percent from 0 to 100", fix=f"Write {last(key)}: 80%.")
        return None
    return found


def share(reading: Reading, node: Node, key: str) -> float | None:
    """A share of the pixels: 0.1% or the like."""
    found = percent(reading, node, key)
    return None if found is None else found / 100


def above_none(reading: Reading, node: Node, key: str) -> float | None:
    """A number of 1 or more: how many times worse is still good."""
    found = read.number(reading, node, key)
    if found is not None and found < 1:
        reading.wrong(node, key, due="1 or more", fix=f"Write {last(key)}: 1.5, which is half as much again.")
        return None
    return found


def signed(reading: Reading, node: Node, key: str) -> float | None:
    if isinstance(node, Text) and node.meaning in ("whole", "number") and "n" not in node.value.lower():
        return float(node.value)
    reading.wrong(node, key, due="a number", fix=f"Write {last(key)}: 0.25.")
    return None


def coverage(decode: Decode) -> Decoder[CoverageLimits]:
    def inner(reading: Reading, node: Node, key: str) -> CoverageLimits:
        return CoverageLimits(**decode(reading, node, key, COVERAGE, "{at_least: 80%, drop: 1%}"))

    return inner


def limits(decode: Decode) -> Decoder[tuple[Limit, ...]]:
    def inner(reading: Reading, node: Node, key: str) -> tuple[Limit, ...]:
        form = "{parse: {at_most: 0.2}}"
        found = []
        for name, each in reading.entries(node, key, form).items():
            values = decode(reading, each, f"{key}.{name}", LIMIT, "{at_most: 0.2}")
            found.append(Limit(name=name, **values))
        if isinstance(node, Keys) and not found:
            reading.wrong(node, key, due="filled in", fix=f"Write {last(key)}: {form}, or leave it out.")
        return tuple(found)

    return inner


def pictures(decode: Decode) -> Decoder[tuple[Picture, ...]]:
    form = "{image: out/home.png, against: tests/pictures/home.png}"

    def one(reading: Reading, node: Node, key: str) -> Picture | None:
        if not isinstance(node, Keys):
            image = read.path(reading, node, key)
            return None if image is None else Picture(image=image)
        values = decode(reading, node, key, PICTURE, form)
        if "image" in values:
            return Picture(**values)
        if "image" not in node.values:
            what, why = f"{key} names no image.", "A picture is a file that the run writes."
            reading.tell("missing", (node.line, node.column), key, what=what, why=why, fix=f"Write {form}.")
        return None

    def inner(reading: Reading, node: Node, key: str) -> tuple[Picture, ...]:
        return reading.items(node, key, one, "[out/home.png]")

    return inner


def wait(decode: Decode) -> Decoder[Wait | None]:
    def inner(reading: Reading, node: Node, key: str) -> Wait | None:
        values = decode(reading, node, key, WAIT, "{line: listening, url: http://127.0.0.1:$APP_PORT/}")
        if values.get("line") or values.get("url"):
            return Wait(**values)
        if isinstance(node, Keys) and not {"line", "url"} & node.values.keys():
            what, why = f"{key} names neither a line nor a URL.", "Something has to show that the program is up."
            reading.tell("missing", (node.line, node.column), key, what=what, why=why, fix=f"Write {_FORMS['wait']}.")
        return None

    return inner


def local_url(reading: Reading, node: Node, key: str) -> str | None:
    value = read.filled(reading, node, key)
    if value is not None and not value.startswith(("http://127.0.0.1", "http://localhost")):
        reading.wrong(
            node, key, due="a URL of this machine", fix=f"Write {last(key)}: http://127.0.0.1:$APP_PORT/health."
        )
        return None
    return value


def rectangle(reading: Reading, node: Node, key: str) -> tuple[int, int, int, int] | None:
    """Four whole numbers: x, y, width, height."""
    numbers = reading.items(node, key, read.whole(0, 100_000), "[0, 0, 200, 40]") if isinstance(node, Items) else ()
    if len(numbers) != 4 or 0 in numbers[2:]:
        reading.wrong(node, key, due="x, y, width and height in pixels", fix="Write [0, 0, 200, 40].")
        return None
    return (numbers[0], numbers[1], numbers[2], numbers[3])


def mask(reading: Reading, node: Node, key: str) -> tuple[tuple[int, int, int, int], ...]:
    return reading.items(node, key, rectangle, "[[0, 0, 200, 40]]")


COVERAGE: Final[Table] = {"at_least": percent, "each": percent, "drop": percent}
LIMIT: Final[Table] = {
    "at_most": signed,
    "at_least": signed,
    "factor": above_none,
    "rounds": read.whole(1, 1_000_000),
    "better": read.choice("lower", "higher"),
}
PICTURE: Final[Table] = {"image": read.path, "against": read.path, "tolerance": share, "mask": mask}
WAIT: Final[Table] = {"line": pattern, "url": local_url, "stays": read.duration}


def keys(decode: Decode) -> Table:
    """The keys of a check that this module reads; ``decode`` reads a mapping by a table."""
    return {
        "kind": read.choice(*KINDS),
        "expects": patterns,
        "refuses": patterns,
        "least_level": read.choice("note", "warning", "error"),
        "found_exit": read.whole(1, 125),
        "coverage": coverage(decode),
        "limits": limits(decode),
        "document": read.path,
        "against": read.path,
        "pictures": pictures(decode),
        "may_renew": read.flag,
        "state": read.filled,
        "heads": read.filled,
        "files": read.patterns,
        "wait": wait(decode),
    }
