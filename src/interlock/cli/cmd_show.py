"""``interlock show``: one job with its card, attempts, evidence and history."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from interlock.cli.next_command import way_on
from interlock.cli.render import Face, since, verb
from interlock.core.job.lifecycle import OPEN, Job


@click.command("show")
@click.argument("slug")
@verb
def command(face: Face, slug: str) -> int:
    """Show one job: card, state, attempts, evidence, history, and where its record is."""
    from interlock.app.raise_to import detail_of
    from interlock.app.show import show
    from interlock.wiring import open_ports

    ports = open_ports()
    shown = show(ports, slug)
    job = shown.job
    lines = [f"{job.slug}  {job.id}  {job.class_name}  {job.state} for {since(job.since)}"]
    if job.waiting:
        lines += [f"  waits ({job.waiting.rule}): {job.waiting.what}", f"  {job.waiting.ask}"]
        lines += [f"  | {line}" for line in str(job.waiting.detail.get("tail") or "").splitlines()[-10:]]
    lines += [f"  tree    {job.workspace}", f"  branch  {job.branch} from {job.base[:12]}", f"  level   {job.level}"]
    lines += [f"  head    {job.head}"] if job.head else []
    for each in shown.attempts:
        lines += _attempt(each)
    for evidence in shown.evidence:
        for verdict in evidence["checks"]:
            tests = verdict["tests"]
            counts = _counted(tests) if tests else _measured(verdict)
            lines.append(f"  {verdict['state']}: {verdict['run']} ({counts}, commit {evidence['commit'][:12]})")
    lines += [
        f"  {event['when']}  {event['kind']}  {event['actor']}  {event['text']}".rstrip() for event in shown.history
    ]
    lines += [f"  refused ({each['kind']}): {each['what']}  {each['why']}" for each in shown.refused]
    lines.append(f"  record  {shown.record}")
    face.answer(shown.as_json(), lines, then=_next(job, detail_of(ports, job)))
    return 0


def _measured(verdict: Mapping[str, Any]) -> str:
    """What a check without tests showed, in a few words."""
    seen = verdict.get("measured")
    if not seen:
        return "exit code only" if verdict.get("exit_code") is not None else "by the record"
    counts = {name: len(value) if isinstance(value, dict) else value for name, value in seen.items()}
    words = {True: "yes", False: "no"}
    return ", ".join(f"{name}: {words[value] if isinstance(value, bool) else value}" for name, value in counts.items())


def _counted(tests: Mapping[str, int]) -> str:
    skipped = f", {tests['skipped']} skipped" if tests.get("skipped") else ""
    return f"{tests['passed']} of {tests['run']} tests passed{skipped}"


def _attempt(row: Mapping[str, Any]) -> list[str]:
    """One attempt: what was started and why, how it came out, what it cost; then what it was handed and handed on."""
    who = " ".join(str(row[name]) for name in ("agent", "model", "effort") if row.get(name))
    words = [f"attempt {row['attempt']}", row.get("phase") or "", who, row["state"], row.get("rule") or ""]
    lines = ["  " + "  ".join(word for word in words if word) + f"  {cost(row)}".rstrip()]
    if row.get("tier"):
        lines.append(f"    {row['tier']}: {row['why']}")
    handed = row.get("handed") or []
    if handed:
        lines.append(f"    handed {len(handed)} texts, {sum(each['bytes'] for each in handed):,} bytes")
    if pack := row.get("pack"):
        lines.append(f"    pack {pack['bytes']:,} bytes, {pack['digest'][:12]}")
    if beside := row.get("beside"):
        lines.append(f"    changed meanwhile in the main checkout, by it or somebody else: {', '.join(beside[:5])}")
    if unknown := row.get("unknown_lines"):
        lines.append(f"    {unknown:,} of {row['lines']:,} lines that it wrote were not understood")
    lines += [f"    refused to it: {what}" for what in row.get("denied") or ()]
    return lines


def cost(row: Mapping[str, Any]) -> str:
    """Tokens and dollars of an attempt, for people; unknown is said, and never shown as nothing."""
    usage = row.get("usage") or {}
    known = [usage.get(name) for name in ("uncached_input", "cache_read", "cache_write", "output")]
    if row["state"] == "running" or (row.get("usage_from") in (None, "none") and not any(known)):
        return ""
    tokens = f"{sum(each or 0 for each in known):,} tokens" if any(each is not None for each in known) else ""
    dollars = "cost unknown" if row.get("usd") is None else f"${row['usd']:.4f}"
    return ", ".join(word for word in (tokens, dollars) if word)


def _next(job: Job, detail: Mapping[str, Any]) -> str | None:
    if job.waiting:
        return way_on(job.slug, job.waiting.rule, detail)
    if job.attempt:
        return f"interlock logs {job.slug}"
    return "interlock run" if job.state in OPEN else None
