"""The command that answers what a job waits for; all answers are in app.asking, the rules in core."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def way_on(slug: str, rule: str, detail: Mapping[str, Any] | None = None) -> str:
    """What a person types next, once the cause is mended where there is one to mend; ``detail`` is what it waits with.

    What an agent asks is answered in a person's own words: none of the answers that it offers is put first.
    """
    from interlock.app.asking import kind_of, options_of

    known = detail or {}
    if kind_of(rule, known) in ("question", "scope"):
        return f"interlock decide {slug} ANSWER"
    return options_of(slug, rule, known)[0].command


def next_of(item: Mapping[str, Any]) -> str:
    """What a person types next about one item of the inbox; a permission is refused by what is put first, and not given."""
    if item["kind"] in ("question", "scope"):
        return f"interlock decide {item['slug']} ANSWER"
    command: str = item["options"][0]["command"]
    return command
