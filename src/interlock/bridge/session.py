"""One session with the agent: made or gone on with, its mode, model and effort set where it offers them; turns are main's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from acp import PROTOCOL_VERSION
from acp.client.connection import ClientSideConnection
from acp.schema import ClientCapabilities, FileSystemCapabilities, Implementation

from interlock.bridge.lines import Lines
from interlock.bridge.options import Options
from interlock.bridge.updates import Updates

_READING_MODES: Final = ("read-only", "plan", "architect", "ask")
_UNWALLED_MODES: Final = {"codex-acp": ("agent-full-access", "full-access")}
"""Modes without a sandbox of the agent's own, which cannot be made within ours; the agents that need one are few."""


class CannotBegin(Exception):
    """The session cannot be had as it was ordered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A session that is ready for its prompt: its id and the agent's name."""

    id: str
    agent: str


async def begin(agent: ClientSideConnection, options: Options, updates: Updates, lines: Lines) -> Session:
    """Greet the agent, open the session and set it up.  Raises CannotBegin, or what the agent answers."""
    greeting = await agent.initialize(
        protocol_version=PROTOCOL_VERSION,
        client_capabilities=ClientCapabilities(
            fs=FileSystemCapabilities(read_text_file=False, write_text_file=False), terminal=False
        ),
        client_info=Implementation(name="interlock", version=options.version),
    )
    info = greeting.agent_info
    name, version = (info.name, info.version) if info else ("", "")
    if greeting.protocol_version != PROTOCOL_VERSION:
        raise CannotBegin(
            f"The agent speaks version {greeting.protocol_version} of the protocol, not {PROTOCOL_VERSION}."
        )
    opened: Any
    if options.resume:
        opened, session = await _resumed(agent, greeting, options, updates), options.resume
    else:
        opened = await agent.new_session(cwd=options.tree, mcp_servers=[])
        session = str(opened.session_id)
    set_up = _SetUp(agent, session, opened)
    mode = await set_up.mode(_wanted_modes(name, options))
    model = await set_up.option("model", options.model)
    effort = await set_up.option("thought_level", options.effort)
    if options.model and not model:
        raise CannotBegin(
            f"The agent offers no model {options.model} over the protocol{set_up.offered('model')}; "
            "name one of those, or give the model in the agent's command."
        )
    if options.effort and not effort:
        text = f"The agent offers no effort {options.effort}{set_up.offered('thought_level')}; it goes on with its own."
        lines.write("warned", text=text)
    lines.write(
        "began",
        session=session,
        agent={"name": name, "version": version},
        model=model or set_up.current("model"),
        mode=mode,
        resumed=bool(options.resume),
    )
    return Session(id=session, agent=name)


async def _resumed(agent: ClientSideConnection, greeting: Any, options: Options, updates: Updates) -> Any:
    """Go on with an old session: without its history where that is offered."""
    can = greeting.agent_capabilities
    sessions = can.session_capabilities if can else None
    if sessions is not None and sessions.resume is not None:
        return await agent.resume_session(session_id=options.resume, cwd=options.tree, mcp_servers=[])
    if can is not None and can.load_session:
        updates.replaying = True
        try:
            return await agent.load_session(cwd=options.tree, session_id=options.resume, mcp_servers=[])
        finally:
            updates.flush()
            updates.replaying = False
    raise CannotBegin("The agent does not offer to go on with an earlier session.")


def _wanted_modes(agent: str, options: Options) -> tuple[str, ...]:
    if options.reading:
        return _READING_MODES
    return _UNWALLED_MODES.get(agent.rpartition("/")[2], ()) if options.walled else ()


class _SetUp:
    """Mode and options of a session, by what the agent offers; to set one may change what the others are."""

    def __init__(self, agent: ClientSideConnection, session: str, opened: Any) -> None:
        self._agent, self._session = agent, session
        self._modes = opened.modes if opened is not None else None
        self._options: list[Any] = list((opened.config_options if opened is not None else None) or ())

    async def mode(self, wanted: tuple[str, ...]) -> str:
        """Change to the first of the wanted modes that is offered; gives the mode that is in force."""
        if self._modes is None:
            return await self._mode_option(wanted)
        there = {mode.id for mode in self._modes.available_modes}
        for name in wanted:
            if name in there:
                if name != self._modes.current_mode_id:
                    await self._agent.set_session_mode(session_id=self._session, mode_id=name)
                return name
        return str(self._modes.current_mode_id)

    async def _mode_option(self, wanted: tuple[str, ...]) -> str:
        """The same where the agent offers its modes as an option alone."""
        for name in wanted:
            if found := await self.option("mode", name):
                return found
        return self.current("mode")

    async def option(self, category: str, wanted: str) -> str:
        """Set the option of a category to a value by its id or its name; gives the id, or nothing when it is not offered."""
        for option in self._of(category) if wanted else ():
            for value, label in _values(option):
                if wanted in (value, label):
                    if value != option.current_value:
                        await self._set(option.id, value)
                    return value
        return ""

    async def _set(self, name: str, value: str) -> None:
        answer = await self._agent.set_config_option(config_id=name, session_id=self._session, value=value)
        self._options = list(answer.config_options or self._options)

    def current(self, category: str) -> str:
        return next((str(option.current_value) for option in self._of(category)), "")

    def offered(self, category: str) -> str:
        names = [value for option in self._of(category) for value, _ in _values(option)]
        return f" (it offers {', '.join(names[:20])})" if names else ""

    def _of(self, category: str) -> list[Any]:
        return [option for option in self._options if option.type == "select" and option.category == category]


def _values(option: Any) -> Iterable[tuple[str, str]]:
    for each in option.options:
        for value in getattr(each, "options", None) or [each]:
            yield str(value.value), str(value.name)
