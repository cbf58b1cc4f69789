"""What a card's paths say against it: another class's files, brackets that could mean two things, patterns that allow nothing."""

from __future__ import annotations

from collections.abc import Iterator

from interlock.core.contract.card import Card
from interlock.core.contract.ground import Ground, Reserved
from interlock.core.contract.paths import Pattern, decider, inside, intersect, parse
from interlock.core.contract.places import Places
from interlock.core.problems import Problem, Where

_EVERYTHING = parse("**")


def contradictions(card: Card, ground: Ground, places: Places) -> Iterator[Problem]:
    """Owned paths that only a serial class may own, and which one (row A2).

    A pattern contradicts the card's class when it names a file on the base that such a class claims, or lies
    wholly inside that class's own pattern.  That they could meet, as ``src/**`` and any folder do, is no
    contradiction.  A class that runs alone may own anything.
    """
    known = ground.policy.find_class(card.class_name)
    if known is not None and known.kind == "alone":
        return
    shut = tuple(map(parse, (*card.read_only_paths, *card.prohibited_paths)))
    for number, text in enumerate(card.owned_paths):
        owned = parse(text)
        for reserved in ground.reserved:
            if reserved.class_name == card.class_name:
                continue
            found = _claimed(owned, reserved, shut)
            if found is not None:
                yield _contradiction(card, owned, reserved, found, places.where(f"owned_paths[{number}]"))


def _claimed(owned: Pattern, reserved: Reserved, shut: tuple[Pattern, ...]) -> tuple[str | None, Pattern] | None:
    """A file that the class claims, or None with the pattern that the owned one lies inside of."""
    for pattern in reserved.patterns:
        if inside(owned, pattern):
            return None, pattern
    for path in owned.select(reserved.files):
        if decider(shut, path) is None:
            return path, reserved.files[path]
    return None


def _contradiction(
    card: Card, owned: Pattern, reserved: Reserved, found: tuple[str | None, Pattern], where: Where
) -> Problem:
    path, pattern = found
    if path is None:
        what = f"{owned.text} lies inside {pattern.text}, which belongs to the class {reserved.class_name}."
        fix = f"Write class: {reserved.class_name}."
    else:
        what = f"{owned.text} owns {path}, which belongs to the class {reserved.class_name} by {pattern.text}."
        fix = f"Write class: {reserved.class_name}, or keep it out with prohibited_paths: [{pattern.text}]."
    return Problem(
        kind="class-contradiction",
        what=what,
        why=(
            f"{reserved.class_name} is a class that runs {'alone' if reserved.kind == 'alone' else 'one at a time'}; "
            f"as {card.class_name} the card would run beside work that it breaks."
        ),
        fix=fix,
        where=where,
    )


def ambiguous_brackets(card: Card, ground: Ground, places: Places) -> Iterator[Problem]:
    """Patterns whose brackets are read as a class although the base has a file or folder of just that name (case PG-04)."""
    if ground.files is None:
        return
    for key, text in _patterns(card):
        pattern = parse(text)
        twin = pattern.twin
        if twin is None:
            continue
        meant = next((path for path in sorted(twin.select(ground.files)) if not pattern.matches(path)), None)
        if meant is not None:
            yield Problem(
                kind="path",
                what=f"{text} reads its brackets as a class of characters, and the base has {meant}.",
                why="The file of that name would be out of scope, and others with one character in its place would be in.",
                fix=f"Write {twin.text}.",
                where=places.where(key),
            )


def idle_patterns(card: Card, ground: Ground, places: Places) -> Iterator[Problem]:
    """Owned patterns that lists of exceptions empty, and read-only ones that name no file of the base (case PG-02)."""
    exceptions = (*card.read_only_paths, *card.prohibited_paths, *ground.policy.protected_paths)
    shut = tuple(map(parse, exceptions))
    for number, text in enumerate(card.owned_paths):
        if intersect(parse(text), _EVERYTHING, outside=shut) is None:
            yield Problem(
                kind="idle-pattern",
                what=f"{text} allows nothing.",
                why="Every path that it names is read-only, prohibited or protected, which outweighs owning.",
                fix="Leave it out, or narrow the list that shuts it.",
                where=places.where(f"owned_paths[{number}]"),
            )
    if ground.files is None or card.depends_on:
        return
    for number, text in enumerate(card.read_only_paths):
        if not parse(text).select(ground.files):
            yield Problem(
                kind="idle-pattern",
                what=f"{text} names no file of the base.",
                why="It may not be written either, so it says nothing; perhaps it is misspelt.",
                fix="Mend the path or leave it out.",
                where=places.where(f"read_only_paths[{number}]"),
            )


def _patterns(card: Card) -> Iterator[tuple[str, str]]:
    for key in ("owned_paths", "read_only_paths", "prohibited_paths"):
        for number, text in enumerate(getattr(card, key)):
            yield f"{key}[{number}]", text
