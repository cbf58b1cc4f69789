"""Whether a resolution holds: only paths of the two, every conflict settled by a quote, and a test that only both pass."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

from interlock.app.base import View
from interlock.app.cardjson import from_json
from interlock.app.intents import intent_of
from interlock.app.phases import PACK_FILE
from interlock.core.contract.card import Card
from interlock.core.gate.changes import Change
from interlock.core.gate.scope import Violation, judge_scope
from interlock.core.gate.test_code import is_test_side
from interlock.core.job.evidence import CheckRun, Verdict
from interlock.core.job.lifecycle import Job
from interlock.core.merge.resolving import Resolution, faults, judge_proof, lost_tests, others_tests, read_resolution
from interlock.ports.bundle import Ports

TestRun = Callable[[str, str], str | None]
"""The state of a test on a commit, with its file as the work has it (app.tester); None: it did not run."""


def partner(ports: Ports, job: Job) -> Card:
    """The card of the change that a job is brought together with."""
    return from_json(ports.store.job(str((job.resolving or {})["job"])).card)


def widened(card: Card, other: Card) -> Card:
    """The card as a resolution has it: both may be changed, and nothing that is prohibited to both."""
    owned = tuple(dict.fromkeys((*card.owned_paths, *other.owned_paths)))
    read = tuple(each for each in card.read_only_paths if each not in owned)
    prohibited = tuple(each for each in card.prohibited_paths if each in other.prohibited_paths)
    return replace(card, owned_paths=owned, read_only_paths=read, prohibited_paths=prohibited)


def violations(card: Card, other: Card, changes: Sequence[Change], protected: Sequence[str]) -> tuple[Violation, ...]:
    """Changed paths that neither of the two cards allows; of one that neither owns, what the other owns is told as well."""
    theirs = {each.path for each in judge_scope(other, changes, protected_paths=protected)}
    both = tuple(each for each in judge_scope(card, changes, protected_paths=protected) if each.path in theirs)
    said = f"{other.slug}, with which it is brought together, owns {', '.join(other.owned_paths)}."
    return tuple(replace(each, why=f"{each.why} {said}") if each.rule == "outside" else each for each in both)


def judge(ports: Ports, view: View, job: Job, run: TestRun) -> Verdict:
    """The verdict on a job's resolution, beside those of its checks; ``rule`` is ``resolution``."""
    assert job.resolving is not None  # noqa: S101 -- only a resolution is judged so
    text = _handed_in(ports, job)
    found = read_resolution(text)
    if isinstance(found, str):
        return _verdict(job, (found,), None, "")
    other = ports.store.job(str(job.resolving["job"]))
    wrong = faults(found, intent_of(ports, view, job), intent_of(ports, view, other), tuple(job.resolving["clashes"]))
    wrong = (*wrong, *others_tests(other.slug, _paths(ports, job.base, job.head), _tests_of(ports, other)))
    wrong = (*wrong, *_dropped(ports, job))
    if found.plan_must_change:
        wrong = (f"A plan must change, which a person decides: {found.plan_must_change}",)
    if not wrong:
        wrong = _proof(ports, job, other, found, run)
    return _verdict(job, wrong, found, text)


def _proof(ports: Ports, job: Job, other: Job, found: Resolution, run: TestRun) -> tuple[str, ...]:
    """The named test on the combination, on either change alone, and on the combination without either."""
    head, mine = job.head or "", str((job.resolving or {})["alone"])
    combined = run(found.test, head)
    alone = {other.slug: run(found.test, job.base), job.slug: run(found.test, mine)}
    without = {
        other.slug: run(found.test, _without(ports, head, other.head or "")),
        job.slug: run(found.test, ports.repo.graft(head, job.base, _product(ports, f"{mine}^", mine))),
    }
    return judge_proof(found.test, alone=alone, combined=combined, without=without)


def _without(ports: Ports, head: str, work: str) -> str:
    """The combination with a landed change taken out: as a revert would, else its files as they were before it."""
    return ports.repo.taken_out(head, work) or ports.repo.graft(head, f"{work}^", _product(ports, f"{work}^", work))


def _product(ports: Ports, before: str, after: str) -> tuple[str, ...]:
    """The files of a work that are no tests."""
    return tuple(path for path in _paths(ports, before, after) if not is_test_side(path))


def _tests_of(ports: Ports, job: Job) -> tuple[str, ...]:
    return tuple(path for path in _paths(ports, f"{job.head}^", job.head) if is_test_side(path))


def _dropped(ports: Ports, job: Job) -> tuple[str, ...]:
    """What of its own tests, as they were before any resolution, the work has no more."""
    mine = str((job.resolving or {})["alone"])
    there = set(ports.repo.files(mine))
    brought = [path for path in _paths(ports, f"{mine}^", mine) if is_test_side(path) and path in there]
    return lost_tests(job.slug, brought, ports.repo.files(job.head or job.base))


def _paths(ports: Ports, before: str, after: str | None) -> tuple[str, ...]:
    return tuple(change.path for change in ports.repo.changes(before, after or before))


def _handed_in(ports: Ports, job: Job) -> str:
    path = ports.records.attempt(job.id, job.worked or job.attempt) / PACK_FILE
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _verdict(job: Job, wrong: Sequence[str], found: Resolution | None, text: str) -> Verdict:
    name = f"resolution of {job.slug} and {(job.resolving or {}).get('slug')}"
    shown = json.dumps([each.what for each in found.conflicts]) if found is not None else text[-2000:]
    run = CheckRun(run=name, exit_code=None, seconds=0.0, log="", tail=shown)
    if not wrong:
        return Verdict(run=run, state="passed")
    return Verdict(run=run, state="refused", rule="resolution", what=" ".join(wrong))
