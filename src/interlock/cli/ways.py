"""The command that answers what a job waits for; the rules are in core, what each command does in app."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

RESUMED: Final = frozenset(
    {
        "no-agent",
        "workspace-missing",
        "cancelled",
        "internal",
        "root",
        "sandbox",
        "secret",
        "database",
        "service",
        "browser",
    }
    | {"no-full-check", "no-remote", "push-rejected", "base-moves", "red-base"}
)
JUDGED_AGAIN: Final = frozenset(
    {"outside", "read-only", "prohibited", "protected", "symlink", "submodule", "card-changed"}
)


def way_on(slug: str, rule: str, detail: Mapping[str, Any] | None = None) -> str:
    """What a person types next, once the cause is mended where there is one to mend; ``detail`` is what it waits with."""
    if rule == "approval":
        names = (detail or {}).get("holders") or ("NAME",)
        return f"interlock decide {slug} --approve {names[0]}"
    if rule == "agent-stopped":
        return f"interlock decide {slug} ANSWER"
    if rule == "file-overlap":
        return f"interlock decide {slug} --accept"
    if rule in RESUMED:
        return f"interlock resume {slug}"
    if rule in JUDGED_AGAIN:
        return f"interlock decide {slug} --again"
    return f"interlock retry {slug} --hypothesis TEXT"
