"""Verification of one job: scope first, then its checks on the exact commit, written down as evidence; rules are core's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from interlock.app import loop
from interlock.app.base import View, card_file, fresh_view, landed_slugs, ready_card
from interlock.app.card_ready import card_problems
from interlock.app.cardjson import from_json, to_json
from interlock.app.database import level_of
from interlock.app.isolate import ENV_FILE, place_of
from interlock.app.rooms import checking, surroundings, wanted_by
from interlock.app.suite import Bench, distinct, run_suite
from interlock.core.contract.card import Card, Check
from interlock.core.contract.levels import same_user
from interlock.core.gate.accepted import excuse
from interlock.core.gate.artifacts import judge_artifact
from interlock.core.gate.changes import SUBMODULE, SYMLINK, Change
from interlock.core.gate.scope import Violation, judge_scope
from interlock.core.job.events import NewEvent
from interlock.core.job.evidence import Evidence, Verdict
from interlock.core.job.lifecycle import Job, State
from interlock.core.problems import Refusal, Refused
from interlock.ports import CardFile, Ports


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What verification found: out-of-scope paths (then no check ran), or verdicts; ``passed`` is the sum."""

    passed: bool
    commit: str
    tree: str
    violations: tuple[Violation, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    place: Literal["fresh", "task"] = "fresh"

    def as_json(self) -> dict[str, Any]:
        return {
            "verified": self.passed,
            "tree": self.tree,
            "commit": self.commit,
            "violations": [violation.as_json() for violation in self.violations],
            "checks": [verdict.as_json() for verdict in self.verdicts],
        }


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
    gated = loop.gate(ports, view, ports.store.job(job.id), card)
    job = ports.store.job(job.id)
    if gated is not None and gated.state == "refused":
        return Verification(passed=False, commit=job.head or "", tree=job.tree or "", verdicts=(gated,))
    result = _judge(ports, view, job, card)
    if gated is not None and not result.violations:
        result = replace(result, verdicts=(gated, *result.verdicts))
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
    found = ready_card(ports, view, job.slug)
    if found.card is None:
        raise Refused(_no_card(job))
    result = _judge(ports, view, job, found.card)
    if result.verdicts:
        ports.store.add_evidence(_evidence(view, replace(job, card_oid=found.oid), result))
    return result


def _no_card(job: Job) -> Refusal:
    return Refusal(
        rule="unknown-card",
        what=f"The card of {job.slug} is gone from the default branch.",
        why="Work is judged by the card as it stands there.",
        would_change="Restore the card, then verify again.",
    )


def _rewound(view: View, job: Job) -> Refusal:
    return Refusal(
        rule="base-rewound",
        what=f"{view.base.ref} no longer holds {job.base[:12]}, on which the work of {job.slug} stands.",
        why="Landing it would bring back what was taken off the default branch.",
        would_change="Restore the branch, or abandon the job and dispatch it anew from the present one.",
        holders=(job.base,),
    )


def take_over_card(ports: Ports, view: View, job: Job) -> Card | None:
    """The card on the default branch; a change since dispatch is shown in the history and taken over."""
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
    ports.store.record(
        NewEvent(
            subject=job.id,
            step=f"card-changed:{found.oid}:{job.rev}",
            kind="job.note",
            data={"text": "The card changed since dispatch.", "card": to_json(found.card), "card_oid": found.oid},
        )
    )
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


def _judge(ports: Ports, view: View, job: Job, card: Card) -> Verification:
    head, tree = job.head or "", job.tree or ""
    if not ports.repo.is_ancestor(job.base, view.base.oid):
        raise Refused(_rewound(view, job))
    changes = ports.repo.changes(view.base.oid, head)
    violations = judge_scope(card, changes, protected_paths=view.policy.protected_paths)
    if violations:
        return Verification(passed=False, commit=head, tree=tree, violations=violations)
    bench = _bench(ports, job, view, card, head, tree)
    verdicts = run_suite(ports, checks_of(card, view), bench, _base_bench(ports, job, view, card))
    verdicts = (
        *verdicts,
        *(judge_artifact(item.path, _artifact(ports, head, item.path, changes)) for item in card.artifacts),
    )
    verdicts = excuse(verdicts, job.waivers, job.waived_tests)
    passed = bool(verdicts) and all(verdict.state != "refused" for verdict in verdicts)
    place: Literal["fresh", "task"] = "task" if bench.ready else "fresh"
    return Verification(passed=passed, commit=head, tree=tree, verdicts=verdicts, place=place)


def _artifact(ports: Ports, head: str, path: str, changes: tuple[Change, ...]) -> bytes | None:
    """The artifact's bytes when this very work brought it as a regular file."""
    brought = any(change.path == path and change.new_mode not in (0, SYMLINK, SUBMODULE) for change in changes)
    return ports.repo.read(head, path) if brought else None


def checks_of(card: Card, view: View) -> tuple[Check, ...]:
    """The class's checks, then the card's, each command once."""
    return distinct((*view.task_class(card.class_name).checks, *card.checks))


def _bench(ports: Ports, job: Job, view: View, card: Card, commit: str, tree: str) -> Bench:
    place = place_of(job)
    caches = view.policy.caches
    ready = None
    if caches and ports.workspaces.exists(place):
        equal = ports.repo.equals_commit(place, commit, known=(ENV_FILE,), caches=caches)
        ready = ports.workspaces.room(place) if equal else None
    return replace(_base_bench(ports, job, view, card), commit=commit, tree=tree, ready=ready, compared=False)


def _base_bench(ports: Ports, job: Job, view: View, card: Card) -> Bench:
    logs = ports.records.job(job.id) / "checks"
    wanted = wanted_by(ports, job, card, view.policy, logs)
    level = level_of(job)
    return Bench(
        commit=job.base,
        tree=ports.repo.tree_of(job.base),
        level=level,
        logs=logs,
        furnish=lambda room: checking(ports, wanted, room, job.base, level),
        around=surroundings(ports, wanted, job.base, level),
        compared=True,
    )


def _write(ports: Ports, view: View, job: Job, result: Verification) -> None:
    if result.violations:
        first = result.violations[0]
        more = f" and {len(result.violations) - 1} more" if len(result.violations) > 1 else ""
        _wait(
            ports,
            job,
            f"scope:{job.rev}",
            first.rule,
            f"{first.path}{more} may not be changed by {job.slug}: {first.why}",
            "Widen the card on the default branch and decide --again, or retry with a hypothesis that stays inside.",
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
    _wait(ports, job, f"refused:{job.rev}", rule, what, _ask(rule), **detail)


def _ask(rule: str) -> str:
    waive = {
        "tests-removed": "Accept their end with decide --accept",
        "tests-skipped": "Accept the skips with decide --accept",
    }.get(rule)
    return f"{waive or 'Retry with a hypothesis'}, or mend the card on the default branch and decide --again, or abandon the job."


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
    )


def _waived(job: Job, result: Verification) -> Mapping[str, str]:
    rules = {verdict.rule for verdict in result.verdicts if verdict.state == "accepted"}
    return {rule: by for rule, by in job.waivers.items() if rule in rules}


def _wait(ports: Ports, job: Job, step: str, rule: str, what: str, ask: str, **detail: Any) -> None:
    data = {"rule": rule, "what": what, "ask": ask, "detail": detail}
    ports.store.record(NewEvent(subject=job.id, step=step, kind="job.waits", data=data), expect=job.rev)
