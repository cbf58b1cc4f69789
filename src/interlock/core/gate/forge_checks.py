"""Whether a forge's checks say success of exactly one commit; a forge itself counts skipped and neutral as passed (E3).

Source of the cases: VG-04; facts/gating §3 (a skipped job satisfies a required check, in a merge group as well).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Found = Literal["success", "waiting", "refused"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgeRun:
    """One run of a check as a forge tells it: ``at`` orders runs of one name (ISO 8601, or a number)."""

    name: str
    commit: str
    status: str
    conclusion: str
    at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgeVerdict:
    """What the newest run of a required check is worth; ``rule`` is ``not-success`` unless it is a success."""

    name: str
    state: Found
    what: str = ""

    @property
    def rule(self) -> str | None:
        return None if self.state == "success" else "not-success"

    def as_json(self) -> dict[str, Any]:
        return {"name": self.name, "state": self.state, "rule": self.rule, "what": self.what}


def judge_checks(
    required: Sequence[str], runs: Iterable[ForgeRun], commit: str, *, allow: Mapping[str, Sequence[str]] | None = None
) -> tuple[ForgeVerdict, ...]:
    """A verdict on each required check of a commit.

    Of several runs of one name on that commit the newest decides, whichever way.  ``allow`` names conclusions that a person
    lets pass for a check, such as ``{"docs": ["skipped"]}``.  With no required check there is one refused verdict: nothing
    was demanded, so nothing is shown.
    """
    known = tuple(runs)
    if not required:
        return (ForgeVerdict(name="", state="refused", what="No check is required, so nothing is shown by any."),)
    return tuple(_judge(name, known, commit, (allow or {}).get(name, ())) for name in required)


def _judge(name: str, runs: Sequence[ForgeRun], commit: str, allowed: Sequence[str]) -> ForgeVerdict:
    named = [run for run in runs if run.name == name]
    here = [run for run in named if run.commit == commit]
    if not here:
        other = f", only of {named[-1].commit[:12]}" if named else ""
        return ForgeVerdict(name=name, state="waiting", what=f"{name} has no run of {commit[:12]}{other}.")
    newest = max(enumerate(here), key=lambda each: (each[1].at, each[0]))[1]
    if newest.status != "completed":
        return ForgeVerdict(name=name, state="waiting", what=f"{name} is {newest.status}.")
    if newest.conclusion == "success" or newest.conclusion in allowed:
        return ForgeVerdict(name=name, state="success")
    said = newest.conclusion or "without a conclusion"
    return ForgeVerdict(name=name, state="refused", what=f"{name} is {said}, which is not success.")


def runs_of(answer: Any) -> tuple[ForgeRun, ...]:
    """The runs in a forge's answer: GitHub's check runs of a commit, its commit statuses, or a list of either.

    Raises ValueError for another shape: an answer that cannot be read shows nothing.
    """
    if isinstance(answer, Mapping) and "check_runs" in answer:
        return tuple(_check_run(each) for each in _complete(answer, "check_runs"))
    if isinstance(answer, Mapping) and "statuses" in answer:
        sha = str(answer.get("sha", ""))
        return tuple(_status(each, sha) for each in _complete(answer, "statuses"))
    if isinstance(answer, list):
        return tuple(run for part in answer for run in runs_of(part))
    raise ValueError("this is neither check runs nor commit statuses")


def _complete(answer: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """The items of a page; one that says that there are more than it holds is no whole answer."""
    items = answer[key]
    if not isinstance(items, list) or not all(isinstance(item, Mapping) for item in items):
        raise ValueError(f"{key} is not a list")
    total = answer.get("total_count", len(items))
    if isinstance(total, int) and total > len(items):
        raise ValueError(f"it holds {len(items)} of {total} {key}: ask for every page")
    return items


def _check_run(item: Mapping[str, Any]) -> ForgeRun:
    return ForgeRun(
        name=str(item.get("name", "")),
        commit=str(item.get("head_sha", "")),
        status=str(item.get("status", "")),
        conclusion=str(item.get("conclusion") or ""),
        at=str(item.get("started_at") or item.get("completed_at") or ""),
    )


def _status(item: Mapping[str, Any], sha: str) -> ForgeRun:
    state = str(item.get("state", ""))
    return ForgeRun(
        name=str(item.get("context", "")),
        commit=str(item.get("sha") or sha),
        status="pending" if state == "pending" else "completed",
        conclusion=state,
        at=str(item.get("updated_at") or item.get("created_at") or ""),
    )
