"""What a policy says about agents: models and their keys, routes, phases, rules that are handed over, spending; values alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from interlock.core.agent.dialect import Dialect
from interlock.core.agent.usage import Price

Phase = Literal["research", "plan", "test-plan", "review-tests", "implement", "verify", "summarise", "resolve"]

AGENTS: Final[tuple[str, ...]] = ("command", "codex", "claude", "acp", "cursor")
"""Agents that are built in; plug-ins add their names to those that a policy knows."""

COMMANDED: Final[frozenset[str]] = frozenset({"command", "acp"})
"""Agents that are what their ``command`` says."""

LOGGED_IN: Final[frozenset[str]] = frozenset({"codex", "claude"})
"""Built-in agents that can be given the credentials of a subscription; of a plug-in's, its adapter says it at the start."""

DIALECTS: Final[Mapping[str, tuple[Dialect, ...]]] = MappingProxyType(
    {
        "command": ("anthropic", "responses", "chat"),
        "codex": ("responses",),
        "claude": ("anthropic",),
        "acp": ("anthropic", "responses", "chat"),
        "cursor": (),
    }
)
KEEPS_DOLLARS: Final[frozenset[str]] = frozenset({"claude"})
KEEPS_TURNS: Final[frozenset[str]] = frozenset({"claude"})
"""What built-in agents speak to their models, and the limits that their clients keep by themselves; a start asks their adapters."""

PHASES: Final[tuple[Phase, ...]] = (
    "research",
    "plan",
    "test-plan",
    "review-tests",
    "implement",
    "verify",
    "summarise",
)
"""In this order; ``implement`` is never left out.  ``resolve`` is no phase of a class: it takes the place of all when two changes
do not go together."""

WRITING: Final[frozenset[Phase]] = frozenset({"implement", "verify", "resolve"})
"""Phases that may change the tree; in the others it cannot be written where a sandbox can forbid it, and is compared."""

ONE_RUN: Final[tuple[Phase, ...]] = ("implement",)

Tier = Literal["cheap", "standard", "frontier"]

TIERS: Final[tuple[Tier, ...]] = ("cheap", "standard", "frontier")
"""From the cheapest to the best."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """One vendor of models, reached through the gateway alone: base URL, dialects, and the secret that holds its key."""

    name: str
    url: str
    dialects: tuple[Dialect, ...]
    key: str | None = None
    address: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """A subscription's credentials on this machine: one file, bound read-only; weaker than a key outside (doctor).

    ``refresh`` is a command that renews them, run by one process at a time outside of every task when the file is
    older than ``every`` seconds: parallel refreshing logs everybody out.
    """

    agent: str
    file: str
    refresh: str | None = None
    every: float = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Work of these classes, phases and risks goes to a tier, or to an agent, model or effort by name.

    An empty tuple matches everything; the first route that matches decides.
    """

    classes: tuple[str, ...] = ()
    phases: tuple[str, ...] = ()
    risks: tuple[str, ...] = ()
    tier: Tier | None = None
    use: str | None = None
    model: str | None = None
    effort: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TierOf:
    """What a tier means for one agent."""

    agent: str
    tier: Tier
    model: str | None = None
    effort: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPrice:
    """The team's own price of a model, before any table."""

    model: str
    price: Price


@dataclass(frozen=True, slots=True, kw_only=True)
class Spend:
    """A limit in tokens and dollars; None for none."""

    tokens: int | None = None
    usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Texts that are handed to agents: files of the repository, and after how many days without a change one is old."""

    files: tuple[str, ...] = ()
    stale_days: int = 90
    most_bytes: int = 32_768
