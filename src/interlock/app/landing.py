"""The last step of a change: the default branch is moved to the tested commit, once, and the landing is written down."""

from __future__ import annotations

from typing import Literal

from interlock.app.base import View
from interlock.core.job.events import NewEvent
from interlock.core.merge.train import TrainState
from interlock.ports import Base, LandingRow, Ports

Outcome = Literal["landed", "rebuild", "rejected", "moves"]


def land_candidate(ports: Ports, view: View, train: TrainState) -> tuple[Outcome, str]:
    """Move the remote's default branch from the tested base to the candidate, and only from there.

    A candidate that is already on the branch was pushed before a crash: it is only written down.
    """
    if has_landed(ports, view, train):
        _write(ports, train)
        return "landed", ""
    again: Outcome = "moves" if train.rebuilds >= view.policy.train.rebuilds else "rebuild"
    if view.base.oid != train.base:
        return again, ""
    expected = Base(remote=view.base.remote, branch=view.base.branch, oid=train.base)
    answer = ports.repo.land(expected, train.candidate)
    if answer.state == "landed":
        _write(ports, train)
        return "landed", ""
    if answer.state == "moved":
        return again, ""
    return "rejected", answer.message


def has_landed(ports: Ports, view: View, train: TrainState) -> bool:
    """Whether the candidate is on the default branch, pushed before a crash or a lost connection."""
    return ports.repo.is_ancestor(train.candidate, view.base.oid)


def _write(ports: Ports, train: TrainState) -> None:
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
        for member in train.members
    ]
    landed = [
        {"slug": row.slug, "job": row.job, "commit": row.commit, "tree": row.tree, "tested_tree": row.tested_tree}
        for row in rows
    ]
    event = NewEvent(subject=f"train:{train.number}", step="landed", kind="train.landed", data={"landed": landed})
    ports.store.land(event, rows)
