"""``interlock doctor``: each feature tried, not guessed from versions; what is off is said with its fix."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from interlock.cli.render import Face, verb

if TYPE_CHECKING:
    from interlock.app.doctor import Attack

_WORDS = {True: "blocked", False: "ESCAPED", None: "not covered"}


@click.command("doctor")
@click.option(
    "--attack", is_flag=True, help="Try the escapes from a task on this machine, at both levels; half a minute."
)
@verb
def command(face: Face, attack: bool) -> int:
    """Test what this machine and repository can do, and which isolation level that gives.

    Exits with 1 when something needed does not work, or when an attack gets out that the level should block.
    """
    from interlock.wiring.doctor import attacks, examine

    report = examine()
    if attack:
        report = replace(report, attacks=attacks(face.say))
    lines = [
        f"{'ok ' if feature.ok else 'OFF' if feature.needed else 'off'} {feature.name}: {feature.why}"
        for feature in report.features
    ]
    lines += [_line(each) for each in report.attacks or ()]
    lines.append(f"isolation level: {report.level}. {report.why}".rstrip())
    lines.append(f"It does not cover: {report.uncovered}.")
    face.answer(report.as_json(), lines, then="interlock card new SLUG --class CLASS" if report.ok else None)
    return 0 if report.ok else 1


def _line(attack: Attack) -> str:
    return f"{_WORDS[attack.blocked]:11} {attack.level:8} {attack.name}: {attack.why}"
