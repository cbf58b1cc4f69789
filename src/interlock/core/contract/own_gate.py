"""Judges that the work itself could rewrite: a loop's gate is refused, a check's own file is a warning."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from interlock.core.contract.card import Card
from interlock.core.contract.ground import Ground
from interlock.core.contract.paths import decider, parse
from interlock.core.contract.places import Places
from interlock.core.gate.test_code import is_test_side
from interlock.core.problems import Problem


def own_gate(card: Card, ground: Ground, places: Places) -> Iterator[Problem]:
    """A problem for each file that the gate or the skip rule names and the card owns.

    Of a base that is known only its files count; a word that names no file may be anything.
    """
    if card.loop is None:
        return
    owned = [parse(pattern) for pattern in card.owned_paths]
    for key, command in (("loop.gate", card.loop.gate.run), ("loop.skip", card.loop.skip or "")):
        for word in _words(command):
            path = word.removeprefix("./").partition("::")[0]
            pattern = decider(owned, path)
            if pattern is not None and (ground.files is None or path in ground.files):
                yield Problem(
                    kind="own-gate",
                    what=f"{path} decides the loop, and the card owns it ({pattern.text}).",
                    why="An agent that may change its gate can make it pass without mending anything.",
                    fix=f"Take {path} out of owned_paths, or have the gate run a file that the card does not own.",
                    where=places.where(key),
                )


def own_judges(card: Card, ground: Ground, places: Places) -> Iterator[Problem]:
    """A warning for each file that a check runs and the card owns by its exact path: it is given to the work, and judges it.

    Tests are left out: what becomes of them is compared with the base.
    """
    exact = {pattern.text for pattern in map(parse, card.owned_paths) if pattern.plain}
    for number, check in enumerate(card.checks):
        words = (word.removeprefix("./").partition("::")[0] for word in _words(check.run))
        for path in dict.fromkeys(words):
            if path in exact and path in (ground.files or ()) and not is_test_side(path):
                yield Problem(
                    kind="own-gate",
                    what=f"{path} is what the check runs, and the card owns it by its exact path.",
                    why="The work may change it in any way, so that this check shows only what the work lets it show.",
                    fix=f"Take {path} out of owned_paths, unless changing it is the task; then add a check that it does not decide.",
                    where=places.where(f"checks[{number}]"),
                )


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()
