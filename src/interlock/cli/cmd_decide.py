"""``interlock decide``: a person's answer, acceptance, permission, raise, second look or end of a job, on the record."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import click

from interlock.cli.actor import actor_option, refuse_inside_a_task
from interlock.cli.render import Face, verb
from interlock.core.problems import Misuse

if TYPE_CHECKING:
    from interlock.core.job.lifecycle import Job
    from interlock.ports.bundle import Ports


@click.command("decide")
@click.argument("slug")
@click.argument("answer", required=False)
@click.option("--accept", is_flag=True, help="Accept what the gate found, where a person may.")
@click.option("--approve", metavar="NAME", help="Approve NAME (deploy, dns, …) for this job alone.")
@click.option("--permit", metavar="CHOICE", help="Give the running agent this answer to what it asks.")
@click.option("--deny", is_flag=True, help="Refuse the running agent what it asks.")
@click.option("--request", metavar="ID", help="Which permission --permit or --deny is for, when there are several.")
@click.option("--raise", "more", metavar="NAME=N", help="Raise this job's budget: usd=4, tokens=400k or attempt.usd=1.")
@click.option("--again", is_flag=True, help="Judge the same work once more, for example after the card changed.")
@click.option("--abandon", is_flag=True, help="Close the job without landing it.")
@click.option("--reason", default="", help="Why, for the record.")
@actor_option
@verb
def command(face: Face, slug: str, actor: str, request: str | None, reason: str, **answers: Any) -> int:
    """Answer what a job or its running agent waits for; nothing is answered by itself.

    Refuses to accept what no person may (a path outside the card, a failed check), an answer beyond the card's
    attempts, an approval, permission or raise from inside a task, a raise that leaves nothing to spend, and to
    close a job whose agent runs.
    """
    from interlock.wiring import open_ports

    given = [name for name, value in answers.items() if value not in (None, False)]
    if len(given) != 1 or (request is not None and given[0] not in ("permit", "deny")):
        raise Misuse(
            "Give one of: ANSWER, --accept, --approve, --permit, --deny, --raise, --again, --abandon.",
            hint=f"interlock show {slug}",
        )
    (name,) = given
    refuse_inside_a_task(_NAMED.get(name, "What {} waits for").format(slug if name not in _NAMED else answers[name]))
    ports = open_ports(narrate=face.say)
    job = _carry_out(ports, name, slug, answers[name], actor, request=request, reason=reason)
    shape = {"slug": job.slug, "job": job.id, "state": job.state}
    face.answer(shape, _said(name, job), then=_then(name, job))
    return 0


_NAMED: Final = {
    "approve": "The approval {}",
    "permit": "The permission {}",
    "deny": "The permission",
    "more": "The raise of {}",
}
"""How a decision is named where an agent tries to make it itself."""


def _carry_out(ports: Ports, name: str, slug: str, value: Any, actor: str, *, request: str | None, reason: str) -> Job:
    from interlock.app import decide, permission, raising

    ways: dict[str, Callable[[], Job]] = {
        "answer": lambda: decide.answer(ports, slug, value, actor),
        "accept": lambda: decide.accept(ports, slug, actor),
        "approve": lambda: decide.approve(ports, slug, value, actor),
        "permit": lambda: permission.permit(ports, slug, value, actor, request=request),
        "deny": lambda: permission.permit(ports, slug, permission.DENY, actor, request=request),
        "more": lambda: raising.raise_budget(ports, slug, value, actor),
        "again": lambda: decide.again(ports, slug, actor),
        "abandon": lambda: decide.abandon(ports, slug, actor, reason or "no reason given"),
    }
    return ways[name]()


def _said(name: str, job: Job) -> list[str]:
    """What came of the answer; a job that waits for something else still says for what."""
    if name in ("permit", "deny"):
        return [f"The agent of {job.slug} has its answer and goes on."]
    if job.waiting:
        return [f"{job.slug} still waits ({job.waiting.rule}): {job.waiting.what}"]
    return [f"{job.slug} is {job.state}."]


def _then(name: str, job: Job) -> str:
    if name in ("permit", "deny"):
        return f"interlock logs {job.slug}"
    if name == "abandon":
        return f"interlock clean {job.slug}"
    return f"interlock show {job.slug}" if job.waiting else "interlock run"
