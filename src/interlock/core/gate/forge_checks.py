"""Whether a forge's checks say success of exactly one commit; a forge itself counts skipped and neutral as passed (E3).

Source of the cases: VG-04; facts/gating §3 (a skipped job satisfies a required check, in a merge group as well).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

Found = Literal["success", "waiting", "refused"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgeRun:
    """One run of a check as a forge tells it.

    ``at`` is when it began, in seconds since the epoch, None where it has not begun; ``number`` is the forge's own, which grows;
    ``app`` is who reported it: two applications may use one name.
    """

    name: str
    commit: str
    status: str
    conclusion: str
    at: float | None = None
    number: int = 0
    app: str = ""


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

    Of several runs of one name and application on that commit the newest decides, whichever way, and one that is asked for and
    has not begun is the newest; of several applications each has to succeed.  ``allow`` names conclusions that a person
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
    found = [_judge_one(name, _newest(here, app), allowed) for app in dict.fromkeys(run.app for run in here)]
    return next((each for each in found if each.state == "refused"), None) or next(
        (each for each in found if each.state == "waiting"), found[0]
    )


def _newest(runs: Sequence[ForgeRun], app: str) -> ForgeRun:
    """What was asked for last: a run without a beginning waits for one, and the forge's numbers grow."""
    own = [(run.at is None, run.at or 0.0, run.number, place, run) for place, run in enumerate(runs) if run.app == app]
    return max(own)[-1]


def _judge_one(name: str, run: ForgeRun, allowed: Sequence[str]) -> ForgeVerdict:
    if run.status != "completed":
        return ForgeVerdict(name=name, state="waiting", what=f"{name} is {run.status}.")
    if run.conclusion == "success" or run.conclusion in allowed:
        return ForgeVerdict(name=name, state="success")
    said = run.conclusion or "without a conclusion"
    return ForgeVerdict(name=name, state="refused", what=f"{name} is {said}, which is not success.")


def runs_of(answer: Any) -> tuple[ForgeRun, ...]:
    """The runs in a forge's answer: GitHub's check runs of a commit, its commit statuses, or a list of either.

    Raises ValueError for another shape: an answer that cannot be read shows nothing.
    """
    pages = answer if isinstance(answer, list) else [answer]
    if not pages or not all(isinstance(page, Mapping) for page in pages):
        raise ValueError("this is neither check runs nor commit statuses")
    found: list[ForgeRun] = []
    for key, made in (("check_runs", _check_run), ("statuses", _status)):
        told = [page for page in pages if key in page]
        found += [made(item, page) for page in told for item in _items(page, key)]
        _complete(told, key, sum(len(_items(page, key)) for page in told))
    if not all("check_runs" in page or "statuses" in page for page in pages):
        raise ValueError("this is neither check runs nor commit statuses")
    return tuple(found)


def _items(page: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    items = page[key]
    if not isinstance(items, list) or not all(isinstance(item, Mapping) for item in items):
        raise ValueError(f"{key} is not a list")
    return items


def _complete(pages: Sequence[Mapping[str, Any]], key: str, held: int) -> None:
    """Refuse pages that say that there are more than all of them hold."""
    totals = [page["total_count"] for page in pages if isinstance(page.get("total_count"), int)]
    if totals and max(totals) > held:
        raise ValueError(f"it holds {held} of {max(totals)} {key}: ask for every page")


def _check_run(item: Mapping[str, Any], _page: Mapping[str, Any]) -> ForgeRun:
    app = item.get("app")
    return ForgeRun(
        name=str(item.get("name", "")),
        commit=str(item.get("head_sha", "")),
        status=str(item.get("status", "")),
        conclusion=str(item.get("conclusion") or ""),
        at=_when(item.get("started_at")),
        number=_whole(item.get("id")),
        app=str(app.get("id", "")) if isinstance(app, Mapping) else "",
    )


def _status(item: Mapping[str, Any], page: Mapping[str, Any]) -> ForgeRun:
    state = str(item.get("state", ""))
    return ForgeRun(
        name=str(item.get("context", "")),
        commit=str(item.get("sha") or page.get("sha", "")),
        status="pending" if state == "pending" else "completed",
        conclusion=state,
        at=_when(item.get("updated_at") or item.get("created_at")),
        number=_whole(item.get("id")),
    )


def _when(text: Any) -> float | None:
    """Seconds since the epoch, whatever the offset; None where there is no time."""
    if not isinstance(text, str) or not text:
        return None
    found = datetime.fromisoformat(text)
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def _whole(value: Any) -> int:
    return value if isinstance(value, int) else 0
