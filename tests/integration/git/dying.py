"""A process that does one thing to a repository and kills itself at its n-th step; run by test_heal.

Arguments: repository, verb, number of the step, before|after|during|after worktree.
"""

from __future__ import annotations

import atexit
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from interlock.adapters.git.repo import GitRepo
from interlock.adapters.git.worktrees import Worktrees
from interlock.host import commands
from interlock.ports.isolation import Place
from interlock.ports.repository import Author

REF = "refs/interlock/trash/t/job1-7"


MOVES = {"subprocess.Popen", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "shutil.rmtree"}
STEPS = "STEPS_FILE"
"""The variable that says where a process that is not to die (number 0) writes the names of its steps, one a line."""


def arm(number: int, when: str) -> None:
    """Let the process die at its n-th step.

    ``before``: before it starts a process, or makes, writes, renames or removes a file for the n-th time;
    ``after`` and ``during``: when its n-th git call has ended, or is still running.  ``after worktree``: when the
    n-th call that names a worktree has ended.
    """
    if when == "before":
        _arm_steps(number)
    else:
        _arm_calls(number, when)


def _arm_steps(number: int) -> None:
    left = number
    names = _Names()

    def watch(event: str, args: tuple[Any, ...]) -> None:
        nonlocal left
        writes = event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        if event in MOVES or writes:
            left -= 1
            names.add(verb_of(args[1]) if event == "subprocess.Popen" else step_of(event, args[0]))
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)


class _Names:
    """The names of the steps that were taken, written down when the process ends by itself, if that is asked for."""

    def __init__(self) -> None:
        self._names: list[str] | None = []
        self._file = os.environ.get(STEPS)
        if self._file:
            atexit.register(self._write, self._file)

    def add(self, name: str) -> None:
        if self._file and self._names is not None:
            self._names.append(name)

    def _write(self, file: str) -> None:
        names, self._names = self._names or [], None
        Path(file).write_text("".join(f"{name}\n" for name in names))


def verb_of(argv: Sequence[Any]) -> str:
    """What kind of process this is: the program, and the verb of a git call."""
    words = [os.fsdecode(word) for word in argv]
    program = os.path.basename(words[0])
    rest = iter(words[1:])
    verb = next(
        (word for word in rest if not (word.startswith("-") and (word not in {"-c", "-C"} or next(rest, "")))), ""
    )
    return f"{program} {verb}" if program == "git" else program


def step_of(event: str, path: object) -> str:
    """What kind of change this is; a renaming, with which something comes to be, is one for each file."""
    if event != "os.rename" or not isinstance(path, str | bytes):
        return event
    return f"{event} " + re.sub(r"[0-9a-f]{6,}|\d+", "*", "/".join(os.fsdecode(path).split("/")[-2:]))


def _arm_calls(number: int, when: str) -> None:
    real = commands.run
    left = number
    names = _Names()

    def run(argv: Sequence[str], **more: Any) -> commands.Finished:
        nonlocal left
        left -= when != "after worktree" or "worktree" in argv
        names.add(verb_of(argv))
        if left == 0 and when == "during":
            subprocess.Popen(
                argv,
                env=dict(more["env"]),
                cwd=more.get("cwd"),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                pass_fds=more.get("pass_fds", ()),
            )
            os.kill(os.getpid(), signal.SIGKILL)
        done = real(argv, **more)
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return done

    setattr(commands, "run", run)  # noqa: B010 - plumbing looks the function up in its module


def do(top: Path, verb: str) -> None:
    """The verb itself, on the task t of job1."""
    prepared(top, verb)()


def prepared(top: Path, verb: str) -> Callable[[], object]:
    """Everything that is looked up beforehand, so that only the verb's own calls are counted."""
    repo = GitRepo.open(top)
    if verb == "mirror":
        return repo.refresh
    trees = Worktrees(repo)
    base = repo.last_base()
    place = Place(path=trees.path_for("t", "job1"), branch="agent/t", base=base.oid, job="job1")
    author = Author(name="a", email="a@b")
    kept = "refs/interlock/kept/j"
    match verb:
        case "create":
            return lambda: trees.create(place, "t")
        case "snapshot" | "remove":
            return partial(getattr(trees, verb), place, REF)
        case "restore":
            return lambda: trees.restore(REF, place)
        case "commit":
            return lambda: repo.commit_work(
                place, parent=place.base, message="work", author=author, sign=False, keep=f"{kept}/1"
            )
        case "rebase":
            head, onto = (
                repo.found.git().text("rev-parse", f"refs/interlock/test/{name}") for name in ("head", "onto")
            )
            return lambda: repo.rebase_place(place, head=head, onto=onto, keep=f"{kept}/2")
        case _:
            raise SystemExit(f"unknown verb {verb}")


def main() -> None:
    top, verb, number, when = sys.argv[1:]
    call = prepared(Path(top), verb)
    arm(int(number), when)
    call()


if __name__ == "__main__":
    main()
