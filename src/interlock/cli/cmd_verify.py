"""``interlock verify``: judge a job's work now, as the supervisor would."""

from __future__ import annotations

import click

from interlock.cli.render import Face, gate
from interlock.core.problems import Misuse


@click.command("verify")
@click.argument("slug")
@gate(verified=False, checks=[])
def command(face: Face, slug: str) -> int:
    """Run a job's checks on its exact commit, judge them and the scope, and put the evidence on the record.

    Refuses a job that has no work yet. Zero tests, skipped tests, an absent report or a deleted test never pass.
    """
    from interlock.app.show import known_job
    from interlock.app.verify import judge_now
    from interlock.wiring import open_ports

    ports = open_ports(narrate=face.say)
    job = known_job(ports, slug)
    if job.head is None:
        raise Misuse(f"{slug} has no work to verify yet.", hint="interlock run starts what is due.")
    result = judge_now(ports, job)
    lines = [f"{violation.path}: {violation.rule}: {violation.why}" for violation in result.violations]
    for verdict in result.verdicts:
        lines.append(
            f"{verdict.state}: {verdict.run.run}" + (f" ({verdict.rule}): {verdict.what}" if verdict.rule else "")
        )
        lines += [f"  | {line}" for line in verdict.run.tail.splitlines()[-10:]] if verdict.state != "passed" else []
    face.answer(result.as_json(), lines, then="interlock run" if result.passed else f"interlock show {slug}")
    return 0 if result.passed else 1
