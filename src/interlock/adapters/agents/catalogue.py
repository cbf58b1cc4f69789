"""Adapters by name: ours and those of plug-ins, each loaded when it is first asked for, so that a broken one stops its own jobs alone."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, cast

from interlock.adapters.agents.names import PLUG_INS
from interlock.core.agent.adapter import AgentAdapter, Capabilities, Order, Plain, Plan
from interlock.core.agent.judging import judge
from interlock.core.agent.outcome import AgentOutcome, ProcessEnd
from interlock.core.agent.seen import Seen, Summary, Unknown
from interlock.core.contract.agents import AGENTS
from interlock.core.problems import Refused, refused

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_MEMBERS: Final = tuple(name for name in vars(AgentAdapter) if not name.startswith("_"))


@lru_cache(maxsize=64)
def adapter_of(name: str) -> AgentAdapter | None:
    """The adapter of that name; None where nobody brings one.

    Raises Refused (no-agent) for a plug-in that cannot be loaded or is no adapter.  A plug-in takes no name of ours.
    """
    return _ours(name) if name in AGENTS else _plug_in(name)


class Gone(Plain):
    """In place of an agent that cannot be loaded any more: nothing that it wrote is understood, so it never completed."""

    name = ""
    programs: tuple[str, ...] = ()

    def probe(self, version: str) -> Capabilities:
        return Capabilities(version=version)

    def launch(self, order: Order) -> Plan:
        raise no_agent(order.choice.use, ())

    def decode(self, line: bytes) -> tuple[Seen, ...]:  # noqa: ARG002 - see AgentAdapter
        return (Unknown(),)

    def settle(self, end: ProcessEnd, seen: Summary) -> AgentOutcome:
        return judge(end, seen)


def _ours(name: str) -> AgentAdapter | None:
    match name:
        case "acp":
            from interlock.adapters.agents.acp import AcpAgent

            return AcpAgent()
        case "claude":
            from interlock.adapters.agents.claude import ClaudeAgent

            return ClaudeAgent()
        case "codex":
            from interlock.adapters.agents.codex import CodexAgent

            return CodexAgent()
        case "cursor":
            from interlock.adapters.agents.cursor import CursorAgent

            return CursorAgent()
        case _:
            from interlock.adapters.agents.command import CommandAgent

            return CommandAgent()


def _plug_in(name: str) -> AgentAdapter | None:
    from importlib.metadata import entry_points

    for point in entry_points(group=PLUG_INS, name=name):
        try:
            made = point.load()()
        except (Exception, SystemExit) as fault:  # whatever the code of a stranger does when it is loaded
            said = f"{type(fault).__name__}: {fault}"
            raise _broken(point, said if said.endswith(".") else f"{said}.") from fault
        lacking = [each for each in _MEMBERS if not hasattr(made, each)]
        if lacking:
            raise _broken(point, f"it is no adapter and has no {', '.join(lacking)}.")
        return cast(AgentAdapter, made)
    return None


def no_agent(use: str | None, known: tuple[str, ...]) -> Refused:
    """That nobody brings an agent of that name, with the names that there are."""
    return refused(
        rule="no-agent",
        what=f"There is no agent {use}." if use else "The card names no agent.",
        why=f"Known are {', '.join(known)}.",
        would_change='Name one of them, or write agent: {use: command, command: "…"}.',
        holders=known,
    )


def _broken(point: EntryPoint, why: str) -> Refused:
    package = point.dist.name if point.dist is not None else point.value.partition(":")[0]
    return refused(
        rule="no-agent",
        what=f"The agent {point.name} of the package {package} cannot be loaded: {why}",
        why="Its adapter is code of that package, and nothing else knows its client.",
        would_change=f"Mend or update {package}, or route the card to another agent.",
        holders=(package,),
    )
