"""Landings that are no longer on the default branch: which, and what to do about it; who took them off is not known here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from interlock.core.job.lifecycle import State
from interlock.core.problems import InterlockError
from interlock.ports.bundle import Ports
from interlock.ports.history import LandingRow

RULE = "base-rewound"


def rewound(ports: Ports) -> tuple[LandingRow, ...]:
    """Landings of this store whose commit the default branch, as last fetched, does not hold any more; the oldest first.

    One whose card has landed again since or is worked on again is left out, and so is one that was taken back by a revert: that is on
    the branch.  Empty where the branch cannot be read.
    """
    rows = ports.store.landings()  # before the branch is asked: what lands meanwhile is on it
    if not rows:
        return ()
    try:
        base = ports.repo.last_base()
        landed = ports.repo.landed_slugs(base.oid) | {job.slug for job in ports.store.jobs()}
        missing = [row for row in rows if row.slug not in landed]
        gone = [row for row in missing if not ports.repo.is_ancestor(row.commit, base.oid)]
        return tuple(row for row in gone if ports.store.job(row.job).state is State.LANDED)
    except InterlockError:
        return ()


def told(row: LandingRow) -> str:
    """One such landing in a sentence."""
    return f"{row.slug} landed as {row.commit[:12]} in train {row.train}, and the default branch no longer holds that commit."


def advice(rows: Sequence[LandingRow]) -> str:
    """What a person does about them."""
    slugs = " ".join(dict.fromkeys(row.slug for row in rows))
    newest = rows[-1].commit[:12]
    return f"Restore the branch, so that it holds {newest}, or do the work again: interlock dispatch {slugs}."


def question(row: LandingRow, owner: str) -> dict[str, Any]:
    """What the inbox asks the owner of its job."""
    return {
        "kind": "stop",
        "slug": row.slug,
        "job": row.job,
        "rule": RULE,
        "what": told(row),
        "ask": advice([row]),
        "owner": owner,
        "since": row.at,
        "tail": "",
        "options": [{"label": "do the work again", "command": f"interlock dispatch {row.slug}"}],
    }
