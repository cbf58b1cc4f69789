"""A check from the plain JSON that the history keeps; the card around it is app.cardjson's, YAML the adapters'."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from interlock.core.contract.card import Check, Report
from interlock.core.contract.surfaces import CoverageLimits, Limit, Picture, Wait


def check_from_json(item: Mapping[str, Any]) -> Check:
    """The check that ``dataclasses.asdict`` wrote, also one of an earlier version, which has fewer keys."""
    values = dict(item)
    for name, part in (("report", Report), ("coverage", CoverageLimits), ("wait", Wait)):
        values[name] = part(**item[name]) if item.get(name) else None
    for name in ("expects", "refuses", "files"):
        values[name] = tuple(item.get(name, ()))
    values["limits"] = tuple(Limit(**each) for each in item.get("limits", ()))
    values["pictures"] = tuple(_picture(each) for each in item.get("pictures", ()))
    return Check(**values)


def _picture(item: Mapping[str, Any]) -> Picture:
    x_y_sizes = tuple(tuple(rectangle) for rectangle in item.get("mask", ()))
    return Picture(**{**item, "mask": x_y_sizes})
