"""Any shell command as an agent: how it is started and how its prompt reaches it; running it is host.attempts' work."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from interlock.core.contract.card import Card
from interlock.core.problems import Refusal, Refused
from interlock.host import environment, files
from interlock.ports import Launch, Place

_ROOT: Final = Path(__file__).resolve().parents[3]
_ARGUMENT_MOST: Final = 120_000
"""Bytes of a prompt given as an argument: Linux takes 128 KiB for one (MAX_ARG_STRLEN)."""

_WRAPPER: Final = """\
#!/bin/sh
exec {python} -I -S -c 'import sys; sys.path.append(sys.argv.pop(1)); from interlock.task.main import main; sys.exit(main())' {root} "$@"
"""


class CommandAgents:
    """Agents that are a shell command (ports.Agents)."""

    def launch(self, card: Card, prompt: str, place: Place, env: Mapping[str, str], folder: Path) -> Launch:
        """How to start the card's command in its tree; writes the prompt and the agent's tools into ``folder``.

        ``env`` holds the task's own values.  Doing it again writes the same files.  Raises Refused (no-agent).
        """
        agent = card.agent
        if agent.use != "command" or not agent.command:
            raise _no_agent(card)
        values = environment.exact(self._values(card, env, place, folder))
        values["PATH"] = f"{_tools(folder)}:{values.get('PATH', '/usr/local/bin:/usr/bin:/bin')}"
        argv: tuple[str, ...] = ("bash", "-c", agent.command)
        if agent.prompt == "argument":
            argv = ("bash", "-c", f'{agent.command.rstrip()} "$@"', "interlock", _as_argument(card, prompt))
        prompt_file = folder / "prompt.md"
        files.write_whole(prompt_file, prompt.encode())
        values["INTERLOCK_PROMPT_FILE"] = str(prompt_file)
        limits = {"wall": card.budget.wall, "idle": card.budget.idle}
        return Launch(
            argv=argv,
            env=values,
            cwd=place.path,
            stdin=prompt.encode() if agent.prompt == "stdin" else None,
            **{name: value for name, value in limits.items() if value is not None},
        )

    def _values(self, card: Card, env: Mapping[str, str], place: Place, folder: Path) -> dict[str, str]:
        """The task's values, and what the agent may know about its run."""
        job = env.get("INTERLOCK_JOB", card.slug)
        number = env.get("INTERLOCK_ATTEMPT_NUMBER", folder.name)
        own = {
            "INTERLOCK_ATTEMPT": f"{job}.{number}",
            "INTERLOCK_ATTEMPT_NUMBER": number,
            "INTERLOCK_TREE": str(place.path),
            "INTERLOCK_MODEL": card.agent.model or "",
            "INTERLOCK_EFFORT": card.agent.effort or "",
        }
        return {**env, **{name: value for name, value in own.items() if value}}


def _tools(folder: Path) -> Path:
    """A folder that holds interlock-task and nothing else, so that our Python does not hide the project's."""
    tools = folder / "bin"
    tools.mkdir(parents=True, exist_ok=True)
    wrapper = _WRAPPER.format(python=shlex.quote(sys.executable), root=shlex.quote(str(_ROOT)))
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
