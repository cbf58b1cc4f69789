"""Routes and tiers of interlock.yaml: which work goes to which model; deciding by them is core.agent.routing's."""

from __future__ import annotations

from typing import Any, Final

from interlock.adapters.files import reading as read
from interlock.adapters.files import shared
from interlock.adapters.files.parts import named, tell, words
from interlock.adapters.files.reading import Reading
from interlock.adapters.files.yaml_tree import Keys, Node
from interlock.core.contract.agents import COMMANDED, PHASES, TIERS, Route, TierOf

_FORM: Final = "{class: migration, tier: frontier}"
_TIER_FORM: Final = "{cheap: {model: small}, frontier: {model: large, effort: high}}"
_MATCHES: Final = (("class", "classes"), ("phase", "phases"), ("risk", "risks"))


def routes(reading: Reading, node: Node, key: str) -> tuple[Route, ...]:
    """Routes in the order in which they are asked."""
    return reading.items(node, key, _route, f"[{_FORM}]")


def _route(reading: Reading, node: Node, key: str) -> Route | None:
    values = shared.decode(reading, node, key, _ROUTE, _FORM)
    if not isinstance(node, Keys):
        return None
    for one, many in _MATCHES:
        if both := (*values.pop(one, ()), *values.get(many, ())):
            values[many] = both
    if not values.keys() & {"tier", "use", "model", "effort"}:
        if not node.values.keys() & {"tier", "use", "model", "effort"}:
            tell(reading, key, f"{key} leads nowhere.", f"Say where to: {_FORM}, or use, model, effort.")
        return None
    if "tier" in values and values.keys() & {"model", "effort"}:
        what, why = f"{key} says a tier and what stands in its place.", "A tier is a model and an effort."
        tell(reading, key, what, "Write tier alone, or model and effort alone.", why)
        return None
    if values.get("use") in COMMANDED:
        what = f"{key} names {values['use']}, whose command a route cannot give."
        tell(reading, key, what, "Name it with its command in the class, and write only model or tier here.")
        return None
    return Route(**values)


def tiers(reading: Reading, node: Node, key: str) -> tuple[TierOf, ...]:
    """What each tier means, by agent."""
    table: shared.Table = dict.fromkeys(TIERS, _tier)
    found = named(reading, node, key, table, _TIER_FORM).items()
    return tuple(
        TierOf(agent=agent, tier=tier, **values[tier]) for agent, values in found for tier in TIERS if tier in values
    )


def _tier(reading: Reading, node: Node, key: str) -> dict[str, Any] | None:
    values = shared.decode(reading, node, key, _TIER, "{model: small, effort: low}")
    if isinstance(node, Keys) and not node.values:
        tell(reading, key, f"{key} says nothing.", "Write model, effort or both, or leave it out.")
        return None
    return values or None


_TIER: Final[shared.Table] = {"model": read.filled, "effort": read.filled}
_ROUTE: Final[shared.Table] = {
    "class": words(),
    "classes": words(),
    "phase": words(*PHASES),
    "phases": words(*PHASES),
    "risk": words("low", "normal", "high"),
    "risks": words("low", "normal", "high"),
    "tier": read.choice(*TIERS),
    "use": read.filled,
    "model": read.filled,
    "effort": read.filled,
}
