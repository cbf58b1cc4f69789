"""Whether one card of the default branch is ready, by the same rules that ``card check`` applies; asked at dispatch and after a change."""

from __future__ import annotations

from interlock.app.base import View, card_file
from interlock.app.cardjson import from_json
from interlock.app.cards import check_cards
from interlock.core.contract.places import Places
from interlock.core.contract.unkept import unkept
from interlock.core.job.lifecycle import Job
from interlock.core.problems import Problem
from interlock.ports.bundle import Ports
from interlock.ports.contract import CardFile


def card_problems(ports: Ports, view: View, found: CardFile, landed: frozenset[str]) -> tuple[Problem, ...]:
    """Every reason why a card is not ready on this base, as ``card check`` tells them; warnings are left out."""
    cards = (found, *_neighbours(ports, view, found))
    report = check_cards(
        cards,
        view.policy,
        source=view.base.ref,
        base_files=ports.repo.files(view.base.oid),
        only=(found.slug,),
        landed=landed - {found.slug},
    )
    return tuple(each.problem for each in report.problems if each.blocks)


def unkept_limits(view: View, job: Job) -> tuple[str, ...]:
    """Limits of a job that nothing would keep by the present policy, so that its attempts would be refused: in sentences."""
    found = unkept(from_json(job.card), view.policy, Places(card_file(job.slug), {}))
    return tuple(f"{each.what} {each.fix}" for each in found)


def _neighbours(ports: Ports, view: View, card: CardFile) -> tuple[CardFile, ...]:
    """The cards that this one depends on, however far, as far as there are any."""
    seen: dict[str, CardFile | None] = {card.slug: None}
    todo = list(card.draft.depends_on if card.draft else ())
    while todo:
        slug = todo.pop()
        if slug in seen:
            continue
        data = ports.repo.read(view.base.oid, card_file(slug))
        seen[slug] = ports.files.card(data, card_file(slug), slug) if data is not None else None
        found = seen[slug]
        todo.extend(found.draft.depends_on if found and found.draft else ())
    return tuple(each for each in seen.values() if each is not None)
