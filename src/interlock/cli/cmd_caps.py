"""``interlock caps``: show, set, pause, drain and resume; the rules are in core, the change to the file is left to commit."""

from __future__ import annotations

from typing import Any

import click

from interlock.cli.actor import actor_option
from interlock.cli.groups import ThingGroup
from interlock.cli.render import Face, since, table, verb

FOREIGN = "started elsewhere"


@click.group("caps", cls=ThingGroup)
def command() -> None:
    """How many jobs of each class may be in flight, from dispatch until they land or are abandoned."""


@command.command("show")
@verb
def show(face: Face) -> int:
    """Show each class with its cap, its pause and who holds its slots. Fetches first."""
    from interlock.app.caps import show as shown
    from interlock.wiring import open_ports

    shape = shown(open_ports(narrate=face.say))
    face.answer(shape, _lines(shape))
    return 0


@command.command("set")
@click.argument("class_name", metavar="CLASS")
@click.argument("cap", type=click.IntRange(min=0))
@click.option("--reason", required=True, help="Why, for the line above the cap.")
@actor_option
@verb
def set_cap(face: Face, class_name: str, cap: int, reason: str, actor: str) -> int:
    """Prepare a changed cap in tasks/caps.txt, with who decided and why above it. Never commits.

    It is in force once it is on the remote's default branch. Refuses a class that interlock.yaml does not know, and more than
    one slot for a serial or alone class.
    """
    from interlock.app.caps import propose
    from interlock.host.files import write_whole
    from interlock.wiring import open_ports

    proposal = propose(open_ports(narrate=face.say), class_name, cap, actor, reason)
    path = proposal.path
    changed = proposal.before != cap
    if changed:
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
        write_whole(path, proposal.text.encode("utf-8", "surrogateescape"), mode=mode)
    shape = {"class": class_name, "before": proposal.before, "cap": cap, "changed": changed, "file": str(path)}
    if not changed:
        face.answer(shape, [f"The cap of {class_name} is {cap} already; nothing was changed."])
        return 0
    was = "no cap" if proposal.before is None else str(proposal.before)
    lines = [
        f"{path}: {class_name} {was} → {cap}.",
        f"  {proposal.note}",
        "It is in force once it is on the default branch.",
    ]
    face.answer(shape, lines, then=f"git commit -m 'Cap of {class_name}: {cap}' -- tasks/caps.txt")
    return 0


@command.command("pause")
@click.argument("class_name", metavar="CLASS")
@click.option("--reason", default="", help="Why, for the record.")
@actor_option
@verb
def pause(face: Face, class_name: str, reason: str, actor: str) -> int:
    """Let nothing of a class start from now on; what is in flight goes on. Refuses a class that is not known."""
    from interlock.app.caps import pause as paused
    from interlock.wiring import open_ports

    shape = paused(open_ports(narrate=face.say), class_name, actor, reason)
    face.answer(shape, [f"{class_name} is paused by {shape['paused_by']}."], then=f"interlock caps resume {class_name}")
    return 0


@command.command("drain")
@click.argument("class_name", metavar="CLASS")
@click.option("--reason", default="", help="Why, for the record.")
@actor_option
@verb
def drain(face: Face, class_name: str, reason: str, actor: str) -> int:
    """Pause a class and list what of it is still in flight. Refuses a class that is not known."""
    from interlock.app.caps import pause as paused
    from interlock.wiring import open_ports

    shape = paused(open_ports(narrate=face.say), class_name, actor, reason)
    left = shape["holders"]
    lines = [f"{class_name} is paused by {shape['paused_by']}; {len(left)} still in flight."]
    lines += [f"  {holder['slug']}  {holder['state']}  for {since(holder['since'])}" for holder in left]
    face.answer(shape, lines, then="interlock run" if left else f"interlock caps resume {class_name}")
    return 0


@command.command("resume")
@click.argument("class_name", metavar="CLASS")
@actor_option
@verb
def resume(face: Face, class_name: str, actor: str) -> int:
    """Let a class start again, at the cap in tasks/caps.txt. Refuses a class that is not known."""
    from interlock.app.caps import resume as resumed
    from interlock.wiring import open_ports

    shape = resumed(open_ports(narrate=face.say), class_name, actor)
    face.answer(shape, [f"{class_name} may start again: {shape['used']} of {_cap(shape['cap'])} in use."])
    return 0


def _lines(shape: dict[str, Any]) -> list[str]:
    rows = []
    for known in shape["classes"]:
        holders = ", ".join(_holder(holder) for holder in known["holders"])
        paused = f"paused by {known['paused_by']}" if known["paused"] else ""
        rows.append((known["name"], known["kind"], f"{known['used']} of {_cap(known['cap'])}", paused, holders))
    ceiling = shape["ceiling"]
    most = "no ceiling (review_wip in interlock.yaml)" if ceiling["cap"] is None else f"ceiling {ceiling['cap']}"
    return [*table(rows, ("class", "kind", "in flight", "pause", "held by")), f"all classes: {ceiling['used']}, {most}"]


def _holder(holder: dict[str, Any]) -> str:
    return f"{holder['slug']} ({FOREIGN if holder['since'] is None else since(holder['since'])})"


def _cap(cap: int | None) -> str:
    return "no cap" if cap is None else str(cap)
