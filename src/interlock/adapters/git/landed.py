"""Which cards have landed and were not reverted, as the default branch itself says by its commits' trailers; whoever did it."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from interlock.adapters.git.errors import GitFailed
from interlock.adapters.git.mirror import Mirror
from interlock.host.files import write_whole

TRAILER = "Interlock-Card"
REVERTS = "Interlock-Reverts"
RESTORES = "Interlock-Restores"
_LANDED, _REVERTED = "+", "-"


def landed_slugs(mirror: Mirror, commit: str, follows: Callable[[str, str], bool]) -> frozenset[str]:
    """Slugs of cards whose work is in the history of ``commit``; ``follows(old, new)`` says whether one commit holds another.

    The answer is kept beside the mirror, so that only commits that are new since then are read.
    """
    kept = mirror.path / "landed.json"
    before, known = _read(kept)
    if before == commit:
        return known
    grows = bool(before) and _grows(follows, before, commit)
    said = _said(mirror, f"{before}..{commit}" if grows else commit)
    kept_ones = known if grows else frozenset[str]()
    slugs = frozenset(slug for slug in kept_ones | said.keys() if said.get(slug, _LANDED) == _LANDED)
    with suppress(OSError):
        write_whole(kept, json.dumps({"commit": commit, "slugs": sorted(slugs)}).encode())
    return slugs


def _grows(follows: Callable[[str, str], bool], before: str, commit: str) -> bool:
    try:
        return follows(before, commit)
    except GitFailed:  # what was kept is of a commit that is not here: everything is read anew
        return False


def _said(mirror: Mirror, span: str) -> dict[str, str]:
    """What the newest commit that speaks of a slug says of it: that it landed, or that it was taken back."""
    meanings = {REVERTS: _REVERTED, RESTORES: _LANDED, TRAILER: _LANDED}
    form = "%x1e".join(f"%(trailers:key={key},valueonly,separator=%x1f)" for key in meanings)
    grep = f"--grep=^({'|'.join(meanings)}): "
    text = mirror.git.text("log", "-z", "--topo-order", f"--format={form}", "-E", grep, span, seconds=600.0)
    found: dict[str, str] = {}
    for entry in text.split("\0"):
        for values, meaning in zip(entry.split("\x1e"), meanings.values(), strict=False):
            for value in filter(None, (part.strip() for part in values.split("\x1f"))):
                if "@" in value:
                    found.setdefault(value.partition("@")[0].strip(), meaning)
    return found


def _read(path: Path) -> tuple[str, frozenset[str]]:
    try:
        shape = json.loads(path.read_bytes())
        return str(shape["commit"]), frozenset(map(str, shape["slugs"]))
    except (OSError, ValueError, KeyError, TypeError):
        return "", frozenset()
