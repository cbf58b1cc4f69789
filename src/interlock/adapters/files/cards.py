"""tasks/<slug>.yaml to a card; whether the card is ready is core.contract.readiness' question."""

from __future__ import annotations

import re
from typing import Any, Final

from interlock.adapters.files import reading as read
from interlock.adapters.files import shared
from interlock.adapters.files.loop import loop
from interlock.adapters.files.reading import Reading
from interlock.adapters.files.scalars import meaning, quoted
from interlock.adapters.files.yaml_tree import Keys, Node, Text, read_yaml
from interlock.core.contract.card import Artifact, Card, Needs
from interlock.core.problems import Problem, Where
from interlock.ports.contract import CardFile

SLUG: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,40}")
_FORM: Final = "slug: <name>, class: <class>, owned_paths: [...], and so on, one key a line"


def read_card(data: bytes, file: str, slug: str, oid: str) -> CardFile:
    """The card in a file, or every problem that keeps it from being one.

    With problems, ``draft`` holds the card as far as it could be read, so that its readiness can be told as well.
    """
    node, problems = read_yaml(data, file)
    reading = Reading(file)
    reading.problems.extend(problems)
    if node is None:
        if not problems:
            reading.problems.append(_empty(file))
        return _result(reading, slug, oid, None)
    values = shared.decode(reading, node, "", _CARD, _FORM)
    if not isinstance(node, Keys):
        return _result(reading, slug, oid, None)
    _check_slug(reading, node, values, slug)
    _check_class(reading, node, values)
    values["class_name"] = values.pop("class", "")
    for key in ("owned_paths", "checks", "stop_when"):
        values.setdefault(key, ())
    values.setdefault("integration_owner", "")
    return _result(reading, slug, oid, Card(**{**values, "slug": slug}))


def _result(reading: Reading, slug: str, oid: str, draft: Card | None) -> CardFile:
    return CardFile(
        slug=slug,
        file=reading.file,
        card=None if reading.problems else draft,
        problems=tuple(sorted(reading.problems, key=_place)),
        oid=oid,
        positions=reading.positions,
        draft=draft,
        spoiled=frozenset(reading.spoiled),
    )


def _place(problem: Problem) -> tuple[int, int]:
    where = problem.where
    return (0, 0) if where is None else (where.line or 0, where.column or 0)


def _empty(file: str) -> Problem:
    return Problem(
        kind="missing",
        what="The file is empty.",
        why="A card says what may be changed, how it is checked and when to stop.",
        fix="Write one with: interlock card new SLUG --class vertical-slice.",
        where=Where(file=file, line=1, column=1),
    )


def _check_slug(reading: Reading, node: Keys, values: dict[str, Any], slug: str) -> None:
    found = values.get("slug")
    if "slug" not in node.at:
        what, why = "The card has no slug.", "It is the name of the task, its branch and its folder."
        reading.tell("missing", (1, 1), "slug", what=what, why=why, fix=f"Write {_line('slug', slug)}.")
        return
    if found is None:
        return
    at = reading.positions["slug"]
    if not SLUG.fullmatch(found):
        what = f'The slug "{found}" cannot be used.'
        why = "It becomes a branch and a folder: small letters, digits and -, 41 characters at most."
        reading.tell("slug", at, "slug", what=what, why=why, fix=_usable(slug))
    elif found != slug:
        what, why = f"The slug {found} differs from the file's name.", "One card has one name."
        reading.tell("slug", at, "slug", what=what, why=why, fix=f"Write {_line('slug', slug)}, or rename the file.")


def _usable(slug: str) -> str:
    """What to write: the file's name where that is a slug, else what is nearest to it."""
    if SLUG.fullmatch(slug):
        return f"Write {_line('slug', slug)}."
    near = re.sub(r"[^a-z0-9]+", "-", slug.lower()).strip("-")[:41] or "billing-retry"
    return f"Write {_line('slug', near)}, and name the file {near}.yaml."


def _line(key: str, value: str) -> str:
    return f"{key}: {value if meaning(value) == 'text' else quoted(value)}"


def _check_class(reading: Reading, node: Keys, values: dict[str, Any]) -> None:
    if "class" not in node.at:
        what, why = "The card has no class.", "Its class decides how many of its kind may run at once."
        reading.tell(
            "missing", (1, 1), "class", what=what, why=why, fix="Write class: vertical-slice, or another class."
        )
    elif values.get("class") == "":
        reading.tell(
            "missing",
            reading.positions["class"],
            "class",
            what="The class is blank.",
            why="A card has one.",
            fix="Write class: vertical-slice, or another class.",
        )


def _artifact(reading: Reading, node: Node, key: str) -> Artifact | None:
    form = "{path: out/screen.png, kind: screenshot}"
    values = shared.decode(reading, node, key, {"path": read.path, "kind": read.filled}, form)
    if "path" not in values:
        if isinstance(node, Keys) and "path" not in node.values:
            what, why = f"{key} has no path.", "An artifact is a file."
            reading.tell("missing", (node.line, node.column), key, what=what, why=why, fix=f"Write {form}.")
        return None
    return Artifact(**values)


def _artifacts(reading: Reading, node: Node, key: str) -> tuple[Artifact, ...]:
    return reading.items(node, key, _artifact, "[{path: out/screen.png, kind: screenshot}]")


def _reproduces(reading: Reading, node: Node, key: str) -> tuple[str, ...]:
    """One test, or a list of tests."""
    if isinstance(node, Text):
        value = read.filled(reading, node, key)
        return (value,) if value is not None else ()
    return reading.items(node, key, read.filled, "[tests/test_retry.py::test_cancelled]")


def _needs(reading: Reading, node: Node, key: str) -> Needs:
    return Needs(**shared.decode(reading, node, key, _NEEDS, "{database: app}"))


_NEEDS: Final[shared.Table] = {
    "ports": read.whole(0, 1000),
    "database": read.filled,
    "browser": read.texts,
    "services": read.texts,
    "network": read.texts,
    "secrets": read.texts,
}
_CARD: Final[shared.Table] = {
    "slug": read.text,
    "class": read.text,
    "goal": read.text,
    "accepted_plan": read.path,
    "acceptance": read.texts,
    "owned_paths": read.patterns,
    "read_only_paths": read.patterns,
    "prohibited_paths": read.patterns,
    "depends_on": read.texts,
    "checks": shared.checks,
    "artifacts": _artifacts,
    "done_when": read.texts,
    "stop_when": read.texts,
    "open_questions": read.texts,
    "integration_owner": read.text,
    "agent": shared.agent,
    "budget": shared.budget,
    "needs": _needs,
    "variants": read.whole(1, 100),
    "risk": read.choice("low", "normal", "high"),
    "isolation": read.choice("worktree", "snapshot", "sealed"),
    "reproduces": _reproduces,
    "loop": loop,
}
