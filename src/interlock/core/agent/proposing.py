"""Proposed cards in an agent's text: where each one begins, its name, its owner, and how cards are asked for; judging them is app.proposal's."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from interlock.core.contract.card import Card
from interlock.core.contract.policy import Policy
from interlock.core.problems import Problem, Where

MOST_CARDS: Final = 50
OPEN_OWNER: Final = "TBD"

_FENCE: Final = re.compile(r"^```[ \t]*(?:ya?ml)?[ \t]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
_BETWEEN: Final = re.compile(r"^---[ \t]*$", re.MULTILINE)
_SLUG: Final = re.compile(r"^slug:[ \t]*[\"']?([a-z0-9][a-z0-9-]{0,40})[\"']?[ \t]*(?:#.*)?$", re.MULTILINE)
_OWNER: Final = re.compile(r"^integration_owner[ \t]*:.*(?:\n[ \t]+.*)*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Document:
    """One proposed card: the slug that it names (or ``card-N`` where it names none that can be used), and its text."""

    slug: str
    text: str

    @property
    def file(self) -> str:
        return f"tasks/{self.slug}.yaml"


def documents(text: str) -> tuple[tuple[Document, ...], tuple[Problem, ...]]:
    """The cards in a text, and what keeps it from being a batch: none, too many, two of one name.

    A card is a YAML document: in a fenced block, or where there is none in the whole text; ``---`` stands between two.
    """
    blocks = [found[1] for found in _FENCE.finditer(text.replace("\r\n", "\n"))] or [text.replace("\r\n", "\n")]
    parts = [part.strip("\n") for block in blocks for part in _BETWEEN.split(block)]
    filled = [part for part in parts if any(line.strip() and not line.startswith("#") for line in part.splitlines())]
    if not any(":" in part for part in filled):
        return (), (_problem("missing", "There is no card in what was handed in.", _FORM),)
    if len(filled) > MOST_CARDS:
        what = f"There are {len(filled)} cards, and {MOST_CARDS} are allowed."
        return (), (_problem("shape", what, "Split a part of the plan, and the rest afterwards."),)
    found = tuple(Document(_slug(part, number), f"{part}\n") for number, part in enumerate(filled, start=1))
    names = [each.slug for each in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    problems = tuple(
        _problem("slug", f"Two cards are called {name}.", "Give each its own slug.", f"tasks/{name}.yaml")
        for name in twice
    )
    return found, problems


def with_owner(text: str, owner: str) -> str:
    """The text of a card with this integration owner in place of the one it has, if it has any."""
    line = f"integration_owner: {json.dumps(owner, ensure_ascii=False)}"
    if _OWNER.search(text):
        return _OWNER.sub(lambda _: line, text, count=1)
    return f"{text.rstrip()}\n{line}\n"


def is_open(owner: str) -> bool:
    """Whether an owner is left for a person to name, as a proposal may."""
    return owner.strip().lstrip("@").upper() in ("", OPEN_OWNER)


def ask(plan: str, plan_text: str, policy: Policy, others: Sequence[Card]) -> str:
    """What an agent is asked for a plan of the repository; ``others`` are cards that are there already."""
    classes = "\n".join(_class_line(each.name, each.kind, each.paths) for each in policy.classes)
    there = "\n".join(f"- {each.slug}: owns {', '.join(each.owned_paths)}" for each in others) or "- none"
    return f"""\
# Split a plan into task cards

Split the plan below into cards that agents can work on at the same time, each in its own tree. Look at the repository
in the current folder; change nothing in it. {_FORM}

A card looks like this; leave no key of it out:

```yaml
slug: billing-retry
class: vertical-slice
goal: Retry failed charges with back-off.
accepted_plan: {plan}
owned_paths: [src/billing/retry/**, tests/billing/retry/**]
read_only_paths: [src/billing/client.py]
depends_on: []
checks: ["pytest -q tests/billing/retry"]
done_when: [failed charges are retried 3 times]
stop_when: [a change outside owned_paths is needed, the plan contradicts the code]
integration_owner: {OPEN_OWNER}
```

Rules:
- No two cards may own a common path, and none may own what another reads, unless one depends on the other. Where two
  need the same file, make one small card for it first, and let both depend on it.
- A path is relative to the root; `**` stands for any folders. Own as little as possible.
- Each check is a command that fails when the work is wrong. Never `|| true`.
- Ask nothing and leave nothing open: a card with `open_questions` is not ready. Owners stay {OPEN_OWNER}; a person names them.
- A slug has small letters, digits and dashes, 41 at most, and is not one of those that are there.

Classes:
{classes}

Cards that are there already:
{there}

## The plan: {plan}

{plan_text.strip()}
"""


def ask_again(first: str, said: str, problems: Sequence[str]) -> str:
    """What is asked in a round of repair: all of the first request, what was handed in, and every problem word for word."""
    listed = "\n".join(f"- {each}" for each in problems)
    return f"""\
{first}
## What you handed in before

{said.strip() or "Nothing."}

## What is wrong with it

{listed}

Hand in all cards again, those too that nothing was wrong with.
"""


_FORM: Final = (
    "Hand in all cards with `interlock-task pack -` (it reads standard input): one YAML document each, with a line of "
    "--- between two."
)


def _class_line(name: str, kind: str, paths: Sequence[str]) -> str:
    only = f"; only it may own {', '.join(paths)}" if paths else ""
    return f"- {name} ({kind}{only})"


def _slug(text: str, number: int) -> str:
    found = _SLUG.search(text)
    return found[1] if found else f"card-{number}"


def _problem(kind: str, what: str, fix: str, file: str = "") -> Problem:
    why = "What is handed in has to be a batch of cards that can be committed as it is."
    return Problem(kind=kind, what=what, why=why, fix=fix, where=Where(file=file) if file else None)
