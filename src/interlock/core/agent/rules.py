"""Rules and skills that an agent is handed: which files, their size and digest, and which are stale; reading them is app.handing's.

Every rule taxes every context, and an old one becomes a hidden dependency (seed 004).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal

from interlock.core.contract.agents import Rules
from interlock.core.contract.paths import parse
from interlock.core.counting import some
from interlock.core.problems import Refusal

READS: Final[dict[str, tuple[str, ...]]] = {
    "codex": ("AGENTS.md", ".agents/skills/*/SKILL.md"),
    "claude": ("CLAUDE.md", ".claude/CLAUDE.md", "AGENTS.md", ".claude/skills/*/SKILL.md"),
    "cursor": ("AGENTS.md", ".cursor/rules/**"),
}
"""Files of the tree that an agent's client puts into its context by itself (facts/agents §3; cursor by its documents).

What ``command`` and ``acp`` start is not known to read anything.
"""

DAY: Final = 86_400.0
_SKILL: Final = "SKILL.md"
_QUOTED: Final = re.compile(r"`([^`\s]{1,200})`")
_NO_PATH: Final = re.compile(r"[*?{}<>$|=()\[\]…]|://|^[-~/@]|\.\.")
_FILE: Final = re.compile(r"\.[A-Za-z0-9]{1,8}$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Handed:
    """One file: ``how`` tells whether it is put into the prompt or read by the client itself.

    ``loaded`` are the bytes that every call pays for: of a skill only its head, since clients read the rest when
    they use it.  ``changed`` is when it last changed, in seconds since the epoch (None: not asked); ``stale`` is why
    it should be looked at, or empty.
    """

    path: str
    how: Literal["prompt", "client"]
    size: int
    digest: str
    loaded: int
    text: str = ""
    changed: float | None = None
    stale: str = ""

    def as_json(self) -> dict[str, Any]:
        """The shape on the record of an attempt."""
        return {
            "path": self.path,
            "how": self.how,
            "bytes": self.size,
            "loaded": self.loaded,
            "digest": self.digest,
        }


def wanted(
    rules: Rules, use: str | None, files: Collection[str]
) -> tuple[tuple[str, Literal["prompt", "client"]], ...]:
    """Which files of a commit an agent is handed: those of the policy, then those that its client reads by itself."""
    found: dict[str, Literal["prompt", "client"]] = {}
    for pattern in rules.files:
        found |= {path: "prompt" for path in parse(pattern).select(sorted(files)) if path not in found}
    for pattern in READS.get(use or "", ()):
        found |= {path: "client" for path in parse(pattern).select(sorted(files)) if path not in found}
    return tuple(found.items())


def handed(path: str, how: Literal["prompt", "client"], data: bytes) -> Handed:
    """One file as it is handed over."""
    text = data.decode("utf-8", "replace")
    whole = how == "prompt" or not path.endswith(f"/{_SKILL}")
    loaded = len(data) if whole else len(_head(text).encode())
    return Handed(
        path=path,
        how=how,
        size=len(data),
        digest=hashlib.sha256(data).hexdigest(),
        loaded=loaded,
        text=text if how == "prompt" else "",
    )


def too_large(found: Iterable[Handed], rules: Rules) -> Refusal | None:
    """Why these are more than the policy lets an agent be handed, or None."""
    by_size = sorted(found, key=lambda each: -each.loaded)
    total = sum(each.loaded for each in by_size)
    if total <= rules.most_bytes:
        return None
    largest = ", ".join(f"{each.path} ({each.loaded})" for each in by_size[:3])
    return Refusal(
        rule="rules-size",
        what=f"The rules handed over have {total} bytes, and {rules.most_bytes} are allowed.",
        why=f"Every one of them is paid for in every call. The largest: {largest}.",
        would_change="Prune them (interlock policy rules), or raise rules.most_bytes in interlock.yaml.",
        number=rules.most_bytes,
        holders=tuple(each.path for each in by_size[:3]),
    )


def stale(text: str, rules: Rules, files: Collection[str], *, changed: float | None, now: float) -> str:
    """Why a file should be looked at: it names paths that are not there, or is older than the policy allows.

    ``now`` is when the repository last moved: one that rests makes none of its rules old.
    """
    missing = gone(text, files)
    reasons = []
    if missing:
        reasons.append(f"names {some(missing, 3)}, which {'is' if len(missing) == 1 else 'are'} not there")
    if changed is not None and now - changed > rules.stale_days * DAY:
        reasons.append(f"did not change for {int((now - changed) / DAY)} days")
    return "; ".join(reasons)


def gone(text: str, files: Collection[str]) -> tuple[str, ...]:
    """Paths that a text names in back-quotes and that a commit does not have.

    A word counts as a path of this repository when it begins with one of its folders, or names a file in a folder.
    """
    known = _with_folders(files)
    named = dict.fromkeys(word.removeprefix("./").rstrip("/.,:;") for word in _QUOTED.findall(text))
    return tuple(word for word in named if _is_path(word, known) and re.sub(r":\d+$", "", word) not in known)


def _is_path(word: str, known: Collection[str]) -> bool:
    first, slash, _ = word.partition("/")
    if not slash or _NO_PATH.search(word):
        return False
    return first in known or ("." not in first and _FILE.search(re.sub(r":\d+$", "", word)) is not None)


def _with_folders(files: Iterable[str]) -> frozenset[str]:
    found = set()
    for path in files:
        while path and path not in found:
            found.add(path)
            path = path.rpartition("/")[0]  # noqa: PLW2901
    return frozenset(found)


def _head(text: str) -> str:
    """The front matter of a skill: its name and description."""
    if not text.startswith("---\n"):
        return text
    end = text.find("\n---", 4)
    return text if end < 0 else text[: end + 4]
