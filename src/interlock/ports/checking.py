"""Checks of a commit, and what test code says by its syntax."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from interlock.core.contract.card import Check
from interlock.core.job.evidence import CheckRun
from interlock.ports.isolation import Room

if TYPE_CHECKING:  # every verb imports the ports, and few need what these are of
    from interlock.core.gate.test_code import TestFile


class TestSyntax(Protocol):
    """Tests of files as their syntax shows them."""

    def read(self, files: Mapping[str, bytes], *, head: bool) -> Mapping[str, TestFile]:
        """The tests of those of the files that can be read, with calls between them resolved; ``head`` is the side."""
        ...


class Checks(Protocol):
    """Runs one check in a tree and reads its report."""

    def run(
        self,
        check: Check,
        room: Room,
        env: Mapping[str, str],
        log: Path,
        redact: tuple[str, ...] = (),
        *,
        ask: Callable[[], str | None] = lambda: None,
    ) -> CheckRun:
        """Run it once; ``ask`` is called about seven times a second, and a word from it ends the check and all it started."""
        ...

    def picture_fault(self, data: bytes) -> str:
        """Why bytes are no picture that shows something; empty when they are one, or pictures cannot be read here."""
        ...
