"""The text of a new card: ready when its blanks are filled, at once when all is given; writing the file is the command's work."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

BLANK: Final = "FILL IN"
"""What marks a blank in a new card."""

_TEMPLATE: Final = """\
slug: {slug}
class: {class_name}
goal: {goal}
owned_paths:{owned_paths}
read_only_paths: []
prohibited_paths: []
depends_on: []
checks:{checks}
done_when:{done_when}
stop_when:
  - a change outside owned_paths is needed
  - a check fails three times in a row
open_questions: []
integration_owner: {owner}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewCard:
    """What is known about a card that is to be written; what is empty becomes a marked blank."""

    slug: str
    class_name: str
    owner: str
    goal: str = ""
    owned_paths: Sequence[str] = ()
    checks: Sequence[str] = ()
    done_when: Sequence[str] = ()


def card_text(card: NewCard) -> str:
    """The card as YAML; every value is quoted as JSON quotes it, which YAML reads alike."""
    return _TEMPLATE.format(
        slug=_quoted(card.slug),
        class_name=card.class_name,
        goal=_quoted(card.goal) if card.goal else f'""   # {BLANK}: what, for whom',
        owned_paths=_list(card.owned_paths, "the paths it may change, such as [src/billing/retry/**]"),
        checks=_list(card.checks, 'the commands that prove it, such as ["npm test -- tests/billing/retry"]'),
        done_when=_list(card.done_when or ("the goal is reached and every check passes",), ""),
        owner=_quoted(card.owner),
    )


def blanks_of(text: str) -> int:
    return text.count(f"# {BLANK}:")


def _list(values: Sequence[str], hint: str) -> str:
    if not values:
        return f" []   # {BLANK}: {hint}"
    return "".join(f"\n  - {_quoted(value)}" for value in values)


def _quoted(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
