"""Agents by name over their pure adapters (ports.Agents): what is started where, and what the record of a run says."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from interlock.adapters.agents import hosting, reading
from interlock.adapters.agents.names import PLUG_INS
from interlock.core.agent.adapter import AgentAdapter, Capabilities, Endpoint, Order, Plan
from interlock.core.agent.gateway import MODEL_PORT, ModelGateway
from interlock.core.agent.outcome import ProcessEnd
from interlock.core.agent.seen import Seen, Summary
from interlock.core.agent.usage import Usage
from interlock.core.contract.card import AgentChoice
from interlock.core.problems import Refusal, Refused
from interlock.core.sandbox import HOME, Sandbox
from interlock.host import answers, clients, files, homes, leavings, logins
from interlock.host.sandbox import toolchains
from interlock.ports import Assignment, End, Launch, Reading, Room

_PLAN: Final = "plan.json"
_WALL: Final = 3600.0
_IDLE: Final = 900.0
"""Seconds of an attempt without limits of its own."""


def built_in() -> tuple[AgentAdapter, ...]:
    """The adapters that come with Interlock."""
    from interlock.adapters.agents.acp import AcpAgent
    from interlock.adapters.agents.claude import ClaudeAgent
    from interlock.adapters.agents.codex import CodexAgent
    from interlock.adapters.agents.command import CommandAgent
    from interlock.adapters.agents.cursor import CursorAgent

    return (CommandAgent(), CodexAgent(), ClaudeAgent(), AcpAgent(), CursorAgent())


@lru_cache(maxsize=1)
def all_adapters() -> Mapping[str, AgentAdapter]:
    """Those, and the plug-ins of the entry point group ``interlock.agents``, by name; a plug-in replaces none of ours."""
    from importlib.metadata import entry_points

    found: dict[str, AgentAdapter] = {each.name: each for each in built_in()}
    for point in entry_points(group=PLUG_INS):
        if point.name not in found:
            found[point.name] = point.load()()
    return found


class KnownAgents:
    """Agents of this machine (ports.Agents).  ``locks`` is the folder for locks of logins."""

    def __init__(self, locks: Path, adapters: Mapping[str, AgentAdapter] | None = None) -> None:
        self._locks = locks
        self._given = adapters

    @property
    def _adapters(self) -> Mapping[str, AgentAdapter]:
        return all_adapters() if self._given is None else self._given

    def names(self) -> tuple[str, ...]:
        return tuple(self._adapters)

    def dialects(self, use: str | None) -> tuple[str, ...]:
        """Dialects of models that an agent's client speaks; none for an agent that is not known."""
        known = self._adapters.get(use or "")
        return known.dialects if known else ()

    def capabilities(self, choice: AgentChoice) -> Capabilities:
        adapter = self._adapter(choice.use)
        if not adapter.programs:
            return adapter.probe("")
        return adapter.probe(clients.version(self._program(adapter, adapter.programs[0])))

    def launch(self, given: Assignment) -> Launch:
        adapter = self._adapter(given.choice.use)
        programs = {name: self._program(adapter, name) for name in adapter.programs}
        around = hosting.surround(given)
        walls = around.sandbox
        if walls is not None:
            named = toolchains.named_in(given.choice.command or "")
            folders = clients.folders(programs.values())
            # What PATH was made of here is not known to the runner, which starts without our environment.
            walls = replace(walls, tools=(*walls.tools, *toolchains.tools(), *named, *folders))
        walls = self._log_in(adapter, given, around, walls)
        plan = adapter.launch(_order(given, around, programs))
        _write_home(adapter, given, around, plan)
        kept = {"use": adapter.name, "quiet": list(plan.quiet), "resume": given.resume}
        files.write_whole(given.folder / _PLAN, json.dumps(kept).encode())
        budget = given.card.budget
        return Launch(
            argv=plan.argv,
            env={**around.env, **plan.env},
            cwd=given.room.path,
            stdin=plan.stdin,
            ends=plan.ends,
            after_end=plan.after_end,
            sandbox=walls,
            redact=plan.secrets,
            gateway=given.gateway,
            split=adapter.name != "command",
            wall=_WALL if budget.wall is None else budget.wall,
            idle=_IDLE if budget.idle is None else budget.idle,
            startup=budget.startup,
        )

    def read(self, use: str, folder: Path, end: End, *, before: Usage, usd_before: float | None) -> Reading:
        adapter = self._adapters.get(use) or self._adapters["command"]
        seen = reading.summary(adapter, folder, before=before, usd_before=usd_before)
        if seen.usage.total is None or seen.ended is None:
            found = adapter.recover_usage(reading.transcripts(adapter, folder / "home"))
            spent = found - before
            if (spent.total or 0) > (seen.usage.total or 0):
                seen = replace(seen, usage=spent, session_usage=found)
        process = ProcessEnd(
            how=end.how, exit_code=end.exit_code, tail=end.tail, message=end.message, budget=end.budget
        )
        return Reading(seen=seen, outcome=adapter.settle(process, seen))

    def watch(self, use: str, folder: Path) -> Summary:
        return reading.summary(self._adapters.get(use) or self._adapters["command"], folder)

    def told(self, use: str, data: bytes) -> tuple[Seen, ...]:
        adapter = self._adapters.get(use) or self._adapters["command"]
        return tuple(each for line in data.splitlines() if line.strip() for each in adapter.decode(line))

    def answer(self, folder: Path, asked: str, choice: str, by: str) -> None:
        answers.answer(folder / hosting.ANSWERS, asked, choice, by)

    def tidy(self, folder: Path, tree: Path) -> tuple[str, ...]:
        plan = _plan_of(folder)
        return leavings.remove_empty(tree, [str(each) for each in plan.get("quiet", ())])

    def tools(self, room: Room, env: Mapping[str, str], folder: Path) -> tuple[Room, dict[str, str]]:
        return hosting.tools(room, env, folder)

    def _adapter(self, use: str | None) -> AgentAdapter:
        known = self._adapters.get(use or "")
        if known is not None:
            return known
        names = ", ".join(self._adapters)
        raise Refused(
            Refusal(
                rule="no-agent",
                what=f"There is no agent {use}." if use else "The card names no agent.",
                why=f"Known are {names}.",
                would_change='Name one of them, or write agent: {use: command, command: "…"}.',
                holders=tuple(self._adapters),
            )
        )

    def _program(self, adapter: AgentAdapter, name: str) -> str:
        found = clients.find(name)
        if found is None:
            raise Refused(
                Refusal(
                    rule="no-agent",
                    what=f"The client {name} of the agent {adapter.name} is not on PATH.",
                    why="An attempt starts it in the task's room.",
                    would_change=f"Install it (docs/howto/agent-{adapter.name}.md), or route the card to another agent.",
                )
            )
        return found

    def _log_in(
        self, adapter: AgentAdapter, given: Assignment, around: hosting.Surroundings, walls: Sandbox | None
    ) -> Sandbox | None:
        """The credentials of a subscription, where the policy names them and no gateway stands in for them."""
        if given.login is None or given.gateway is not None or around.home_here is None or not adapter.login:
            return walls
        self._locks.mkdir(parents=True, exist_ok=True)
        file = logins.ready(given.login, self._locks / f"login-{adapter.name}.lock")
        place, user = adapter.login[0], walls.user if walls is not None else None
        copy = logins.copied(file, given.folder / "login", user=user)
        if walls is not None:
            return walls.with_bind(str(copy), f"{HOME}/{place}")
        homes.put(around.home_here, place, copy.read_bytes(), user=None, mode=0o400)
        return None


def _order(given: Assignment, around: hosting.Surroundings, programs: Mapping[str, str]) -> Order:
    return Order(
        card=given.card,
        choice=given.choice,
        prompt=given.prompt,
        programs=programs,
        home=around.home,
        tree=around.tree,
        walled=around.sandbox is not None,
        writable=given.writable,
        endpoints=endpoints(given.gateway),
        resume=given.resume,
        hook=f"{shlex.quote(around.tool)} hook",
        usd_left=given.usd_left,
        turns=given.card.budget.turns,
        attempt=around.env.get("INTERLOCK_ATTEMPT", ""),
        writes=tuple(path for path in (around.env.get("INTERLOCK_SPOOL"),) if path),
        logged_in=given.login is not None,
    )


def endpoints(gateway: ModelGateway | None) -> tuple[Endpoint, ...]:
    """How an agent reaches its gateway, once for each vendor and dialect."""
    if gateway is None:
        return ()
    at = f"127.0.0.1:{MODEL_PORT}" if gateway.listen == "unix" else gateway.listen.removeprefix("tcp:")
    return tuple(
        Endpoint(name=each.name, dialect=dialect, url=f"http://{at}/{each.name}", token=gateway.token)
        for each in gateway.upstreams
        for dialect in each.dialects
    )


def _write_home(adapter: AgentAdapter, given: Assignment, around: hosting.Surroundings, plan: Plan) -> None:
    """What the client needs below HOME: the session that it goes on with, and the files of its plan."""
    if around.home_here is None:
        return
    user = around.sandbox.user if around.sandbox is not None else None
    earlier = reading.transcripts(adapter, given.resume_home) if given.resume and given.resume_home else {}
    for name, data in {**earlier, **plan.files}.items():
        homes.put(around.home_here, name, data, user=user)


def _plan_of(folder: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError):
        found = json.loads((folder / _PLAN).read_bytes())
        return found if isinstance(found, dict) else {}
    return {}
