"""The last step of a change: the default branch is moved to the tested commit, once, looked at, and the landing is written down."""

from __future__ import annotations

from typing import Any, Final, Literal

from interlock.app.base import View
from interlock.app.dependants import put_out, unmet
from interlock.app.revert_effects import flag_dependants
from interlock.app.train_exit import dissolve
from interlock.core.job.events import NewEvent
from interlock.core.merge.queue import next_window
from interlock.core.merge.train import TrainState
from interlock.core.problems import Refusal, Refused
from interlock.ports.bundle import Ports
from interlock.ports.history import LandingRow
from interlock.ports.repository import Base

LANDING: Final = "landing"
"""The lock under which the remote is asked and the answer is written down: no sign-off is taken back in between."""

Outcome = Literal["landed", "rebuild", "waited", "rejected", "moves", "otherwise", "unproven"]


def land_candidate(ports: Ports, view: View, train: TrainState) -> tuple[Outcome, str]:
    """Move the remote's default branch from the tested base to the candidate, and only from there.

    A candidate that is already on the branch was pushed before a crash: it is only written down.  Before it is pushed, and before it is
    written down, its tree is compared with the tested one and each member's change is looked for in it (rule landed-otherwise).
    """
    if wrong := not_whole(ports, train):
        return "otherwise", wrong
    doubt = unproven(ports, view, train) or _unwritable(ports, view, train)
    if has_landed(ports, view, train):
        if doubt is not None:
            return "otherwise", f"Commit {train.candidate[:12]} is on the default branch, and unproven: {doubt.what}"
        _write(ports, view, train)
        return "landed", ""
    if view.base.oid != train.base:
        return _again(view, train), ""
    if _kept_back(ports, view, train, doubt):
        return "unproven", doubt.what if doubt else ""
    expected = Base(remote=view.base.remote, branch=view.base.branch, oid=train.base)
    answer = ports.repo.land(expected, train.candidate)
    if answer.state == "landed":
        _write(ports, view, train)
    told: dict[str, tuple[Outcome, str]] = {
        "landed": ("landed", ""),
        "moved": (_again(view, train), ""),
        "otherwise": ("otherwise", f"The remote took {train.candidate[:12]}, and then: {answer.message}"),
        "rejected": ("rejected", answer.message),
    }
    return told[answer.state]


def _kept_back(ports: Ports, view: View, train: TrainState, doubt: Refusal | None) -> bool:
    """Whether it may not be pushed, since a member needs what is not on the branch, or nothing proves it; then it has left the train."""
    if needy := unmet(ports, view, train.landing):
        put_out(ports, train, needy)
    elif doubt is not None:
        dissolve(ports, train, doubt.rule, doubt.what, f"{doubt.would_change} Then resume.")
    return bool(needy) or doubt is not None


def _again(view: View, train: TrainState) -> Outcome:
    """What a default branch that moved leads to; one that moved while people were waited for is nobody's restlessness."""
    if train.waited:
        return "waited"
    return "moves" if train.rebuilds >= view.policy.train.rebuilds else "rebuild"


def has_landed(ports: Ports, view: View, train: TrainState) -> bool:
    """Whether the candidate is on the default branch, pushed before a crash or a lost connection."""
    return ports.repo.is_ancestor(train.candidate, view.base.oid)


def not_whole(ports: Ports, train: TrainState) -> str:
    """What is wrong with the candidate beside what was tested, in a sentence, or nothing."""
    tree = ports.repo.tree_of(train.candidate)
    if tree != train.tree:
        return f"Commit {train.candidate[:12]} has tree {tree[:12]}, and {train.tree[:12]} was tested."
    lacking, extra = ports.repo.lacking(train.base, train.candidate, [member.head for member in train.landing])
    if lacking:
        slugs = ", ".join(member.slug for member in train.landing if member.head in lacking)
        return f"The change of {slugs} is not whole in commit {train.candidate[:12]}."
    if extra:
        return f"Commit {train.candidate[:12]} changes what no member changes: {', '.join(extra[:5])}."
    return ""


def unproven(ports: Ports, view: View, train: TrainState) -> Refusal | None:
    """Why the signed evidence does not prove the candidate any more; None when it does."""
    rows = ports.store.evidence(f"train:{train.number}", commit=train.candidate)
    if train.evidence not in {number for number, _ in rows}:
        return Refusal(
            rule="stale-evidence",
            what=f"Evidence {train.evidence} is not of commit {train.candidate[:12]} of train {train.number}.",
            why="A landing cites evidence of exactly what lands.",
            would_change="The combined result is tested again.",
        )
    found = ports.store.proof(
        f"train:{train.number}",
        commit=train.candidate,
        policy_digest=None,
        card_oid=None,
        tree=train.tree,
        base=train.base,
        listed=view.policy.evidence.keys,
    )
    return found if isinstance(found, Refusal) else None


def _unwritable(ports: Ports, view: View, train: TrainState) -> Refusal | None:
    """Why the landing could not be written down: the very question that ``_write`` asks, before anything leaves this machine."""
    try:
        ports.store.check_landing(*_landing(ports, view, train))
    except Refused as fault:
        return fault.refusal
    return None


def _write(ports: Ports, view: View, train: TrainState) -> None:
    event, rows = _landing(ports, view, train)
    ports.store.land(event, rows)
    flag_dependants(ports, [row.job for row in rows])


def _landing(ports: Ports, view: View, train: TrainState) -> tuple[NewEvent, list[LandingRow]]:
    """What is written down when the candidate lands.  It holds the time, and is told anew for each question."""
    now = ports.clock.now()
    tree = ports.repo.tree_of(train.candidate)
    rows = [
        LandingRow(
            job=member.job,
            slug=member.slug,
            train=train.number,
            commit=train.candidate,
            tree=tree,
            tested_tree=train.tree,
            evidence=train.evidence,
            at=now,
        )
        for member in train.landing
    ]
    landed = [
        {"slug": row.slug, "job": row.job, "commit": row.commit, "tree": row.tree, "tested_tree": row.tested_tree}
        for row in rows
    ]
    policy = view.policy.train
    data: dict[str, Any] = {"landed": landed, "whole": [row.job for row in rows], "style": policy.style}
    data["window"] = next_window(train.window or policy.window, max(3, policy.slots), "landed")
    event = NewEvent(
        subject=f"train:{train.number}", step=f"landed:{train.candidate[:12]}", kind="train.landed", data=data
    )
    return event, rows
