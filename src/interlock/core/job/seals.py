"""Seals: which events somebody with a known key wrote, signed together with them; keeping them is the store's, opening them an adapter's.

Digests alone need no key: without a seal, who can write to the database can add an event at the end that looks like any other.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from interlock.core.job.chain import canonical, signed_json
from interlock.core.job.statement import TYPE
from interlock.core.problems import Refusal, Refused

SEAL: Final = "urn:interlock:seal:v1"
"""The predicate of a seal: these events were written by this key's owner, and the last of them has this digest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seal:
    """The signed word of one transaction: it wrote the events from ``first`` to ``seq``, both included."""

    first: int
    seq: int
    envelope: str


Why = tuple[str, str]
"""A rule and a sentence about ``{events}``: neighbours for which both are equal are told as one."""

_NOBODY: Final[Why] = ("evidence-unsigned", "{events} {were} signed by nobody when {they were} written.")
_GONE: Final[Why] = ("evidence-edited", "{events} {were} signed when {they were} written, and {are} gone.")
_OTHER: Final[Why] = ("evidence-edited", "{events} {are} not what was signed when {they were} written.")
_TWICE: Final[Why] = ("evidence-replayed", "{events} {are} signed a second time.")
_UNREAD: Final = "The signature of {events}: "
_STRIPPED: Final[Why] = ("evidence-unsigned", "{events} {are} signed, and signatures of events before are gone.")

_LOOK: Final = (
    "Somebody looks who wrote to the database, and brings it back; interlock audit names every place. Where a process of an older "
    "version went on after the upgrade, end it, abandon the job, clean it, and dispatch it again."
)
_LIST_IT: Final = (
    "List that key under evidence.keys in interlock.yaml on the default branch, if it is the team's (interlock audit --keys prints the "
    "line); otherwise abandon the job, clean it, and dispatch it again on a machine whose key is listed."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsealed:
    """Events that no seal holds, from ``first`` to ``last``, and why.

    ``gone``: they are not there any more.  ``unread``: a seal is there, and what it says could not be told by the keys that count.
    """

    first: int
    last: int
    refusal: Refusal
    gone: bool
    unread: bool


def sealed_as(*, first: int, seq: int, digest: str, since: int) -> bytes:
    """The bytes that are signed: the events, the digest of the last one, and since which event this history is sealed."""
    said: dict[str, Any] = {
        "_type": TYPE,
        "subject": [{"name": "history", "digest": {"sha256": digest}}],
        "predicateType": SEAL,
        "predicate": {"first": first, "seq": seq, "since": since},
    }
    return canonical(said)


def unsealed(
    seals: Iterable[Seal],
    digests: Mapping[int, str | None],
    opened: Callable[[str], bytes],
    *,
    since: int,
    last: int,
) -> Iterator[Unsealed]:
    """Events from ``since`` to ``last`` that are not held by a seal, in their order; neighbours of one fault are one.

    ``digests`` are those of the events at which seals end; ``opened`` gives an envelope's payload or raises Refused.
    """
    faults = _faults(sorted(seals, key=lambda seal: seal.seq), digests, opened, since, last)
    for why, same in groupby(faults, key=itemgetter(2)):
        places = list(same)
        first, end = places[0][0], places[-1][1]
        yield Unsealed(
            first=first,
            last=end,
            refusal=_refusal(why, first, end),
            gone=why == _GONE,
            unread=why[1].startswith(_UNREAD),
        )


def _faults(
    seals: Iterable[Seal],
    digests: Mapping[int, str | None],
    opened: Callable[[str], bytes],
    since: int,
    last: int,
) -> Iterator[tuple[int, int, Why]]:
    at = since
    for seal in seals:
        if seal.first > at:
            yield at, seal.first - 1, _NOBODY
        why = _TWICE if seal.first < at else _why(seal, digests, opened, since)
        if why is not None:
            yield seal.first, seal.seq, why
        at = max(at, seal.seq + 1)
    if at <= last:
        yield at, last, _NOBODY


def doubt(seal: Seal, digests: Mapping[int, str | None], opened: Callable[[str], bytes], since: int) -> Refusal | None:
    """Why a seal holds nothing; None when it is what was signed about these events."""
    why = _why(seal, digests, opened, since)
    return None if why is None else _refusal(why, seal.first, seal.seq)


def _why(seal: Seal, digests: Mapping[int, str | None], opened: Callable[[str], bytes], since: int) -> Why | None:
    digest = digests.get(seal.seq)
    if digest is None:
        return _GONE
    try:
        payload = opened(seal.envelope)
    except Refused as fault:
        return fault.refusal.rule, f"{_UNREAD}{fault.refusal.what.replace('{', '(')}"
    if payload == sealed_as(first=seal.first, seq=seal.seq, digest=digest, since=since):
        return None
    return _STRIPPED if (_since(payload) or since) < since else _OTHER


def covering(seals: Sequence[Seal], wanted: Collection[int]) -> tuple[tuple[Seal, ...], int | None]:
    """The seals, given in their order, that hold these events, and the first event that none holds."""
    found: dict[int, Seal] = {}
    ends = [seal.seq for seal in seals]
    for seq in sorted(wanted):
        at = bisect_left(ends, seq)
        if at == len(seals) or seals[at].first > seq:
            return tuple(found.values()), seq
        found[ends[at]] = seals[at]
    return tuple(found.values()), None


def nobody(seq: int) -> Refusal:
    """An event that stands there and that nobody signed."""
    return _refusal(_NOBODY, seq, seq)


def _since(payload: bytes) -> int | None:
    try:
        return int(signed_json(payload)["predicate"]["since"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return None


def _refusal(why: Why, first: int, last: int) -> Refusal:
    rule, said = why
    one = first == last
    named = f"event {first}" if one else f"events {first} to {last}"
    if said.startswith("{"):
        named = named.capitalize()
    words = {"{events}": named, "{were}": "was" if one else "were", "{are}": "is" if one else "are"}
    for name, word in (words | {"{they were}": "it was" if one else "they were"}).items():
        said = said.replace(name, word)
    return Refusal(
        rule=rule,
        what=said,
        why="Each event is signed in the transaction that writes it, so that nobody without a key can add one.",
        would_change=_LIST_IT if rule == "evidence-key" else _LOOK,
    )
