"""What came out of an attempt, decided from its end, its tree and its messages; never from the exit code alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from interlock.core.agent.gateway import Reached
from interlock.core.agent.outcome import AgentOutcome
from interlock.core.counting import some

MAX_INTERRUPTIONS: Final = 3
_SHOWN: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the harness saw: how the process ended, where HEAD stands, whether the tree changed, what was said.

    ``stop`` is the agent's stop message ({reason, question, options}), ``scope_request`` its wish for more paths.
    ``agent`` is how its adapter read the run.  ``phase`` is what the run was for: ``writing`` tells that it may change
    the tree, ``wrote`` that it did, ``final`` that no phase comes after it, ``pack`` that it handed something on, and
    ``objection`` what a review of the test plan found wanting.  ``leaked`` names what changed meanwhile beside the task.
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
    agent: AgentOutcome = field(default_factory=lambda: AgentOutcome(kind="completed"))
    phase: str = "implement"
    writing: bool = True
    final: bool = True
    wrote: bool = False
    pack: bool = True
    objection: str = ""
    leaked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """``worked``: there is work to verify; ``phased``: the next phase is due; ``interrupted``: to be started again;
    ``ended``: a person is asked.
    """

    kind: Literal["worked", "phased", "interrupted", "ended"]
    rule: str = ""
    what: str = ""
    ask: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)


def settle(facts: Facts) -> Settlement:
    """Judge one attempt.  The order is: its tree, the person's and the agent's stop, limits, process, phase, difference.

    What leaked out of its tree is told whatever else came of it.
    """
    outcome = _came_out(facts)
    return _leaked(facts, outcome) if facts.leaked else outcome


def _came_out(facts: Facts) -> Settlement:
    return (
        _tree(facts)
        or _interrupted(facts)
        or _stopped(facts)
        or _limits(facts)
        or _process(facts)
        or _phase(facts)
        or _difference(facts)
        or Settlement(kind="worked")
    )


def _ended(facts: Facts, rule: str, what: str, ask: str, **detail: Any) -> Settlement:
    shown = {"tail": facts.tail, "exit_code": facts.exit_code, **detail}
    return Settlement(kind="ended", rule=rule, what=what, ask=ask, detail=shown)


def _leaked(facts: Facts, outcome: Settlement) -> Settlement:
    """What changed in trees that are not the task's (case AI-01): a person looks at it, and the work is kept."""
    names = some(facts.leaked, _SHOWN)
    what = f"While the agent ran, it or somebody else changed what is not the task's: {names}."
    if outcome.rule in ("agent-stopped", "cancelled"):
        return replace(outcome, what=f"{outcome.what} {what}")
    return _ended(
        facts,
        "leaked",
        f"{what} {outcome.what}".strip(),
        "Look at them, and put back what the agent did. Then resume goes on with the task's own work, "
        "or retry with what was wrong as the hypothesis; the level sealed keeps agents from it.",
        paths=list(facts.leaked),
        worked=outcome.kind == "worked",
    )


def _tree(facts: Facts) -> Settlement | None:
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


def _interrupted(facts: Facts) -> Settlement | None:
    if facts.how != "interrupted":
        return None
    if facts.interruptions + 1 < MAX_INTERRUPTIONS:
        return Settlement(kind="interrupted", what="The agent's process was ended from outside.")
    return _ended(
        facts,
        "interrupted",
        f"The agent's process was ended from outside {MAX_INTERRUPTIONS} times in a row.",
        "Find what ends it (memory, a reaper), then retry with that as the hypothesis.",
    )


def _stopped(facts: Facts) -> Settlement | None:
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


_LIMIT_RULES: Final = {
    "wall": ("wall-limit", "The agent ran for too long."),
    "idle": ("idle-limit", "The agent wrote nothing for too long."),
    "startup": ("startup-limit", "The agent said nothing at all after its start."),
    "turns": ("turn-limit", "The agent used up its turns."),
    "tokens": ("budget", "The agent's tokens are spent."),
    "money": ("budget", "The agent's money is spent."),
}


def _limits(facts: Facts) -> Settlement | None:
    if facts.agent.kind != "limit":
        return None
    rule, what = _LIMIT_RULES[facts.agent.limit or "wall"]
    said = f"{what} {facts.agent.message}".strip()
    if rule != "budget":
        return _ended(facts, rule, said, "Retry with a hypothesis, narrow the card, or stop the job.")
    reached = facts.agent.reached
    if reached is None:
        return _ended(facts, rule, said, _BUDGET_ASK)
    return _ended(facts, rule, said, ask_for(reached), reached=reached.as_json())


_BUDGET_ASK: Final = (
    "Give it more where the limit stands, then retry with a hypothesis; or narrow the card, or abandon it."
)


def ask_for(reached: Reached, slug: str | None = None) -> str:
    """What a person is asked when a limit was reached: what would let the job go on, and nothing that would not.

    With a slug, the command that raises it is in the words.
    """
    if not reached.priced:
        return "Write the model's price under prices in interlock.yaml, or take another model; then resume."
    whose = "attempt." if reached.scope == "attempt" else ""
    command = f" (interlock decide {slug} --raise {whose}{reached.unit}=N)" if slug else ""
    match reached.scope:
        case "attempt":
            return f"Retry with a hypothesis, raise it for this job{command}, or abandon it."
        case "job":
            return f"Raise it for this job{command}, narrow the card, or abandon it."
        case _:
            return "Resume on the next day (UTC), or raise per_day in interlock.yaml on the default branch and resume."


_FAULTS: Final = {
    "auth": "The model's interface did not accept the key.",
    "quota": "The model's account has no quota left.",
    "rate": "The model's interface refused for too many calls.",
    "overload": "The model's interface is overloaded or failed.",
    "context": "The task did not fit into the model's context.",
    "bad-request": "The model's interface did not accept the call.",
    "network": "The model's interface could not be reached.",
    "other": "The model's interface failed.",
}
_FAULT_ASKS: Final = {
    "auth": "Mend the key or the login, then resume.",
    "quota": "See to the account, then resume.",
    "context": "Narrow the card, or split it into phases, then retry with that as the hypothesis.",
    "bad-request": "Look at model and effort of the card, then retry with what is changed as the hypothesis.",
}


def _process(facts: Facts) -> Settlement | None:
    agent = facts.agent
    handed_on = facts.pack and not facts.final
    if agent.kind == "completed" or (agent.kind == "denied" and (facts.changed or handed_on)):
        return None
    if agent.kind == "api-error":
        fault = agent.fault or "other"
        what = f"{_FAULTS[fault]} {agent.message}".strip()
        ask = _FAULT_ASKS.get(fault, "Resume when it answers again, or route the card to another model.")
        return _ended(facts, f"api-{fault}", what, ask)
    if agent.kind == "denied":
        ask = "Allow it in the card or the policy, or tell the agent how to do without; then retry."
        return _ended(facts, "denied", agent.message or "What the agent wanted was refused to it.", ask)
    if agent.kind == "protocol-error":
        return _ended(facts, "no-end", agent.message, "Read its last lines, then retry with a hypothesis.")
    what = f"The agent did not start: {facts.message}" if agent.kind == "failed-to-start" else agent.message
    return _ended(facts, "agent-failed", what, "Read its last lines, then retry with a hypothesis or abandon the job.")


def _phase(facts: Facts) -> Settlement | None:
    if not facts.writing and facts.wrote:
        return _ended(
            facts,
            "phase-wrote",
            f"The phase {facts.phase} may only read, and the tree was changed in it.",
            "Look at the files. Retry with what the agent is to leave alone as the hypothesis; "
            "what you do not put back is judged as a part of the work.",
        )
    if facts.objection:
        return _ended(
            facts,
            "test-plan",
            f"The review of the test plan objects: {facts.objection}",
            "Decide with words for the next test plan, or accept the plan as it is.",
        )
    if facts.final or (facts.phase == "implement" and not facts.changed):
        return None  # the difference is judged next: with none there is nothing that a later phase could verify
    if not facts.pack:
        return _ended(
            facts,
            "no-pack",
            f"The phase {facts.phase} handed nothing on to the next one.",
            "Retry with a hypothesis; a phase ends with interlock-task pack, or at least with a last message.",
        )
    return Settlement(kind="phased")


def _difference(facts: Facts) -> Settlement | None:
    if facts.changed:
        return None
    return _ended(
        facts,
        "empty-diff",
        "The agent exited with 0 and changed no file, so nothing is done."
        if facts.exit_code == 0
        else "The agent changed no file, so nothing is done.",
        "Retry with a hypothesis that says why it should come out otherwise, or abandon the job.",
    )
