"""A train without repositories: arrivals, runs and flakes as events of a heap, to measure and to try the brain; no clock, no chance of its own.

The model is Poisson arrivals, suites of lognormal length, changes that are bad by themselves and pairs that break together, more
often where they share a scope.  A flake turns a green run red, never a red one green.  Trees are digests of what is in them.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice
from math import cos, exp, log, pi, sqrt
from typing import Final

from interlock.core.merge.queue import (
    Cancel,
    Land,
    Move,
    Out,
    Queue,
    Queued,
    Result,
    Set,
    Test,
    next_window,
    rebased,
    retries_for,
    stripped,
    without,
)

Brain = Callable[[Queue], tuple[Move, ...]]
Draw = Callable[[], float]
"""A number from 0 to below 1, another one each time: the only chance there is."""

LOOK: Final = 128
"""Members of the line that the brain is shown; no way of deciding looks further."""

NEAR: Final = 4 * 3600.0
"""Seconds between two approvals within which changes were made beside each other, and so may break together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change of the model: when it was approved, and the sets of others that it is red with (an empty one: by itself).

    ``clashes_with`` are those that it does not merge on; ``scopes`` say what it has to do with which others.
    """

    job: str
    at: float
    red_with: tuple[frozenset[str], ...] = ()
    clashes_with: frozenset[str] = frozenset()
    scopes: frozenset[int] = frozenset()
    solo: bool = False
    after: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """How the train runs: the queue's own numbers, seconds of a suite with the spread of its logarithm, and flakes."""

    slots: int = 1
    batch: int = 8
    window: int = 20
    retries: int = 1
    suite: float = 600.0
    spread: float = 0.15
    flake: float = 0.01
    recall: float = 0.0
    moved_every: float = 0.0
    adaptive: bool = True


def arrivals(
    draw: Draw, *, rate: float, hours: float, bad: float = 0.03, shared: float = 0.003, other: float = 0.0003
) -> tuple[Change, ...]:
    """Approvals at ``rate`` an hour: a share that is bad, and pairs red together with the chance for a shared scope or ``other``."""
    changes: list[Change] = []
    at = 0.0
    while (at := at - log(1 - draw()) * 3600 / rate) <= hours * 3600:
        scopes = frozenset(_scope(draw()) for _ in range(2 if draw() < 0.25 else 1))
        near = [earlier for earlier in changes[-400:] if at - earlier.at < NEAR]
        red = [frozenset({each.job}) for each in near if draw() < (shared if each.scopes & scopes else other)]
        red += [frozenset()] if draw() < bad else []
        changes.append(Change(job=f"j{len(changes):06}", at=at, red_with=tuple(red), scopes=scopes))
    return tuple(changes)


_WEIGHTS: Final = tuple(1 / (place + 1) for place in range(12))


def _scope(chance: float) -> int:
    """One of twelve scopes, the first the busiest (Zipf)."""
    left = chance * sum(_WEIGHTS)
    for place, weight in enumerate(_WEIGHTS):
        left -= weight
        if left < 0:
            return place
    return len(_WEIGHTS) - 1


Truth = Mapping[str, tuple[frozenset[str], ...]]
"""For each job the sets of others that it is red with."""


def truth(changes: Iterable[Change]) -> Truth:
    """Who is red with whom, seen from each of them: it does not matter which of them lands first."""
    found: dict[str, list[frozenset[str]]] = {}
    for change in changes:
        found.setdefault(change.job, [])
        for others in change.red_with:
            for job in (group := others | {change.job}):
                found.setdefault(job, []).append(group - {job})
    return {job: tuple(sets) for job, sets in found.items()}


def is_red(known: Truth, tested: Iterable[str], landed: frozenset[str] | set[str]) -> bool:
    """Whether a tree with these changes on top of what landed fails in truth."""
    inside = set(tested)
    return any(all(other in inside or other in landed for other in others) for job in inside for others in known[job])


def digest(jobs: Iterable[str]) -> int:
    """The model's tree: equal for the same changes whatever their order, and one more change makes it another."""
    tree = 0
    for job in jobs:
        tree ^= int.from_bytes(blake2b(job.encode(), digest_size=16).digest())
    return tree


@dataclass(slots=True)
class Simulated:
    """What came of it; waits are seconds from approval to landing, ``busy`` seconds of slots in use."""

    arrived: int = 0
    landed: list[str] = field(default_factory=list)
    left: list[Out] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    runs: int = 0
    busy: float = 0.0
    span: float = 0.0
    landings: int = 0
    escaped: int = 0
    mismatched: int = 0
    wrong: int = 0
    flaked: int = 0
    red_bases: int = 0
    longest: int = 0
    most: int = 0


@dataclass(slots=True)
class Run:
    """A suite that runs: what it will say, and when; ``void`` once nobody waits for it."""

    members: Set
    tree: int
    green: bool
    began: float
    ends: float
    void: bool = False


@dataclass(slots=True)
class Track:
    """The model's train: it carries out what the brain asks for, as the app does with real trees, and counts."""

    changes: Mapping[str, Change]
    setting: Setting
    brain: Brain
    draw: Draw
    known: Truth = field(default_factory=dict)
    now: float = 0.0
    base: int = 0
    window: int = 0
    waiting: dict[str, Change] = field(default_factory=dict)
    merged: set[str] = field(default_factory=set)
    results: dict[Set, Result] = field(default_factory=dict)
    trees: dict[Set, int] = field(default_factory=dict)
    running: dict[Set, Run] = field(default_factory=dict)
    clashes: dict[Set, tuple[str, ...]] = field(default_factory=dict)
    suspects: set[frozenset[str]] = field(default_factory=set)
    outcome: Simulated = field(default_factory=Simulated)

    def __post_init__(self) -> None:
        self.known = truth(self.changes.values())

    def queue(self) -> Queue:
        """What the brain sees."""
        setting = self.setting
        return Queue(
            members=tuple(
                Queued(job=each.job, since=each.at, solo=each.solo, after=each.after - self.merged)
                for each in islice(self.waiting.values(), LOOK)
            ),
            results=self.results,
            running=frozenset(self.running),
            clashes=self.clashes,
            suspects=frozenset(pair for pair in self.suspects if not pair.isdisjoint(self.waiting)),
            slots=setting.slots,
            batch=setting.batch,
            window=self.window or setting.window,
            retries=retries_for(setting.retries, self.outcome.runs, self.outcome.flaked)
            if setting.adaptive
            else setting.retries,
        )

    def arrive(self, change: Change) -> None:
        self.waiting[change.job] = change
        self.outcome.arrived += 1
        self.outcome.longest = max(self.outcome.longest, len(self.waiting))
        for others in change.red_with:
            if len(others) == 1 and self.setting.recall and self.draw() < self.setting.recall:
                self.suspects.add(others | {change.job})

    def start(self, members: Set) -> Run | None:
        """A run of these members on the present base, whose result is fixed now; none where they do not merge."""
        before = set(self.merged)
        for place, job in enumerate(members):
            if self.changes[job].clashes_with & before:
                self.clashes[members[: place + 1]] = tuple(sorted(self.changes[job].clashes_with & before))
                return None
            before.add(job)
        length = self.setting.suite * _lognormal(self.draw, self.setting.spread)
        green = not is_red(self.known, members, self.merged) and self.draw() >= self.setting.flake
        run = Run(members, self.base ^ digest(members), green, self.now, self.now + length)
        self.running[members] = run
        self.outcome.runs += 1
        self.outcome.busy += length
        self.outcome.most = max(self.outcome.most, len(self.running))
        return run

    def finish(self, run: Run) -> None:
        """Take over what a run says, under the name that its set has on the present base."""
        if run.void:
            return
        del self.running[run.members]
        before = self.results.get(run.members, Result(green=False))
        self.results[run.members] = Result(green=run.green, reds=before.reds + (not run.green), under=before.under)
        self.trees[run.members] = run.tree

    def decide(self) -> list[Run]:
        """Carry out what the brain asks for until it asks for nothing more; gives the runs that began."""
        began: list[Run] = []
        while moves := self.brain(self.queue()):
            for move in moves:
                match move:
                    case Cancel(members=members):
                        self.cancel(members)
                    case Test(members=members):
                        began += [run] if (run := self.start(members)) else []
                    case Land(members=members):
                        self.land(members, move)
                    case Out(member=member):
                        self.leave(move, member)
                    case _:
                        self.outcome.red_bases += 1
                        return began
        return [run for run in began if not run.void]

    def cancel(self, members: Set) -> None:
        run = self.running.pop(members)
        run.void = True
        self.outcome.busy -= run.ends - self.now

    def land(self, members: Set, move: Land) -> None:
        """Move the base to the tree that was tested; what does not stand on it is void."""
        outcome = self.outcome
        outcome.landings += 1
        outcome.mismatched += self.trees[members] != self.base ^ digest(members)
        outcome.escaped += is_red(self.known, members, self.merged)
        outcome.flaked += len(move.flaked)
        self.base ^= digest(members)
        for job in members:
            outcome.waits.append(self.now - self.waiting.pop(job).at)
            outcome.landed.append(job)
            self.merged.add(job)
        outcome.span = self.now
        self.results = rebased(self.results, members)
        self.clashes = {rest: paths for each, paths in self.clashes.items() if (rest := stripped(each, members))}
        self.trees = {
            rest: tree for tested, tree in self.trees.items() if (rest := stripped(tested, members)) is not None
        }
        for tested in list(self.running):
            rest = stripped(tested, members)
            if rest is None:
                self.cancel(tested)
            else:
                run = self.running.pop(tested)
                run.members = rest
                self.running[rest] = run
        self.window = next_window(self.window or self.setting.window, max(3, self.setting.slots), "landed")

    def leave(self, move: Out, member: str) -> None:
        """A member goes back to its owner, and every set with it is of no use any more."""
        clashes = not self.changes[member].clashes_with.isdisjoint(self.merged)
        self.outcome.wrong += not clashes and not is_red(self.known, (member,), self.merged)
        self.outcome.left.append(move)
        self.forget(member)
        self.window = next_window(self.window or self.setting.window, max(3, self.setting.slots), "failed")

    def forget(self, member: str) -> None:
        """A member is not there any more, for whatever reason."""
        del self.waiting[member]
        self.suspects = {pair for pair in self.suspects if member not in pair}
        self.results = without(self.results, (member,))
        self.clashes = {members: paths for members, paths in self.clashes.items() if member not in members}
        for tested in [tested for tested in self.running if member in tested]:
            self.cancel(tested)

    def move_base(self) -> None:
        """Somebody else moved the default branch: nothing that was tested stands on it."""
        self.base ^= digest([f"outside at {self.now}"])
        self.results, self.trees, self.clashes = {}, {}, {}
        for tested in list(self.running):
            self.cancel(tested)


def _lognormal(draw: Draw, spread: float) -> float:
    """A factor around 1 whose logarithm is normal (Box and Muller)."""
    return exp(spread * sqrt(-2 * log(1 - draw())) * cos(2 * pi * draw()))


def simulate(brain: Brain, changes: Sequence[Change], draw: Draw, setting: Setting) -> Simulated:
    """Let all changes arrive in their time and the brain land them; ends when nothing waits, or nothing can go on."""
    track = Track({change.job: change for change in changes}, setting, brain, draw)
    heap: list[tuple[float, int, Change | Run | None]] = [
        (change.at, place, change) for place, change in enumerate(changes)
    ]
    count = len(heap)
    if setting.moved_every and changes:
        moves = range(1, int(changes[-1].at / setting.moved_every))
        heap += [(setting.moved_every * many, count + many, None) for many in moves]
        count = len(heap) + 1
    heapq.heapify(heap)
    while heap:
        track.now, _, event = heapq.heappop(heap)
        match event:
            case Change():
                track.arrive(event)
            case Run():
                if event.void:
                    continue
                track.finish(event)
            case _:
                track.move_base()
        for run in track.decide():
            count += 1
            heapq.heappush(heap, (run.ends, count, run))
    return track.outcome
