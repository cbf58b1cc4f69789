"""``interlock clean``: take a closed job's tree away, after a snapshot."""

from __future__ import annotations

import click

from interlock.cli.actor import actor_option
from interlock.cli.render import Face, refusal_lines, verb
from interlock.core.problems import Misuse, Refused


@click.command("clean")
@click.argument("slugs", nargs=-1, metavar="SLUG…")
@click.option("--landed", is_flag=True, help="Every job that landed.")
@click.option("--approve", is_flag=True, help="Let uncommitted work go; it stays in the snapshot.")
@actor_option
@verb
def command(face: Face, slugs: tuple[str, ...], landed: bool, approve: bool, actor: str) -> int:
    """Take the tree of closed jobs away; everything in it is kept in a snapshot that restore brings back.

    Refuses an open job, a tree in which a process lives, and uncommitted work unless a person approves by name.
    """
    from interlock.app.clean import clean, closed_with_tree, evict
    from interlock.wiring import open_ports

    if not slugs and not landed:
        raise Misuse("Name at least one job.", hint="interlock clean SLUG, or --landed for all that landed.")
    ports = open_ports(narrate=face.say)
    jobs = {job.id: job.slug for job in (closed_with_tree(ports) if landed else ())}
    names = (*slugs, *jobs)
    results, lines, code = [], [], 0
    for name in names:
        try:
            done = clean(ports, name, actor, approve=approve)
        except Refused as refused:
            code = 1
            results.append({"slug": jobs.get(name, name), "refusal": refused.refusal.as_json()})
            lines += refusal_lines(refused.refusal)
        else:
            results.append(done.as_json())
            lines.append(f"{done.job.slug}: taken away; the snapshot is {done.snapshot.ref or 'not needed'}.")
            kept = done.as_json()["kept"]
            lines += [f"  kept in it: {path}" for path in kept[:10]]
            lines += [f"  and {len(kept) - 10} more; --json lists them all."] if len(kept) > 10 else []
    evict(ports)
    face.answer(
        {"results": results},
        lines or ["No job that landed has a tree here."],
        then=f"interlock restore {jobs.get(names[0], names[0])}" if names and not code else None,
    )
    return code
