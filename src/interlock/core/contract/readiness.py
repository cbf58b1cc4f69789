"""Is a card ready: every reason at once why not, and what is only worth a warning; cards together are batch's work."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from interlock.core.contract.card import Card
from interlock.core.contract.contradiction import ambiguous_brackets, contradictions, idle_patterns
from interlock.core.contract.defaults import with_defaults
from interlock.core.contract.ground import Ground, ground_of
from interlock.core.contract.needs_known import needs_known
from interlock.core.contract.not_built import not_built
from interlock.core.contract.own_gate import own_gate, own_judges
from interlock.core.contract.places import Places, Positions, in_order
from interlock.core.contract.policy import Policy
from interlock.core.contract.suggest import nearest
from interlock.core.contract.unkept import unkept
from interlock.core.contract.weak_checks import weakness
from interlock.core.problems import Problem

_UNDECIDED: Final = re.compile(r"@?(tbd|tba|tbc|todo|fixme|xxx|\?+|none|nobody|unknown|n/a|-+|\.+|_+|)", re.IGNORECASE)

# Lists that a card may not leave empty: field, kind, what, why, fix.
_NEEDED: Final = (
    (
        "owned_paths",
        "missing",
        "The card owns no path.",
        "Every change would be out of scope.",
        "List what it may change: owned_paths: [src/billing/retry/**, tests/billing/retry/**].",
    ),
    (
        "checks",
        "no-check",
        "The card names no check.",
        "Work that nothing checks cannot be verified, so it could never land.",
        'List the exact commands: checks: ["npm test -- tests/billing/retry"].',
    ),
    (
        "stop_when",
        "no-stop-rule",
        "The card does not say when to stop.",
        "An agent that may not stop works around what it should ask about.",
        "List at least one rule: stop_when: [a change outside owned_paths is needed].",
    ),
)

Rule = Callable[[Card, Ground, Places], Iterator[Problem]]


def judge(
    card: Card,
    positions: Positions,
    policy: Policy,
    *,
    file: str,
    base_files: tuple[str, ...] | None,
) -> tuple[Problem, ...]:
    """Every reason why the card is not ready, from the top of its file to the end; empty when it is (row A7).

    ``base_files`` are all files of the commit that the card is judged on; None leaves the rules out that need them.
    """
    return judge_on(card, ground_of(policy, base_files), Places(file, positions))


def warnings(
    card: Card,
    positions: Positions,
    policy: Policy,
    *,
    file: str,
    base_files: tuple[str, ...] | None,
) -> tuple[Problem, ...]:
    """What is worth a look and keeps nothing from starting: weak checks, idle patterns, budgets that nothing would keep."""
    return warnings_on(card, ground_of(policy, base_files), Places(file, positions))


def judge_on(card: Card, ground: Ground, places: Places) -> tuple[Problem, ...]:
    """As judge, for many cards on one ground."""
    return in_order([problem for rule in _RULES for problem in rule(card, ground, places)])


def warnings_on(card: Card, ground: Ground, places: Places) -> tuple[Problem, ...]:
    """As warnings, for many cards on one ground."""
    found = (
        _weak_checks(card, places),
        own_judges(card, ground, places),
        idle_patterns(card, ground, places),
        unkept(card, ground.policy, places),
    )
    return in_order([problem for each in found for problem in each])


# ---------------------------------------------------------------- the rules
def _needed(card: Card, _: Ground, places: Places) -> Iterator[Problem]:
    for field, kind, what, why, fix in _NEEDED:
        if not getattr(card, field) and field not in places.spoiled:
            yield Problem(kind=kind, what=what, why=why, fix=fix, where=places.where(field))


def _questions(card: Card, _: Ground, places: Places) -> Iterator[Problem]:
    for number, question in enumerate(card.open_questions):
        yield Problem(
            kind="open-question",
            what=f'The question "{question}" is open.',
            why="An agent would answer it by guessing.",
            fix="Decide it, write the decision into the card, and take the question out.",
            where=places.where(f"open_questions[{number}]"),
        )


def _owner(card: Card, _: Ground, places: Places) -> Iterator[Problem]:
    owner = card.integration_owner.strip()
    if _UNDECIDED.fullmatch(owner) and "integration_owner" not in places.spoiled:
        yield Problem(
            kind="owner",
            what=f"The integration owner is not decided: {owner}." if owner else "The card names no integration owner.",
            why="Somebody has to decide about overlaps and sign the combined result off.",
            fix='Name one person: integration_owner: "@ana".',
            where=places.where("integration_owner"),
        )


def _aim(card: Card, ground: Ground, places: Places) -> Iterator[Problem]:
    plan = card.accepted_plan
    if places.spoiled & {"accepted_plan", "goal", "done_when"}:
        return
    if plan is not None:
        if ground.files is not None and plan not in ground.files:
            yield Problem(
                kind="plan",
                what=f"The accepted plan {plan} does not exist on the base.",
                why="The agent works from the base, where it could not read it.",
                fix="Commit the plan to the default branch, or mend its path.",
                where=places.where("accepted_plan"),
            )
        return
    lacking = [
        name for name, value in (("goal", (card.goal or "").strip()), ("done_when", card.done_when)) if not value
    ]
    if lacking:
        yield Problem(
            kind="missing",
            what=f"The card has neither an accepted_plan nor {' and '.join(lacking)}.",
            why="Without a plan, or a goal and the conditions under which it is reached, an agent guesses.",
            fix="Add accepted_plan: docs/plans/<name>.md, or both goal: and done_when:.",
            where=places.where(lacking[0]),
        )


def _class(card: Card, ground: Ground, places: Places) -> Iterator[Problem]:
    if ground.policy.find_class(card.class_name) is not None or "class" in places.spoiled:
        return
    known = [each.name for each in ground.policy.classes]
    guess = nearest(card.class_name, known)
    yield Problem(
        kind="class",
        what=f"The class {card.class_name} is not known.",
        why=f"The classes are: {', '.join(known)}.",
        fix=f"Write class: {guess}." if guess else f"Use one of them, or define {card.class_name} in interlock.yaml.",
        where=places.where("class"),
    )


def _database(card: Card, ground: Ground, places: Places) -> Iterator[Problem]:
    name = card.needs.database
    if name is None:
        return
    known = ground.policy.database(name)
    if known is None:
        names = ", ".join(each.name for each in ground.policy.databases) or "none"
        yield Problem(
            kind="missing",
            what=f"The policy has no database named {name}.",
            why=f"interlock.yaml configures: {names}.",
            fix=f"Add it under databases in interlock.yaml: {name}: {{use: sqlite, baseline: dev.sqlite3}}.",
            where=places.where("needs.database"),
        )


def _not_built(card: Card, ground: Ground, places: Places) -> Iterator[Problem]:
    yield from not_built(with_defaults(card, ground.policy), ground.policy.agents, places)


def _weak_checks(card: Card, places: Places) -> Iterator[Problem]:
    for number, check in enumerate(card.checks):
        weak = weakness(check.run)
        if weak is not None:
            shown = " ".join(check.run.split())
            yield Problem(
                kind="weak-check",
                what=f'The check "{shown}" can pass although what it runs fails.',
                why=weak.why,
                fix=weak.fix,
                where=places.where(f"checks[{number}]"),
            )


_RULES: Final[tuple[Rule, ...]] = (
    own_gate,
    _class,
    _aim,
    _needed,
    contradictions,
    ambiguous_brackets,
    _questions,
    _owner,
    _database,
    needs_known,
    _not_built,
)
