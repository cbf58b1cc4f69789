"""Every kind of event that is ever written, and what the data of each holds at least; what an event does is lifecycle's and the train's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

Shape = Literal["text", "number", "flag", "list", "mapping", "text or null"]

_MEMBERS: Final[Mapping[str, Shape]] = {"members": "list", "base": "text"}
_ASKED: Final[Mapping[str, Shape]] = {"rule": "text", "what": "text"}

KINDS: Final[Mapping[str, Mapping[str, Shape]]] = {
    # a job
    "job.admitted": {
        "slug": "text",
        "class": "text",
        "kind": "text",
        "slot": "number",
        "owner": "text",
        "branch": "text",
        "base": "text",
        "card_oid": "text",
        "card": "mapping",
    },
    "job.isolated": {},
    "job.reproduced": {},
    "job.verified": {},
    "job.published": {},
    "job.waits": _ASKED,
    "job.round": {"hypothesis": "text"},
    "job.retry": {"hypothesis": "text"},
    "job.verify-again": {},
    "job.landed": {"landed_commit": "text", "train": "number"},
    "job.abandoned": {},
    "job.reverted": {"by": "text", "commit": "text"},
    "job.restored": {"by": "text", "landed_commit": "text"},
    "job.note": {},
    # an attempt; one of no job has no rule when it ends
    "attempt.started": {"agent": "text or null", "phase": "text"},
    "attempt.resumed": {},
    "attempt.worked": {"how": "text"},
    "attempt.phased": {"how": "text"},
    "attempt.interrupted": {"how": "text"},
    "attempt.ended": {"outcome": "text"},
    # a train
    "train.opened": {"base": "text", "members": "list"},
    "train.joined": {"members": "list"},
    "train.runs": _MEMBERS,
    "train.ran": {**_MEMBERS, "green": "flag", "commit": "text", "tree": "text", "diff": "text", "evidence": "number"},
    "train.clash": {**_MEMBERS, "paths": "list"},
    "train.cancelled": _MEMBERS,
    "train.tested": {"base": "text", "candidate": "text", "tree": "text", "diff": "text", "evidence": "number"},
    "train.signed": {"diff": "text"},
    "train.unsigned": {"diff": "text"},
    "train.left": {"jobs": "list"},
    "train.rebuild": {"base": "text"},
    "train.landed": {"landed": "list"},
    "train.dissolved": {},
    # what is of neither
    "caps.synced": {"caps": "mapping", "kinds": "mapping", "base": "text"},
    "class.paused": {"why": "text"},
    "class.resumed": {"why": "text"},
    "key.added": {"public": "text", "runner": "text"},
    "evidence.added": {"evidence": "number", "commit": "text", "tree": "text", "passed": "flag", "envelope": "text"},
    "cache.refused": {"key": "text", "why": "text"},
}
"""Kind → the keys that its data always has, with what stands there; more may be there.  Nothing of another kind is written."""
