"""``interlock resolve``: bring a change together with one that landed, against both intents, in a fresh run."""

from __future__ import annotations

import click

from interlock.cli.actor import actor_option, refuse_inside_a_task
from interlock.cli.render import Face, verb


@click.command("resolve")
@click.argument("slug")
@click.option(
    "--with", "other", metavar="SLUG", help="The change that landed; the one that was met when it is not given."
)
@actor_option
@verb
def command(face: Face, slug: str, other: str | None, actor: str) -> int:
    """Give a change that conflicts with one that landed to a fresh run, with both cards, both plans and both differences.

    The run may change the paths that either of the two owns, quotes the plans for every conflict it settles, and has to bring
    a test that fails with either change alone and passes with both. Refuses a job that does not wait for that, and a
    partner that has not landed. It stops for a person when a plan must change, and pushes nothing itself.
    """
    from interlock.app.resolve import resolve
    from interlock.wiring import open_ports

    refuse_inside_a_task(f"A resolution of {slug}")
    job = resolve(open_ports(narrate=face.say), slug, actor, other)
    met = dict(job.resolving or {})
    shape = {
        "slug": job.slug,
        "job": job.id,
        "state": job.state,
        "with": met.get("slug"),
        "clashes": met.get("clashes", []),
    }
    face.answer(shape, [f"{job.slug} will be brought together with {met.get('slug')}."], then="interlock run")
    return 0
