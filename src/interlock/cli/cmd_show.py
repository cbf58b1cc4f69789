"""``interlock show``: one job with its card, attempts, evidence and history."""

from __future__ import annotations

import click

from interlock.cli.render import Face, since, verb
from interlock.cli.ways import way_on
from interlock.core.job.lifecycle import OPEN, Job


@click.command("show")
@click.argument("slug")
@verb
def command(face: Face, slug: str) -> int:
    """Show one job: card, state, attempts, evidence, history, and where its record is."""
    from interlock.app.show import show
    from interlock.wiring import open_ports

    shown = show(open_ports(), slug)
    job = shown.job
    lines = [f"{job.slug}  {job.id}  {job.class_name}  {job.state} for {since(job.since)}"]
    if job.waiting:
        lines += [f"  waits ({job.waiting.rule}): {job.waiting.what}", f"  {job.waiting.ask}"]
        lines += [f"  | {line}" for line in str(job.waiting.detail.get("tail") or "").splitlines()[-10:]]
    lines += [f"  tree    {job.workspace}", f"  branch  {job.branch} from {job.base[:12]}", f"  level   {job.level}"]
    lines += [f"  head    {job.head}"] if job.head else []
    for evidence in shown.evidence:
        for verdict in evidence["checks"]:
            tests = verdict["tests"]
            counts = f"{tests['passed']} of {tests['run']} tests passed" if tests else "exit code only"
            lines.append(f"  {verdict['state']}: {verdict['run']} ({counts}, commit {evidence['commit'][:12]})")
    lines += [
        f"  {event['when']}  {event['kind']}  {event['actor']}  {event['text']}".rstrip() for event in shown.history
    ]
    lines += [f"  refused ({each['kind']}): {each['what']}  {each['why']}" for each in shown.refused]
    lines.append(f"  record  {shown.record}")
    face.answer(shown.as_json(), lines, then=_next(job))
    return 0


def _next(job: Job) -> str | None:
    if job.waiting:
        return way_on(job.slug, job.waiting.rule, job.waiting.detail)
    if job.attempt:
        return f"interlock logs {job.slug}"
    return "interlock run" if job.state in OPEN else None
