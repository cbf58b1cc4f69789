"""The folder of a sealed task that people find beside the repository: its mark, its note, its name; the tree is making's."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from interlock.adapters.git.sealed.layout import NOTE, Task
from interlock.adapters.git.trees import remove_folder
from interlock.core.problems import Refused, refused


def beside(path: Path, job: str) -> Path:
    """Where a folder is filled before it gets its name: beside it, so that a rename suffices."""
    return path.with_name(f".{path.name}-{job}.making")


def mark(folder: Path) -> Path:
    """The file that says whose a folder of plain files is, for as long as it is being made."""
    return folder / ".git" / "interlock-job"


def is_ours(path: Path, job: str) -> bool:
    """Whether a folder was made by a call for this job that did not come to its end."""
    with suppress(OSError):
        if (path / NOTE).is_file() and not (path / ".git").exists():
            return f"job {job}\n" in (path / NOTE).read_text(errors="replace")
        return mark(path).read_text(errors="replace") == job
    return False


def show(task: Task) -> None:
    """The folder that people find, with a note that says how to look at the tree."""
    path = Path(task.path)
    made = beside(path, task.job)
    remove_folder(made)
    made.mkdir(parents=True)
    (made / NOTE).write_text(note(task), encoding="utf-8")
    name(made, path)


def name(folder: Path, path: Path) -> None:
    """Give a finished folder its name.  Raises Refused (name-taken) when somebody took it meanwhile."""
    try:
        folder.rename(path)
    except OSError as fault:
        raise in_the_way(path) from fault


def in_the_way(path: Path) -> Refused:
    """The refusal for a folder that somebody else made."""
    return refused(
        "name-taken",
        f"The folder {path} exists and is not of this job.",
        "What is in it is kept nowhere else, so it is not written over.",
        "Move it away, then run the command again.",
    )


def note(task: Task) -> str:
    """What stands in the folder of a task whose tree is an overlay: how to look at it."""
    return (
        f"# {task.slug}\n\n"
        f"The files of this task are layers that come together only inside its sandbox, so they are not here.\n\n"
        f"- Look inside, with a shell: interlock shell {task.slug}\n"
        f"- Copy them to a folder, for an editor: interlock open {task.slug}\n\n"
        f"Branch {task.branch}, job {task.job}\n"
    )
