"""A process that runs what is due and kills itself at the n-th place of a name where evidence is written; run by test_audit_killed.

Arguments: repository, name, number.  Names: ``row`` (the row is written, its event is not), ``event`` (both, and the transaction
is open), ``committed`` (the history has them, the mirror no checkpoint), ``blob`` (the checkpoint is an object, and no ref has it),
``kept`` (it is kept, and nobody was told).
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from interlock.adapters.git import anchor
from interlock.adapters.git.plumbing import GitDir
from interlock.adapters.git.repo import GitRepo
from interlock.adapters.store import events, evidence
from interlock.app.supervise import supervise
from interlock.testing.engine import DirectEngine
from interlock.wiring import open_ports

NAME, LEFT = "", [0]


def at(name: str) -> None:
    if name == NAME:
        LEFT[0] -= 1
        if LEFT[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def around(owner: Any, name: str, before: str = "", after: str = "", when: Any = lambda *_: True) -> None:
    original = getattr(owner, name)

    def wrapped(*args: Any, **named: Any) -> Any:
        counts = when(*args)
        if before and counts:
            at(before)
        result = original(*args, **named)
        if after and counts:
            at(after)
        return result

    setattr(owner, name, wrapped)


def main() -> None:
    global NAME
    top, NAME, number = sys.argv[1:]
    LEFT[0] = int(number)
    around(events, "append", "row", "event", lambda _, new, *__: new.kind in (evidence.ADDED, "train.landed"))
    around(GitRepo, "keep_checkpoint", "committed", "kept")
    around(GitDir, "run", "blob", when=lambda _, *words: words[0] == "update-ref" and anchor.REFS in words[-2])
    ports = open_ports(Path(top))
    supervise(ports, DirectEngine(ports))
    ports.store.close()


if __name__ == "__main__":
    main()
