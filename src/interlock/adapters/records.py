"""The files of the job records under the common Git directory: folders, spool messages and named locks; no decision lives here."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from interlock.core.agent.usage import dollars, from_json, whole
from interlock.core.problems import Refused, refused
from interlock.host import files, locks, spool
from interlock.host.sandbox import identity
from interlock.host.text import plain
from interlock.ports.agents import Call, Ledger, Message

_DECISIONS: Final = (("network", "network.jsonl"), ("gate", "gate.jsonl"))
_CALLS: Final = "models.jsonl"
_TOLD: Final = 20
_READ_MOST: Final = 4 << 20
"""Bytes of one file of decisions that are looked at, from its end: what such a file holds at most."""

_TEXT_MOST: Final = 300
_LEDGER_MOST: Final = 4096
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


class JobRecords:
    """Records below one folder (ports.Records): ``jobs/<job>/`` with ``attempts/<n>/`` and ``spool/``, and ``locks/``.

    Folders are made when they are asked for.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def job(self, job: str) -> Path:
        """The folder of a job, or of anything else that keeps a record under a name.  Raises ValueError."""
        return _made(self._folder / "jobs" / _checked(job))

    def names(self, prefix: str) -> tuple[str, ...]:
        return tuple(sorted(each.name for each in (self._folder / "jobs").glob(f"{_checked(prefix)}*")))

    def attempt(self, job: str, number: int) -> Path:
        return _made(self.job(job) / "attempts" / str(int(number)))

    def spool(self, job: str) -> Path:
        return self.shared(job, "spool")

    def shared(self, job: str, name: str) -> Path:
        """A folder of a job's record that what runs in the task may write."""
        return self.granted(self.job(job) / _checked(name))

    def granted(self, folder: Path) -> Path:
        """Let what runs in a task write to a folder of ours, also when that is another user's process."""
        folder.mkdir(parents=True, exist_ok=True)
        identity.own(folder, identity.default_user())
        return folder

    def messages(self, job: str, attempt: int) -> tuple[Message, ...]:
        """What the agent of an attempt said, in order; whatever else lies in the spool is left out, without an error."""
        return tuple(Message(**message) for message in spool.read(self.spool(job), attempt))

    def calls(self, job: str, attempt: int) -> tuple[Call, ...]:
        """Calls of models that an attempt made through its gateway, oldest first; a line that is none is left out.

        Of more than the two files of its record hold (some 25 000 calls), the oldest are gone; the ledger counts all.
        """
        folder = self.attempt(job, attempt)
        lines = [line for file in (f"{_CALLS}.1", _CALLS) for line in _lines(folder / file)]
        return tuple(call for line in lines if (call := _call(line)) is not None)

    def ledgers(self) -> Path:
        """The folder in which the running totals of all attempts of this repository are."""
        return _made(self._folder / "ledgers")

    def ledger(self, job: str, attempt: int) -> Ledger | None:
        """What an attempt spent by its gateway's own sum, which no line is lost of; None where there is none."""
        name = f"{_checked(job)}-{int(attempt)}.json"
        for path in self.ledgers().glob(f"*/*/{name}"):
            with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
                said = json.loads(path.read_bytes()[:_LEDGER_MOST])
                tokens, usd = whole(said["tokens"]), dollars(said["usd"])
                calls, unpriced = whole(said["calls"]), whole(said["unpriced"])
                if tokens is not None and usd is not None and calls is not None and unpriced is not None:
                    return {"tokens": tokens, "usd": usd, "calls": calls, "unpriced": unpriced}
        return None

    def decisions(self, job: str) -> tuple[Mapping[str, Any], ...]:
        """The last refusals of network and gate in a job's attempts, oldest first: kind, at, what, why.

        Host and ref are as the task named them, made fit to be shown; a line that is none is left out.
        """
        attempts = self.job(job) / "attempts"
        numbers = sorted((int(each.name) for each in attempts.glob("*") if each.name.isdecimal()), reverse=True)
        found: list[dict[str, Any]] = []
        for number in numbers:
            found += _refusals(attempts / str(number))
            if len(found) >= _TOLD:
                break
        return tuple(sorted(found, key=lambda each: each["at"])[-_TOLD:])

    @contextmanager
    def lock(self, name: str, *, wait: float | None) -> Iterator[None]:
        """Hold a named lock of this repository; waits ``wait`` seconds (None: as long as it takes).  Raises Refused."""
        path = _made(self._folder / "locks") / f"{_checked(name)}.lock"
        with locks.held(path, wait=wait, refuse=lambda held: _locked(name, held)):
            yield


def _lines(file: Path) -> list[bytes]:
    return files.tail(file, 2 * _READ_MOST).splitlines()


def _call(line: bytes) -> Call | None:
    try:
        said = json.loads(line)
        if not said["metered"] and not said["refused"]:
            return None
        return Call(
            at=float(said["at"]),
            upstream=_shown(said["upstream"]),
            model=_shown(said["model"]),
            usage=from_json(said["usage"]),
            seconds=float(said["seconds"]),
            status=whole(said["status"]) or 0,
            refused=_shown(said["refused"]),
            estimated=said["estimated"] is True,
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _refusals(folder: Path) -> list[dict[str, Any]]:
    """The last refusals of each kind in the folder of one attempt."""
    found = []
    for kind, name in _DECISIONS:
        lines: list[bytes] = []
        for file in (folder / name, folder / f"{name}.1"):  # the newer one first
            if len(lines) < _TOLD:
                told = [line for line in files.tail(file, _READ_MOST).splitlines() if b'"allowed": false' in line]
                lines = [*told[-_TOLD:], *lines]
        found += [each for line in lines if (each := _refusal(kind, line)) is not None][-_TOLD:]
    return found


def _refusal(kind: str, line: bytes) -> dict[str, Any] | None:
    try:
        said = json.loads(line)
        if said["allowed"] is not False:
            return None
        ref = said["ref"] or "a ref" if kind == "gate" else ""
        what = f"push to {ref}" if kind == "gate" else f"{said['host']}:{said['port']}"
        return {"kind": kind, "at": float(said["at"]), "what": _shown(what), "why": _shown(said["why"])}
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _shown(text: object) -> str:
    return " ".join(plain(str(text)).split())[:_TEXT_MOST]


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} cannot be the name of a record.")
    return name


def _locked(name: str, held: locks.LockHeld) -> Refused:
    who = f"process {held.holder}" if held.holder else "another process"
    return refused(
        rule="locked",
        what=f"{name} is being worked on by {who}.",
        why=f"The lock {held.path} is held.",
        would_change=f"Wait until {who} has ended, then call again; a lock ends with its process.",
        number=held.holder,
        holders=(who,),
    )
