"""Undertakings of app.lone whose command was killed: their agents are ended, paid for on the record, and what they held is given back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from interlock.app.costs import taken
from interlock.core.agent.seen import Summary
from interlock.core.agent.usage import UNKNOWN
from interlock.core.job.events import LONE, Event, NewEvent
from interlock.core.problems import Refused
from interlock.ports.bundle import Ports

_CLOSED: Final = "closed"
"""A file in the record of an undertaking that came to its end, whatever that was."""


@contextmanager
def held(ports: Ports, name: str) -> Iterator[None]:
    """Hold an undertaking for as long as its command lives; what a fault leaves open, the next sweep closes."""
    with ports.records.lock(name, wait=0):
        folder = ports.records.job(name)
        try:
            yield
        finally:
            if not _unsettled(ports, name):
                _close(folder)


def found(ports: Ports) -> tuple[str, ...]:
    """The names of those that nobody holds any more and that did not come to an end."""
    opened = (name for name in ports.records.names(LONE) if not (ports.records.job(name) / _CLOSED).exists())
    return tuple(name for name in opened if not _is_held(ports, name))


def sweep(ports: Ports) -> None:
    """Close each of them: end its agent, put what that cost on the record, give back its tree and its ports."""
    for name in found(ports):
        with suppress(Refused), ports.records.lock(name, wait=0):
            for begun in _unsettled(ports, name):
                _settle(ports, begun)
            ports.blocks.release(name)
            _close(ports.records.job(name))
            ports.narrate(f"{name}: its command had been ended; what that left is put away.")


def settle(ports: Ports, begun: Event, outcome: str, seen: Summary) -> None:
    """Write down how a run ended and what it cost, once."""
    data = {"outcome": outcome, **taken(ports, begun.subject, begun.attempt, seen)}
    ports.store.record(
        NewEvent(
            subject=begun.subject,
            attempt=begun.attempt,
            step="settle",
            kind="attempt.ended",
            actor=begun.actor,
            data=data,
        )
    )


def end(ports: Ports, begun: Event) -> None:
    """End the agent of a run that was broken off, and settle the run when it is gone, since it may call until then."""
    folder = ports.records.attempt(begun.subject, begun.attempt)
    ports.runs.cancel(folder)
    seen = Summary()
    try:
        if (over := ports.runs.attach(folder)) is not None:
            use = str(begun.data.get("agent") or "")
            seen = ports.agents.read(use, folder, over, before=UNKNOWN, usd_before=None).seen
    finally:
        ports.agents.forget(folder)
        settle(ports, begun, "interrupted", seen)


def _close(folder: Path) -> None:
    """Mark it as over; one in which nothing was done leaves no record."""
    try:
        folder.rmdir()
    except OSError:
        (folder / _CLOSED).touch()


def _is_held(ports: Ports, name: str) -> bool:
    try:
        with ports.records.lock(name, wait=0):
            return False
    except Refused:
        return True


def _unsettled(ports: Ports, name: str) -> list[Event]:
    events = ports.store.events(name)
    settled = {each.attempt for each in events if each.step == "settle"}
    return [each for each in events if each.step == "start" and each.attempt not in settled]


def _settle(ports: Ports, begun: Event) -> None:
    end(ports, begun)
    tree, base, level = ports.records.job(begun.subject) / "tree", begun.data.get("base"), begun.data.get("level")
    if tree.exists() and base and level:
        with ports.workspaces.fresh(str(base), tree, level):
            pass  # one that a killed call left is replaced, and taken away
