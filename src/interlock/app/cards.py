"""Cards read and checked together from what is handed in; whether that is the default branch or a folder is the caller's choice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from interlock.app.card_paths import FOLDER, SUFFIX
from interlock.core.contract.batch import Batch, check_batch, find_cycles
from interlock.core.contract.ground import Ground, ground_of
from interlock.core.contract.paths import explain
from interlock.core.contract.places import Places, in_order
from interlock.core.contract.readiness import judge_on, warnings_on
from interlock.core.gate.changes import Change
from interlock.core.gate.scope import judge_change, scope_of
from interlock.core.problems import BadInput, Problem, Where
from interlock.ports.contract import CardFile, ContractFiles

if TYPE_CHECKING:  # verbs that must start at once import this
    from interlock.core.contract.card import Card
    from interlock.core.contract.overlap import Overlap
    from interlock.core.contract.policy import Policy

_LONGEST = 60  # beyond any slug, and in bytes within any name of a file


@dataclass(frozen=True, slots=True, kw_only=True)
class CardProblem:
    """A problem of one card (None: of the policy); one that does not block is a warning."""

    slug: str | None
    problem: Problem
    blocks: bool = True

    def as_json(self) -> dict[str, Any]:
        return {"slug": self.slug, **self.problem.as_json(), "blocks": self.blocks}


@dataclass(frozen=True, slots=True, kw_only=True)
class CardReport:
    """What a check of cards found; ``source`` says where they were read, ``order`` which can land and in which order.

    ``skipped`` have landed; ``abandoned`` are those whose last job a person closed, with the card as it still is.
    """

    source: str
    problems: tuple[CardProblem, ...]
    overlaps: tuple[Overlap, ...]
    order: tuple[str, ...]
    skipped: tuple[str, ...] = ()
    abandoned: tuple[str, ...] = ()

    def without(self, abandoned: Sequence[str]) -> CardReport:
        """The same, saying which of its cards were given up as they are and are not started by themselves."""
        told = set(self.order) | {each.slug for each in self.problems}
        return replace(self, abandoned=tuple(slug for slug in abandoned if slug in told))

    @property
    def ready(self) -> bool:
        return not self.overlaps and not any(each.blocks for each in self.problems)

    def as_json(self) -> dict[str, Any]:
        """The shape of ``card check --json``."""
        return {
            "ready": self.ready,
            "problems": [each.as_json() for each in self.problems],
            "overlaps": [each.as_json() for each in self.overlaps],
            "order": list(self.order),
            "source": self.source,
            "skipped": list(self.skipped),
            "abandoned": list(self.abandoned),
        }


def read_set(files: ContractFiles, read: Callable[[str], bytes | None], names: Iterable[str]) -> tuple[CardFile, ...]:
    """The cards of these slugs, in name order and each once.

    ``read`` gives the bytes of a path, or None where there is none; that is a problem of the card (unknown-card).
    """
    return tuple(_read_one(files, read, slug) for slug in sorted(set(names)))


def _read_one(files: ContractFiles, read: Callable[[str], bytes | None], slug: str) -> CardFile:
    path = f"{FOLDER}/{slug}{SUFFIX}"
    if not slug or len(slug) > _LONGEST or "/" in slug or slug.startswith(".") or not slug.isprintable():
        told = repr(slug if len(slug) <= _LONGEST else f"{slug[:_LONGEST]}…") if slug else "An empty text"
        problem = Problem(
            kind="slug",
            what=f"{told} is no slug.",
            why="A slug is the name of a file in tasks, without its folder and its .yaml.",
            fix="Name the card, such as billing-retry.",
        )
        return CardFile(slug=slug, file=path, card=None, problems=(problem,))
    data = read(path)
    if data is not None:
        return files.card(data, path, slug)
    problem = Problem(
        kind="unknown-card",
        what=f"There is no card {path}.",
        why="Nothing of that name was found where the cards were read.",
        fix=f"Write it with: interlock card new {slug} --class vertical-slice.",
        where=Where(file=path),
    )
    return CardFile(slug=slug, file=path, card=None, problems=(problem,))


def check_cards(
    cards: Sequence[CardFile],
    policy: Policy,
    *,
    source: str,
    base_files: tuple[str, ...] | None,
    only: Sequence[str] = (),
    landed: frozenset[str] = frozenset(),
    policy_problems: Sequence[Problem] = (),
) -> CardReport:
    """Every reason at once why these cards, alone and together, are not ready.

    ``cards`` are all cards of the source, since order and circles run through all of them; ``only`` limits the
    answer to some of them (none named: all).  Cards that have landed are not judged again.  ``base_files`` are
    the files of the commit, None leaves the rules out that need them.
    """
    wanted = frozenset(only) or frozenset(each.slug for each in cards)
    judged = [each for each in cards if each.slug not in landed]
    ground = ground_of(policy, base_files)
    batch = _batch(judged, landed)
    problems = [CardProblem(slug=None, problem=problem) for problem in policy_problems]
    for each in judged:
        if each.slug in wanted:
            problems.extend(_problems(each, ground, batch))
    return CardReport(
        source=source,
        problems=tuple(problems),
        overlaps=tuple(each for each in batch.overlaps if each.a in wanted and each.b in wanted),
        order=tuple(slug for slug in batch.order if slug in wanted),
        skipped=tuple(sorted(wanted & landed)),
    )


def _batch(cards: Sequence[CardFile], landed: frozenset[str]) -> Batch:
    drafts: list[Card] = [each.draft for each in cards if each.draft is not None]
    unreadable = frozenset(each.slug for each in cards if each.draft is None and not _absent(each))
    places = {each.slug: _places(each) for each in cards}
    return check_batch(drafts, landed=landed, unreadable=unreadable, places=places)


def _absent(card: CardFile) -> bool:
    return any(problem.kind == "unknown-card" or problem.where is None for problem in card.problems)


def _places(card: CardFile) -> Places:
    return Places(card.file, card.positions, card.spoiled)


def _problems(card: CardFile, ground: Ground, batch: Batch) -> Iterable[CardProblem]:
    """What is wrong with one card: as it was read, alone, and among the others; then its warnings."""
    found = list(card.problems)
    warnings: tuple[Problem, ...] = ()
    if card.draft is not None:
        found.extend(judge_on(card.draft, ground, _places(card)))
        warnings = warnings_on(card.draft, ground, _places(card))
    found.extend(batch.problems.get(card.slug, ()))
    yield from (CardProblem(slug=card.slug, problem=problem) for problem in in_order(found))
    yield from (CardProblem(slug=card.slug, problem=problem, blocks=False) for problem in warnings)


def graph_of(cards: Sequence[CardFile], landed: frozenset[str] = frozenset()) -> dict[str, Any]:
    """What depends on what: each card with its wave (1: can start now; None: cannot land), circles, unknown needs."""
    drafts = {each.slug: each.draft for each in cards if each.draft is not None and each.slug not in landed}
    graph = {slug: draft.depends_on for slug, draft in drafts.items()}
    known = landed | {each.slug for each in cards if not _absent(each)}
    order = _batch([each for each in cards if each.slug not in landed], landed).order
    waves: dict[str, int] = {}
    for slug in order:
        waves[slug] = 1 + max((waves.get(need, 0) for need in graph[slug]), default=0)
    return {
        "nodes": [
            {"slug": slug, "depends_on": list(graph[slug]), "wave": waves.get(slug)}
            for slug in sorted(graph, key=lambda slug: (waves.get(slug, len(graph) + 1), slug))
        ],
        "edges": [{"from": need, "to": slug} for slug in sorted(graph) for need in graph[slug]],
        "cycles": [list(circle) for circle in find_cycles(graph)],
        "unknown": [
            {"slug": slug, "needs": need} for slug in sorted(graph) for need in graph[slug] if need not in known
        ],
        "order": list(order),
    }


def explain_paths(cards: Sequence[CardFile], policy: Policy, slug: str, paths: Sequence[str]) -> list[dict[str, Any]]:
    """For each path which rule objects to a change of it (None: it is in scope), and which pattern decided.

    Raises BadInput when the card cannot be read.
    """
    found = next(each for each in cards if each.slug == slug)
    if found.card is None:
        raise BadInput(found.problems)
    scope = scope_of(found.card, policy.protected_paths)
    result = []
    for path in paths:
        violation = judge_change(scope, Change(path=path, status="M", old_mode=0o100644, new_mode=0o100644))
        if violation is not None:
            result.append({"path": path, "rule": violation.rule, "pattern": violation.decided_by, "why": violation.why})
        else:
            told = explain(scope.owned, path)
            result.append({"path": path, "rule": None, "pattern": told.pattern, "why": told.why})
    return result
