"""Where interlock-task runs: the job's spool, its attempt and its tree, as the environment tells them."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interlock.host import files, spool

_CARD_MOST = 4 << 20


class Misuse(Exception):
    """The command was called wrongly, or outside a task."""


class NotDone(Exception):
    """The command was understood and could not be carried out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inside:
    """The inside of one task."""

    spool: Path
    attempt: int
    tree: Path

    @classmethod
    def of_environment(cls) -> Inside:
        """From INTERLOCK_SPOOL, INTERLOCK_ATTEMPT_NUMBER and INTERLOCK_TREE.  Raises Misuse outside a task."""
        where = os.environ.get("INTERLOCK_SPOOL")
        if not where:
            raise Misuse("It works inside a task only: INTERLOCK_SPOOL is not set.")
        if not Path(where).is_dir():
            raise Misuse(f"The spool {where} is not there.")
        number = os.environ.get("INTERLOCK_ATTEMPT_NUMBER", "0")
        tree = os.environ.get("INTERLOCK_TREE")
        return cls(
            spool=Path(where),
            attempt=int(number) if number.isdecimal() else 0,
            tree=Path(tree) if tree else Path.cwd(),
        )

    def card(self) -> dict[str, Any]:
        """What the harness wrote about the job.  Raises NotDone when it cannot be read."""
        try:
            shape = json.loads(files.read_plain(self.spool / spool.CARD, most=_CARD_MOST))
        except (OSError, ValueError) as fault:
            raise NotDone(f"The card of this job cannot be read: {fault}") from fault
        if not isinstance(shape, dict):
            raise NotDone("The card of this job cannot be read: it is not a mapping.")
        return shape

    def relative(self, path: str) -> str | None:
        """A path, given from the current folder, as the repository names it; None when it lies outside the tree."""
        whole = os.path.abspath(path)  # noqa: PTH100 - links stay as they are: the gates judge names, not targets
        inside = os.path.relpath(whole, self.tree)
        if inside == ".." or inside.startswith("../"):
            inside = os.path.relpath(whole, self.tree.resolve())
        return None if inside == ".." or inside.startswith("../") else inside
