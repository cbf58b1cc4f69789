"""What the train does next, decided from its queue alone: which sets to test, land, cancel or put out; doing it is the app's.

Moves stand in the order to carry them out: Cancel, Test, Land, Out; all sets are on the base that the queue was read on.
Where a Land does not come about, the rest is dropped and the queue read anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from interlock.core.merge.batch import flaked, in_one_slot
from interlock.core.merge.queue import (
    Cancel,
    Land,
    Move,
    Queue,
    Queued,
    RedBase,
    Set,
    Test,
    stripped,
)
from interlock.core.merge.witness import Known, accusing, believed, known, looks_red, out


def decide(queue: Queue) -> tuple[Move, ...]:
    """The moves that this queue calls for now; pure, total, and nothing new when asked again before anything changed.

    Land is given for a set whose own result on this base is green, and for nothing else; an Out stands only behind a set that is
    green without the member (the base, or the set that lands in the same decision) and red with it more than ``retries``
    times.  While a member that can land waits and nothing runs there is at least one move.
    """
    line = in_line(queue.members)
    found = known(queue)
    if not line:
        return tuple(Cancel(members) for members in sorted(queue.running))
    base = queue.results.get(())
    if base and not found.greens and base.reds > queue.retries:
        return () if queue.running else (RedBase(),)
    if queue.slots <= 1:
        return in_one_slot(queue, line, found)
    return _speculate(queue, line, found)


def in_line(members: Iterable[Queued]) -> tuple[Queued, ...]:
    """Those that may be tested on the present base: what they need stands before them, and no solo one between.

    A solo member is by itself when it is first, and ends the line before it when it is not.
    """
    line: list[Queued] = []
    before: set[str] = set()
    for member in members:
        if not member.after <= before:
            continue
        if member.solo or (line and line[0].solo):
            return tuple(line) or (member,)
        line.append(member)
        before.add(member.job)
    return tuple(line)


# ---------------------------------------------------------------- two slots and more
@dataclass(slots=True)
class _Walk:
    """The line as it is speculated: what is stacked, what is in doubt, and which sets are wanted for it."""

    stacked: frozenset[str] = frozenset()
    ahead: Set = ()
    doubts: dict[str, Set] = field(default_factory=dict)
    predicted: list[str] = field(default_factory=list)
    greens: list[tuple[Set, tuple[str, ...]]] = field(default_factory=list)
    on_line: list[Set] = field(default_factory=list)
    wanted: list[Set] = field(default_factory=list)


def _speculate(queue: Queue, line: tuple[Queued, ...], found: Known) -> tuple[Move, ...]:
    walk = _walk(queue, line, found)
    land = _landing(queue, walk, found)
    outs = tuple(out(found, member, land) for member in walk.doubts if believed(found, member, land))
    gone = {move.member for move in outs}
    first, last = _confirming(queue, walk, found, gone)
    needed = [*first, *(Test(members) for members in walk.wanted if gone.isdisjoint(members))]
    needed = [test for test in needed if test.members not in queue.running]
    keep, extras = _kept(queue, walk, gone, land)
    extras = extras[: max(0, queue.slots - len(keep) - len(needed))]
    free = queue.slots - len(keep) - len(extras)
    keep += extras
    cancels = tuple(Cancel(members) for members in sorted(queue.running) if members not in keep)
    tests = tuple([*needed, *last][: max(0, free)])
    landing = (Land(land, flaked(queue, land)),) if land else ()
    return (*cancels, *tests, *landing, *outs)


def _walk(queue: Queue, line: tuple[Queued, ...], found: Known) -> _Walk:
    """Stack each member of the window on the nearest one that does not fail, in steps that are in test or known already."""
    walk = _Walk(stacked=frozenset(member.job for member in line if member.after))
    jobs = tuple(member.job for member in line[: max(1, queue.window)])
    place = 0
    while place < len(jobs):
        job, rest = jobs[place], jobs[place:]
        if not line[place].after <= set(walk.ahead):
            place += 1
            continue
        green, running, red = _steps(queue, walk.ahead, rest)
        if green:
            signed = len(queue.offered) - len(walk.ahead)
            if 0 < signed < green and queue.offered == walk.ahead + rest[:signed] and queue.offered in queue.results:
                walk.greens.append((queue.offered, (*walk.doubts, *walk.predicted)))
            walk.ahead += rest[:green]
            walk.greens.append((walk.ahead, (*walk.doubts, *walk.predicted)))
            walk.on_line.append(walk.ahead)
            place += green
        elif (step := (*walk.ahead, job)) in queue.clashes or looks_red(found, job, walk.ahead):
            walk.doubts[job] = walk.ahead
            place += 1
        elif _predicted(queue, job, walk.ahead):
            walk.predicted.append(job)
            walk.wanted.append(step)
            walk.on_line.append(step)
            place += 1
        elif running and (not red or running < red):
            walk.ahead += rest[:running]
            walk.on_line.append(walk.ahead)
            place += running
        else:
            size = 1 if red else _size(queue, walk, len(rest))
            size = next((many for many in range(1, size) if (*walk.ahead, *rest[: many + 1]) in queue.clashes), size)
            walk.ahead += rest[:size]
            walk.wanted.append(walk.ahead)
            walk.on_line.append(walk.ahead)
            place += size
    return walk


def _predicted(queue: Queue, job: str, ahead: Set) -> bool:
    """Whether prediction says that the job breaks with one ahead of it or with one that landed: nobody is stacked on it."""
    waiting = {member.job for member in queue.members}
    return any(
        job in pair and all(other in ahead or other not in waiting for other in pair - {job}) for pair in queue.suspects
    )


def _steps(queue: Queue, ahead: Set, rest: Set) -> tuple[int, int, int]:
    """How many more members the largest green, the smallest running and the smallest red set on ``ahead`` hold; 0: none."""

    def more(members: Set) -> int:
        extra = len(members) - len(ahead)
        return extra if extra > 0 and members == (*ahead, *rest[:extra]) else 0

    green = max((more(members) for members, result in queue.results.items() if result.green), default=0)
    running = min((size for members in queue.running if (size := more(members))), default=0)
    reds = (more(members) for members, result in queue.results.items() if not result.green)
    return green, running, min((size for size in reds if size), default=0)


def _size(queue: Queue, walk: _Walk, waiting: int) -> int:
    """How many members the next step takes: one while a slot is there for each, else their share of the slots."""
    free = queue.slots - len(queue.running) - len(walk.wanted)
    if free <= 0 or waiting <= queue.slots:
        return 1
    return max(1, min(queue.batch, -(-waiting // queue.slots)))


def _landing(queue: Queue, walk: _Walk, found: Known) -> Set:
    """The largest green set behind whose doubts all are believed, so that nobody is passed by; or what owners sign."""
    ready = [members for members, doubts in walk.greens if all(believed(found, member, members) for member in doubts)]
    return queue.offered if queue.offered in ready else max(ready, key=len, default=())


def _confirming(queue: Queue, walk: _Walk, found: Known, gone: set[str]) -> tuple[list[Test], list[Test]]:
    """Runs that settle a doubt: those that come before all others, and those that wait for a slot nobody needs.

    Nothing is asked for while a run that holds the member goes on: green it excuses the member, red it accuses it again.
    """
    first: list[Test] = []
    last: list[Test] = []
    for member, ahead in walk.doubts.items():
        alone = (member,)
        if member in gone or any(member in members for members in queue.running):
            continue
        sets = accusing(found, member, ahead)
        if believed(found, member, ahead):
            continue
        stands = member not in walk.stacked and member not in queue.green_alone and alone not in queue.results
        if not sets or (sets[0] != alone and stands):
            last.append(Test(alone, "probe"))
        elif sum(found.results[members].reds for members in sets) < found.enough:
            (last if ahead else first).append(Test(sets[0], "retry"))
        if not found.base_green and () not in queue.running:
            first.insert(0, Test((), "base" if () not in queue.results else "retry"))
    return list(dict.fromkeys(first)), last


def _kept(queue: Queue, walk: _Walk, gone: set[str], land: Set) -> tuple[list[Set], list[Set]]:
    """Running sets that go on: those on the line or that settle a doubt; and those that may, while no slot is needed.

    One is kept for each doubt, the smallest that holds the member: green it excuses the member, red it accuses it again.
    For a doubt at the head it goes on in any case, since it ends before a retry would.
    """
    members = {member.job for member in queue.members} - gone
    keep: list[Set] = []
    extras: list[Set] = []
    held: set[str] = set()
    for running in sorted(queue.running, key=lambda each: (len(each), each)):
        if not members.issuperset(running) or (land and stripped(running, land) is None):
            continue
        doubted = {member for member in running if member in walk.doubts}
        if running in walk.on_line or running in queue.results or not running or len(running) == len(doubted) == 1:
            keep.append(running)
        elif doubted - held:
            at_head = any(member in doubted and not ahead for member, ahead in walk.doubts.items())
            (keep if at_head else extras).append(running)
        else:
            continue
        held |= doubted
    return keep, extras
