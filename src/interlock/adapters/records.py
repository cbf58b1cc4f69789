"""The files of the job records under the common Git directory: folders, spool messages and named locks; no decision lives here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from interlock.core.problems import Refusal, Refused
from interlock.host import locks, spool
from interlock.host.sandbox import identity
from interlock.ports import Message

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

    @contextmanager
    def lock(self, name: str, *, wait: float | None) -> Iterator[None]:
        """Hold a named lock of this repository; waits ``wait`` seconds (None: as long as it takes).  Raises Refused."""
        path = _made(self._folder / "locks") / f"{_checked(name)}.lock"
        with locks.held(path, wait=wait, refuse=lambda held: _locked(name, held)):
            yield


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} cannot be the name of a record.")
    return name


def _locked(name: str, held: locks.LockHeld) -> Refused:
    who = f"process {held.holder}" if held.holder else "another process"
    return Refused(
        Refusal(
            rule="locked",
            what=f"{name} is being worked on by {who}.",
            why=f"The lock {held.path} is held.",
            would_change=f"Wait until {who} has ended, then call again; a lock ends with its process.",
            number=held.holder,
            holders=(who,),
        )
    )
