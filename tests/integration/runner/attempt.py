"""What the tests of the runner share: an attempt to start, and a control plane that can be killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from interlock.host.attempts import HostRuns
from interlock.ports.processes import Launch

CONTROL = """
import json, sys
from pathlib import Path
from interlock.host.attempts import HostRuns
from interlock.ports.processes import Launch
folder, argv, env, contain = json.loads(sys.argv[1])
end = HostRuns(contain=contain).run(Path(folder), Launch(argv=tuple(argv), env=env, cwd=Path("/")))
print(json.dumps([end.how, end.exit_code, end.tail]))
"""


def launch(script: str, cwd: Path, **env: str) -> Launch:
    """A shell script as an attempt."""
    return Launch(argv=("bash", "-c", script), env={"PATH": os.environ["PATH"], **env}, cwd=cwd)


def control(folder: Path, script: str, *, contain: bool) -> subprocess.Popen[str]:
    """Another process that runs the attempt of this folder."""
    order = json.dumps([str(folder), ["bash", "-c", script], {"PATH": os.environ["PATH"]}, contain])
    return subprocess.Popen([sys.executable, "-c", CONTROL, order], stdout=subprocess.PIPE, text=True)


def runner_pid(folder: Path) -> int | None:
    """The runner of the attempt, once it has said who it is."""
    try:
        return int(json.loads((folder / "started.json").read_text())["runner"]["pid"])
    except (OSError, ValueError, KeyError):
        return None


def ended(folder: Path, *, contain: bool, script: str = "true") -> tuple[str, int | None]:
    """What a fresh look at the folder says; it starts the script when nothing has been started."""
    end = HostRuns(contain=contain).run(folder, launch(script, folder))
    return end.how, end.exit_code


def tidy(folder: Path) -> None:
    """End every attempt below a folder that a failed test left at work."""
    for started in folder.rglob("started.json"):
        if not (started.parent / "exit.json").exists():
            HostRuns().cancel(started.parent)
