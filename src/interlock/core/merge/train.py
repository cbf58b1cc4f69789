"""A train as its events make it: members, runs, the sealed candidate, sign-offs, end; building and testing it is the app's work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from interlock.core.job.events import Event
from interlock.core.job.lifecycle import Job, State

_TIMES: Final = 100
_MANY: Final = 1000
"""Runs beyond which what was seen of them is halved, so that a suite that was mended is asked less again."""

Phase = Literal["testing", "tested", "signed", "landed", "dissolved"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A change in a train: its job, the exact head, and the owner whose sign-off it needs (None: nobody's).

    ``solo``: it is tested and lands by itself; ``since`` is when it was admitted, in seconds since the epoch.  ``stood`` is where its
    branch on the remote stood when it was judged (empty: not written down).
    """

    job: str
    slug: str
    head: str
    owner: str | None
    solo: bool = False
    since: float = 0.0
    stood: str = ""

    def as_json(self) -> dict[str, Any]:
        shape: dict[str, Any] = {"job": self.job, "slug": self.slug, "head": self.head, "owner": self.owner}
        more = {"solo": self.solo, "since": self.since, "stood": self.stood}
        return shape | {name: value for name, value in more.items() if value}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """One run of the full suite over members together, in their order, on the train's base.

    ``evidence`` is the row with its verdicts, ``commit``, ``tree`` and ``diff`` what was tested; ``flaky`` names what was red in an earlier run of
    the same tree and is green in this one; ``failed`` what is red, ``seconds`` how long it took.  ``under`` are
    members that landed since, which it stood on: its tree is the same.
    """

    members: tuple[str, ...]
    green: bool
    base: str
    commit: str
    tree: str
    diff: str
    evidence: int
    at: float = 0.0
    seconds: float = 0.0
    flaky: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    under: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A run that began, and when."""

    members: tuple[str, ...]
    base: str
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainState:
    """A train after the events so far.

    ``testing``: candidates are to be built and tested; ``tested``: one is green and waits for sign-offs;
    ``signed``: it may land; ``landed`` and ``dissolved`` are ends.  ``base`` is the default branch's commit
    that the candidates stand on; ``lands`` are the jobs of the green one (empty: all members), ``diff`` identifies the merged difference that owners sign;
    ``ran`` are the runs on this base, ``runs`` counts all suite runs; ``rebuilds`` how often the base moved away during a test;
    ``window`` is how many members may be tested ahead (0: as the policy says); ``past`` are earlier bases with what landed on each, ``clashes`` sets
    whose last member does not merge with the paths, ``suspects`` pairs that prediction names, ``alone`` jobs that are green alone on
    this base; ``running`` are runs that began and have not ended, ``times`` how long the last ones took in
    seconds; ``outs`` are who leaves, and why, as soon as the sealed candidate has landed; ``waited``: people were waited for before it was signed; ``flakes`` were red and green on the same tree; ``last`` is when the last event was;
    ``earlier`` are runs and flakes of trains before it; ``void`` are runs of which nothing is believed, with the base that they stood on: they were
    ended or found nothing to do, or a member left or the base moved away under them.
    """

    number: int
    rev: int
    phase: Phase
    members: tuple[Member, ...]
    since: float
    base: str = ""
    candidate: str = ""
    tree: str = ""
    diff: str = ""
    evidence: int = 0
    signed: Mapping[str, str] = field(default_factory=dict)
    runs: int = 0
    rebuilds: int = 0
    landed: tuple[Mapping[str, Any], ...] = ()
    lands: tuple[str, ...] = ()
    ran: tuple[Ran, ...] = ()
    window: int = 0
    past: tuple[tuple[str, tuple[str, ...]], ...] = ()
    clashes: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = ()
    suspects: tuple[Mapping[str, Any], ...] = ()
    alone: tuple[str, ...] = ()
    running: tuple[Running, ...] = ()
    times: tuple[float, ...] = ()
    outs: tuple[Mapping[str, Any], ...] = ()
    waited: bool = False
    flakes: tuple[Mapping[str, Any], ...] = ()
    last: float = 0.0
    void: tuple[tuple[str, tuple[str, ...]], ...] = ()
    earlier: tuple[int, int] = (0, 0)

    @property
    def landing(self) -> tuple[Member, ...]:
        """The members of the sealed candidate, in their order."""
        return tuple(member for member in self.members if not self.lands or member.job in self.lands)

    @property
    def open(self) -> bool:
        return self.phase not in ("landed", "dissolved")

    @property
    def seen(self) -> tuple[int, int]:
        """Runs of this train and of those before it, and how many of them were seen to be flakes; old ones count less and less."""
        runs, flakes = self.earlier[0] + len(self.times), self.earlier[1] + len(self.flakes)
        return (runs // 2, flakes // 2) if runs > _MANY else (runs, flakes)

    @property
    def unsigned(self) -> tuple[str, ...]:
        """Owners whose sign-off of the present difference is missing, each once, in the members' order."""
        owners = dict.fromkeys(member.owner for member in self.landing if member.owner)
        return tuple(owner for owner in owners if self.signed.get(owner) != self.diff)

    def tried(self, members: tuple[str, ...]) -> int:
        """How many runs over exactly these members ended on the present base, void ones included: so each run has a number of its own."""
        ran = sum(1 for run in self.ran if run.members == members)
        return ran + self.void.count((self.base, members))

    def last_of(self, members: tuple[str, ...]) -> Ran | None:
        """The newest run over exactly these members."""
        return next((run for run in reversed(self.ran) if run.members == members), None)


def departed(train: TrainState, jobs: Iterable[Job]) -> tuple[Member, ...]:
    """Members whose job is not ready at the member's head any more, or is held; ``jobs`` need not hold closed ones.

    A train that waits for sign-offs does not wait with them: what they would sign cannot land.
    """
    heads = {job.id: job.head for job in jobs if job.state is State.READY and not job.held}
    return tuple(member for member in train.members if heads.get(member.job) != member.head)


def fold_train(events: Iterable[Event]) -> TrainState:
    """The train that a whole history makes; the first event must be ``train.opened``."""
    history = iter(events)
    train = _opened(next(history))
    for event in history:
        train = apply_train(train, event)
    return train


def _opened(event: Event) -> TrainState:
    members = tuple(Member(**member) for member in event.data["members"])
    number = int(event.subject.partition(":")[2])
    return TrainState(
        number=number,
        rev=1,
        phase="testing",
        members=members,
        since=event.at,
        base=event.data["base"],
        window=event.data.get("window", 0),
        earlier=_pair(event.data.get("earlier", (0, 0))),
        last=event.at,
    )


def _pair(numbers: Sequence[int]) -> tuple[int, int]:
    runs, flakes = numbers
    return runs, flakes


def apply_train(train: TrainState, event: Event) -> TrainState:
    """The train after one more event."""
    data = event.data
    train = replace(train, runs=train.runs + data.get("runs", 0), window=data.get("window", train.window))
    apply = _APPLIED.get(event.kind)
    train = apply(train, event) if apply else train
    return replace(train, rev=train.rev + 1, last=event.at)


def _joined(train: TrainState, event: Event) -> TrainState:
    known = {member.job for member in train.members}
    fresh = tuple(member for each in event.data["members"] if (member := Member(**each)).job not in known)
    return replace(train, members=(*train.members, *fresh))


def _begun(train: TrainState, event: Event) -> TrainState:
    """A run began; one that a crash cut off is begun again under the same name."""
    mine = Running(members=tuple(event.data["members"]), base=event.data["base"], at=event.at)
    others = tuple(each for each in train.running if (each.base, each.members) != (mine.base, mine.members))
    return replace(train, running=(*others, mine))


def _clashed(train: TrainState, event: Event) -> TrainState:
    train = _ended(train, event)
    clash = (tuple(event.data["members"]), tuple(event.data["paths"]))
    return replace(train, clashes=(*train.clashes, clash)) if event.data["base"] == train.base else train


def _cancelled(train: TrainState, event: Event) -> TrainState:
    """Nothing of the run is believed; that it was is kept, so that a later run of the same set has another name."""
    return _void(_ended(train, event), [(event.data["base"], tuple(event.data["members"]))])


def _void(train: TrainState, runs: Iterable[tuple[str, tuple[str, ...]]]) -> TrainState:
    return replace(train, void=(*train.void, *runs)[-_MANY:])


def _ended(train: TrainState, event: Event) -> TrainState:
    gone = (event.data["base"], tuple(event.data.get("tried", event.data["members"])))
    return replace(train, running=tuple(each for each in train.running if (each.base, each.members) != gone))


def _tested(train: TrainState, event: Event) -> TrainState:
    data = event.data
    train = _excused(train, data.get("flaked", ()), event.at)
    told = {name: data[name] for name in ("base", "candidate", "tree", "diff", "evidence")}
    lands = tuple(data.get("lands", ()))
    outs = tuple(data.get("outs", ()))
    return _signed_or_not(replace(train, phase="tested", waited=False, lands=lands, outs=outs, **told))


def _gone(train: TrainState, event: Event) -> TrainState:
    return _left(train, set(event.data["jobs"]))


def _rebuilt(train: TrainState, event: Event) -> TrainState:
    base = event.data["base"]
    if base != train.base:
        gone = [(run.base, run.members) for run in train.ran]
        train = replace(_void(train, gone), ran=(), past=(), clashes=(), alone=())
    counted = 1 if event.data.get("counted", True) else 0
    return replace(train, phase="testing", base=base, lands=(), outs=(), rebuilds=train.rebuilds + counted)


def _signed(train: TrainState, event: Event) -> TrainState:
    was = train.phase
    train = _signed_or_not(replace(train, signed={**train.signed, event.actor: event.data["diff"]}))
    return replace(train, waited=True) if (was, train.phase) == ("tested", "signed") else train


def _withdrawn(train: TrainState, event: Event) -> TrainState:
    rest = {owner: diff for owner, diff in train.signed.items() if owner != event.actor}
    return _signed_or_not(replace(train, signed=rest))


def _ran(train: TrainState, event: Event) -> TrainState:
    """Keep a run; one that does not stand on the train's present base, or on what landed of it, says nothing any more."""
    hints = ("runs", "window", "alone", "suspects")
    shape = {name: value for name, value in event.data.items() if name not in hints}
    shape |= {name: tuple(shape.get(name, ())) for name in ("members", "flaky", "failed")}
    run = Ran(**shape, at=event.at)
    train = _ended(train, event)
    train = replace(
        train,
        times=(*train.times, run.seconds)[-_TIMES:] if run.seconds else train.times,
        alone=tuple(event.data.get("alone", train.alone)) if run.base == train.base else train.alone,
        suspects=tuple(event.data.get("suspects", train.suspects)),
    )
    if run.flaky:
        train = _flake(train, run, run.flaky, run.at)
    bases = [base for base, _ in train.past]
    following = [*bases[1:], train.base]
    for place, (base, landed) in enumerate(train.past):
        if run.base == base:
            run = _under(run, landed)
            run = replace(run, base=following[place]) if run.base else run
    known = all(member in {each.job for each in train.members} for member in run.members)
    if run.base == train.base and known:
        return replace(train, ran=(*train.ran, run))
    return _void(train, [(event.data["base"], tuple(event.data["members"]))])


def _under(run: Ran, landed: tuple[str, ...]) -> Ran:
    """The run on the base after these members landed; one that does not stand on exactly them stays on its base, and is void."""
    if run.members[: len(landed)] != landed:
        return replace(run, base="")
    rest = run.members[len(landed) :]
    return replace(run, members=rest, under=(*run.under, *landed))


def _flake(train: TrainState, run: Ran, tests: tuple[str, ...], at: float) -> TrainState:
    told = {"members": list(run.members), "tests": list(tests), "tree": run.tree, "at": at, "evidence": run.evidence}
    return replace(train, flakes=(*train.flakes, told))


def _excused(train: TrainState, sets: Iterable[Iterable[str]], at: float) -> TrainState:
    """Red runs inside a green set are evidence of a flake."""
    for members in map(tuple, sets):
        red = next((run for run in reversed(train.ran) if run.members == members and not run.green), None)
        told = any(list(members) == flake["members"] for flake in train.flakes)
        if red is not None and not told:
            train = _flake(train, red, red.failed, at)
    return train


def _left(train: TrainState, gone: set[str]) -> TrainState:
    members = tuple(member for member in train.members if member.job not in gone)
    ran = tuple(run for run in train.ran if not gone & set(run.members))
    train = _void(train, [(run.base, run.members) for run in train.ran if run not in ran])
    clashes = tuple(clash for clash in train.clashes if not gone & set(clash[0]))
    phase: Phase = "testing" if members else "dissolved"
    outs = tuple(out for out in train.outs if out["job"] not in gone) if train.phase == "testing" else ()
    return replace(train, phase=phase, members=members, ran=ran, clashes=clashes, lands=(), outs=outs)


def _landed(train: TrainState, event: Event) -> TrainState:
    """The members that landed are done; the rest goes on upon what landed, with the runs that hold for it: their trees are the same."""
    rows: tuple[Mapping[str, Any], ...] = tuple(event.data["landed"])
    gone = {row.get("job") for row in rows}
    rest = tuple(member for member in train.members if train.lands and member.job not in gone)
    landed = (*train.landed, *rows)
    if not rest:
        return replace(train, phase="landed", landed=landed)
    prefix = tuple(member.job for member in train.landing)
    base = train.candidate
    past = (*train.past, (train.base, prefix))
    ran = tuple(replace(kept, base=base) for run in train.ran if (kept := _under(run, prefix)).base)
    fresh = replace(train, ran=ran, past=past, clashes=(), alone=(), lands=(), rebuilds=0)
    return replace(fresh, phase="testing", members=rest, landed=landed, base=base)


def _signed_or_not(train: TrainState) -> TrainState:
    if train.phase in ("tested", "signed"):
        return replace(train, phase="tested" if train.unsigned else "signed")
    return train


_APPLIED: Final[Mapping[str, Callable[[TrainState, Event], TrainState]]] = {
    "train.joined": _joined,
    "train.runs": _begun,
    "train.ran": _ran,
    "train.clash": _clashed,
    "train.cancelled": _cancelled,
    "train.tested": _tested,
    "train.left": _gone,
    "train.rebuild": _rebuilt,
    "train.signed": _signed,
    "train.unsigned": _withdrawn,
    "train.landed": _landed,
    "train.dissolved": lambda train, _: replace(train, phase="dissolved", running=()),
}
