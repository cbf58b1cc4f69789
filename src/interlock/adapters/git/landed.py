"""Which cards have landed, as the default branch itself says by its commits' trailers; whoever landed them."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from interlock.adapters.git.mirror import Mirror
from interlock.host.files import write_whole

TRAILER = "Interlock-Card"


def landed_slugs(mirror: Mirror, commit: str) -> frozenset[str]:
    """Slugs of cards whose work is in the history of ``commit``.

    The answer is kept beside the mirror, so that only commits that are new since then are read.
    """
    kept = mirror.path / "landed.json"
    before, known = _read(kept)
    if before == commit:
        return known
    git = mirror.git
    grows = bool(before) and git.run("merge-base", "--is-ancestor", before, commit, ok=(0, 1, 128)).code == 0
    span = f"{before}..{commit}" if grows else commit
    form = f"--format=%(trailers:key={TRAILER},valueonly)"
    text = git.text("log", form, f"--grep=^{TRAILER}: ", span, seconds=600.0)
    fresh = {line.partition("@")[0].strip() for line in text.splitlines() if "@" in line}
    slugs = frozenset(fresh | known if grows else fresh)
    with suppress(OSError):
        write_whole(kept, json.dumps({"commit": commit, "slugs": sorted(slugs)}).encode())
    return slugs


def _read(path: Path) -> tuple[str, frozenset[str]]:
    try:
        shape = json.loads(path.read_bytes())
        return str(shape["commit"]), frozenset(map(str, shape["slugs"]))
    except (OSError, ValueError, KeyError, TypeError):
        return "", frozenset()
