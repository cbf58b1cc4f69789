"""``interlock decide``: a person's answer, acceptance, second look or end of a job, on the record."""

from __future__ import annotations

import click

from interlock.cli.actor import actor_option, refuse_inside_a_task
from interlock.cli.render import Face, verb
from interlock.core.problems import Misuse


@click.command("decide")
@click.argument("slug")
@click.argument("answer", required=False)
@click.option("--accept", is_flag=True, help="Accept what the gate found, where a person may.")
@click.option("--approve", metavar="NAME", help="Approve NAME (deploy, dns, …) for this job alone.")
@click.option("--again", is_flag=True, help="Judge the same work once more, for example after the card changed.")
@click.option("--abandon", is_flag=True, help="Close the job without landing it.")
@click.option("--reason", default="", help="Why, for the record.")
@actor_option
@verb
def command(
    face: Face,
    slug: str,
    answer: str | None,
    accept: bool,
    approve: str | None,
    again: bool,
    abandon: bool,
    reason: str,
    actor: str,
) -> int:
    """Answer what a job waits for; the answer goes to the agent's next attempt.

    Refuses to accept what no person may (a path outside the card, a failed check), an answer beyond the card's
    attempts, an approval from inside a task, and to close a job whose agent runs.
    """
    from interlock.app import decide
    from interlock.wiring import open_ports

    if sum((answer is not None, accept, approve is not None, again, abandon)) != 1:
        raise Misuse("Give one of: ANSWER, --accept, --approve, --again, --abandon.", hint=f"interlock show {slug}")
    if approve is not None:
        refuse_inside_a_task(approve)
    ports = open_ports(narrate=face.say)
    if answer is not None:
        job = decide.answer(ports, slug, answer, actor)
    elif accept:
        job = decide.accept(ports, slug, actor)
    elif approve is not None:
        job = decide.approve(ports, slug, approve, actor)
    elif again:
        job = decide.again(ports, slug, actor)
    else:
        job = decide.abandon(ports, slug, actor, reason or "no reason given")
    shape = {"slug": job.slug, "job": job.id, "state": job.state}
    face.answer(
        shape, [f"{job.slug} is {job.state}."], then="interlock run" if not abandon else f"interlock clean {job.slug}"
    )
    return 0
