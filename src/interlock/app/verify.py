"""Verification of one job: scope first, then its checks on the exact commit, written down as evidence; rules are core's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from interlock.app import loop
from interlock.app.base import View, card_file, fresh_view, landed_slugs, ready_card
from interlock.app.card_ready import card_problems
from interlock.app.cardjson import from_json, to_json
from interlock.app.database import level_of
from interlock.app.foreseen import foresee
from interlock.app.judging import Verification, judge_work
from interlock.app.revert_effects import built_on
from interlock.core.contract.card import Card
from interlock.core.contract.levels import same_user
from interlock.core.counting import some
from interlock.core.job.events import NewEvent
from interlock.core.job.evidence import Evidence
from interlock.core.job.lifecycle import Job, State
from interlock.core.problems import Refusal, Refused
from interlock.ports.bundle import Ports
from interlock.ports.contract import CardFile

_WAIVE: Final = {
    "tests-removed": "Accept their end with decide --accept",
    "tests-skipped": "Accept the skips with decide --accept",
    "tests-weakened": "Have the tests put back by a retry, or accept exactly this with decide --accept",
    "judge-changed": "Have it put back by a retry, give the file to the card by its exact path, or accept exactly this with decide --accept",
    "knows-tests": "Have the question taken out by a retry, or accept exactly these places with decide --accept",
    "base-fails": "Mend the base first, or accept exactly these tests, where they are named, with decide --accept",
    "resolution": "Say interlock resolve again, with what it lacked in mind",
    "flaky": "Have the test made steady by a retry, or accept it with decide --accept",
}
_OUTSIDE: Final = (
    "Widen the card on the default branch and decide --again, or retry with a hypothesis that stays inside."
)
_PROTECTED: Final = (
    "Retry with a hypothesis that leaves it alone; or have a person change the file on the default branch, or take its pattern out of"
    " protected_paths there, and decide --again. No card gives it to the work, not by its exact path either."
)


def verify_step(ports: Ports, subject: str) -> dict[str, Any]:
    """The engine's step: verify a job whose attempt left work, and move it on or make it wait."""
    job = ports.store.job(subject)
    if job.state is not State.WORKED:
        return {"verified": None}
    result = verify(ports, job)
    return {"verified": result.passed if result else False}


def verify(ports: Ports, job: Job) -> Verification | None:
    """Judge the job's head against the card as it now stands on the default branch.

    None when the card is gone from the default branch; the job then waits for a person.
    """
    view = fresh_view(ports)
    card = take_over_card(ports, view, job)
    if card is None:
        return None
    foresee(ports, view, ports.store.job(job.id))
    gated = loop.gate(ports, view, ports.store.job(job.id), card)
    job = ports.store.job(job.id)
    if gated is not None and gated.state == "refused":
        return Verification(passed=False, commit=job.head or "", tree=job.tree or "", verdicts=(gated,))
    result = judge_work(ports, view, job, card)
    if gated is not None and not result.violations:
        result = replace(result, verdicts=(gated, *result.verdicts))
    if job.reverts:
        job = ports.store.job(job.id)  # what it may lose was put on the record
    _write(ports, view, job, result)
    return result


def judge_now(ports: Ports, job: Job) -> Verification:
    """Judge a job's work at a person's wish; a job that is due for it moves on, another only gets its evidence.

    Raises Refused when its card is gone from the default branch.
    """
    if job.state is State.WORKED:
        result = verify(ports, job)
        if result is None:
            raise Refused(_no_card(job))
        return result
    view = fresh_view(ports)
    card, oid = from_json(job.card) if job.reverts else None, ""
    if card is None:
        found = ready_card(ports, view, job.slug)
        card, oid = found.card, found.oid
    if card is None:
        raise Refused(_no_card(job))
    result = judge_work(ports, view, job, card)
    if result.verdicts:
        ports.store.add_evidence(_evidence(view, replace(job, card_oid=oid), result))
    return result


def _no_card(job: Job) -> Refusal:
    return Refusal(
        rule="unknown-card",
        what=f"The card of {job.slug} is gone from the default branch.",
        why="Work is judged by the card as it stands there.",
        would_change="Restore the card, then verify again.",
    )


def take_over_card(ports: Ports, view: View, job: Job) -> Card | None:
    """The card on the default branch; a change since dispatch is shown in the history and taken over.

    That of a revert was made of what landed, and stands nowhere else.
    """
    if job.reverts:
        return from_json(job.card)
    path = card_file(job.slug)
    oid = ports.repo.blob_oid(view.base.oid, path)
    if oid == job.card_oid:
        return from_json(job.card)
    data = ports.repo.read(view.base.oid, path)
    found = ports.files.card(data, path, job.slug, oid or "") if data is not None else None
    if found is None or found.card is None:
        what = f"The card {path} is no longer a readable card on {view.base.ref}."
        _wait(
            ports,
            job,
            f"card-gone:{job.rev}",
            "unknown-card",
            what,
            "Restore the card, then decide --again; or abandon the job.",
        )
        return None
    fault = _unfit(ports, view, job, found)
    if fault:
        _wait(ports, job, f"card-unfit:{job.rev}", *fault)
        return None
    changed: dict[str, Any] = {
        "text": "The card changed since dispatch.",
        "card": to_json(found.card),
        "card_oid": found.oid,
        "owner": found.card.integration_owner or job.owner,  # whoever owns it now is asked now
    }
    step = f"card-changed:{found.oid}:{job.rev}"
    ports.store.record(NewEvent(subject=job.id, step=step, kind="job.note", data=changed))
    return found.card


def _unfit(ports: Ports, view: View, job: Job, found: CardFile) -> tuple[str, str, str] | None:
    """Why a changed card cannot be the card of a job that was admitted by an earlier one: rule, what, ask."""
    again = "Mend the card on the default branch, then decide --again; or abandon the job."
    if found.card is not None and found.card.class_name != job.class_name:
        what = f"The card {found.file} is of class {found.card.class_name} now; its slot is one of {job.class_name}."
        return "class", what, "Abandon the job and dispatch it anew, or put the class back and decide --again."
    problems = card_problems(ports, view, found, landed_slugs(ports, view))
    if problems:
        what = " ".join(f"{problem.where}: {problem.what}" for problem in problems)
        return "not-ready", f"The card changed and is not ready: {what}", again
    return None


def _write(ports: Ports, view: View, job: Job, result: Verification) -> None:
    if result.violations:
        first = result.violations[0]
        paths = some([violation.path for violation in result.violations], 1)
        _wait(
            ports,
            job,
            f"scope:{job.rev}",
            first.rule,
            f"{paths} may not be changed by {job.slug}: {first.why}",
            _PROTECTED if first.rule == "protected" else _OUTSIDE,
            violations=[violation.as_json() for violation in result.violations],
        )
        return
    number = ports.store.add_evidence(_evidence(view, job, result))
    data = {"evidence": number, "checks": [verdict.as_json() for verdict in result.verdicts]}
    if result.passed:
        event = NewEvent(subject=job.id, step=f"verified:{job.rev}", kind="job.verified", data=data)
        ports.store.record(event, expect=job.rev)
        return
    bad = next((verdict for verdict in result.verdicts if verdict.state == "refused"), None)
    rule, what = (bad.rule or "check-failed", bad.what) if bad else ("no-check", "No check ran, so nothing is proven.")
    others = [verdict.what for verdict in result.verdicts if verdict.state == "refused" and verdict is not bad]
    what = " ".join((what, *others))
    detail = dict(data, tail=bad.run.tail if bad else "")
    _wait(ports, job, f"refused:{job.rev}", rule, what, built_on(ports, job) + _ask(rule), **detail)


def _ask(rule: str) -> str:
    return f"{_WAIVE.get(rule, 'Retry with a hypothesis')}, or mend the card on the default branch and decide --again, or abandon the job."


def _evidence(view: View, job: Job, result: Verification) -> Evidence:
    return Evidence(
        subject=job.id,
        attempt=job.attempt,
        commit=result.commit,
        tree=result.tree,
        base=job.base,
        card_oid=job.card_oid,
        policy_digest=view.policy_digest,
        place=result.place,
        level=level_of(job),
        same_user=same_user(level_of(job)),
        verdicts=result.verdicts,
        waived=_waived(job, result),
        base_tree=result.base_tree,
        grafted=result.grafted,
    )


def _waived(job: Job, result: Verification) -> Mapping[str, str]:
    rules = {verdict.rule for verdict in result.verdicts if verdict.state == "accepted"}
    return {rule: by for rule, by in job.waivers.items() if rule in rules}


def _wait(ports: Ports, job: Job, step: str, rule: str, what: str, ask: str, **detail: Any) -> None:
    data = {"rule": rule, "what": what, "ask": ask, "detail": detail}
    ports.store.record(NewEvent(subject=job.id, step=step, kind="job.waits", data=data), expect=job.rev)
