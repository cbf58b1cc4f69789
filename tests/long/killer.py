"""Runs the interlock command and kills itself with SIGKILL at the n-th recorded step boundary; counts them otherwise.

Boundaries are: before and after each write of the store, and before and after each step of the engine.
Takes KILL_AT (0: never) and COUNT_FILE from the environment, and the command's words as arguments.  With KILL_BY, a shell command,
that is run at the boundary instead, and the command goes on.
"""

import os
import signal
import subprocess
import sys
import threading

from interlock.adapters.store import SqlStore
from interlock.cli.main import main
from interlock.engine.start import DbosEngine

AT = int(os.environ["KILL_AT"])
LOCK = threading.Lock()
PASSED = [0]


def boundary(name: str) -> None:
    with LOCK:
        PASSED[0] += 1
        if count := os.environ.get("COUNT_FILE"):
            with open(count, "a") as stream:
                stream.write(f"{name}\n")
        if PASSED[0] != AT:
            return
        if command := os.environ.get("KILL_BY"):
            subprocess.run(["sh", "-c", command], check=True, capture_output=True)
        else:
            os.kill(os.getpid(), signal.SIGKILL)


def between(owner: type, name: str) -> None:
    original = getattr(owner, name)

    def wrapped(self, *args, **kwargs):
        boundary(f"before {name}")
        result = original(self, *args, **kwargs)
        boundary(f"after {name}")
        return result

    setattr(owner, name, wrapped)


for method in ("admit", "record", "add_evidence", "cache_run", "land"):
    between(SqlStore, method)
between(DbosEngine, "_step")
sys.argv = ["interlock", *sys.argv[1:]]
main()
