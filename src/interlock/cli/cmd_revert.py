"""``interlock revert``: take a landed change back through the train, and open the card for the test that was missing."""

from __future__ import annotations

import click

from interlock.cli.actor import actor_option, refuse_inside_a_task
from interlock.cli.render import Face, verb
from interlock.core.counting import count


@click.command("revert")
@click.argument("change")
@click.option("--why", required=True, help="What went wrong, for the record and the commit's message.")
@click.option("--no-card", is_flag=True, help="Write no card for the test that was missing.")
@actor_option
@verb
def command(face: Face, change: str, why: str, no_card: bool, actor: str) -> int:
    """Take a landed change back: CHANGE is its slug, its job, or the commit that it landed in.

    Makes one commit that undoes exactly this change, as a job of its class; its gates are the change's own paths and the
    full suite, and it lands through the train. Refuses a change that has not landed, one that later work was built on,
    and whatever keeps its class from starting. Writes a card for the missing test into your work tree, over nothing.
    """
    from interlock.app.revert import revert
    from interlock.wiring import open_ports

    refuse_inside_a_task("A revert")
    ports = open_ports(narrate=face.say)
    made = revert(ports, change, actor, why)
    lines = [f"{made.job.slug} takes {made.of.slug} back in {count(len(made.paths), 'file')}, as job {made.job.id}."]
    if made.begun:
        lines.append("It was begun before, and the reason that it was begun with stays on the record.")
    lines += [
        f"{slug} says that it depends on {' or '.join(made.off)}; "
        + (
            "it has landed, so the full suite shows whether it stands without it."
            if slug in made.landed
            else "it waits once the revert has landed."
        )
        for slug in made.dependants
    ]
    shape = made.as_json()
    if not no_card:
        path, text = made.card
        target = ports.repo.at_hand / path
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("x", encoding="utf-8") as stream:
                stream.write(text)
            lines.append(f"wrote {path}: fill in its blanks, commit it, and dispatch it.")
        except FileExistsError:
            lines.append(f"{path} is there already.")
    then = "interlock run" if made.job.waiting is None else f"interlock resume {made.job.slug}"
    face.answer(shape, lines, then=then)
    return 0
