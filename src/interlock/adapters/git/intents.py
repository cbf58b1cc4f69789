"""What was meant to be made, written before anything of it exists: one small file for each job; healing reads it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from interlock.adapters.git.discover import Found
from interlock.host import files

State = Literal["making", "ready", "removed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """The tree of one job: its folder, branch and base, the commit to be checked out, and how far it is.

    ``fresh`` tells that the branch is made along with the tree, so that a failure may take it away again;
    ``before`` are the registrations that were there first, which are somebody else's.
    """

    job: str
    slug: str
    branch: str
    path: str
    base: str
    commit: str
    fresh: bool
    state: State = "making"
    before: tuple[str, ...] = ()


def folder(found: Found) -> Path:
    return found.state / "intents"


def lock(found: Found, job: str) -> Path:
    return folder(found) / f"{job}.lock"


def read(found: Found, job: str) -> Intent | None:
    """The intent of a job; None when there is none, or when what stands there is not one."""
    return _parse(folder(found) / f"{job}.json")


def write(found: Found, intent: Intent) -> None:
    folder(found).mkdir(parents=True, exist_ok=True)
    data = json.dumps(asdict(intent), indent=2).encode("utf-8", "surrogateescape")
    files.write_whole(folder(found) / f"{intent.job}.json", data)


def forget(found: Found, job: str) -> None:
    (folder(found) / f"{job}.json").unlink(missing_ok=True)


def of_path(found: Found, path: Path) -> list[Intent]:
    """Intents for a folder that were not taken away."""
    every = (_parse(file) for file in sorted(folder(found).glob("*.json")))
    return [intent for intent in every if intent and intent.path == str(path) and intent.state != "removed"]


def _parse(file: Path) -> Intent | None:
    try:
        shape: dict[str, Any] = json.loads(file.read_bytes())
        return Intent(**{**shape, "before": tuple(shape["before"])})
    except (OSError, ValueError, TypeError, KeyError):
        return None
