"""Admission: may this card start now, and in which slot; reading the slots and keeping the answer is the store's work."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from interlock.core.contract.overlap import Overlap, claim, overlaps_of
from interlock.core.contract.policy import Kind
from interlock.core.gate.request import Admitted, Holder, Lanes, Request
from interlock.core.job.ids import branch_of
from interlock.core.job.lifecycle import Job
from interlock.core.problems import Problem, Refusal

Rule = Callable[[Request, Lanes], Refusal | None]


def decide(request: Request, lanes: Lanes) -> Admitted | Refusal:
    """Admit the request into the lowest free slot of its class, or refuse it by the first rule that objects.

    Takes the slots as one transaction sees them; the answer holds only inside that transaction.
    """
    for rule in RULES:
        refusal = rule(request, lanes)
        if refusal is not None:
            return refusal
    return Admitted(
        job=request.job,
        slug=request.card.slug,
        class_name=request.task_class.name,
        slot=_lowest_free(request, lanes),
    )


def admitted(job: Job) -> Admitted:
    """The proof for a job that the record says was admitted, for whoever carries on where another stopped."""
    return Admitted(job=job.id, slug=job.slug, class_name=job.class_name, slot=job.slot)


def kind_of(class_name: str, kinds: Mapping[str, Kind], otherwise: Kind) -> Kind:
    """The kind of a class as of the newest fetch, else as the asker read it."""
    return kinds.get(class_name, otherwise)


def effective_cap(cap: int | None, kind: str | None) -> int | None:
    """The number of slots that really are: serial and alone classes have one at most, whatever caps.txt says."""
    if cap is None or kind == "parallel":
        return cap
    return min(cap, 1)


def in_use(request: Request, lanes: Lanes, class_name: str | None = None) -> tuple[str, ...]:
    """Who holds a slot: slugs of jobs that are not closed, then branches of agents started by other means.

    With a class, those of that class alone.  The branch that the request adopts is not counted, nor is one
    that belongs to a holder.
    """
    jobs = [holder.slug for holder in lanes.holders if class_name in (None, holder.class_name)]
    known = {request.adopt, *(branch_of(holder.slug) for holder in lanes.holders)}
    foreign = [
        branch for branch, branch_class in request.foreign if branch not in known and class_name in (None, branch_class)
    ]
    return (*jobs, *foreign)


# ---------------------------------------------------------------- the rules, in their order
def _in_flight(request: Request, lanes: Lanes) -> Refusal | None:
    slug = request.card.slug
    for holder in lanes.holders:
        if holder.slug == slug:
            return Refusal(
                rule="in-flight",
                what=f"{slug} is already in flight as job {holder.job}, which is {holder.state}.",
                why="A card has one open job at a time.",
                would_change=f"Job {holder.job} lands or is abandoned.",
                number=1,
                holders=(slug,),
            )
    return None


def _already_landed(request: Request, lanes: Lanes) -> Refusal | None:
    slug = request.card.slug
    if slug not in lanes.landed:
        return None
    return Refusal(
        rule="already-landed",
        what=f"{slug} has landed.",
        why="A card is done once.",
        would_change="A new card with another slug for what is still to do.",
    )


def _no_cap(request: Request, lanes: Lanes) -> Refusal | None:
    if lanes.cap is not None:
        return None
    name = request.task_class.name
    return Refusal(
        rule="no-cap",
        what=f"The class {name} has no cap.",
        why="A class without a line in tasks/caps.txt on the default branch may not start anything.",
        would_change=f"A line '{name} <number>' in tasks/caps.txt lands on the default branch.",
    )


def _paused(request: Request, lanes: Lanes) -> Refusal | None:
    if lanes.paused_by is None:
        return None
    name = request.task_class.name
    return Refusal(
        rule="paused",
        what=f"The class {name} is paused by {lanes.paused_by}.",
        why="A paused class starts nothing; what is in flight goes on.",
        would_change=f"Someone resumes it: interlock caps resume {name}.",
        holders=(lanes.paused_by,),
    )


def _depends_on(request: Request, lanes: Lanes) -> Refusal | None:
    unmet = tuple(slug for slug in request.card.depends_on if slug not in lanes.landed)
    if not unmet:
        return None
    problems = tuple(_unmet(slug, lanes) for slug in unmet)
    return Refusal(
        rule="depends-on",
        what=" ".join(problem.what for problem in problems),
        why=f"{request.card.slug} builds on what these cards land.",
        would_change=" ".join(problem.fix for problem in problems),
        number=len(unmet),
        holders=unmet,
        problems=problems,
    )


def _unmet(slug: str, lanes: Lanes) -> Problem:
    """How a dependency stands that has not landed: in flight, abandoned (which is an end, not a success), or not begun."""
    holder = next((known for known in lanes.holders if known.slug == slug), None)
    if holder is not None:
        what = f"{slug} has not landed; its job {holder.job} is {holder.state}."
        fix = f"{slug} lands."
    elif slug in lanes.abandoned:
        what = f"{slug} was abandoned, so it will not land by itself."
        fix = f"Decide: dispatch {slug} again, or take it out of depends_on."
    else:
        what = f"{slug} has not been dispatched."
        fix = f"{slug} is dispatched and lands."
    return Problem(kind="depends-on", what=what, why="An ended card counts only when it landed.", fix=fix)


def _alone(request: Request, lanes: Lanes) -> Refusal | None:
    name = request.task_class.name
    if _kind(request, lanes) == "alone":
        others = in_use(request, lanes)
        what, why = f"{request.card.slug} runs alone and meets work in flight.", f"{name} is a class that runs alone."
    else:
        others = _alone_in_flight(request, lanes)
        what, why = f"{', '.join(others)} runs alone.", "While such a job is in flight nothing else starts."
    if not others:
        return None
    return Refusal(
        rule="alone",
        what=what,
        why=why,
        would_change=f"{', '.join(others)} {'lands' if len(others) == 1 else 'land'} or is abandoned.",
        number=1,
        holders=others,
    )


def _alone_in_flight(request: Request, lanes: Lanes) -> tuple[str, ...]:
    jobs = [holder.slug for holder in lanes.holders if holder.kind == "alone"]
    foreign = {
        name
        for _, branch_class in request.foreign
        if branch_class is not None and lanes.kinds.get(branch_class) == "alone"
        for name in in_use(request, lanes, branch_class)
    }
    return (*jobs, *sorted(foreign.difference(jobs)))


def _cap(request: Request, lanes: Lanes) -> Refusal | None:
    name = request.task_class.name
    limit = effective_cap(lanes.cap, _kind(request, lanes)) or 0
    holders = in_use(request, lanes, name)
    if len(holders) < limit:
        return None
    return Refusal(
        rule="cap",
        what=f"The class {name} is at its cap of {limit}: {len(holders)} in flight.",
        why="A slot is held from admission until the change has landed or is abandoned; drafts and reviews count.",
        would_change=_room(
            holders, f"the cap of {name} is raised in tasks/caps.txt" if _may_rise(request, lanes) else ""
        ),
        number=limit,
        holders=holders,
    )


def _ceiling(request: Request, lanes: Lanes) -> Refusal | None:
    holders = in_use(request, lanes)
    if lanes.ceiling is None or len(holders) < lanes.ceiling:
        return None
    return Refusal(
        rule="ceiling",
        what=f"All classes together are at the ceiling of {lanes.ceiling}: {len(holders)} in flight.",
        why="The ceiling is what the team can review at a time.",
        would_change=_room(holders, "review_wip in interlock.yaml is raised"),
        number=lanes.ceiling,
        holders=holders,
    )


def _overlap(request: Request, lanes: Lanes) -> Refusal | None:
    found = tuple(_overlaps(request, lanes))
    if not found:
        return None
    slugs = tuple(dict.fromkeys(slug for slug, _ in found))
    return Refusal(
        rule="overlap",
        what=found[0][1].what,
        why="Two tasks in flight would change, or read while it changes, the same path.",
        would_change=f"{', '.join(slugs)} {'lands' if len(slugs) == 1 else 'land'} or is abandoned, or the paths are narrowed.",
        number=len(found),
        holders=slugs,
        problems=tuple(problem for _, problem in found),
    )


RULES: Final[tuple[Rule, ...]] = (
    _in_flight,
    _already_landed,
    _no_cap,
    _paused,
    _depends_on,
    _alone,
    _cap,
    _ceiling,
    _overlap,
)
"""The rules in the order in which they are asked; the cheap and final ones come first."""


# ---------------------------------------------------------------- what the rules lean on
def _kind(request: Request, lanes: Lanes) -> Kind:
    return kind_of(request.task_class.name, lanes.kinds, request.task_class.kind)


def _room(holders: tuple[str, ...], otherwise: str) -> str:
    if not holders and otherwise:
        return f"{otherwise[0].upper()}{otherwise[1:]}."
    which = holders[0] if len(holders) == 1 else f"One of {', '.join(holders)}"
    return f"{which} lands or is abandoned{f', or {otherwise}' if otherwise else ''}."


def _may_rise(request: Request, lanes: Lanes) -> bool:
    """Only the cap of a parallel class may be raised."""
    return _kind(request, lanes) == "parallel"


def _lowest_free(request: Request, lanes: Lanes) -> int:
    taken = {holder.slot for holder in lanes.holders if holder.class_name == request.task_class.name}
    return next(number for number in range(1, len(taken) + 2) if number not in taken)


def _overlaps(request: Request, lanes: Lanes) -> Iterator[tuple[str, Problem]]:
    """Each declared overlap with work in flight: the holder's slug, and what it is about."""
    ours = claim(request.card, request.card.prohibited_paths)
    for holder in lanes.holders:
        for overlap in overlaps_of(ours, claim(holder, holder.prohibited_paths)):
            yield holder.slug, _problem(overlap, holder)


def _problem(overlap: Overlap, holder: Holder) -> Problem:
    a, b, path = overlap.a, overlap.b, overlap.path
    what = f"{a} and {b} both own {path}" if overlap.kind == "write-write" else f"{a} owns {path}, which {b} reads"
    return Problem(
        kind="overlap",
        what=f"{what} ({overlap.kind}; {overlap.a_pattern} of {a}, {overlap.b_pattern} of {b}).",
        why=f"{holder.slug} is in flight as job {holder.job}.",
        fix=overlap.fix,
    )


def event_data(request: Request, lanes: Lanes, proof: Admitted) -> dict[str, Any]:
    """What the ``job.admitted`` event records: the job's beginning, and the numbers that the decision was made on."""
    card = request.card
    return {
        "slug": card.slug,
        "class": proof.class_name,
        "kind": _kind(request, lanes),
        "slot": proof.slot,
        "owner": card.integration_owner,
        "branch": branch_of(card.slug),
        "adopt": request.adopt,
        "reverts": dict(request.reverts) if request.reverts else None,
        "base": request.base,
        "card_oid": request.card_oid,
        "card": dict(request.card_json),
        "cap": effective_cap(lanes.cap, _kind(request, lanes)),
        "in_class": len(in_use(request, lanes, proof.class_name)) + 1,
        "ceiling": lanes.ceiling,
        "in_flight": len(in_use(request, lanes)) + 1,
    }
