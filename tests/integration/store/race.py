"""A race for slots between processes while caps, ceiling and pauses move, and the audit of it from the history alone."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.integration.store import build

from interlock.adapters.store import SqlStore
from interlock.core.gate.admission import effective_cap
from interlock.core.job.events import Event, NewEvent
from interlock.core.problems import Refused

CLASSES = ("slice", "slice", "slice", "fix", "migration")
MODULE = "tests.integration.store.race"


@dataclass(slots=True)
class Tally:
    """What one racing process saw; times in seconds."""

    admitted: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


def race(url: str, *, processes: int, attempts: int) -> list[Tally]:
    """Let processes attempt admissions at once, each ``attempts`` times, while another moves the caps."""
    store = SqlStore.open(url)
    build.set_caps(store, {"slice": 3, "fix": 2, "migration": 1}, ceiling=6)
    store.close()
    mover = _start("move", url)
    racers = [_start("attempt", url, str(number), str(attempts)) for number in range(processes)]
    tallies = [_tally(*racer.communicate(timeout=1800), racer.returncode) for racer in racers]
    _, error = mover.communicate("stop\n", timeout=60)
    assert mover.returncode == 0, error
    return tallies


def judge(url: str, *, processes: int, attempts: int) -> dict[str, int]:
    """Race, then read everything from the record: nothing over, every slot and holder right."""
    tallies = race(url, processes=processes, attempts=attempts)
    store = SqlStore.open(url)
    found = audit(store.events())
    held = [(lane.name, holder.slot, holder.job) for lane in store.lanes() for holder in lane.holders]
    opened = [(job.class_name, job.slot, job.id) for job in store.jobs()]
    store.close()
    assert sum(tally.admitted + tally.refused.total() for tally in tallies) == processes * attempts
    assert sum(tally.admitted for tally in tallies) == found["admitted"] > 0
    assert sum(tally.refused["cap"] for tally in tallies) > 0
    assert [wrong for tally in tallies for wrong in tally.wrong] == []
    for fault in (
        "over the cap",
        "over the ceiling",
        "slot taken",
        "slot beyond the cap",
        "while paused",
        "other numbers than in force",
    ):
        assert found[fault] == 0, fault
    assert found["moves"] > 1, "The caps moved."
    assert len({(name, slot) for name, slot, _ in held}) == len(held) == found["in flight"]
    assert sorted(held) == sorted(opened)
    return found


def audit(events: Iterable[Event]) -> dict[str, int]:
    """Read the whole history again and find every admission that was over what was in force when it was written."""
    caps: dict[str, int] = {}
    ceiling: int | None = None
    paused: set[str] = set()
    flying: dict[str, tuple[str, int]] = {}
    found: Counter[str] = Counter()
    for event in events:
        match event.kind:
            case "caps.synced":
                caps, ceiling = dict(event.data["caps"]), event.data["ceiling"]
                found["moves"] += 1
            case "class.paused":
                paused.add(event.subject.removeprefix("class:"))
            case "class.resumed":
                paused.discard(event.subject.removeprefix("class:"))
            case "job.admitted":
                name, slot = event.data["class"], event.data["slot"]
                cap = effective_cap(caps[name], build.KINDS[name])
                found["admitted"] += 1
                found["other numbers than in force"] += (event.data["cap"], event.data["ceiling"]) != (cap, ceiling)
                found["slot taken"] += (name, slot) in flying.values()
                flying[event.subject] = (name, slot)
                in_class = sum(1 for other, _ in flying.values() if other == name)
                found["over the cap"] += in_class > event.data["cap"]
                found["over the ceiling"] += ceiling is not None and len(flying) > ceiling
                found["while paused"] += name in paused
                found["slot beyond the cap"] += slot > event.data["cap"]
            case "job.abandoned":
                del flying[event.subject]
            case _:
                pass
    found["in flight"] = len(flying)
    return dict(found)


def _start(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", MODULE, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _tally(out: str, error: str, code: int) -> Tally:
    assert code == 0, error
    shape = json.loads(out)
    return Tally(**{**shape, "refused": Counter(shape["refused"])})


def _attempt(url: str, number: int, attempts: int) -> None:
    chance = random.Random(number)
    store = SqlStore.open(url)
    tally = Tally()
    mine: list[str] = []
    for turn in range(attempts):
        slug = f"r{number}-{turn}"
        began = time.perf_counter()
        try:
            mine.append(store.admit(build.request(slug, chance.choice(CLASSES))).job)
            tally.admitted += 1
        except Refused as refused:
            tally.refused[refused.refusal.rule] += 1
            _look_at(refused, tally)
        tally.seconds.append(time.perf_counter() - began)
        if mine and chance.random() < 0.5:
            job = mine.pop(chance.randrange(len(mine)))
            store.record(NewEvent(subject=job, step="abandon", kind="job.abandoned", data={"reason": "race"}))
    store.close()
    shape = {name: getattr(tally, name) for name in Tally.__slots__}
    print(json.dumps(shape))


def _look_at(refused: Refused, tally: Tally) -> None:
    """A refusal by number names at least that many holders, each once."""
    told = refused.refusal
    if told.rule in ("cap", "ceiling") and (
        told.number is None or len(told.holders) < told.number or len(set(told.holders)) != len(told.holders)
    ):
        tally.wrong.append(f"{told.rule} {told.number} {told.holders}")


def _move() -> None:
    import select

    url = sys.argv[2]
    chance = random.Random("mover")
    store = SqlStore.open(url)
    while not select.select([sys.stdin], [], [], 0.02)[0]:
        if chance.random() < 0.2:
            store.pause("slice", "ben")
            store.resume("slice", "ben")
        caps = {"slice": chance.randint(0, 5), "fix": chance.randint(1, 3), "migration": chance.randint(1, 3)}
        build.set_caps(store, caps, ceiling=chance.choice([None, 3, 5, 7]))
    store.close()


if __name__ == "__main__":
    if sys.argv[1] == "move":
        _move()
    else:
        _attempt(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
