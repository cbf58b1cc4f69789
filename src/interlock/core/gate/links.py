"""Where a symbolic link leads, from its text alone; links that already stand on the base are not looked at."""

from __future__ import annotations

from collections.abc import Sequence

from interlock.core.contract.paths import Pattern
from interlock.core.contract.spelling import visible


def leads_out(path: str, target: str | None, owned: Sequence[Pattern]) -> str | None:
    """Why a new link at ``path`` may not stand, or None when its target lies inside the owned paths (case SB-03).

    The target is resolved textually from the link's folder, whether or not it exists.  A target that goes up
    after it went down is refused: through another link it could lead elsewhere than its text says.
    """
    if target is None:
        return "It is a symbolic link whose target could not be read."
    shown = visible(target)
    if target.startswith("/"):
        return f"It is a symbolic link to {shown}, an absolute path."
    resolved = _resolve(path, target)
    if resolved is None:
        return f"It is a symbolic link to {shown}, which goes down and up again; write the target without that."
    if resolved in ("", "..") or resolved.startswith("../"):
        return f"It is a symbolic link to {shown}, which leads out of the owned paths."
    if any(pattern.matches(resolved) or pattern.covers(resolved) for pattern in owned):
        return None
    return f"It is a symbolic link to {shown}, which is {visible(resolved)}, outside of the owned paths."


def _resolve(path: str, target: str) -> str | None:
    """The target as a path from the root: ``..`` where it leaves the repository, None where it turns back."""
    parts = path.split("/")[:-1]
    down = False
    for part in target.split("/"):
        if part in ("", "."):
            continue
        if part == "..":
            if down:
                return None
            if not parts:
                return ".."
            parts.pop()
        else:
            down = True
            parts.append(part)
    return "/".join(parts)
