"""A set of cards together: what depends on what, in which order they can land, and what they both claim."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

from interlock.core.contract.overlap import Overlap, claim, overlap_table
from interlock.core.contract.places import Places
from interlock.core.problems import Problem

if TYPE_CHECKING:  # verbs that must start at once import this
    from interlock.core.contract.card import Card

Graph = Mapping[str, tuple[str, ...]]
"""Slug → the slugs it depends on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What is wrong between cards, by slug; their overlaps; and the order of those that can land."""

    problems: Mapping[str, tuple[Problem, ...]]
    overlaps: tuple[Overlap, ...]
    order: tuple[str, ...]


def check_batch(
    cards: Sequence[Card],
    *,
    landed: frozenset[str] = frozenset(),
    unreadable: frozenset[str] = frozenset(),
    places: Mapping[str, Places] | None = None,
) -> Batch:
    """Check cards that are to be worked on together.

    ``landed`` are slugs that a card may depend on without being here; ``unreadable`` have a card file that is no
    card yet.  Cards in a circle and cards that depend on nothing known are left out of the order, as is all that
    depends on them; nothing else is held up by them (case YC-07).
    """
    by_slug = {card.slug: card for card in cards}
    places = places or {}
    graph: Graph = {slug: by_slug[slug].depends_on for slug in sorted(by_slug)}
    known = landed | unreadable | by_slug.keys()
    cycles = find_cycles(graph)
    problems = {
        slug: tuple(_card_problems(by_slug[slug], known, cycles, places.get(slug, Places(f"tasks/{slug}.yaml", {}))))
        for slug in graph
    }
    before = _all_before(graph)
    overlaps = overlap_table(
        [claim(card, card.prohibited_paths) for card in cards],
        lambda one, other: one in before[other] or other in before[one],
    )
    return Batch(problems=problems, overlaps=overlaps, order=_order(graph, landed))


def find_cycles(graph: Graph) -> tuple[tuple[str, ...], ...]:
    """Circles of dependencies, each from its first slug by name on, in the direction of "depends on".

    One circle for each dependency that has to go to make the graph sound; self-dependencies included.
    """
    edges = {slug: set(needs) & graph.keys() for slug, needs in graph.items()}
    found: list[tuple[str, ...]] = []
    while True:
        try:
            TopologicalSorter({slug: sorted(edges[slug]) for slug in sorted(edges)}).prepare()
        except CycleError as error:
            circle = tuple(reversed(error.args[1][1:]))
            edges[circle[-1]].discard(circle[0])
            first = circle.index(min(circle))
            found.append((*circle[first:], *circle[:first]))
        else:
            return tuple(found)


def _card_problems(
    card: Card, known: Iterable[str], cycles: Iterable[tuple[str, ...]], places: Places
) -> Iterator[Problem]:
    known = set(known)
    for number, slug in enumerate(card.depends_on):
        if slug not in known:
            yield Problem(
                kind="unknown-dependency",
                what=f"{card.slug} depends on {slug}, which has no card.",
                why="A card on a branch does not count: cards are read from one place, and this one would wait for ever.",
                fix=f"Add tasks/{slug}.yaml to the default branch, or take {slug} out of depends_on.",
                where=places.where(f"depends_on[{number}]"),
            )
    for circle in cycles:
        if card.slug in circle:
            at = circle.index(card.slug)
            following = circle[(at + 1) % len(circle)]
            number = card.depends_on.index(following) if following in card.depends_on else 0
            yield _cycle(card.slug, circle, places, number)


def _cycle(slug: str, circle: tuple[str, ...], places: Places, number: int) -> Problem:
    if len(circle) == 1:
        what, fix = f"{slug} depends on itself.", f"Take {slug} out of its own depends_on."
    else:
        what = f"{' -> '.join((*circle, circle[0]))}: each depends on the next, in a circle."
        fix = f"Take one of them out, such as {circle[0]} out of the depends_on of {circle[-1]}."
    return Problem(
        kind="cycle",
        what=what,
        why="None of them can ever start.",
        fix=fix,
        where=places.where(f"depends_on[{number}]"),
    )


def _all_before(graph: Graph) -> dict[str, frozenset[str]]:
    """For each card all that it depends on, however far."""
    result: dict[str, frozenset[str]] = {}
    for slug in graph:
        seen: set[str] = set()
        todo = list(graph[slug])
        while todo:
            need = todo.pop()
            if need not in seen:
                seen.add(need)
                todo.extend(result.get(need) or graph.get(need, ()))
        result[slug] = frozenset(seen)
    return result


def _order(graph: Graph, landed: frozenset[str]) -> tuple[str, ...]:
    """Dependencies first; of what could go next, the first by name."""
    placed: list[str] = []
    done = set(landed)
    waiting = sorted(graph)
    while ready := next((slug for slug in waiting if set(graph[slug]) <= done), None):
        placed.append(ready)
        done.add(ready)
        waiting.remove(ready)
    return tuple(placed)
