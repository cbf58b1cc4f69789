"""What red and green runs say about one member: whether it may leave, and who it fails with; asking for runs is others' work.

A red run accuses a member when everything else in it is proven: green without the member, or landing in the same decision.  A green
run of more members excuses every red one inside it: that red was a flake, or the later change mended it, and the green tree
is the one that lands.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from interlock.core.merge.queue import Out, Queue, Result, Set


@dataclass(frozen=True, slots=True)
class Known:
    """The runs of one base, sorted once for a decision; ``reds`` are the red sets that no green one excuses."""

    results: Mapping[Set, Result]
    clashes: frozenset[Set]
    greens: tuple[frozenset[str], ...]
    reds: tuple[tuple[Set, frozenset[str]], ...]
    suspects: frozenset[frozenset[str]]
    enough: int

    @property
    def base_green(self) -> bool:
        """Whether anything was green on this base, so that the base itself is not what is red."""
        return bool(self.greens)


def known(queue: Queue) -> Known:
    """Sort what the queue knows."""
    greens = tuple(frozenset(members) for members, result in queue.results.items() if result.green)
    reds = [(members, frozenset(members)) for members, result in queue.results.items() if members and not result.green]
    reds += [(members, frozenset(members)) for members in queue.clashes if members not in queue.results]
    return Known(
        results=queue.results,
        clashes=frozenset(queue.clashes),
        greens=greens,
        reds=tuple(red for red in sorted(reds, key=_size) if not any(red[1] <= green for green in greens)),
        suspects=queue.suspects,
        enough=queue.retries + 1,
    )


def _size(red: tuple[Set, frozenset[str]]) -> tuple[int, Set]:
    return len(red[0]), red[0]


def accusing(found: Known, member: str, proven: Iterable[str]) -> tuple[Set, ...]:
    """Red and clashing sets in which nobody but the member can be what fails, the smallest first.

    Those with younger members stand behind and count only beside one without: alone they say as well that a younger one
    breaks with this member, and then it is the younger that leaves.
    """
    inside = frozenset(proven) | {member}
    sets = [members for members, held in found.reds if member in held and held <= inside]
    pure = [members for members in sets if members[-1] == member]
    return (*pure, *(each for each in sets if each[-1] != member and each not in found.clashes)) if pure else ()


def believed(found: Known, member: str, proven: Iterable[str]) -> bool:
    """Whether the member was seen red on what is proven more often than a red run may be retried; a clash is seen once."""
    sets = accusing(found, member, proven)
    if any(members in found.clashes for members in sets):
        return True
    return found.base_green and sum(found.results[members].reds for members in sets) >= found.enough


def out(found: Known, member: str, proven: Iterable[str]) -> Out:
    """The member's leave, with the fewest partners that are known; it must be believed guilty on what is proven."""
    sets = accusing(found, member, proven)
    clash = next((members for members in sets if members in found.clashes), None)
    seen = sets[0] if clash is None else clash
    under = () if clash else found.results[seen].under
    partners = tuple(other for other in (*under, *seen) if other != member)
    predicted = tuple(other for other in partners if frozenset((other, member)) in found.suspects)
    if clash is None and not predicted and len(seen) == 1:
        return Out(member, (), "red-alone", seen, under)
    return Out(member, predicted[:1] or partners, "red-together" if clash is None else "text-conflict", seen, under)


def looks_red(found: Known, member: str, ahead: Set) -> bool:
    """Whether the member is known to fail on ``ahead``: some red set of it holds nobody but those."""
    inside = {*ahead, member}
    return any(
        held <= inside
        for members, held in found.reds
        if member in held and not (members in found.clashes and members[-1] != member)
    )
