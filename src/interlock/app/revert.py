"""Taking a landed change back: a job whose work is the change backwards, through every gate and the train like any other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from interlock.app.base import View, fresh_view, landed_slugs
from interlock.app.cardjson import from_json, to_json
from interlock.app.dispatch import foreign_branches
from interlock.app.isolate import isolate
from interlock.app.new_card import NewCard, card_text
from interlock.app.revert_commit import bring_branch, inverse_of
from interlock.app.revert_effects import landed_on, taken_off
from interlock.core.contract.card import Budget, Card, Check, Needs
from interlock.core.contract.paths import PatternError, parse
from interlock.core.gate.request import Request
from interlock.core.job.ids import branch_of
from interlock.core.job.lifecycle import OPEN, Job, State
from interlock.core.problems import Misuse, refused
from interlock.ports.bundle import Ports
from interlock.ports.repository import Inverse

PREFIX: Final = "revert-"
_LONGEST: Final = 41


@dataclass(frozen=True, slots=True, kw_only=True)
class Reverted:
    """The job that takes a change back, what it takes back, what stands on that, and the card for the test that was missing.

    ``begun``: it was there already, with the reason that it was begun with; ``off`` are the slugs that are off the default
    branch with it; ``landed`` are those of the dependants that have landed.
    """

    job: Job
    begun: bool
    of: Job
    off: tuple[str, ...]
    paths: tuple[str, ...]
    dependants: tuple[str, ...]
    landed: tuple[str, ...]
    card: tuple[str, str]

    def as_json(self) -> dict[str, Any]:
        return {
            "slug": self.job.slug,
            "job": self.job.id,
            "branch": self.job.branch,
            "reverts": dict(self.job.reverts or {}),
            "paths": list(self.paths),
            "dependants": list(self.dependants),
            "card": self.card[0],
        }


def revert(ports: Ports, change: str, actor: str, why: str) -> Reverted:
    """Make, or go on with, the job that takes a landed change back; ``interlock run`` carries it through the train.

    ``change`` is a slug, a job or the commit of a landing.  Raises Misuse for one that is not known; Refused:
    not-landed, text-conflict with what was built on it since, no-full-check, or the rule that keeps its class from starting.
    """
    view = fresh_view(ports)
    of = _landed(ports, change)
    with ports.records.lock(f"revert-{of.id}", wait=None):
        begun = _open_revert(ports, of)
        job = begun or _admit(ports, view, of, actor, why)
        if not job.worked:
            bring_branch(ports, view, job)
        job = isolate(ports, job.id, view)
    paths, off = tuple(from_json(job.card).owned_paths), taken_off(ports, of)
    return Reverted(
        job=job,
        begun=begun is not None,
        of=of,
        off=off,
        paths=paths,
        dependants=_dependants(ports, off),
        landed=landed_on(ports, off),
        card=_missing_test(of, actor, why),
    )


# ---------------------------------------------------------------- what is meant
def _landed(ports: Ports, change: str) -> Job:
    """The landed job that a slug, a job id or a commit names.  Raises Misuse, or Refused (not-landed)."""
    jobs = ports.store.jobs(open_only=False)
    named = [job for job in jobs if change in (job.slug, job.id)]
    if not named:
        rows = [row for row in ports.store.landings() if len(change) >= 7 and row.commit.startswith(change)]
        if len(rows) > 1:
            slugs = ", ".join(row.slug for row in rows)
            raise Misuse(
                f"{change} landed {len(rows)} changes: {slugs}.", hint=f"Name one: interlock revert {rows[0].slug}"
            )
        named = [job for job in jobs if rows and job.id == rows[0].job]
    if not named:
        named_so = f"No change {change} is known here." if change.strip() else "A blank text names no change."
        raise Misuse(named_so, hint="interlock train show lists what has landed.")
    landed = [job for job in named if job.state is State.LANDED]
    if landed:
        return landed[-1]
    raise refused(
        rule="not-landed",
        what=f"{named[-1].slug} is {named[-1].state}, so there is nothing to take back.",
        why="A revert undoes what stands on the default branch.",
        would_change=f"interlock decide {named[-1].slug} --abandon gives up work that has not landed."
        if named[-1].state in OPEN
        else "Nothing: it is not on the default branch.",
        holders=(named[-1].id,),
    )


def _open_revert(ports: Ports, of: Job) -> Job | None:
    """The revert of this very job that was begun before."""
    return next((job for job in ports.store.jobs() if job.reverts and job.reverts["job"] == of.id), None)


def _dependants(ports: Ports, off: tuple[str, ...]) -> tuple[str, ...]:
    """Slugs of jobs, open or landed, whose card says that they stand on one of these."""
    live = [job for job in ports.store.jobs(open_only=False) if job.state in (*OPEN, State.LANDED)]
    return tuple(sorted({job.slug for job in live if set(off) & set(job.card["depends_on"])}))


# ---------------------------------------------------------------- its work
def _admit(ports: Ports, view: View, of: Job, actor: str, why: str) -> Job:
    """Take a slot for the revert, when nothing is in its way; nothing leaves this machine yet."""
    inverse = inverse_of(ports, view, of, actor, why)
    card = _card(ports, view, of, inverse, why)
    branch = branch_of(card.slug)
    if branch in ports.repo.stand([branch]):
        raise refused(
            rule="name-taken",
            what=f"The branch {branch} is on the remote already.",
            why="A revert never takes the place of somebody's work.",
            would_change=f"Delete or rename {branch} if its work is kept elsewhere, then say it again.",
            holders=(branch,),
        )
    request = Request(
        job=ports.new_id(),
        card=card,
        card_oid="",
        card_json=to_json(card),
        task_class=view.task_class(card.class_name),
        base=view.base.oid,
        actor=actor,
        foreign=foreign_branches(ports, view),
        landed=landed_slugs(ports, view),
        adopt=branch,
        reverts={"job": of.id, "slug": of.slug, "commit": inverse.of},
    )
    ports.store.admit(request)
    return ports.store.job(request.job)


def _card(ports: Ports, view: View, of: Job, inverse: Inverse, why: str) -> Card:
    """The card of a revert is made of what landed: the very paths, the same class and owner, and the full suite as its check."""
    if not view.policy.train.checks:
        raise refused(
            rule="no-full-check",
            what="No full suite is configured, so nothing could show that the revert is right.",
            why="A revert goes through the train like any change.",
            would_change="Set train.checks in interlock.yaml on the default branch.",
        )
    checks: tuple[Check, ...] = view.policy.train.checks
    return replace(
        from_json(of.card),
        slug=_free_slug(ports, view, of),
        goal=f"Take {of.slug} back: {why}",
        accepted_plan=None,
        owned_paths=tuple(dict.fromkeys(exactly(path) for path in inverse.paths)),
        read_only_paths=(),
        prohibited_paths=(),
        depends_on=(),
        checks=checks,
        artifacts=(),
        done_when=(f"{of.slug} is off the default branch, and the full suite passes",),
        stop_when=("a path that the change did not touch is needed",),
        open_questions=(),
        budget=Budget(),
        needs=replace(Needs(), database=from_json(of.card).needs.database),
        reproduces=(),
        loop=None,
    )


def _free_slug(ports: Ports, view: View, of: Job) -> str:
    """revert-SLUG, numbered from the second revert of one slug on."""
    taken = landed_slugs(ports, view) | {job.slug for job in ports.store.jobs(open_only=False)}
    number = 1
    while True:
        tail = f"-{number}" if number > 1 else ""
        slug = f"{PREFIX}{of.slug}"[: _LONGEST - len(tail)].rstrip("-") + tail
        if slug not in taken:
            return slug
        number += 1


def exactly(path: str) -> str:
    """The pattern that names this path alone.  Raises Refused (path) where its name cannot be written as a pattern."""
    try:
        return parse("".join(f"[{char}]" if char in "*?[" else char for char in path)).text
    except PatternError as fault:
        raise refused(
            rule="path",
            what=f"A path of the change cannot be named on a card. {fault.message}",
            why="A revert owns exactly the paths of its change, and no folder around them.",
            would_change="Take it back by hand: git revert, and a change of your own.",
            holders=(path,),
        ) from fault


# ---------------------------------------------------------------- what follows
def _missing_test(of: Job, actor: str, why: str) -> tuple[str, str]:
    """The card for the test that would have caught it: file and text; its blanks are a person's to fill."""
    slug = f"test-{of.slug}"[:_LONGEST].rstrip("-")
    owned = [path for path in from_json(of.card).owned_paths if "test" in path.lower() or "spec" in path.lower()]
    card = NewCard(
        slug=slug,
        class_name="tests",
        owner=of.owner if of.owner.startswith("@") else f"@{actor.strip('@')}",
        goal=f"A test that fails with {of.slug} in and passes without it: {why}",
        owned_paths=owned,
        checks=(),
        done_when=(f"the test fails on {(of.landed_commit or '')[:12]} and passes on the default branch",),
    )
    return f"tasks/{slug}.yaml", card_text(card)
