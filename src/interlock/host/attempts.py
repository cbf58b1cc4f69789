"""Attempts under their runner: start one, attach to it, read how it ended, heal what a killed runner left; running is the runner's.

The whole state is in the folder: the lock held means that it runs, exit.json that it ended, started.json without
either that its runner was killed.
"""

from __future__ import annotations

import os
import secrets
import time
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, get_args

from interlock.core.agent.gateway import reached_from
from interlock.core.agent.outcome import How
from interlock.host import locks, logs, nursery, tree
from interlock.host.folder import Folder, Spec
from interlock.host.processes import MARKER, Cap
from interlock.host.sandbox import identity
from interlock.host.text import last_lines
from interlock.ports.processes import End, Launch

_FIRST_WAIT: Final = 0.02
_LONGEST_WAIT: Final = 0.2
_TURN_SECONDS: Final = 90.0
_STARTS: Final = 5
_HOWS: Final = frozenset(get_args(How))


class HostRuns:
    """Attempts of this machine (ports.Runs).

    ``contain`` False does without a pid namespace even where one can be had.
    """

    def __init__(self, *, contain: bool = True) -> None:
        self._contain = contain

    def run(self, folder: Path, launch: Launch) -> End:
        """Start the attempt of this folder, or attach to it, or read how it ended; blocks to its end.

        Safe to call from several processes at once: one run comes of it.  What was written down to be started goes
        before ``launch``.  Raises OSError when the folder cannot be used, LockHeld when another caller hangs for a
        minute and a half, Refused (root) when an agent would run as root without a sandbox.  Of a launch that is
        ``tied`` there is one caller at a time.
        """
        folder.mkdir(parents=True, exist_ok=True)
        place = Folder(folder)
        with locks.held(place.starter, wait=_TURN_SECONDS) if launch.tied else nullcontext():
            end = self._follow(place, _spec(launch, contain=self._contain))
        assert end is not None  # noqa: S101 -- there is an order
        return end

    def attach(self, folder: Path) -> End | None:
        """How the attempt of this folder ended, waiting for it; None when it was never so much as written down.

        One whose start was killed is started as it was written down.  Raises as ``run`` does.
        """
        return self._follow(Folder(folder), None) if folder.is_dir() else None

    def _follow(self, place: Folder, order: Spec | None) -> End | None:
        wait = _FIRST_WAIT
        starts = 0
        while True:
            with locks.held(place.turn, wait=_TURN_SECONDS):
                end = self._look(place)
                if end is None and not locks.is_held(place.lock):
                    if not _is_ordered(place, order):
                        return None
                    starts += 1
                    end = self._start(place, starts)
            if end is not None:
                return end
            time.sleep(wait)
            while place.exit_is_due() and locks.is_held(place.lock):
                time.sleep(_LONGEST_WAIT)  # hundreds may be waited for, and this look costs next to nothing
            wait = min(wait * 1.3, _LONGEST_WAIT)

    def cancel(self, folder: Path) -> None:
        """Ask for the attempt's end; its runner sees it within a fifth of a second, also one that starts later."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "cancel").touch()

    def alive(self, folder: Path) -> bool:
        """Whether a runner holds this attempt now and has not said yet how it ended."""
        place = Folder(folder)
        if place.exit() is not None or not place.lock.exists():
            return False
        with locks.held(place.turn, wait=_TURN_SECONDS):
            return locks.is_held(place.lock)

    def _look(self, place: Folder) -> End | None:
        """How it ended, if it did; a killed runner's attempt is cleaned up and ended here."""
        if (shape := place.exit()) is not None:
            return _heard(place, _end(shape))
        if not place.was_started() or locks.is_held(place.lock):
            return None
        return self._interrupt(place)

    def _interrupt(self, place: Folder) -> End:
        leftovers = self._sweep(place)
        for log in (place.output, place.errors):
            if log.exists():
                logs.seal(log, Cap())
        place.write_exit(
            how="interrupted",
            tail=place.last_lines(),
            leftovers=leftovers,
            leaked=place.leaked(),
            message="Its runner was killed before it could write how the attempt ended.",
        )
        return _heard(place, _end(place.exit() or {"how": "interrupted"}))

    def _sweep(self, place: Folder) -> tuple[str, ...]:
        """End what a killed runner left: by the run's marker, and only what is younger than the runner and of this boot."""
        runner = place.runner()
        here = tree.me()
        if runner is None or runner.boot != here.boot:
            return ()
        try:
            marker = place.spec().env[MARKER]
        except (OSError, ValueError, KeyError, TypeError):
            return ()
        return tree.sweep(f"{MARKER}={marker}", since=runner.start)

    def _start(self, place: Folder, starts: int) -> End | None:
        """Have a runner carry out what is written down."""
        spec = place.spec()
        fault = _fault(spec)
        if starts > _STARTS:
            fault = f"Its runner was ended {_STARTS} times before it began."
        if fault:
            place.write_exit(how="failed-to-start", message=fault)
            return self._look(place)
        contain = spec.contain and spec.sandbox is None
        status = nursery.start(place.path, log=place.runner_log, imports=_needed(spec), contain=contain)
        if status != 0 and not place.was_started():
            tail = last_lines(place.runner_log)
            place.write_exit(how="failed-to-start", tail=tail, message=f"Its runner ended with {status}.")
        return self._look(place)


def _is_ordered(place: Folder, order: Spec | None) -> bool:
    """Whether it is written down what to run: before, and then that stays, or else now."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        place.spec()
        return True
    if order is None:
        return False
    if order.sandbox is None:
        identity.refuse_root()
    place.write_spec(order)
    return True


def _needed(spec: Spec) -> list[str]:
    """What the runner of such an order imports beside itself."""
    walls = spec.sandbox
    serves = walls is not None and (walls.hosts or walls.gate or walls.outward)
    found = {"interlock.host.models": spec.gateway, "interlock.host.network.porter": serves}
    return [name for name, needed in found.items() if needed]


def _fault(spec: Spec) -> str | None:
    """Why an agent must not be started: its folder is gone, or a link leads elsewhere (case AI-02)."""
    cwd = Path(spec.cwd)
    if cwd.is_dir() and not cwd.is_symlink():
        return None
    state = "is not there" if not os.path.lexists(cwd) else "is no folder"
    return f"{cwd}, the folder to work in, {state}; the agent was not started."


def _heard(place: Folder, end: End) -> End:
    """An end from outside that a person had asked for, or asks for before it was acted on, is that person's stop."""
    if end.how != "interrupted" or not place.cancel.exists():
        return end
    return replace(end, how="cancelled", message=f"A person asked for its end. {end.message}".strip())


def _spec(launch: Launch, *, contain: bool) -> Spec:
    number = launch.env.get("INTERLOCK_ATTEMPT_NUMBER", "0")
    return Spec(
        argv=launch.argv,
        env={**launch.env, MARKER: secrets.token_hex(16)},
        cwd=str(launch.cwd),
        stdin=launch.stdin,
        wall=launch.wall,
        idle=launch.idle,
        startup=launch.startup,
        ends=launch.ends,
        after_end=launch.after_end,
        spool=_spool(launch),
        attempt=int(number) if number.isdigit() else 0,
        contain=contain,
        sandbox=launch.sandbox,
        redact=launch.redact,
        split=launch.split,
        watched=tuple(map(str, launch.watched)),
        tied=launch.tied,
        gateway=launch.gateway,
    )


def _spool(launch: Launch) -> str | None:
    """The spool as this machine names it: in a sandbox the environment says how it is called inside."""
    named = launch.env.get("INTERLOCK_SPOOL")
    binds = launch.sandbox.binds if launch.sandbox is not None else ()
    return next((bind.source for bind in binds if bind.target == named), named)


def _end(shape: dict[str, Any]) -> End:
    """The record as a value; one that was damaged counts as interrupted."""
    how: Any = shape.get("how")
    code = shape.get("exit_code")
    return End(
        how=how if how in _HOWS else "interrupted",
        exit_code=code if isinstance(code, int) else None,
        seconds=float(shape.get("seconds") or 0.0),
        tail=str(shape.get("tail") or ""),
        leftovers=tuple(str(each) for each in shape.get("leftovers") or ()),
        namespace=bool(shape.get("namespace")),
        message=str(shape.get("message") or ""),
        budget=str(shape.get("budget") or ""),
        reached=reached_from(shape.get("reached")),
        leaked=tuple(str(each) for each in shape.get("leaked") or ()),
    )
