"""What becomes of members that cannot land: who is put out of the train, why, and what their owner is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from interlock.app.base import View
from interlock.app.known_pairs import suspects, words_of
from interlock.app.together import check_together
from interlock.app.train_exit import leave, make_wait
from interlock.core.job.evidence import Verdict
from interlock.core.merge.minimal import is_smallest
from interlock.core.merge.queue import Out, next_window
from interlock.core.merge.train import Member, TrainState
from interlock.ports.bundle import Ports
from interlock.ports.history import LandingRow
from interlock.ports.repository import Merged


def accusation(ports: Ports, view: View, train: TrainState, move: Out) -> dict[str, Any]:
    """Why a member leaves, as data that stays true when what it is red with has landed and the base is another one.

    Of one that is red alone, ``landed`` are those that it is red with although they landed before: it is green without them; and
    ``named`` those of them that prediction names.  ``exact`` says that it was seen red with the partners and nobody else, and green with all but any one of them; else it is red
    with some among those of ``seen``.
    """
    alone = move.rule != "text-conflict" and not move.partners
    landed = landed_partners(ports, view, train, move.member) if alone else ()
    reds = [run for run in train.ran if run.members == move.seen and not run.green]
    pairs = _suspected(ports, view, train, move, landed)
    blamed = {job for pair in pairs for job in (pair["a"], pair["b"])}
    greens = [run.members for run in train.ran if run.green]
    apart = {*move.partners, move.member} == {*move.seen} and not move.under
    return {
        "job": move.member,
        "seen": [other for other in (*move.under, *move.seen) if other != move.member],
        "exact": apart and is_smallest(move.seen, move.member, [*greens, *((job,) for job in train.alone)]),
        "partners": list(move.partners),
        "rule": move.rule,
        "landed": [row.slug for row in landed],
        "named": [row.slug for row in landed if row.job in blamed],
        "paths": list(next((paths for members, paths in train.clashes if members == move.seen), ())),
        "commit": reds[-1].commit if reds else "",
        "evidence": reds[-1].evidence if reds else 0,
        "times": len(reds),
        "green_alone": move.member in train.alone or any(r.green and r.members == (move.member,) for r in train.ran),
        "suspects": [dict(pair) for pair in pairs],
    }


def _suspected(
    ports: Ports, view: View, train: TrainState, move: Out, landed: Sequence[LandingRow]
) -> list[Mapping[str, Any]]:
    """Predicted pairs of a member with those it is red together with; with what landed they are looked for on the member's own base."""
    if not landed:
        return [pair for pair in train.suspects if {pair["a"], pair["b"]} == {move.member, *move.partners}]
    jobs = (move.member, *(row.job for row in landed))
    found = suspects(ports, view, jobs, ports.store.job(move.member).base)
    return [pair for pair in found if move.member in (pair["a"], pair["b"])]


def put_out(ports: Ports, view: View, train: TrainState, why: Mapping[str, Any]) -> None:
    """Put a member out of the train, by an accusation."""
    member = next((each for each in train.members if each.job == why["job"]), None)
    if member is None:
        return
    window = next_window(train.window or view.policy.train.window, max(3, view.policy.train.slots), "failed")
    names = [_slug(ports, partner) for partner in why["partners"]]
    if why["rule"] == "text-conflict":
        _conflict(ports, member, names, why["paths"], ports.repo.drivers(train.base, why["paths"]))
        leave(ports, train, [member], "text-conflict")
        return
    names = names or list(why.get("named") or why["landed"])
    _guilty(ports, train, member, why, names)
    leave(ports, train, [member], "red-together" if names else "red-alone", window=window)


_TOGETHER: Final = "Resolve the two, by both cards and plans; or retry: the tree is brought onto the default branch with the partner in it"


def _slug(ports: Ports, job: str) -> str:
    return ports.store.job(job).slug


def _conflict(
    ports: Ports, member: Member, before: list[str], paths: Sequence[str], drivers: Mapping[str, str]
) -> None:
    """Make a member that does not merge wait, with the paths that clash, and those of them that a program was to merge."""
    behind = f"the default branch and what is before it ({', '.join(before)})" if before else "the default branch"
    make_wait(
        ports,
        member,
        "text-conflict",
        f"The change does not merge with {behind}: {', '.join(paths)}.{never_run(drivers)}",
        "Resolve it, by both cards and plans; or retry: the tree is brought onto the present default branch with the clash marked; or"
        " abandon the job.",
        paths=list(paths),
        before=before,
        partners=before,
    )


def never_run(drivers: Mapping[str, str]) -> str:
    """A sentence about paths that the attributes give to a program to merge; nothing where there are none."""
    if not drivers:
        return ""
    told = ", ".join(f"{path} to {driver}" for path, driver in drivers.items())
    return f" The attributes give {told} to merge, which is a program that is never run."


def landed_partners(ports: Ports, view: View, train: TrainState, job_id: str) -> tuple[LandingRow, ...]:
    """What landed since the change's base, when the change is green on that base: then it is red with them."""
    job = ports.store.job(job_id)
    since = tuple(
        row
        for row in ports.store.landings()
        if not ports.repo.is_ancestor(row.commit, job.base) and ports.repo.is_ancestor(row.commit, view.base.oid)
    )
    if not since:
        return ()
    own = Merged(commit=job.head or "", tree=job.tree or "", diff="")
    verdicts, _ = check_together(ports, view, train, own, (job_id,), base=job.base)
    return since if verdicts and all(verdict.state == "passed" for verdict in verdicts) else ()


def _guilty(ports: Ports, train: TrainState, member: Member, why: Mapping[str, Any], names: list[str]) -> None:
    """Make the guilty member wait, with those it is red together with by name (none: red alone)."""
    bad = _red(ports, train, why)
    exact = len(why["landed"]) == 1 if why["landed"] else bool(why.get("exact"))
    what = _with_whom(ports, why, names, exact=exact)
    pairs = [_by_slug(ports, pair) for pair in why["suspects"]]
    told = [f"{words_of(pair)}." for pair in pairs]
    failed = [f"{bad.run.run}: {bad.what}"] if bad else []
    often = [f"It was red {why['times']} times."] if why["times"] > 1 else []
    make_wait(
        ports,
        member,
        "red-together" if names else "red-alone",
        " ".join([what, *told, *often, *failed]),
        f"{_TOGETHER if names else 'Retry: the tree is brought onto the present default branch'}; or abandon the job.",
        partners=names,
        exact=exact,
        suspects=pairs,
        tail=bad.run.tail if bad else "",
        check=bad.as_json() if bad else None,
    )


def _with_whom(ports: Ports, why: Mapping[str, Any], names: list[str], *, exact: bool) -> str:
    """What was seen, and no more: the smallest set where runs show that it is, else among whom the partners are."""
    if not names:
        return "The full suite fails with this change alone."
    alone = why["green_alone"] or why["landed"] or (exact and len(names) == 1)
    many = len(names) > 1
    what = f"{'Green alone, red' if alone else 'Red'} together with {', '.join(names)}, which {'land' if many else 'lands'} first."
    if exact:
        return what
    if many:
        return f"{what} It breaks with one or more among these; which of them, no run shows."
    seen = list(why["landed"]) or [_slug(ports, job) for job in why.get("seen", ())]
    if len(seen) > 1:
        return f"{what} That it is this one is predicted; it was seen red with {', '.join(seen)}."
    return what if alone else f"{what} Whether it is red alone as well, no run shows."


def _by_slug(ports: Ports, pair: Mapping[str, Any]) -> dict[str, Any]:
    return {**pair, "a": _slug(ports, pair["a"]), "b": _slug(ports, pair["b"])}


def _red(ports: Ports, train: TrainState, why: Mapping[str, Any]) -> Verdict | None:
    """The first verdict that is red in the run that an accusation is about."""
    rows = ports.store.evidence(f"train:{train.number}", commit=why["commit"]) if why["commit"] else ()
    verdicts = next((evidence.verdicts for number, evidence in rows if number == why["evidence"]), ())
    return next((verdict for verdict in verdicts if verdict.state == "refused"), None)
