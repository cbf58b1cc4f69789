"""Proposed cards: kept in the record, judged as a batch among the cards that are there, and accepted by a person; making them is app.split's."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from interlock.app.card_source import Source, from_default_branch
from interlock.app.cards import CardProblem, check_cards, graph_of
from interlock.core.agent.proposing import Document, is_open, with_owner
from interlock.core.contract.overlap import Overlap
from interlock.core.counting import count
from interlock.core.problems import BadInput, Misuse, Problem, Refusal, Refused, Where, refused
from interlock.ports.bundle import Ports
from interlock.ports.contract import CardFile, ContractFiles

_NAME: Final = re.compile(r"split-[0-9a-f]{1,16}")
_ABOUT: Final = "proposal.json"
_CARDS: Final = "cards"
_ACCEPTED: Final = "accepted.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A proposed batch as it stands: every problem, the overlaps, what depends on what, and whose owner is open.

    ``owners`` are by slug, empty where a person has to name one.
    """

    documents: tuple[Document, ...]
    problems: tuple[CardProblem, ...]
    overlaps: tuple[Overlap, ...]
    graph: Mapping[str, Any]
    owners: Mapping[str, str] = field(default_factory=dict)

    @property
    def ready(self) -> bool:
        """Whether it could be committed once the owners are named."""
        return not self.overlaps and not any(each.blocks for each in self.problems)

    @property
    def told(self) -> tuple[str, ...]:
        """Everything that is wrong, each in the words that a person gets."""
        problems = [
            f"{f'{p.where}: ' if p.where else ''}{p.what} {p.why} {p.fix}"
            for p in (each.problem for each in self.problems if each.blocks)
        ]
        return (*problems, *(_overlap(each) for each in self.overlaps))

    def as_json(self) -> dict[str, Any]:
        return {
            "ready": self.ready,
            "cards": [{"slug": each.slug, "owner": self.owners.get(each.slug) or None} for each in self.documents],
            "problems": [each.as_json() for each in self.problems],
            "overlaps": [each.as_json() for each in self.overlaps],
            "graph": dict(self.graph),
        }


def _overlap(each: Overlap) -> str:
    both = f"{each.a} and {each.b} both own" if each.kind == "write-write" else f"{each.a} owns and {each.b} reads"
    return f"{both} {each.path}. {each.fix}"


def judge(
    files: ContractFiles,
    source: Source,
    landed: frozenset[str],
    documents: Sequence[Document],
    *,
    faults: Sequence[Problem] = (),
    open_owners: bool = True,
) -> Judged:
    """Judge a batch as ``card check`` would after it was committed; ``open_owners`` lets owners be named later."""
    names = {each.slug for each in documents}
    taken = [_taken(each) for each in documents if any(known.slug == each.slug for known in source.cards)]
    proposed = [files.card(each.text.encode(), each.file, each.slug) for each in documents]
    others = [known for known in source.cards if known.slug not in names]
    report = check_cards(
        [*others, *proposed],
        source.policy,
        source=source.name,
        base_files=source.files,
        landed=landed - names,
    )
    problems = [CardProblem(slug=None, problem=each) for each in faults]
    problems += [CardProblem(slug=slug, problem=problem) for slug, problem in taken]
    problems += [each for each in report.problems if each.slug in names and not (open_owners and _is_owner(each))]
    return Judged(
        documents=tuple(documents),
        problems=tuple(problems),
        overlaps=tuple(each for each in report.overlaps if {each.a, each.b} & names),
        graph=graph_of(proposed, landed | {each.slug for each in others}),
        owners={each.slug: _owner(each) for each in proposed},
    )


def _taken(each: Document) -> tuple[str, Problem]:
    return each.slug, Problem(
        kind="name-taken",
        what=f"There is a card {each.slug} already.",
        why="A card is never overwritten by a proposal.",
        fix="Take another slug.",
        where=Where(file=each.file),
    )


def _is_owner(each: CardProblem) -> bool:
    return each.problem.kind == "owner"


def _owner(found: CardFile) -> str:
    owner = found.draft.integration_owner if found.draft is not None else ""
    return "" if is_open(owner) else owner


# ---------------------------------------------------------------- the record
def keep(ports: Ports, name: str, judged: Judged, about: Mapping[str, Any]) -> Path:
    """Write a proposal into the record; gives the folder of its cards."""
    folder = ports.records.job(name)
    cards = folder / _CARDS
    cards.mkdir(exist_ok=True)
    for old in cards.glob("*.yaml"):
        old.unlink()
    for each in judged.documents:
        (cards / f"{each.slug}.yaml").write_text(each.text, encoding="utf-8")
    fresh = folder / f"{_ABOUT}.new"
    fresh.write_text(json.dumps({**about, **judged.as_json()}, indent=2), encoding="utf-8")
    fresh.replace(folder / _ABOUT)
    return cards


def load(ports: Ports, named: str) -> tuple[Document, ...]:
    """The cards of a proposal by its name, or of a folder of cards.  Raises Misuse when there is none."""
    folder = ports.records.job(named) / _CARDS if _NAME.fullmatch(named) else Path(named)
    paths = sorted(folder.glob("*.yaml")) if folder.is_dir() else []
    if not paths:
        raise Misuse(f"There is no proposal {named}.", hint="interlock card split PLAN makes one.")
    return tuple(Document(path.stem, path.read_text(encoding="utf-8", errors="surrogateescape")) for path in paths)


# ---------------------------------------------------------------- acceptance
def accept(ports: Ports, named: str, owners: Mapping[str, str], default: str | None, actor: str) -> tuple[str, ...]:
    """Write the cards of a proposal with their owners into the working tree, when they may be committed as they are.

    ``owners`` are by slug, ``default`` is for those that are open.  It is judged anew on the default branch as it
    stands now.  Gives the files.  Raises Misuse for an unknown slug; Refused: proposal, while anything is not ready,
    an owner is open or two cards meet, and name-taken, when a file is there already.
    """
    found = load(ports, named)
    unknown = sorted(set(owners) - {each.slug for each in found})
    if unknown:
        raise Misuse(
            f"The proposal has no card {unknown[0]}.", hint=f"Its cards: {', '.join(each.slug for each in found)}."
        )
    source = from_default_branch(ports.repo, ports.files)
    if source.policy_problems:
        raise BadInput(source.policy_problems)
    landed = ports.repo.landed_slugs(ports.repo.last_base().oid)
    owned = tuple(Document(each.slug, _with_owner(ports, each, owners, default)) for each in found)
    judged = judge(ports.files, source, landed, owned, open_owners=False)
    if not judged.ready:
        raise Refused(_not_ready(named, judged))
    files = _write(ports.repo.at_hand, owned)
    if _NAME.fullmatch(named):
        shape = {"by": actor, "at": ports.clock.now(), "owners": dict(judged.owners), "files": list(files)}
        (ports.records.job(named) / _ACCEPTED).write_text(json.dumps(shape, indent=2), encoding="utf-8")
    return files


def _with_owner(ports: Ports, each: Document, owners: Mapping[str, str], default: str | None) -> str:
    chosen = owners.get(each.slug)
    if chosen is None and not _owner(ports.files.card(each.text.encode("utf-8", "replace"), each.file, each.slug)):
        chosen = default
    return each.text if chosen is None else with_owner(each.text, chosen)


def _not_ready(named: str, judged: Judged) -> Refusal:
    problems = [each.problem for each in judged.problems if each.blocks]
    problems += [
        Problem(kind="overlap", what=_overlap(each), why="Two agents would work on one file.", fix=each.fix)
        for each in judged.overlaps
    ]
    return Refusal(
        rule="proposal",
        what=f"The proposal {named} is not ready: {count(len(problems), 'problem')}.",
        why="Cards are committed only when each is ready and no two of them meet.",
        would_change=f"Name the open owners, mend the cards (interlock card accept {named} --into FOLDER writes them out), "
        "or split the plan again.",
        number=len(problems),
        problems=tuple(problems),
    )


def _write(top: Path, documents: Sequence[Document]) -> tuple[str, ...]:
    """Write accepted cards into the working tree, over nothing, and none when one is there.  Raises Refused (name-taken)."""
    there = [each.file for each in documents if os.path.lexists(top / each.file)]
    if there:
        raise refused(
            rule="name-taken",
            what=f"{', '.join(there)} {'is' if len(there) == 1 else 'are'} there already.",
            why="A file of yours is never overwritten.",
            would_change="Move it away, or take another slug.",
            holders=tuple(there),
        )
    for each in documents:
        path = top / each.file
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", errors="surrogateescape") as stream:
            stream.write(each.text)
    return tuple(each.file for each in documents)
