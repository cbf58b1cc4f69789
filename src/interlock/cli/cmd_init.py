"""``interlock init``: show what would be written, ask once, write; never commit and never overwrite."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from interlock.cli.render import Face, verb
from interlock.core.problems import Misuse


@click.command("init")
@click.option("--yes", is_flag=True, help="Ask nothing.")
@verb
def command(face: Face, yes: bool) -> int:
    """Propose interlock.yaml and tasks/caps.txt for this repository.

    Writes into the work tree only, keeps every file that is there, and commits nothing. To undo it, delete the
    files that it lists.
    """
    from interlock.app.init import detect, proposal
    from interlock.wiring import open_repo

    top = open_repo().top
    found = detect(frozenset(path.name for path in top.iterdir()))
    files = {path: text for path, text in proposal(found).items() if not (top / path).exists()}
    if not files:
        face.answer({"written": []}, ["interlock.yaml and tasks/caps.txt are there already."], then="interlock doctor")
        return 0
    for path, text in files.items():
        face.say(f"--- {path}\n{text}")
    if not (yes or face.json) and not _confirmed():
        face.answer({"written": []}, ["Nothing was written."])
        return 1
    for path, text in files.items():
        _write_new(top / path, text)
    names = " ".join(files)
    face.answer(
        {"written": list(files), "check": found.check},
        [f"wrote {path}" for path in files],
        then=f"git add {names} && git commit -m 'Add Interlock policy' && git push",
    )
    return 0


def _confirmed() -> bool:
    try:
        return click.confirm("Write these files?", default=True, err=True)
    except click.Abort:
        if sys.stdin.isatty():
            raise
        raise Misuse("There is nobody to ask, so nothing was written.", hint="interlock init --yes") from None


def _write_new(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("x", encoding="utf-8") as stream:
        stream.write(text)
