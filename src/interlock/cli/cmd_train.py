"""``interlock train``: show, hold, add and run the train."""

from __future__ import annotations

import click

from interlock.cli.actor import actor_option
from interlock.cli.groups import ThingGroup
from interlock.cli.render import Face, since, verb


@click.group("train", cls=ThingGroup)
def command() -> None:
    """Changes that are tested together and land as exactly the tree that was tested."""


@command.command("show")
@verb
def show(face: Face) -> int:
    """Show the open trains, who is tested with whom and why each waits, flaky tests, and what has landed."""
    from interlock.app.asking import sign_off_command as sign_off
    from interlock.app.train_show import trains_json
    from interlock.wiring import open_ports

    shape = trains_json(open_ports())
    lines = []
    for train in shape["trains"]:
        ahead = f", window {train['window']}" if shape["slots"] > 1 else ""
        lines.append(f"train {train['number']}: {train['phase']}{ahead}")
        for member in (each for each in shape["members"] if each["train"] == train["number"]):
            lines.append(
                f"  {member['slug']} with {', '.join(member['tested_with']) or 'nothing else'}: {member['why']}"
            )
            lines += [f"    to look at: {each}" for each in member["look_at"]]
        if train["waits_for"]:
            lines.append(f"  waits for the sign-off of {', '.join(train['waits_for'])}")
    inside = {member["slug"] for member in shape["members"]}
    lines += [f"{each['slug']}: {each['why']}" for each in shape["waiting"] if each["slug"] not in inside]
    lines += [
        f"flaky: {', '.join(flake['tests'])}: red and green on the same tree ({', '.join(flake['members'])})"
        for flake in shape["flakes"]
    ]
    lines += [f"landed {row['slug']} in {row['commit'][:12]} {since(row['at'])} ago" for row in shape["landed"]]
    lines += [f"base-rewound: {each['what']}" for each in shape["rewound"]]
    if not lines:
        lines.append("No change is in a train, and none has landed.")
    lines.append(f"suite runs: {shape['runs']}")
    face.answer(shape, lines, then=sign_off(shape["waits_for"][0]) if shape["waits_for"] else None)
    return 0


@command.command("hold")
@click.argument("slug")
@click.option("--reason", required=True, help="Why, for the record.")
@actor_option
@verb
def hold_change(face: Face, slug: str, reason: str, actor: str) -> int:
    """Keep a change out of the train until it is added again. Refuses a job that is closed."""
    from interlock.app.decide import hold
    from interlock.wiring import open_ports

    job = hold(open_ports(), slug, actor, reason)
    face.answer({"slug": job.slug, "held": job.held}, [f"{job.slug} is held."], then=f"interlock train add {slug}")
    return 0


@command.command("add")
@click.argument("slug")
@actor_option
@verb
def add(face: Face, slug: str, actor: str) -> int:
    """Let a held change into the train again."""
    from interlock.app.decide import hold
    from interlock.wiring import open_ports

    job = hold(open_ports(), slug, actor, None)
    face.answer({"slug": job.slug, "held": job.held}, [f"{job.slug} may join the train."], then="interlock run")
    return 0


@command.command("run")
@click.pass_context
@verb
def run_train(face: Face, context: click.Context) -> int:
    """Do what is due, the train included (the same as interlock run)."""
    from interlock.cli import cmd_run

    context.invoke(cmd_run.command, watch=False, as_json=face.json)
    return 0
