"""Agents by name over their pure adapters (ports.Agents): what is started where, and what the record of a run says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, Final

from interlock.adapters.agents import hosting, reading, transcripts
from interlock.adapters.agents.catalogue import Gone, adapter_of, no_agent
from interlock.adapters.agents.names import agent_names
from interlock.adapters.agents.ordering import login_place, order_of
from interlock.core.agent.adapter import AgentAdapter, Capabilities, Plan
from interlock.core.agent.outcome import ProcessEnd
from interlock.core.agent.seen import Seen, Summary
from interlock.core.agent.texts import clean
from interlock.core.agent.usage import Usage, believed
from interlock.core.contract.card import AgentChoice
from interlock.core.problems import Refused, refused
from interlock.core.sandbox import HOME, Sandbox
from interlock.host import answers, bridges, clients, empty_folders, files, homes, logins
from interlock.host.sandbox import toolchains
from interlock.ports.agents import Assignment, Reading
from interlock.ports.isolation import Room
from interlock.ports.processes import End, Launch

_PLAN: Final = "plan.json"
_HOME: Final = "home"
_WALL: Final = 3600.0
_IDLE: Final = 900.0
"""Seconds of an attempt without limits of its own."""


class KnownAgents:
    """Agents of this machine (ports.Agents).

    ``locks`` is the folder for locks of logins, one for all repositories (host.logins); ``adapters`` replace those of
    the catalogue.
    """

    def __init__(self, locks: Path, adapters: Mapping[str, AgentAdapter] | None = None) -> None:
        self._locks = locks
        self._given = adapters

    def names(self) -> tuple[str, ...]:
        return agent_names() if self._given is None else tuple(self._given)

    def dialects(self, use: str | None) -> tuple[str, ...]:
        """Dialects of models that an agent's client speaks; none for an agent that is not known or cannot be loaded."""
        with suppress(Refused):
            known = self._find(use)
            return known.dialects if known else ()
        return ()

    def capabilities(self, choice: AgentChoice) -> Capabilities:
        adapter = self._adapter(choice.use)
        for name in adapter.tools:
            bridges.check(name)
        if not adapter.programs:
            return adapter.probe("")
        return adapter.probe(clients.version(self._program(adapter, adapter.programs[0])))

    def launch(self, given: Assignment) -> Launch:
        adapter = self._adapter(given.choice.use)
        programs = {name: self._program(adapter, name) for name in adapter.programs}
        around = hosting.surround(given, adapter.tools)
        walls = around.sandbox
        if walls is not None:
            named = toolchains.named_in(given.choice.command or "")
            folders = clients.folders(programs.values())
            # What PATH was made of here is not known to the runner, which starts without our environment.
            walls = replace(walls, tools=(*walls.tools, *toolchains.tools(), *named, *folders))
        plan = adapter.launch(order_of(given, around, programs))
        _write_home(adapter, given, around, plan)
        place = login_place(adapter, given, around)
        # Before the credentials themselves: whatever ends us, it is known where they are.
        files.write_whole(given.folder / _PLAN, json.dumps({"quiet": list(plan.quiet), "login": place}).encode())
        walls = self._log_in(place, given, around, walls)
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
            split=not plan.merged,
            wall=_WALL if budget.wall is None else budget.wall,
            idle=_IDLE if budget.idle is None else budget.idle,
            startup=budget.startup,
        )

    def read(
        self, use: str, folder: Path, end: End, *, before: Usage, usd_before: float | None, resumed: str = ""
    ) -> Reading:
        adapter = self._reader(use)
        seen = reading.summary(adapter, folder, before=before, usd_before=usd_before, resumed=resumed)
        if seen.usage.total is None or seen.ended is None:
            # The transcript of the session that was resumed is among them, whichever the client then used.
            found = believed(adapter.recover_usage(data for _, data in transcripts.of(adapter, folder / _HOME)))
            spent = found - before
            if (spent.total or 0) > (seen.usage.total or 0):
                seen = replace(seen, usage=spent, session_usage=found)
        process = ProcessEnd(
            how=end.how,
            exit_code=end.exit_code,
            tail=end.tail,
            message=end.message,
            budget=end.budget,
            reached=end.reached,
        )
        return Reading(seen=seen, outcome=adapter.settle(process, seen))

    def has_session(self, use: str, folder: Path) -> bool:
        return next(transcripts.of(self._reader(use), folder / _HOME), None) is not None

    def watch(self, use: str, folder: Path) -> Summary:
        return reading.summary(self._reader(use), folder)

    def told(self, use: str, data: bytes) -> tuple[Seen, ...]:
        adapter = self._reader(use)
        return tuple(clean(each) for line in data.splitlines() if line.strip() for each in adapter.decode(line))

    def answer(self, folder: Path, asked: str, choice: str, by: str) -> None:
        answers.answer(folder / answers.FOLDER, asked, choice, by)

    def tidy(self, folder: Path, tree: Path) -> tuple[str, ...]:
        return empty_folders.remove_empty(tree, [str(each) for each in _plan_of(folder).get("quiet", ())])

    def forget(self, folder: Path) -> tuple[str, ...]:
        place = str(_plan_of(folder).get("login") or "")
        return logins.take_away(folder, folder / _HOME, place) if place else ()

    def tools(self, room: Room, env: Mapping[str, str], folder: Path) -> tuple[Room, dict[str, str]]:
        return hosting.tools(room, env, folder)

    def _find(self, use: str | None) -> AgentAdapter | None:
        """The adapter of that name, or None.  Raises Refused (no-agent) where it cannot be loaded."""
        return adapter_of(use or "") if self._given is None else self._given.get(use or "")

    def _adapter(self, use: str | None) -> AgentAdapter:
        if (known := self._find(use)) is not None:
            return known
        raise no_agent(use, self.names())

    def _reader(self, use: str) -> AgentAdapter:
        """The adapter that a record is read with, also when the agent that wrote it is gone."""
        with suppress(Refused):
            return self._find(use) or Gone()
        return Gone()

    def _program(self, adapter: AgentAdapter, name: str) -> str:
        found = clients.find(name, adapter.wheels.get(name))
        if found is None:
            raise refused(
                rule="no-agent",
                what=f"The client {name} of the agent {adapter.name} is not on PATH.",
                why="An attempt starts it in the task's room.",
                would_change=f"Install it (docs/howto/agent-{adapter.name}.md), or route the card to another agent.",
            )
        return found

    def _log_in(
        self, place: str, given: Assignment, around: hosting.Surroundings, walls: Sandbox | None
    ) -> Sandbox | None:
        """The credentials of a subscription at a place below HOME.  Raises Refused (login)."""
        if not place or given.login is None or around.home_here is None:
            return walls
        file = logins.ready(given.login, self._locks)
        copy = logins.copied(file, given.folder, user=walls.user if walls is not None else None)
        if walls is not None:
            return walls.with_bind(str(copy), f"{HOME}/{place}")
        homes.put(around.home_here, place, copy.read_bytes(), user=None, mode=0o400)
        return None


def _write_home(adapter: AgentAdapter, given: Assignment, around: hosting.Surroundings, plan: Plan) -> None:
    """What the client needs below HOME: the session that it goes on with, and the files of its plan."""
    if around.home_here is None:
        return
    user = around.sandbox.user if around.sandbox is not None else None
    earlier = transcripts.of(adapter, given.resume_home) if given.resume and given.resume_home else ()
    for name, data in chain(earlier, plan.files.items()):
        homes.put(around.home_here, name, data, user=user)


def _plan_of(folder: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError):
        found = json.loads((folder / _PLAN).read_bytes())
        return found if isinstance(found, dict) else {}
    return {}
