"""What came out of an attempt, decided from its end, its tree and its messages; never from the exit code alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

MAX_INTERRUPTIONS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the harness saw: how the process ended, where HEAD stands, whether the tree changed, what was said.

    ``stop`` is the agent's stop message ({reason, question, options}), ``scope_request`` its wish for more paths.
    """

    how: str
    exit_code: int | None
    tail: str
    branch: str
    head_branch: str | None
    workspace_there: bool
    changed: bool
    interruptions: int
    message: str = ""
    stop: Mapping[str, Any] | None = None
    scope_request: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """``worked``: there is work to verify; ``interrupted``: to be started again; ``ended``: a person is asked."""

    kind: Literal["worked", "interrupted", "ended"]
    rule: str = ""
    what: str = ""
    ask: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)


def settle(facts: Facts) -> Outcome:
    """Judge one attempt.  The order is: its tree, the person's and the agent's stop, limits, process, difference."""
    return (
        _tree(facts)
        or _interrupted(facts)
        or _stopped(facts)
        or _limits(facts)
        or _process(facts)
        or _difference(facts)
        or Outcome(kind="worked")
    )


def _ended(facts: Facts, rule: str, what: str, ask: str, **detail: Any) -> Outcome:
    shown = {"tail": facts.tail, "exit_code": facts.exit_code, **detail}
    return Outcome(kind="ended", rule=rule, what=what, ask=ask, detail=shown)


def _tree(facts: Facts) -> Outcome | None:
    if not facts.workspace_there:
        return _ended(
            facts,
            "workspace-missing",
            "The task's folder is gone, and with it what was not committed.",
            "Recreate the tree from the branch with resume, or abandon the job.",
        )
    if facts.head_branch != facts.branch and facts.how != "interrupted":
        where = f"on {facts.head_branch}" if facts.head_branch else "detached"
        return _ended(
            facts,
            "head-moved",
            f"HEAD is not on {facts.branch}: it is {where}. The commits are kept; nothing is removed.",
            f"Put HEAD back (git switch {facts.branch} in the task's folder), then retry with a hypothesis; or abandon it.",
        )
    return None


def _interrupted(facts: Facts) -> Outcome | None:
    if facts.how != "interrupted":
        return None
    if facts.interruptions + 1 < MAX_INTERRUPTIONS:
        return Outcome(kind="interrupted", what="The agent's process was ended from outside.")
    return _ended(
        facts,
        "interrupted",
        f"The agent's process was ended from outside {MAX_INTERRUPTIONS} times in a row.",
        "Find what ends it (memory, a reaper), then retry with that as the hypothesis.",
    )


def _stopped(facts: Facts) -> Outcome | None:
    if facts.stop is not None:
        question = str(facts.stop.get("question") or "")
        reason = str(facts.stop.get("reason") or "no reason given")
        return _ended(
            facts,
            "agent-stopped",
            f"The agent stopped: {reason}",
            question or "Decide how to go on.",
            reason=reason,
            question=question,
            options=list(facts.stop.get("options") or ()),
        )
    if facts.scope_request is not None:
        paths = [str(path) for path in facts.scope_request.get("paths") or ()]
        return _ended(
            facts,
            "agent-stopped",
            f"The agent asks for paths outside its card: {', '.join(paths) or 'none named'}.",
            "Widen the card on the default branch and decide, or tell the agent how to do without.",
            paths=paths,
            reason=str(facts.scope_request.get("reason") or ""),
        )
    if facts.how == "cancelled":
        return _ended(facts, "cancelled", "A person stopped the agent.", "Resume, retry or abandon the job.")
    return None


def _limits(facts: Facts) -> Outcome | None:
    if facts.how == "wall-limit":
        return _ended(
            facts,
            "wall-limit",
            f"The agent ran for too long. {facts.message}".strip(),
            "Retry with a hypothesis, or narrow the card.",
        )
    if facts.how == "idle-limit":
        return _ended(
            facts,
            "idle-limit",
            f"The agent wrote nothing for too long. {facts.message}".strip(),
            "Retry with a hypothesis, or stop the job.",
        )
    return None


def _process(facts: Facts) -> Outcome | None:
    if facts.how == "exited" and facts.exit_code == 0:
        return None
    what = {
        "failed-to-start": f"The agent did not start: {facts.message}",
        "signalled": f"The agent was ended by a signal. {facts.message}".strip(),
    }.get(facts.how, f"The agent exited with {facts.exit_code}.")
    return _ended(facts, "agent-failed", what, "Read its last lines, then retry with a hypothesis or abandon the job.")


def _difference(facts: Facts) -> Outcome | None:
    if facts.changed:
        return None
    return _ended(
        facts,
        "empty-diff",
        "The agent exited with 0 and changed no file, so nothing is done.",
        "Retry with a hypothesis that says why it should come out otherwise, or abandon the job.",
    )
