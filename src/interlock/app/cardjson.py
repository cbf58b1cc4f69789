"""A card to plain JSON and back, for the history; YAML is the adapters' work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from interlock.core.contract.card import AgentChoice, Artifact, Budget, Card, Needs
from interlock.core.contract.check_json import check_from_json
from interlock.core.contract.loop import from_json as loop_from_json


def to_json(card: Card) -> dict[str, Any]:
    """The card as nested dicts and lists."""
    shape: dict[str, Any] = _lists(asdict(card))
    return shape


def from_json(data: Mapping[str, Any]) -> Card:
    """The card that to_json wrote."""
    fresh = dict(data)
    fresh["checks"] = tuple(check_from_json(item) for item in data["checks"])
    fresh["artifacts"] = tuple(Artifact(**item) for item in data["artifacts"])
    fresh["agent"] = AgentChoice(**data["agent"])
    fresh["budget"] = Budget(**data["budget"])
    fresh["needs"] = Needs(**{name: _tuple(value) for name, value in data["needs"].items()})
    named = data.get("reproduces")  # one text, or nothing, in what an earlier version wrote
    fresh["reproduces"] = [named] if isinstance(named, str) else named or ()
    fresh["loop"] = loop_from_json(data.get("loop"))
    return Card(**{name: _tuple(value) for name, value in fresh.items()})


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _lists(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _lists(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_lists(item) for item in value]
    return value
