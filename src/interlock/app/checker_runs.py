"""One checker of the project in a fresh tree of one change or of several together, behind the walls of checks; comparing is others' work."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from interlock.app.isolate import INHERIT
from interlock.app.rooms import Wanted, checking
from interlock.core.contract.card import Needs
from interlock.core.contract.policy import Diagnostics, Policy
from interlock.core.merge.differential import Diagnostic, stopped_early
from interlock.core.sandbox import AT
from interlock.ports.bundle import Ports
from interlock.ports.repository import TextConflict

NAME: Final = "diagnostics"
_NOT_THERE: Final = 126
"""From this exit code on a shell says that it could not start the command, or that a signal ended it."""


class Failed(Exception):
    """A checker gave nothing that could be compared; the text says why."""


class Apart(Failed):
    """The changes do not merge with each other, so that there is nothing to run a checker on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """How a checker ended in one tree: its exit code, what could be read, whether it gave up early, its last line."""

    code: int
    found: tuple[Diagnostic, ...]
    stopped: bool
    last: str

    @property
    def mute(self) -> bool:
        """Whether it failed and said nothing that can be read."""
        return self.code != 0 and not self.found

    def unreadable(self) -> Failed:
        return Failed(f"it ended with {self.code} and said nothing that can be read: {self.last}")


@dataclass(slots=True, kw_only=True)
class Runs:
    """Runs of checkers on a base; each tree is looked at once by each, and one that hangs is not started again."""

    ports: Ports
    policy: Policy
    base: str
    known: dict[tuple[str, str], Ran | Failed] = field(default_factory=dict)
    stuck: dict[str, Failed] = field(default_factory=dict)

    def on(self, checker: Diagnostics, heads: Sequence[str]) -> Ran:
        """What a checker says of the heads together on the base.  Raises Failed, and Apart where they do not merge."""
        merged = self.ports.repo.merge(self.base, heads, message="Looked at together\n")
        if isinstance(merged, TextConflict):
            raise Apart("the two do not merge")
        key = (checker.name, merged.tree)
        if key not in self.known:
            try:
                self.known[key] = self._run(checker, merged.commit, merged.tree)
            except Failed as fault:
                self.known[key] = fault
        known = self.known[key]
        if isinstance(known, Failed):
            raise known
        return known

    def _run(self, checker: Diagnostics, commit: str, tree: str) -> Ran:
        if checker.name in self.stuck:
            raise self.stuck[checker.name]
        ports = self.ports
        level = ports.workspaces.level_for(self.policy.isolation)
        record = ports.records.job(NAME)
        values = {INHERIT: " ".join(self.policy.environment)}
        wanted = Wanted(name=NAME, needs=Needs(), policy=self.policy, values=values, record=record)
        name = hashlib.sha256(f"{checker.name} {checker.run}".encode()).hexdigest()[:8]
        log = record / f"{name}-{tree[:12]}.log"
        with (
            ports.records.lock(f"{NAME}-tree", wait=None),
            ports.workspaces.fresh(commit, record / f"tree-{tree[:12]}", level) as room,
            checking(ports, wanted, room, commit, level) as done,
        ):
            ports.narrate(f"{checker.name} on {tree[:12]}")
            ended = ports.commands.run(
                checker.run, done.room, done.env, log, seconds=checker.timeout, redact=done.redact
            )
        if ended.timed_out:
            self.stuck[checker.name] = Failed(f"it did not end within {checker.timeout:g} s")
            raise self.stuck[checker.name]
        last = _last(ended.tail)
        if ended.code is None or ended.code >= _NOT_THERE:
            raise Failed(f"it could not be run (exit code {ended.code}): {last}")
        text = log.read_text(encoding="utf-8", errors="replace")
        found = ports.diagnosing.read(text, checker.reads, (str(room.path), AT))
        if found is None and ended.code == 0:
            raise Failed(f"it ended with 0 and said nothing that can be read: {last}")
        return Ran(code=ended.code, found=found or (), stopped=stopped_early(text), last=last)


def _last(tail: str) -> str:
    lines = tail.strip().splitlines()
    return lines[-1].strip() if lines else "no output"
