"""interlock.yaml to the team's policy, its classes laid over the built-in ones; judging by it is the core's work."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from interlock.adapters.files import agents, diagnostics, routes, shared, surroundings
from interlock.adapters.files import reading as read
from interlock.adapters.files.classes import read_classes
from interlock.adapters.files.cross_rules import check_together
from interlock.adapters.files.not_built import LATER, check_built, later
from interlock.adapters.files.reading import Reading
from interlock.adapters.files.yaml_tree import Items, Keys, Node, Text, read_yaml
from interlock.core.contract.agents import AGENTS
from interlock.core.contract.classes import DEFAULT_CLASSES
from interlock.core.contract.places import in_order
from interlock.core.contract.policy import EvidenceRules, Flakes, Policy, Train
from interlock.core.problems import Problem

ALWAYS_PROTECTED: Final = ("tasks/**", "interlock.yaml")
"""Protected whatever the policy says: a task that could change its card or the policy would have no limits."""

_VARIABLE: Final = re.compile(r"[A-Z_][A-Z0-9_]*")
_KEY_ID: Final = re.compile(r"[0-9a-f]{64}")
_KEY_FORM: Final = "8a42…"
_MAX_PORT: Final = 65_535
_FORM: Final = "train: {checks: [...]}, and so on, one key a line"


def read_policy(data: bytes, file: str, known: tuple[str, ...] = AGENTS) -> tuple[Policy, tuple[Problem, ...]]:
    """The policy as far as it could be read, and every problem of the file; ``known`` are the agents that there are.

    An absent or empty file is the default policy: every key has a default except the full check of the train.
    """
    node, problems = read_yaml(data, file)
    reading = Reading(file)
    reading.problems.extend(problems)
    if node is None or _blank(node):
        return Policy(classes=DEFAULT_CLASSES, agents=known), tuple(reading.problems)
    values = shared.decode(reading, node, "", _POLICY, _FORM)
    for name in (*LATER, "targets"):
        values.pop(name, None)
    values.setdefault("classes", DEFAULT_CLASSES)
    if "protected_paths" in values:
        given = values["protected_paths"]
        values["protected_paths"] = (*given, *(each for each in ALWAYS_PROTECTED if each not in given))
    policy = Policy(**values, agents=known)
    check_built(reading, policy)
    check_together(reading, policy)
    return policy, in_order(reading.problems)


def _blank(node: Node) -> bool:
    return isinstance(node, Text) and node.meaning == "empty"


def _train(reading: Reading, node: Node, key: str) -> Train:
    return Train(**shared.decode(reading, node, key, _TRAIN, '{checks: ["uv run pytest -q"]}'))


def _flakes(reading: Reading, node: Node, key: str) -> Flakes:
    return Flakes(**shared.decode(reading, node, key, {"reruns": read.whole(0, 10)}, "{reruns: 1}"))


def _evidence(reading: Reading, node: Node, key: str) -> EvidenceRules:
    return EvidenceRules(**shared.decode(reading, node, key, {"keys": _keys}, f"{{keys: [{_KEY_FORM}]}}"))


def _keys(reading: Reading, node: Node, key: str) -> tuple[str, ...] | None:
    """Ids of keys that may sign evidence, each once; a list of none would let nobody sign."""
    found = reading.items(node, key, _key_id, f"[{_KEY_FORM}]")
    if isinstance(node, Items) and not node.items:
        reading.wrong(node, key, due="a list of at least one key", fix="Name a key, or leave evidence out.")
    return tuple(dict.fromkeys(found)) or None


def _key_id(reading: Reading, node: Node, key: str) -> str | None:
    """A key's whole id: a part of one could be another key's as well."""
    if isinstance(node, Text) and _KEY_ID.fullmatch(node.value):
        return node.value
    fix = "Copy the line that interlock audit --keys prints."
    reading.wrong(node, key, due="the whole id of a key, 64 hexadecimal digits", fix=fix)
    return None


def _ports(reading: Reading, node: Node, key: str) -> tuple[tuple[str, int], ...] | None:
    """Block 0: the ports of the main checkout, by the name of their variable."""
    found = []
    for name, inner in reading.entries(node, key, "{APP_PORT: 3000, DEBUG_PORT: 9229}").items():
        if not _VARIABLE.fullmatch(name):
            what, why = f"The name {name} cannot be used.", "A port is named by the variable that carries it."
            fix = f"Write {re.sub('[^A-Z0-9_]', '_', name.upper())}."
            reading.tell("shape", reading.positions[f"{key}.{name}"], key, what=what, why=why, fix=fix)
        port = read.whole(1, _MAX_PORT)(reading, inner, f"{key}.{name}")
        if port is not None:
            found.append((name, port))
    return tuple(found) if isinstance(node, Keys) else None


def _variables(reading: Reading, node: Node, key: str) -> tuple[str, ...]:
    return reading.items(node, key, _variable, "[LANG, JAVA_HOME]")


def _variable(reading: Reading, node: Node, key: str) -> str | None:
    value = read.filled(reading, node, key)
    if value is not None and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value):
        read_fix = "Write its name alone, such as JAVA_HOME; its value is taken from where the command runs."
        reading.wrong(node, key, due="the name of a variable", fix=read_fix)
        return None
    return value


def _targets(reading: Reading, node: Node, key: str) -> None:
    """Goals of the team: numbers and durations, looked at and kept nowhere yet."""
    for name, inner in reading.entries(node, key, "{rework: 0.10, review_p90: 24h}").items():
        unit = isinstance(inner, Text) and inner.meaning == "text"
        measure: Callable[[Reading, Node, str], float | None] = read.duration if unit else read.number
        measure(reading, inner, f"{key}.{name}")


_TRAIN: Final[shared.Table] = {
    "checks": shared.checks,
    "slots": read.whole(1, 64),
    "batch": read.whole(1, 256),
    "window": read.whole(1, 256),
    "style": read.choice("merge", "squash", "rebase"),
    "retries": read.whole(0, 10),
    "stalled": read.duration,
    "sign_off": read.choice("owner", "none"),
    "rebuilds": read.whole(0, 100),
}
_POLICY: Final[shared.Table] = {
    "train": _train,
    "classes": read_classes,
    "ports": _ports,
    "protected_paths": read.patterns,
    "review_wip": read.whole(0, 10_000),
    "databases": surroundings.databases,
    "services": surroundings.services,
    "templates": surroundings.templates,
    "browsers": surroundings.browsers,
    "secrets": surroundings.secrets,
    "approvals": surroundings.approvals,
    "dependencies": surroundings.dependencies,
    "bases": surroundings.bases,
    "sandbox": surroundings.sandbox,
    "network": surroundings.network,
    "isolation": read.choice("worktree", "snapshot", "sealed"),
    "idle_days": read.whole(1, 365),
    "caches": read.patterns,
    "environment": _variables,
    "workspaces": read.filled,
    "sign_commits": read.flag,
    "agent": shared.agent,
    "budget": shared.budget,
    "per_day": agents.spend,
    "models": agents.models,
    "prices": agents.prices,
    "logins": agents.logins,
    "routes": routes.routes,
    "tiers": routes.tiers,
    "rules": agents.rules,
    "flakes": _flakes,
    "diagnostics": diagnostics.diagnostics,
    "numbered": read.patterns,
    "evidence": _evidence,
    "parallel_agents": read.whole(1, 1000),
    "targets": _targets,
    **dict.fromkeys(LATER, later),
}
