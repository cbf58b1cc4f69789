"""The order in which an outcome is judged, the same for every vendor: the supervisor's word, the terminal event, the process.

An exit code alone never makes a run complete, and a terminal event is believed before it (facts/agents §1.2, §7).
"""

from __future__ import annotations

from typing import Final

from interlock.core.agent.outcome import AgentOutcome, Kind, ProcessEnd
from interlock.core.agent.seen import Denied, Limit, Summary
from interlock.core.counting import count

_WORDS: Final[dict[str, Kind]] = {
    "cancelled": "cancelled",
    "interrupted": "interrupted",
    "failed-to-start": "failed-to-start",
    "stopped": "stopped",
}
_LIMITS: Final[dict[str, Limit]] = {"wall-limit": "wall", "idle-limit": "idle", "startup-limit": "startup"}


def judge(end: ProcessEnd, seen: Summary) -> AgentOutcome:
    """The outcome of a run whose client has a terminal event; adapters refine it where their vendor differs."""
    return _supervised(end) or (_terminal(end, seen) if seen.ended is not None else _without_end(end, seen))


def _supervised(end: ProcessEnd) -> AgentOutcome | None:
    """What the supervisor itself decided or saw."""
    if (kind := _WORDS.get(end.how)) is not None:
        return AgentOutcome(kind=kind, message=end.message)
    if (limit := _LIMITS.get(end.how)) is not None:
        return AgentOutcome(kind="limit", limit=limit, message=end.message)
    if end.budget:
        spent = end.reached
        unit: Limit = "tokens" if spent is not None and spent.unit == "tokens" else "money"
        return AgentOutcome(kind="limit", limit=unit, message=end.budget, reached=spent)
    return None


def _without_end(end: ProcessEnd, seen: Summary) -> AgentOutcome:
    """No terminal event: it has not completed, whatever it exited with."""
    if seen.asked:
        return AgentOutcome(
            kind="denied", message=f"It asked for a permission and nobody answered: {seen.asked[-1].what}"
        )
    if end.how == "signalled":
        return AgentOutcome(kind="crashed", message=end.message or "It was ended by a signal.")
    if end.exit_code in (0, None):
        said = "It exited with 0 and never" if end.exit_code == 0 else "It never"
        return AgentOutcome(
            kind="protocol-error", message=f"{said} said that it had ended, so it is not taken for completed."
        )
    if seen.last_fault is not None:
        return AgentOutcome(kind="api-error", fault=seen.last_fault, message="The model's interface gave up on it.")
    return AgentOutcome(kind="crashed", message=f"It exited with {end.exit_code} and did not say why.")


def _terminal(end: ProcessEnd, seen: Summary) -> AgentOutcome:
    ended = seen.ended
    assert ended is not None  # noqa: S101 - asked before
    if ended.how == "limit":
        return AgentOutcome(kind="limit", limit=ended.limit, message=ended.message)
    if ended.how == "aborted":
        return AgentOutcome(kind="crashed", message=ended.message or "It ended its own turn before it was done.")
    if ended.how == "failed":
        if ended.fault is not None:
            return AgentOutcome(kind="api-error", fault=ended.fault, message=ended.message)
        return AgentOutcome(kind="crashed", message=ended.message or f"It failed and exited with {end.exit_code}.")
    if seen.denied:
        return AgentOutcome(kind="denied", message=denials(seen.denied))
    return AgentOutcome(kind="completed", message=ended.message)


def denials(denied: tuple[Denied, ...]) -> str:
    """What was refused to the agent, in one sentence."""
    shown = "; ".join(dict.fromkeys(each.what for each in denied if each.what)) or "something"
    return f"It was refused {count(len(denied), 'thing')}: {shown[:400]}."
