"""A resolution of two changes as values: what its agent must say, and what of that does not hold; running its test is the app's.

Source: issue of step 4, row G4: against both cards' intent, with a test that proves that both survive.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

_FENCE: Final = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n```", re.DOTALL)
_LONGEST_QUOTE: Final = 2000
_SHORTEST_QUOTE: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """One of the two changes: its slug, and every text in which its intent stands: card, plan, goal."""

    slug: str
    texts: tuple[str, ...]

    def says(self, quote: str) -> bool:
        """Whether these words stand in one of its texts, whatever the line breaks."""
        wanted = _flat(quote)
        return any(wanted in _flat(text) for text in self.texts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """One conflict as the agent settled it: where, what it is, whose intent wins (a slug, or both), and the quotes for it."""

    path: str
    what: str
    wins: str
    quotes: Mapping[str, str]
    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """What the agent handed in: every conflict, the test that proves both, and why a plan must change (empty: none must)."""

    conflicts: tuple[Settled, ...]
    test: str
    plan_must_change: str = ""


def read_resolution(text: str) -> Resolution | str:
    """The resolution in what an agent handed on, or what is wrong with its form, as a whole sentence.

    Its last block of JSON counts, else the whole text.
    """
    blocks = _FENCE.findall(text)
    try:
        shape = json.loads(blocks[-1] if blocks else text)
    except (ValueError, RecursionError):
        return "It handed in no list of conflicts as JSON."
    if not isinstance(shape, dict):
        return "What it handed in is not one JSON object."
    listed = shape.get("conflicts")
    if not isinstance(listed, list):
        return "Its JSON has no list of conflicts."
    settled = [_settled(each) for each in listed]
    if wrong := [number for number, each in enumerate(settled, 1) if each is None]:
        return f"Conflict {wrong[0]} of its list lacks path, what, wins, quotes or because."
    test, change = shape.get("test", ""), shape.get("plan_must_change", "")
    if not isinstance(test, str) or not isinstance(change, str):
        return "test and plan_must_change are texts."
    return Resolution(
        conflicts=tuple(each for each in settled if each), test=test.strip(), plan_must_change=change.strip()
    )


def _settled(value: Any) -> Settled | None:
    if not isinstance(value, dict):
        return None
    texts = [value.get(key) for key in ("path", "what", "wins", "because")]
    quotes = value.get("quotes")
    if not all(isinstance(text, str) and text.strip() for text in texts) or not isinstance(quotes, dict):
        return None
    if not all(isinstance(text, str) for text in quotes.values()):
        return None
    path, what, wins, because = (str(text).strip() for text in texts)
    return Settled(path=path, what=what, wins=wins, because=because, quotes={str(k): v for k, v in quotes.items()})


def faults(found: Resolution, one: Intent, other: Intent, clashes: Sequence[str]) -> tuple[str, ...]:
    """What of a resolution does not hold, each as a whole sentence; empty when all does.

    ``clashes`` are the paths that git left marked; each of them has to be among the conflicts.
    """
    sides = {one.slug: one, other.slug: other}
    wrong: list[str] = []
    if not found.conflicts:
        wrong.append("It lists no conflict, although the two do not go together.")
    missing = [path for path in clashes if path not in {each.path for each in found.conflicts}]
    if missing:
        wrong.append(f"It does not say how {', '.join(missing)} was settled.")
    for each in found.conflicts:
        wrong += _faults_of(each, sides)
    if not found.test:
        wrong.append("It names no test that proves both.")
    return tuple(wrong)


def _faults_of(each: Settled, sides: Mapping[str, Intent]) -> list[str]:
    wrong = []
    if each.wins not in (*sides, "both"):
        wrong.append(f"{each.path}: {each.wins} is none of {', '.join(sides)}, both.")
    needed = sides if each.wins == "both" or each.wins not in sides else {each.wins: sides[each.wins]}
    for slug, intent in needed.items():
        quote = each.quotes.get(slug, "")
        if not _SHORTEST_QUOTE <= len(quote.strip()) <= _LONGEST_QUOTE:
            wrong.append(f"{each.path}: it quotes nothing of {slug}'s card or plan.")
        elif not intent.says(quote):
            wrong.append(f'{each.path}: "{quote.strip()[:80]}" does not stand in the card or plan of {slug}.')
    return wrong


def _flat(text: str) -> str:
    return " ".join(text.split()).casefold()


def judge_proof(
    test: str,
    *,
    alone: Mapping[str, str | None],
    combined: str | None,
    without: Mapping[str, str | None] | None = None,
) -> tuple[str, ...]:
    """What the runs of the test say against it: it must fail with either change alone and pass with both.

    ``without`` are its runs on the combination with one change taken out of it: a test of what only the resolution itself
    brought passes there, and shows nothing of that change.  States are those of a test report; None: it did not run there.
    """
    wrong = []
    if combined not in ("passed", "xpassed"):
        wrong.append(f"{test} {_ran(combined)} on the combination, where it must pass.")
    for slug, state in alone.items():
        if state in ("passed", "xpassed"):
            wrong.append(f"{test} passes with {slug} alone, so it does not show that the other one survives.")
        elif state in ("skipped", "xfailed"):
            wrong.append(f"{test} is {state} with {slug} alone, which shows nothing.")
    for slug, state in (without or {}).items():
        if state in ("passed", "xpassed", "skipped", "xfailed"):
            wrong.append(
                f"{test} is {state} on the combination without the work of {slug}, so it does not show that it survives."
            )
    return tuple(wrong)


def others_tests(other: str, changed: Sequence[str], theirs: Sequence[str]) -> tuple[str, ...]:
    """What is wrong where a resolution changes the tests that the landed change brought: they are its proof, not this one's.

    ``changed`` are the paths of the work, ``theirs`` the tests that the other change touched.
    """
    both = sorted(set(changed) & set(theirs))
    if not both:
        return ()
    return (
        f"It changes {', '.join(both)}, tests of {other}, which has landed with them; a change of them needs its own card.",
    )


def lost_tests(slug: str, brought: Sequence[str], left: Sequence[str]) -> tuple[str, ...]:
    """What is wrong where a resolution drops tests that the change itself had brought; one that was moved keeps its name.

    The base has none of them, so no comparison with the base would see it.
    """
    names = {path.rpartition("/")[2] for path in left}
    gone = sorted(path for path in brought if path.rpartition("/")[2] not in names)
    if not gone:
        return ()
    return (f"It drops {', '.join(gone)}, which {slug} had brought; what they demanded would be shown by nothing.",)


def _ran(state: str | None) -> str:
    return "did not run" if state is None else f"is {state}"


ASKED: Final = """\
Phase: resolution. Two changes do not go together. {other} has landed; the tree holds your change, {slug}, merged onto it{marks}.
You see both cards, both plans and both differences below, and nothing of how they were made.

For every conflict decide by what the cards and plans say which intent wins, or how both are kept, and make the tree so.
You may change the paths that either of the two owns, and nothing else; of those, not the tests that {other} brought, which are
its proof. Write a test that fails with {slug} alone, fails with {other} alone, and passes with both. If a plan itself
must change, change nothing and stop with `interlock-task stop --reason … --question …`.

Hand this in with `interlock-task pack -`, as JSON:

```json
{{"conflicts": [{{"path": "…", "what": "…", "wins": "{slug} or {other} or both",
  "quotes": {{"{slug}": "words of its card or plan", "{other}": "words of its card or plan"}}, "because": "…"}}],
 "test": "its id, FILE::test_both, with a file that either of the two owns", "plan_must_change": ""}}
```

Quotes are word for word; they are looked up. The test is run on each side alone and on both."""
