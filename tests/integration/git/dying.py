"""A process that does one thing to a repository and kills itself at its n-th step; run by test_heal.

Arguments: repository, verb, number of the step, before|after|during|after worktree.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from interlock.adapters.git.repo import GitRepo
from interlock.adapters.git.worktrees import Worktrees
from interlock.host import commands
from interlock.ports import Author, Place

REF = "refs/interlock/trash/t/job1-7"


MOVES = {"subprocess.Popen", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "shutil.rmtree"}


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

    def watch(event: str, args: tuple[Any, ...]) -> None:
        nonlocal left
        writes = event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        if event in MOVES or writes:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)


def _arm_calls(number: int, when: str) -> None:
    real = commands.run
    left = number

    def run(argv: Sequence[str], **more: Any) -> commands.Finished:
        nonlocal left
        left -= when != "after worktree" or "worktree" in argv
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
    trees = Worktrees(repo)
    base = repo.last_base()
    place = Place(path=trees.path_for("t", "job1"), branch="agent/t", base=base.oid, job="job1")
    author = Author(name="a", email="a@b")
    kept = "refs/interlock/kept/j"
    match verb:
        case "create":
            return lambda: trees.create(place, "t")
        case "snapshot":
            return lambda: trees.snapshot(place, REF)
        case "remove":
            return lambda: trees.remove(place, REF)
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
