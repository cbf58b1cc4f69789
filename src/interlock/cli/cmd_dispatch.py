"""``interlock dispatch``: parse, call app.dispatch, render; the rules are in core."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from interlock.cli.actor import actor_option
from interlock.cli.render import Face, refusal_lines, verb
from interlock.core.job.ids import branch_of
from interlock.core.problems import Misuse

if TYPE_CHECKING:
    from interlock.ports.bundle import Ports


@click.command("dispatch")
@click.argument("slugs", nargs=-1, metavar="SLUG…")
@click.option(
    "--ready", is_flag=True, help="Every card that has no job, has not landed, and was not abandoned as it is."
)
@click.option("--adopt", metavar="BRANCH", help="Take over work that was started elsewhere on agent/SLUG.")
@actor_option
@verb
def command(face: Face, slugs: tuple[str, ...], ready: bool, adopt: str | None, actor: str) -> int:
    """Admit cards and give each its own tree, branch and ports.

    Refuses, with the number, the holders and what would change it: a card that is not ready; a class at its cap,
    paused or without one; the team's ceiling; a dependency that has not landed; an overlap with work in flight;
    a class that its paths contradict; a branch or folder in the way.
    """
    from interlock.app.dispatch import dispatch
    from interlock.wiring import open_ports

    if not slugs and not ready:
        raise Misuse("Name at least one card.", hint="interlock dispatch SLUG, or --ready for all.")
    if adopt and len(slugs) != 1:
        raise Misuse("--adopt takes one card.", hint="interlock dispatch SLUG --adopt agent/SLUG")
    if adopt and adopt != branch_of(slugs[0]):
        raise Misuse(
            f"--adopt takes {branch_of(slugs[0])}, the branch of the card.",
            hint=f"git push origin {adopt}:{branch_of(slugs[0])}",
        )
    ports = open_ports(narrate=face.say)
    names = _ready(face, ports, slugs) if ready else ()
    results = dispatch(ports, (*slugs, *names), actor, adopt=adopt)
    lines = []
    for result in results:
        lines += [f"note: {note}" for note in result.notes]
        if result.refusal:
            lines += [
                f"{result.slug}: {line}" if n == 0 else line for n, line in enumerate(refusal_lines(result.refusal))
            ]
        elif result.job:
            numbers = ", ".join(f"{name}={number}" for name, number in result.job.ports.items())
            lines.append(
                f"{result.slug}: admitted as {result.job.id}, slot {result.job.slot}, from {result.job.base[:12]}."
            )
            lines.append(f"  tree {result.job.workspace}  branch {result.job.branch}  {numbers}")
    shape = (
        results[0].as_json()
        if len(results) == 1 and not ready
        else {"results": [result.as_json() for result in results]}
    )
    admitted = [result for result in results if result.job]
    then = "interlock run" if admitted else None
    if not results:
        lines, then = (
            ["No card is due: each has a job, has landed, or is left out."],
            "interlock card new SLUG --class CLASS",
        )
    face.answer(shape, lines, then=then)
    return 0 if len(admitted) == len(results) else 1


def _ready(face: Face, ports: Ports, named: tuple[str, ...]) -> tuple[str, ...]:
    """Every card that is due besides those that are named; what is left out is said."""
    from interlock.app.base import fresh_view
    from interlock.app.dispatch import given_up, ready_slugs

    view = fresh_view(ports)
    for slug in given_up(ports, view.base.oid):
        if slug not in named:
            face.say(f"{slug} was abandoned and is left out: change the card, or name it: interlock dispatch {slug}")
    return tuple(slug for slug in ready_slugs(ports, view) if slug not in named)
