"""The files of the contract, read from a commit; what stands in them is core's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from interlock.core.contract.card import Card
from interlock.core.contract.policy import Cap, Policy
from interlock.core.problems import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class CardFile:
    """A card file read from a base or from the folder at hand: the card, or the problems that keep it from being one.

    ``draft`` is the card as far as it could be read, and ``spoiled`` the keys that could not, so that everything
    else that is wrong with it can be told at once.
    """

    slug: str
    file: str
    card: Card | None
    problems: tuple[Problem, ...]
    oid: str = ""
    positions: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    draft: Card | None = None
    spoiled: frozenset[str] = frozenset()


class ContractFiles(Protocol):
    """Readers of cards, caps and policy; every problem at once, with file, line and column."""

    def card(self, data: bytes, file: str, slug: str, oid: str = "") -> CardFile: ...
    def caps(self, data: bytes, file: str) -> tuple[tuple[Cap, ...], tuple[Problem, ...]]: ...
    def policy(self, data: bytes, file: str) -> tuple[Policy, tuple[Problem, ...]]: ...
