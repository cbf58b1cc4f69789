"""Any shell command as an agent: how its prompt reaches it, and its exit code as the only word it has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from interlock.core.agent.adapter import Capabilities, Order, Plain, Plan
from interlock.core.agent.judging import judge
from interlock.core.agent.outcome import AgentOutcome, ProcessEnd
from interlock.core.agent.seen import Seen, Summary
from interlock.core.problems import refused

_ARGUMENT_MOST: Final = 120_000
"""Bytes of a prompt given as an argument: Linux takes 128 KiB for one (MAX_ARG_STRLEN)."""


class CommandAgent(Plain):
    """``use: command``: the shell command of the card (AgentAdapter)."""

    name = "command"
    programs: tuple[str, ...] = ()
    dialects = ("anthropic", "responses", "chat")

    def probe(self, version: str) -> Capabilities:
        return Capabilities(
            version=version,
            known_good=True,
            gateway=True,
            note="Any command; its exit code is its only word, and its calls are metered where it takes the gateway's URL.",
        )

    def launch(self, order: Order) -> Plan:
        choice = order.choice
        if not choice.command:
            raise refused(
                rule="no-agent",
                what=f"The card {order.card.slug} names no command for its agent.",
                why="An attempt starts a command in the task's tree, and nothing says which.",
                would_change='Write agent: {use: command, command: "…"} in the card, its class or interlock.yaml.',
            )
        if choice.prompt == "argument":
            words = ("bash", "-c", f'{choice.command.rstrip()} "$@"', "interlock", _as_argument(order))
            return Plan(argv=words, env=_reached(order), merged=True)
        stdin = order.prompt.encode() if choice.prompt == "stdin" else None
        return Plan(argv=("bash", "-c", choice.command), env=_reached(order), stdin=stdin, merged=True)

    def decode(self, line: bytes) -> Sequence[Seen]:  # noqa: ARG002 - what a command prints means nothing to us
        return ()

    def settle(self, end: ProcessEnd, seen: Summary) -> AgentOutcome:
        if end.how == "exited" and end.exit_code == 0 and not end.budget:
            return AgentOutcome(kind="completed")
        if end.how == "exited" and not end.budget:
            return AgentOutcome(kind="crashed", message=f"The agent exited with {end.exit_code}.")
        if end.how == "signalled":
            return AgentOutcome(kind="crashed", message=f"The agent was ended by a signal. {end.message}".strip())
        return judge(end, seen)


def _reached(order: Order) -> dict[str, str]:
    """The gateway by the names that most clients know, and each vendor's by a name of ours."""
    env = {f"INTERLOCK_MODELS_{each.name.upper().replace('-', '_')}": each.url for each in order.endpoints}
    if (at := order.endpoint("anthropic")) is not None:
        env |= {"ANTHROPIC_BASE_URL": at.url, "ANTHROPIC_API_KEY": at.token}
    if (at := order.endpoint("responses") or order.endpoint("chat")) is not None:
        openai = f"{at.url}/v1"
        env |= {"OPENAI_BASE_URL": openai, "OPENAI_API_BASE": openai, "OPENAI_API_KEY": at.token}
    return env


def _as_argument(order: Order) -> str:
    size = len(order.prompt.encode())
    if size <= _ARGUMENT_MOST:
        return order.prompt
    raise refused(
        rule="no-agent",
        what=f"The prompt of {order.card.slug} has {size} bytes and cannot be given as an argument.",
        why=f"The system takes {_ARGUMENT_MOST} bytes in one argument.",
        would_change="Set agent.prompt to file or stdin.",
        number=size,
    )
