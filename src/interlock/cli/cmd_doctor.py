"""``interlock doctor``: each feature tried, not guessed from versions; what is off is said with its fix."""

from __future__ import annotations

import click

from interlock.cli.render import Face, verb


@click.command("doctor")
@verb
def command(face: Face) -> int:
    """Test what this machine and repository can do. Exits with 1 when something needed does not work."""
    from interlock.wiring import examine

    report = examine()
    lines = [
        f"{'ok ' if feature.ok else 'OFF' if feature.needed else 'off'} {feature.name}: {feature.why}"
        for feature in report.features
    ]
    lines.append(f"isolation level: {report.level}. It does not cover: {report.uncovered}")
    face.answer(report.as_json(), lines, then="interlock card new SLUG" if report.ok else None)
    return 0 if report.ok else 1
