"""Which changes are open: branches that are not merged, and tasks with what stands in their trees; comparing them is conflicts' work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from interlock.app.base import card_file
from interlock.app.cardjson import from_json
from interlock.app.conflicts import Open
from interlock.app.isolate import place_of
from interlock.app.scope import Against, open_heads, slug_of
from interlock.core.contract.card import Card
from interlock.core.contract.overlap import Claim, claim
from interlock.core.contract.spelling import PatternError
from interlock.core.job.lifecycle import Job
from interlock.ports.bundle import Ports
from interlock.ports.contract import ContractFiles
from interlock.ports.repository import Reader


def of_refs(reader: Reader, files: ContractFiles, base: Against, refs: Sequence[str]) -> tuple[Open, ...]:
    """The refs that a person named, each once, with their cards where they are branches of tasks.  Raises Misuse."""
    named = tuple(dict.fromkeys(refs))
    return with_cards(reader, files, base, dict(zip(named, reader.resolve_many(named), strict=True)))


def of_branches(reader: Reader, files: ContractFiles, base: Against) -> tuple[Open, ...]:
    """Every agent branch that is not merged into the base."""
    return with_cards(reader, files, base, {asked.ref: asked.oid for asked in open_heads(reader, base)})


def of_tasks(ports: Ports, base: Against) -> tuple[Open, ...]:
    """The same, with the tasks of this repository: their age, their order, and what is not committed in their trees."""
    found = {change.name: change for change in of_branches(ports.repo, ports.files, base)}
    jobs = ports.store.jobs()
    names = {job.slug: job.branch for job in jobs}
    for job in jobs:
        known = found.get(job.branch) or found.pop(f"origin/{job.branch}", None)
        change = _of_job(ports, job, known, names)
        if change is not None:
            found[change.name] = change
    return tuple(found.values())


def _of_job(ports: Ports, job: Job, known: Open | None, names: Mapping[str, str]) -> Open | None:
    card = from_json(job.card)
    place = place_of(job) if job.workspace else None
    if place is not None and not ports.workspaces.exists(place):
        place = None
    if known is None and place is None:
        return None
    return Open(
        name=job.branch,
        head=known.head if known else job.head or job.base,
        since=job.admitted_at,
        depends_on=tuple(names.get(slug, slug) for slug in card.depends_on),
        place=place,
        claim=_claim(card, job.branch),
        task=job.slug,
        quiet=known is None,
    )


def with_cards(reader: Reader, files: ContractFiles, base: Against, heads: Mapping[str, str]) -> tuple[Open, ...]:
    """Changes with what their cards on the base declare; a card that cannot be read declares nothing here."""
    slugs = {name: slug_of(name) for name in heads if "agent/" in name}
    names = {slug: name for name, slug in slugs.items()}
    blobs = reader.read_many([(base.oid, card_file(slug)) for slug in slugs.values()])
    cards = {
        name: files.card(blob.data, card_file(slug), slug, blob.oid).card
        for (name, slug), blob in zip(slugs.items(), blobs, strict=True)
        if blob is not None
    }
    found = []
    for name, head in heads.items():
        change = Open(name=name, head=head)
        if card := cards.get(name):
            needs = tuple(names.get(slug, slug) for slug in card.depends_on)
            change = replace(change, depends_on=needs, claim=_claim(card, name))
        found.append(change)
    return tuple(found)


def _claim(card: Card, name: str) -> Claim | None:
    try:
        return replace(claim(card, card.prohibited_paths), slug=name)
    except PatternError:
        return None
