"""What admission decides on: the request, the state of the slots, and the proof token; the rules are in admission."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from interlock.core.contract.card import Card
from interlock.core.contract.policy import Kind, TaskClass


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A card that asks to start: the card as read from ``base``, its class, and the facts the rules look at.

    ``landed`` are slugs that landed by the default branch's own history, ``foreign`` are agent branches on the remote that this store did not start: (branch, class or None).
    ``gone`` are slugs that this store landed and that history does not hold any more.
    ``card_json`` is the card as plain JSON, for the record; ``reverts`` says what landed change it takes back.
    """

    job: str
    card: Card
    card_oid: str
    card_json: Mapping[str, Any]
    task_class: TaskClass
    base: str
    actor: str
    foreign: tuple[tuple[str, str | None], ...] = ()
    landed: frozenset[str] = frozenset()
    gone: frozenset[str] = frozenset()
    adopt: str | None = None
    reverts: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A job that is not closed and therefore holds a slot."""

    job: str
    slug: str
    class_name: str
    kind: Kind
    slot: int
    state: str
    since: float
    owned_paths: tuple[str, ...]
    read_only_paths: tuple[str, ...]
    prohibited_paths: tuple[str, ...] = ()
    actor: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lanes:
    """The slots as one transaction sees them: the class's cap (None: no line in caps.txt), pause, and all holders.

    ``landed`` and ``abandoned`` speak of the request's own slug and of the slugs it depends on; a slug stands in
    ``abandoned`` when its newest job was abandoned.  ``ceiling`` is the one over all classes (None: no ceiling).
    ``kinds`` are the kinds of classes as of the newest fetch; they outweigh the request's own reading.
    """

    cap: int | None
    paused_by: str | None
    holders: tuple[Holder, ...]
    landed: frozenset[str] = field(default_factory=frozenset)
    abandoned: frozenset[str] = field(default_factory=frozenset)
    ceiling: int | None = None
    kinds: Mapping[str, Kind] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """Proof that a job was admitted; only core.gate.admission makes one, only the store's transaction keeps it."""

    job: str
    slug: str
    class_name: str
    slot: int
