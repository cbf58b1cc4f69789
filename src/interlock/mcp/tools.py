"""What a manager agent may do, tool by tool, with the use cases of the verbs and their JSON; the wire is server's.

Whatever only a person decides is not here: no merge or train, no sign-off, approval, decision or answer, no cap, no
scope, no budget.  Nothing here reads a name of another verb, so what is not listed cannot be called.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from interlock.core.problems import BadInput, InterlockError, Misuse, Refused, refused
from interlock.ports.bundle import Ports

Arguments = Mapping[str, Any]

_NAME_MOST: Final = 60
_SLUG: Final = {"type": "string", "description": "The slug of a card, or the id of its job."}
_SLUGS: Final = {"type": "array", "items": {"type": "string"}, "description": "Slugs of cards."}
_TEXT_MOST: Final = 2000
_BY: Final = ("class", "agent", "model", "phase")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool: what it does, its arguments as a JSON schema, and the function; ``writes`` tells that it changes something."""

    name: str
    what: str
    run: Callable[[Ports, Arguments, str], dict[str, Any]]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    writes: bool = False

    def schema(self) -> dict[str, Any]:
        """The arguments as a JSON schema that takes nothing else."""
        return {
            "type": "object",
            "properties": dict(self.arguments),
            "required": list(self.required),
            "additionalProperties": False,
        }


def actor_of(client: str) -> str:
    """Who acts, on the record: never the name of a person, whatever the client calls itself."""
    name = re.sub(r"[^\w.@/ -]", "", client, flags=re.ASCII).strip()[:_NAME_MOST]
    return f"mcp:{name or 'unnamed'}"


def call(name: str, arguments: Arguments, client: str) -> tuple[dict[str, Any], bool]:
    """Call a tool; gives its JSON, and whether the call itself was wrong.

    A refusal is an answer, with its rule, as ``--json`` gives it: ``{code, message, hint, refusal}``.  What is no tool
    is refused the same way.  Raises nothing that a manager could do something about.
    """
    from interlock.wiring import open_ports

    tool = TOOLS.get(name)
    try:
        if tool is None:
            raise Misuse(f"There is no tool {name}.", hint=f"There are {', '.join(TOOLS)}; the rest is for people.")
        _check(tool, arguments)
        ports = open_ports(narrate=lambda text: print(text, file=sys.stderr))
        try:
            return tool.run(ports, arguments, actor_of(client)), False
        finally:
            ports.store.close()
    except InterlockError as fault:
        return _told(fault), isinstance(fault, Misuse)


def _told(fault: InterlockError) -> dict[str, Any]:
    shape: dict[str, Any] = {"code": fault.code, "message": fault.message, "hint": fault.hint}
    if isinstance(fault, Refused):
        shape["refusal"] = fault.refusal.as_json()
    if isinstance(fault, BadInput):
        shape["problems"] = [problem.as_json() for problem in fault.problems]
    return shape


def _check(tool: Tool, arguments: Arguments) -> None:
    """Refuse arguments that the tool does not have or that have another shape, before anything is opened."""
    kinds: dict[str, type] = {"string": str, "boolean": bool, "array": list, "integer": int}
    known = dict(tool.arguments)
    for name in tool.required:
        if name not in arguments:
            raise Misuse(f"{tool.name} needs {name}.", hint=f"It takes {', '.join(known)}.")
    for name, value in arguments.items():
        if name not in known:
            raise Misuse(f"{tool.name} takes no {name}.", hint=f"It takes {', '.join(known) or 'nothing'}.")
        kind = kinds[known[name]["type"]]
        right = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
        if right and isinstance(value, list):
            right = all(isinstance(each, str) for each in value)
        if not right:
            raise Misuse(f"{name} of {tool.name} has another shape.", hint=f"It is of type {known[name]['type']}.")


# ---------------------------------------------------------------- the tools
def _list(ports: Ports, _arguments: Arguments, _actor: str) -> dict[str, Any]:
    from interlock.app.base import fresh_view
    from interlock.app.dispatch import given_up, ready_slugs
    from interlock.app.status import status

    jobs = status(ports).as_json()["jobs"]
    short = ("slug", "job", "class", "state", "attempt", "waits_for", "since")
    listed = [{name: job[name] for name in short} for job in jobs]
    view = fresh_view(ports)
    return {"cards": list(ready_slugs(ports, view)), "abandoned": list(given_up(ports, view.base.oid)), "jobs": listed}


def _show(ports: Ports, arguments: Arguments, _actor: str) -> dict[str, Any]:
    from interlock.app.show import show

    return show(ports, arguments["slug"]).as_json()


def _card_check(ports: Ports, arguments: Arguments, _actor: str) -> dict[str, Any]:
    from interlock.app.card_source import from_default_branch
    from interlock.app.dispatch import given_up

    slugs = tuple(arguments.get("slugs") or ())
    source = from_default_branch(ports.repo, ports.files, slugs)
    base = ports.repo.last_base().oid
    return source.check(slugs, ports.repo.landed_slugs(base)).without(given_up(ports, base)).as_json()


def _dispatch(ports: Ports, arguments: Arguments, actor: str) -> dict[str, Any]:
    from interlock.app.dispatch import dispatch

    slugs = tuple(dict.fromkeys(arguments["slugs"]))
    if not slugs:
        raise Misuse("Name at least one card.", hint="list tells which have neither a job nor landed.")
    results = dispatch(ports, slugs, actor)
    return results[0].as_json() if len(results) == 1 else {"results": [each.as_json() for each in results]}


def _status(ports: Ports, arguments: Arguments, _actor: str) -> dict[str, Any]:
    from interlock.app.status import status

    return status(ports, everything=bool(arguments.get("all"))).as_json()


def _evidence(ports: Ports, arguments: Arguments, _actor: str) -> dict[str, Any]:
    from interlock.app.show import show

    shape = show(ports, arguments["slug"]).as_json()
    return {name: shape[name] for name in ("slug", "id", "state", "head", "tree", "evidence", "record")}


def _inbox(ports: Ports, _arguments: Arguments, _actor: str) -> dict[str, Any]:
    from interlock.app.status import status

    return {"needs_a_person": list(status(ports).asked)}


def _cancel(ports: Ports, arguments: Arguments, actor: str) -> dict[str, Any]:
    """Stop a job whose work is not done yet.

    What waits for a person, or for the train, is left as it is: the question would be gone, or the change out of the train.
    """
    from interlock.app.decide import find_open, stop
    from interlock.core.job.lifecycle import State

    reason = str(arguments["reason"]).strip()
    if not reason or len(reason) > _TEXT_MOST:
        raise Misuse("A reason is needed, in a few words.", hint="It goes on the record.")
    job = find_open(ports, arguments["slug"])
    if job.state not in (State.ADMITTED, State.ISOLATED, State.RUNNING):
        raise refused(
            rule="approval",
            what=f"{job.slug} is {job.state}, so there is no agent to end.",
            why="What becomes of finished work, and of a question that is open, a person decides.",
            would_change=f"A person can say it: interlock stop {job.slug}.",
            holders=(job.owner,),
        )
    job = stop(ports, job.id, actor, reason, expect=job.rev)
    return {"slug": job.slug, "job": job.id, "state": job.state}


def _usage(ports: Ports, arguments: Arguments, _actor: str) -> dict[str, Any]:
    from typing import cast

    from interlock.app.usage import By, report

    by = str(arguments.get("by", "class"))
    if by not in _BY:
        raise Misuse(f"Usage is not told by {by}.", hint=f"By {', '.join(_BY)}.")
    begin = ports.clock.now() - float(arguments.get("days", 7)) * 86_400.0
    rows = report(ports, cast("By", by), since=begin)
    return {"by": by, "since": begin, "rows": [row.as_json() for row in rows]}


_ALL: Final = (
    Tool(
        name="list",
        what="Cards that can be dispatched, those whose job a person abandoned, and open jobs in short.",
        run=_list,
    ),
    Tool(
        name="show",
        what="One job: card, state, attempts, evidence, history, refusals.",
        run=_show,
        arguments={"slug": _SLUG},
        required=("slug",),
    ),
    Tool(
        name="card_check",
        what="What keeps cards of the default branch from being ready, alone and together; all cards where none is named.",
        run=_card_check,
        arguments={"slugs": _SLUGS},
    ),
    Tool(
        name="dispatch",
        what="Admit cards and give each its own tree, branch and ports; a refusal says the rule, who holds it, and what would change it.",
        run=_dispatch,
        arguments={"slugs": _SLUGS},
        required=("slugs",),
        writes=True,
    ),
    Tool(
        name="status",
        what="Every open job, what waits for a person, and the train; with all, closed jobs too.",
        run=_status,
        arguments={"all": {"type": "boolean", "description": "Closed jobs too."}},
    ),
    Tool(
        name="evidence",
        what="What a job's work was proven with: commit, tree, checks and their verdicts.",
        run=_evidence,
        arguments={"slug": _SLUG},
        required=("slug",),
    ),
    Tool(name="inbox", what="What waits for a person; only people answer it.", run=_inbox),
    Tool(
        name="cancel",
        what="End a job's agent, or keep it from starting, and keep its work; the job then waits for a person.",
        run=_cancel,
        arguments={"slug": _SLUG, "reason": {"type": "string", "description": "Why, for the record."}},
        required=("slug", "reason"),
        writes=True,
    ),
    Tool(
        name="usage",
        what="Tokens and dollars of the last days, and what a landed change cost.",
        run=_usage,
        arguments={
            "by": {"type": "string", "description": "class (without it), agent, model or phase."},
            "days": {"type": "integer", "description": "How far back; 7 without it."},
        },
    ),
)

TOOLS: Final[Mapping[str, Tool]] = {tool.name: tool for tool in _ALL}
