"""``interlock init``: show what would be written, ask once, write; never commit and never overwrite."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from interlock.cli.render import Face, verb
from interlock.core.problems import Misuse

if TYPE_CHECKING:
    from interlock.app.init import Proposal


@click.command("init")
@click.option("--yes", is_flag=True, help="Ask nothing.")
@click.option(
    "--forge",
    type=click.Choice(["auto", "github", "none"]),
    default="auto",
    help="For which forge: the scope workflow, and with --owner CODEOWNERS. auto: GitHub where the remote or the folder says so.",
)
@click.option("--owner", "owners", multiple=True, metavar="@NAME", help="Who owns the gates there; can be given again.")
@click.option(
    "--install", metavar="SPEC", help="What pip installs in the workflow, such as git+https://HOST/interlock@COMMIT."
)
@verb
def command(face: Face, yes: bool, forge: str, owners: tuple[str, ...], install: str | None) -> int:
    """Propose interlock.yaml and tasks/caps.txt for this repository, and for its forge what keeps a task from its judge.

    Writes into the work tree only, keeps every file that is there, and commits nothing. To undo it, delete the
    files that it lists.
    """
    from interlock.app.init import propose
    from interlock.wiring import contract_files, found_in_tasks, open_repo

    offer = propose(open_repo(), contract_files(), finds=found_in_tasks(), forge=forge, owners=owners, install=install)
    for path, text in offer.files.items():
        face.say(f"--- {path}\n{text}")
    if offer.files and not (yes or face.json) and not _confirmed():
        face.answer({"written": []}, ["Nothing was written."])
        return 1
    for path, text in offer.files.items():
        _write_new(offer.top / path, text)
    face.answer(_shape(offer), _lines(offer), then=_next(offer))
    return 0


def _shape(offer: Proposal) -> dict[str, object]:
    return {
        "written": list(offer.files),
        "check": offer.check,
        "forge": offer.forge,
        "add": dict(offer.add),
        "require": list(offer.require),
        "absent": offer.absent,
    }


def _lines(offer: Proposal) -> list[str]:
    lines = [f"wrote {path}" for path in offer.files] or ["interlock.yaml and tasks/caps.txt are there already."]
    for path, missing in offer.add.items():
        lines += [f"{path} is there already; add these lines at its end:", *(f"  {line}" for line in missing)]
    if offer.absent:
        lines.append(
            f"A sealed task finds no {offer.absent} on this machine, so {offer.check} would end with 127 there. Install it,"
            " name its folder in INTERLOCK_TOOLS or under sandbox.tools, or set another check."
        )
    return [*lines, *offer.require]


def _next(offer: Proposal) -> str:
    if not offer.files:
        return "interlock doctor"
    return f"git add {' '.join(offer.files)} && git commit -m 'Add Interlock policy' && git push"


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
