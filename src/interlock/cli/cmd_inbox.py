"""``interlock inbox``: the smallest missing decisions, oldest first."""

from __future__ import annotations

import click

from interlock.cli.next_command import next_of
from interlock.cli.render import Face, age, verb


@click.command("inbox")
@verb
def command(face: Face) -> int:
    """Show what waits for a person, with the last lines of what failed. Exits with 1 when something waits."""
    from interlock.app.status import status
    from interlock.wiring import open_ports

    asked = status(open_ports()).asked
    lines = []
    for item in asked:
        lines.append(f"{item['slug']} ({', '.join(filter(None, (item['rule'], age(item['age']), item['owner'])))})")
        lines.append(f"  {item['what']}")
        lines += [f"  | {line}" for line in item["tail"].splitlines()[-10:]]
        lines.append(f"  {item['ask']}")
        lines += [f"    {option['label']}: {option['command']}" for option in item["options"]]
    then = next_of(asked[0]) if asked else None
    face.answer({"needs_a_person": list(asked)}, lines or ["Nothing waits for a person."], then=then)
    return 1 if asked else 0
