"""The demo verb: makes its folder, plays the story and ends with one object; what happens in it is interlock.demo's work."""

from __future__ import annotations

import importlib.util
import json
import shutil
import tempfile
import time
from pathlib import Path

import click

from interlock.cli.render import Face, verb
from interlock.core.problems import Misuse
from interlock.demo.stage import Stage
from interlock.demo.story import Result, tell


@click.command(
    "demo",
    short_help="The whole life of tasks, refusals included, in a temporary repository.",
    epilog="Refuses a PATH that is not empty, and a Python without pytest.",
)
@click.option(
    "--dir", "path", type=click.Path(path_type=Path), help="Play in PATH, and leave remote.git and repo there."
)
@click.option("--keep", is_flag=True, help="Leave the temporary folder, to look around in it.")
@verb
def command(face: Face, path: Path | None, keep: bool) -> int:
    """Show the whole life of eleven tasks in a repository of its own, with a remote, a test suite and scripted agents.

    It takes about a minute, no key and no network.  Each command that runs is told on standard error; the end
    says what landed, what was refused by which rule, and that the default branch was never red.
    """
    if importlib.util.find_spec("pytest") is None:
        raise Misuse(
            "The demo's test suite needs pytest, which is not installed.", hint="pip install 'interlock[demo]'"
        )
    if path is not None and path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise Misuse(f"{path} is not an empty folder.", hint="Name a folder that does not exist yet.")
    if path is None:
        folder = Path(tempfile.mkdtemp(prefix="interlock-demo-"))
    else:
        folder = path.resolve()
        folder.mkdir(parents=True, exist_ok=True)
    return _play(face, folder, keep=keep or path is not None)


def _play(face: Face, folder: Path, *, keep: bool) -> int:
    started = time.monotonic()
    try:
        result = tell(Stage(folder, face.say))
    except KeyboardInterrupt:
        _forget(folder, keep=keep)
        raise
    result.seconds = time.monotonic() - started
    if face.json:
        click.echo(json.dumps(result.as_json()))
    else:
        face.answer(result.as_json(), _lines(result, folder, keep=keep))
    _forget(folder, keep=keep)
    return 0 if result.main_green and not result.over_cap else 1


def _forget(folder: Path, *, keep: bool) -> None:
    """Take a temporary folder away; a demo that broke leaves it, to be looked into."""
    if not keep:
        shutil.rmtree(folder, ignore_errors=True)


def _lines(result: Result, folder: Path, *, keep: bool) -> list[str]:
    colour = "never red" if result.main_green else "RED"
    record = (
        f"the record is in {folder / 'repo'}: interlock show gift-wrap"
        if keep
        else "the folder is gone; --keep leaves it."
    )
    return [
        "",
        f"landed:  {', '.join(result.landed)}",
        *(f"refused: {slug} ({rule})" for slug, rule in result.refused.items()),
        f"the default branch was {colour}; jobs above a cap: {result.over_cap}; {result.seconds:.0f} s",
        record,
    ]
