"""The judgement of one job's work: scope, what its syntax says, its checks on the exact commit, its repair and artifacts; writing it down is verify's."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from interlock.app import resolution
from interlock.app.base import View
from interlock.app.database import level_of
from interlock.app.fixing import judge_repair
from interlock.app.isolate import ENV_FILE, place_of
from interlock.app.revert_effects import own_losses
from interlock.app.rooms import checking, surroundings, wanted_by
from interlock.app.suite import Bench, Doubt, distinct, run_suite
from interlock.app.tester import tester
from interlock.app.weighing import protected_differences, weigh
from interlock.core.contract.card import Artifact, Card, Check
from interlock.core.gate.accepted import excuse
from interlock.core.gate.artifacts import is_copy, judge_artifact
from interlock.core.gate.changes import SUBMODULE, SYMLINK, Change
from interlock.core.gate.scope import Violation, judge_scope
from interlock.core.gate.tests_kept import Moves
from interlock.core.gate.weakened import judge_gone
from interlock.core.job.evidence import Verdict
from interlock.core.job.lifecycle import Job
from interlock.core.problems import Refusal, Refused
from interlock.ports.bundle import Ports

_LOOKED_AT: Final = 500
"""How many files of the base an artifact is compared with, at most: those of its kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What verification found: out-of-scope paths (then no check ran), or verdicts; ``passed`` is the sum.

    ``grafted`` are files that the checks found as the base has them; ``base_tree`` is what was compared with.
    """

    passed: bool
    commit: str
    tree: str
    violations: tuple[Violation, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    place: Literal["fresh", "task"] = "fresh"
    base_tree: str = ""
    grafted: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {
            "verified": self.passed,
            "tree": self.tree,
            "commit": self.commit,
            "grafted": list(self.grafted),
            "violations": [violation.as_json() for violation in self.violations],
            "checks": [verdict.as_json() for verdict in self.verdicts],
        }


def judge_work(ports: Ports, view: View, job: Job, card: Card) -> Verification:
    """Judge the job's head by its card: all that can be found is found, so that a person sees it at once.

    The checks run on the exact commit; what is protected, they find as on the base.  Raises Refused (base-rewound).
    """
    head, tree = job.head or "", job.tree or ""
    if not ports.repo.is_ancestor(job.base, view.base.oid):
        raise Refused(_rewound(view, job))
    changes = ports.repo.changes(view.base.oid, head)
    violations = _violations(ports, view, job, card, changes)
    if violations:
        return Verification(passed=False, commit=head, tree=tree, violations=violations)
    checks = checks_of(card, view)
    weighed = weigh(ports, card, (*checks, *view.policy.train.checks), changes, base=job.base, head=head)
    bench, base = _bench(ports, job, view, card, head, tree), _base_bench(ports, job, view, card)
    grafted = protected_differences(ports, view.policy.protected_paths, changes, base=job.base, head=head)
    if grafted:
        tested = ports.repo.graft(head, job.base, grafted)
        bench = replace(bench, commit=tested, tree=ports.repo.tree_of(tested), ready=None)
    doubt = Doubt(reruns=view.policy.flakes.reruns, ask_base=True, moves=lambda: weighed.moves)
    ran = _noted(run_suite(ports, checks, bench, base, doubt=doubt), grafted)
    verdicts = (
        *ran,
        *weighed.verdicts,
        *_unreported(ran, weighed.moves),
        *judge_repair(ports, card, checks, ran, changes, base, head),
        *(_artifact(ports, job, item, changes) for item in card.artifacts),
    )
    if job.resolving:
        verdicts = (resolution.judge(ports, view, job, tester(ports, checks, ran, base, head)), *verdicts)
    verdicts = own_losses(ports, job, excuse(verdicts, job.waivers, job.waived_tests))
    return Verification(
        passed=bool(ran) and all(verdict.state != "refused" for verdict in verdicts),
        commit=head,
        tree=tree,
        verdicts=verdicts,
        place="task" if bench.ready else "fresh",
        base_tree=base.tree,
        grafted=grafted,
    )


def _violations(ports: Ports, view: View, job: Job, card: Card, changes: Sequence[Change]) -> tuple[Violation, ...]:
    protected = view.policy.protected_paths
    if job.resolving:
        return resolution.violations(card, resolution.partner(ports, job), changes, protected)
    return judge_scope(card, changes, protected_paths=protected)


def _unreported(ran: Sequence[Verdict], moves: Moves) -> tuple[Verdict, ...]:
    """Tests that are gone by their syntax, where no report was compared that would name them."""
    gone = judge_gone(moves) if not any(verdict.run.report for verdict in ran) else None
    return (gone,) if gone is not None else ()


def _noted(verdicts: tuple[Verdict, ...], grafted: tuple[str, ...]) -> tuple[Verdict, ...]:
    if not grafted:
        return verdicts
    note = f"Judged with {', '.join(grafted[:5])} as on the base."
    return tuple(replace(verdict, notes=(*verdict.notes, note)) for verdict in verdicts)


def _artifact(ports: Ports, job: Job, item: Artifact, changes: Sequence[Change]) -> Verdict:
    """An artifact counts when this very work brought it as a regular file, and it is not a copy of what the base has."""
    head = job.head or ""
    brought = next(
        (each for each in changes if each.path == item.path and each.new_mode not in (0, SYMLINK, SUBMODULE)), None
    )
    data = ports.repo.read(head, item.path) if brought is not None else None
    fault = ports.checks.picture_fault(data) if data and item.kind == "screenshot" else ""
    before = _of_base(ports, job, data, brought) if data and brought is not None else None
    return judge_artifact(item.path, data, before=before, fault=fault)


def _of_base(ports: Ports, job: Job, data: bytes, brought: Change) -> bytes | None:
    """The bytes of the base that an artifact copies, under whatever name; None where it copies none."""
    if brought.new_oid == brought.old_oid:
        return data
    known = sorted(ports.repo.files(job.base), key=lambda path: (_unlike(path, brought.path), path))
    blobs = ports.repo.read_many([(job.base, path) for path in known[:_LOOKED_AT]])
    return next((blob.data for blob in blobs if blob is not None and is_copy(data, blob.data)), None)


def _unlike(path: str, other: str) -> int:
    """How unlike two paths are: those of one folder or one suffix are looked at first, where there are too many for all."""
    return (posixpath.dirname(path) != posixpath.dirname(other)) + (
        posixpath.splitext(path)[1] != posixpath.splitext(other)[1]
    )


def _rewound(view: View, job: Job) -> Refusal:
    return Refusal(
        rule="base-rewound",
        what=f"{view.base.ref} no longer holds {job.base[:12]}, on which the work of {job.slug} stands.",
        why="Landing it would bring back what was taken off the default branch.",
        would_change="Restore the branch, or abandon the job and dispatch it anew from the present one.",
        holders=(job.base,),
    )


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
        around=f"{surroundings(ports, wanted, job.base, level)}:{view.policy_digest}",
        compared=True,
    )
