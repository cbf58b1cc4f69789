"""The agent's surroundings in a room: prompt file, HOME, tools, spool and guards, outside or in a sandbox; what is started is known's."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from interlock.core.contract.card import AgentChoice, Card
from interlock.core.sandbox import AT, HOME, RUN, Sandbox
from interlock.host import answers, bridges, environment, files, guards, homes
from interlock.host.sandbox import identity, own_tools
from interlock.ports.agents import Assignment
from interlock.ports.isolation import Room

_ROOT: Final = Path(__file__).resolve().parents[3]
_WRAPPER: Final = """\
#!/bin/sh
exec {python} -I -S -c 'import sys; sys.path.append(sys.argv.pop(1)); from interlock.task.main import main; sys.exit(main())' {root} "$@"
"""


_SPOOL: Final = "INTERLOCK_SPOOL"
_PROMPT: Final = "prompt.md"
_ATTEMPT: Final = f"{RUN}/attempt"
_PROMPT_INSIDE: Final = f"{_ATTEMPT}/{_PROMPT}"
_SPOOL_INSIDE: Final = f"{RUN}/spool"


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Where an agent is started: its exact environment, the sandbox if there is one, and how paths are called there.

    ``home_here`` is the attempt's own HOME as this machine sees it, None where the policy lets the user's in, into
    which nothing is written; ``tool`` is interlock-task.
    """

    env: dict[str, str]
    sandbox: Sandbox | None
    home: str
    home_here: Path | None
    tree: str
    tool: str


def surround(given: Assignment, programs: Iterable[str] = ()) -> Surroundings:
    """Write prompt, HOME and tools into the attempt's folder, and tell how the agent finds them.

    ``given.env`` holds the task's own values, with the job's spool as this machine names it; ``programs`` of
    host.bridges stand beside interlock-task.  In a sandbox the agent is told of paths as they are inside.  Doing it
    again writes the same files.  Raises Refused (no-agent) for a program that cannot be started here.
    """
    room, folder = given.room, given.folder
    folder.mkdir(parents=True, exist_ok=True)
    files.write_whole(folder / _PROMPT, given.prompt.encode(), mode=0o644 if room.sandbox else 0o600)
    (folder / answers.FOLDER).mkdir(exist_ok=True, mode=0o755)
    user = room.sandbox.user if room.sandbox else None
    home = homes.prepare(folder, user=user)
    values = _values(given.card, given.choice, given.env, folder)
    if room.sandbox is None:
        env = _outside(values, room, folder, home)
        shown = Surroundings(
            env=env,
            sandbox=None,
            home=env["HOME"],
            home_here=home if Path(env["HOME"]) == home else None,
            tree=str(room.path),
            tool=str(folder / "bin" / "interlock-task"),
        )
    else:
        sandbox = replace(room.sandbox, home=str(home), writable=room.sandbox.writable and given.writable)
        env, sandbox = _inside(values, sandbox, folder)
        tool = f"{environment.BIN}/interlock-task"
        shown = Surroundings(env=env, sandbox=sandbox, home=HOME, home_here=home, tree=AT, tool=tool)
    _guard(folder / "bin", room, shown.env)
    for name in programs:
        text = bridges.program(name, walled=room.sandbox is not None)
        files.write_whole(folder / "bin" / name, text.encode(), mode=0o755)
    return shown


def tools(room: Room, env: Mapping[str, str], folder: Path) -> tuple[Room, dict[str, str]]:
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


def _values(card: Card, choice: AgentChoice, env: Mapping[str, str], folder: Path) -> dict[str, str]:
    """The task's values, and what the agent may know about its run."""
    job = env.get("INTERLOCK_JOB", card.slug)
    number = env.get("INTERLOCK_ATTEMPT_NUMBER", folder.name)
    own = {
        "INTERLOCK_ATTEMPT": f"{job}.{number}",
        "INTERLOCK_ATTEMPT_NUMBER": number,
        "INTERLOCK_MODEL": choice.model or "",
        "INTERLOCK_EFFORT": choice.effort or "",
    }
    return {**env, **{name: value for name, value in own.items() if value}}


def _outside(values: dict[str, str], room: Room, folder: Path, home: Path) -> dict[str, str]:
    """The environment at level worktree: paths are this machine's; HOME is the user's only where the policy says so."""
    own = {"INTERLOCK_PROMPT_FILE": str(folder / _PROMPT), "INTERLOCK_ANSWERS": str(folder / answers.FOLDER)}
    return environment.exact({**homes.variables(home, values), **_reached(values, room, folder)}) | own


def _reached(values: dict[str, str], room: Room, folder: Path) -> dict[str, str]:
    """The task's values with the way to the tools at level worktree."""
    tools = _tools(folder, _WRAPPER.format(python=shlex.quote(sys.executable), root=shlex.quote(str(_ROOT))))
    search = environment.exact(values).get("PATH", "/usr/local/bin:/usr/bin:/bin")
    return {**values, "INTERLOCK_TREE": str(room.path), "PATH": f"{tools}:{search}"}


def _inside(values: dict[str, str], sandbox: Sandbox, folder: Path) -> tuple[dict[str, str], Sandbox]:
    """The environment inside, and the sandbox with prompt, tools and spool in it."""
    values, sandbox = _shown(values, sandbox, folder)
    sandbox = sandbox.with_bind(str(folder / _PROMPT), _PROMPT_INSIDE)
    sandbox = sandbox.with_bind(str(folder / answers.FOLDER), f"{_ATTEMPT}/{answers.FOLDER}")
    own = {"INTERLOCK_PROMPT_FILE": _PROMPT_INSIDE, "INTERLOCK_ANSWERS": f"{_ATTEMPT}/{answers.FOLDER}"}
    return environment.inside({**values, **own}, sandbox), sandbox


def _shown(values: dict[str, str], sandbox: Sandbox, folder: Path) -> tuple[dict[str, str], Sandbox]:
    """The task's values as they are inside, and the sandbox with tools and spool in it."""
    sandbox = sandbox.with_bind(str(_tools(folder, own_tools.task_tool())), environment.BIN)
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
        python=own_tools.python().path if inside else sys.executable,
        root=own_tools.LIB if inside else str(_ROOT),
    )


def _tools(folder: Path, wrapper: str) -> Path:
    """A folder that holds interlock-task and nothing else, so that our Python does not hide the project's."""
    tools = folder / "bin"
    tools.mkdir(parents=True, exist_ok=True)
    files.write_whole(tools / "interlock-task", wrapper.encode(), mode=0o755)
    return tools
