"""Any shell command as an agent: how it is started and how its prompt reaches it; running it is host.attempts' work."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from interlock.core.contract.card import Card
from interlock.core.problems import Refusal, Refused
from interlock.core.sandbox import AT, HOME, RUN, Sandbox
from interlock.host import environment, files, guards
from interlock.host.sandbox import identity, ours, toolchains
from interlock.ports import Launch, Room

_ROOT: Final = Path(__file__).resolve().parents[3]
_ARGUMENT_MOST: Final = 120_000
"""Bytes of a prompt given as an argument: Linux takes 128 KiB for one (MAX_ARG_STRLEN)."""

_WRAPPER: Final = """\
#!/bin/sh
exec {python} -I -S -c 'import sys; sys.path.append(sys.argv.pop(1)); from interlock.task.main import main; sys.exit(main())' {root} "$@"
"""


_SPOOL: Final = "INTERLOCK_SPOOL"
_PROMPT: Final = "prompt.md"
_PROMPT_INSIDE: Final = f"{RUN}/attempt/{_PROMPT}"
_SPOOL_INSIDE: Final = f"{RUN}/spool"


class CommandAgents:
    """Agents that are a shell command (ports.Agents)."""

    def launch(self, card: Card, prompt: str, room: Room, env: Mapping[str, str], folder: Path) -> Launch:
        """How to start the card's command in its room; writes the prompt and the agent's tools into ``folder``.

        ``env`` holds the task's own values, with the job's spool as this machine names it.  In a sandbox the agent
        is told of paths as they are inside.  Doing it again writes the same files.  Raises Refused (no-agent).
        """
        agent = card.agent
        if agent.use != "command" or not agent.command:
            raise _no_agent(card)
        argv: tuple[str, ...] = ("bash", "-c", agent.command)
        if agent.prompt == "argument":
            argv = ("bash", "-c", f'{agent.command.rstrip()} "$@"', "interlock", _as_argument(card, prompt))
        folder.mkdir(parents=True, exist_ok=True)
        files.write_whole(folder / _PROMPT, prompt.encode(), mode=0o644 if room.sandbox else 0o600)
        values, sandbox = _values(card, env, folder), None
        if room.sandbox is None:
            values = _outside(values, room, folder)
        else:
            named = toolchains.named_in(agent.command)
            values, sandbox = _inside(values, replace(room.sandbox, tools=(*room.sandbox.tools, *named)), folder)
        _guard(folder / "bin", room, values)
        launch = Launch(
            argv=argv,
            env=values,
            cwd=room.path,
            stdin=prompt.encode() if agent.prompt == "stdin" else None,
            sandbox=sandbox,
        )
        wall, idle = card.budget.wall, card.budget.idle
        launch = launch if wall is None else replace(launch, wall=wall)
        return launch if idle is None else replace(launch, idle=idle)

    def tools(self, room: Room, env: Mapping[str, str], folder: Path) -> tuple[Room, dict[str, str]]:
        """A room that has what an agent has, interlock-task and the guards, for a person; they are put into ``folder``.

        ``env`` holds the task's own values, with the job's spool as this machine names it.
        """
        if room.sandbox is None:
            values = _reached(dict(env), room, folder)
            _guard(folder / "bin", room, values)
            return room, values
        own, sandbox = _shown(dict(env), room.sandbox, folder)
        room = replace(room, sandbox=sandbox)
        _guard(folder / "bin", room, environment.inside(own, sandbox))
        return room, own


def _values(card: Card, env: Mapping[str, str], folder: Path) -> dict[str, str]:
    """The task's values, and what the agent may know about its run."""
    job = env.get("INTERLOCK_JOB", card.slug)
    number = env.get("INTERLOCK_ATTEMPT_NUMBER", folder.name)
    own = {
        "INTERLOCK_ATTEMPT": f"{job}.{number}",
        "INTERLOCK_ATTEMPT_NUMBER": number,
        "INTERLOCK_MODEL": card.agent.model or "",
        "INTERLOCK_EFFORT": card.agent.effort or "",
    }
    return {**env, **{name: value for name, value in own.items() if value}}


def _outside(values: dict[str, str], room: Room, folder: Path) -> dict[str, str]:
    """The environment at level worktree: paths are this machine's."""
    return environment.exact(_reached(values, room, folder)) | {"INTERLOCK_PROMPT_FILE": str(folder / _PROMPT)}


def _reached(values: dict[str, str], room: Room, folder: Path) -> dict[str, str]:
    """The task's values with the way to the tools at level worktree."""
    tools = _tools(folder, _WRAPPER.format(python=shlex.quote(sys.executable), root=shlex.quote(str(_ROOT))))
    search = environment.exact(values).get("PATH", "/usr/local/bin:/usr/bin:/bin")
    return {**values, "INTERLOCK_TREE": str(room.path), "PATH": f"{tools}:{search}"}


def _inside(values: dict[str, str], sandbox: Sandbox, folder: Path) -> tuple[dict[str, str], Sandbox]:
    """The environment inside, and the sandbox with prompt, tools and spool in it."""
    values, sandbox = _shown(values, sandbox, folder)
    sandbox = sandbox.with_bind(str(folder / _PROMPT), _PROMPT_INSIDE)
    return environment.inside({**values, "INTERLOCK_PROMPT_FILE": _PROMPT_INSIDE}, sandbox), sandbox


def _shown(values: dict[str, str], sandbox: Sandbox, folder: Path) -> tuple[dict[str, str], Sandbox]:
    """The task's values as they are inside, and the sandbox with tools and spool in it."""
    sandbox = sandbox.with_bind(str(_tools(folder, ours.task_tool())), environment.BIN)
    spool = values.get(_SPOOL, _SPOOL_INSIDE)
    if spool != _SPOOL_INSIDE:
        identity.own(Path(spool), sandbox.user)
        sandbox = sandbox.with_bind(spool, _SPOOL_INSIDE, writable=True)
    return {**values, "INTERLOCK_TREE": AT, _SPOOL: _SPOOL_INSIDE}, sandbox


def _guard(tools: Path, room: Room, values: Mapping[str, str]) -> None:
    """Guards beside interlock-task, with the paths that the task sees."""
    inside = room.sandbox is not None
    guards.write(
        tools,
        tree=AT if inside else str(room.path),
        home=values.get("HOME", HOME),
        shared=() if inside else room.guarded.shared,
        rules=room.guarded.rules,
        approved=room.guarded.approved,
        search=values["PATH"],
        python=ours.python().path if inside else sys.executable,
        root=ours.LIB if inside else str(_ROOT),
    )


def _tools(folder: Path, wrapper: str) -> Path:
    """A folder that holds interlock-task and nothing else, so that our Python does not hide the project's."""
    tools = folder / "bin"
    tools.mkdir(parents=True, exist_ok=True)
    files.write_whole(tools / "interlock-task", wrapper.encode(), mode=0o755)
    return tools


def _as_argument(card: Card, prompt: str) -> str:
    size = len(prompt.encode())
    if size <= _ARGUMENT_MOST:
        return prompt
    raise Refused(
        Refusal(
            rule="no-agent",
            what=f"The prompt of {card.slug} has {size} bytes and cannot be given as an argument.",
            why=f"The system takes {_ARGUMENT_MOST} bytes in one argument.",
            would_change="Set agent.prompt to file or stdin.",
            number=size,
        )
    )


def _no_agent(card: Card) -> Refused:
    use = card.agent.use
    what = f"The agent {use} of {card.slug} is not built yet." if use and use != "command" else ""
    return Refused(
        Refusal(
            rule="no-agent",
            what=what or f"The card {card.slug} names no command for its agent.",
            why="An attempt starts a command in the task's tree, and nothing says which.",
            would_change='Write agent: {use: command, command: "…"} in the card, its class or interlock.yaml.',
        )
    )
