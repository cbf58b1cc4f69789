"""What a card is judged against: the policy, the files of the base, and which of those only a serial class may own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from interlock.core.contract.paths import Pattern, parse
from interlock.core.contract.policy import Policy


@dataclass(frozen=True, slots=True)
class Reserved:
    """What only one class may own: its patterns, and the files on the base that each of them names."""

    class_name: str
    kind: str
    patterns: tuple[Pattern, ...]
    files: Mapping[str, Pattern]


@dataclass(frozen=True, slots=True)
class Ground:
    """The policy and the base; ``files`` is None where the base is not known."""

    policy: Policy
    files: frozenset[str] | None
    reserved: tuple[Reserved, ...]


@lru_cache(maxsize=4)
def ground_of(policy: Policy, base_files: tuple[str, ...] | None) -> Ground:
    """The ground for all cards of one base, worked out once.  Raises PatternError for a pattern of the policy."""
    reserved = []
    for each in policy.classes:
        if each.kind == "parallel" or not each.paths:
            continue
        patterns = tuple(map(parse, each.paths))
        files: dict[str, Pattern] = {}
        for pattern in patterns:
            for path in pattern.select(base_files or ()):
                files.setdefault(path, pattern)
        reserved.append(Reserved(each.name, each.kind, patterns, files))
    return Ground(policy, None if base_files is None else frozenset(base_files), tuple(reserved))
