"""Parts that cards and policies have in common: checks, agents, budgets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from interlock.adapters.files import check_kinds
from interlock.adapters.files import reading as read
from interlock.adapters.files.reading import Decoder, Reading, T
from interlock.adapters.files.yaml_tree import Keys, Node
from interlock.core.contract.card import AgentChoice, Budget, Check, Report

Table = Mapping[str, Decoder[Any]]

CHECK: Table = {}
REPORT: Table = {
    "junit": read.path,
    "at_least": read.whole(0, 1_000_000),
    "allow_skipped": read.flag,
    "tap": read.path,
    "sarif": read.path,
    "cobertura": read.path,
    "lcov": read.path,
    "benchmark": read.path,
    "log": read.path,
    "allow_suppressed": read.flag,
}
AGENT: Table = {
    "use": read.filled,
    "model": read.filled,
    "effort": read.filled,
    "command": read.filled,
    "prompt": read.choice("file", "argument", "stdin"),
}
_CHECK_FORM = '{run: "npm test", timeout: 10m}'


def more_than_none(decode: Decoder[T | None]) -> Decoder[T | None]:
    """The same number, and none that forbids everything."""

    def check(reading: Reading, node: Node, key: str) -> T | None:
        value = decode(reading, node, key)
        if value is not None and not value > 0:  # type: ignore[operator]
            reading.wrong(
                node, key, due="more than nothing", fix="Write a limit that leaves something, or leave it out."
            )
            return None
        return value

    return check


def decode(reading: Reading, node: Node, key: str, table: Table, form: str) -> dict[str, Any]:
    """The values of a mapping by its table of decoders; what could not be read is left out, and told."""
    values = {}
    for name, inner in reading.mapping(node, key, table, form).items():
        value = table[name](reading, inner, f"{key}.{name}" if key else name)
        if value is not None:
            values[name] = value
    return values


def check(reading: Reading, node: Node, key: str) -> Check | None:
    """A check: its command as text, or a mapping with the command under ``run``."""
    if not isinstance(node, Keys) or not CHECK.keys() & node.values.keys():
        run = read.filled(reading, node, key)
        return None if run is None else Check(run=run)
    values = decode(reading, node, key, CHECK, _CHECK_FORM)
    if not check_kinds.complete(reading, node, key, values):
        return None
    if "run" in values:
        return Check(**values)
    if "run" not in node.values:
        what, why = f"{key} has no command.", "A check is what its command says."
        reading.tell("missing", (node.line, node.column), key, what=what, why=why, fix=f"Write {_CHECK_FORM}.")
    return None


def checks(reading: Reading, node: Node, key: str) -> tuple[Check, ...]:
    return reading.items(node, key, check, '["npm run typecheck", "npm test"]')


def report(reading: Reading, node: Node, key: str) -> Report:
    values = decode(reading, node, key, REPORT, "{junit: out/junit.xml, at_least: 1}")
    for pair in (("junit", "tap"), ("cobertura", "lcov")):
        if all(name in values for name in pair):
            what, why = f"{key} names {pair[0]} and {pair[1]}.", "Both say the same thing, and one is compared."
            at = reading.positions.get(f"{key}.{pair[1]}", (node.line, node.column))
            reading.tell("shape", at, key, what=what, why=why, fix=f"Leave out {pair[1]}.")
    return Report(**values)


def agent(reading: Reading, node: Node, key: str) -> AgentChoice:
    return AgentChoice(**decode(reading, node, key, AGENT, '{use: command, command: "..."}'))


def budget(reading: Reading, node: Node, key: str) -> Budget:
    values = decode(reading, node, key, BUDGET, "{wall: 45m, attempts: 3}")
    return Budget(**values.pop("attempt", {}), **values)


def _attempt(reading: Reading, node: Node, key: str) -> dict[str, Any]:
    """The limits of one attempt, by the names that the value has for them."""
    return {f"attempt_{name}": value for name, value in decode(reading, node, key, SPEND, "{usd: 1.5}").items()}


SPEND: Final[Table] = {"tokens": more_than_none(read.amount), "usd": more_than_none(read.number)}
BUDGET: Final[Table] = {
    **SPEND,
    "attempt": _attempt,
    "wall": read.duration,
    "idle": read.duration,
    "startup": read.duration,
    "turns": read.whole(1, 10_000),
    "attempts": read.whole(1, 100),
}


CHECK = {
    "run": read.filled,
    "report": report,
    "timeout": read.duration,
    "tier": read.choice("fast", "slow"),
    **check_kinds.keys(decode),
}
