"""``interlock policy branch`` and ``policy checks``: a forge's own answers held against the gates; nothing is asked of it here."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import click

from interlock.cli.render import Face, gate
from interlock.core.problems import Misuse, in_words

_API = "gh api repos/OWNER/NAME"


@click.command("branch")
@click.argument("answers", nargs=-1, required=True, type=click.File("rb"), metavar="FILE…")
@gate(ok=False, gaps=[], unread=[], limits=[])
def branch(face: Face, answers: tuple[IO[bytes], ...]) -> int:
    """Audit what a forge lets happen to the protected branch, from its own answers.

    \b
    Give it any of these, as files or - for standard input:
      gh api repos/OWNER/NAME/branches/main/protection
      gh api repos/OWNER/NAME/rules/branches/main
      gh api repos/OWNER/NAME/rulesets/ID              who may bypass

    Required checks are held against the workflows of this repository: one that may be skipped counts as passed on a forge.
    Ends with 1 when a way round the gates is open.
    """  # noqa: D301 -- click's mark for lines that are kept
    from interlock.core.gate.branch_rules import (
        are_rules,
        forgeable,
        gaps,
        is_protection,
        is_ruleset,
        left_out,
        protection_of,
    )

    classic: dict[str, Any] | None = None
    rules: list[dict[str, Any]] = []
    rulesets: list[dict[str, Any]] = []
    for stream in answers:
        found = _json(stream)
        if isinstance(found, list) and are_rules(found):
            rules += found
        elif isinstance(found, dict) and is_ruleset(found):
            rulesets.append(found)
        elif isinstance(found, dict) and is_protection(found):
            classic = found
        elif not (isinstance(found, dict) and found.get("message") == "Branch not protected"):
            hint = "It should be the protection of a branch, the rules of a branch, or a ruleset."
            raise Misuse(f"{stream.name} is no such answer of {_API}/….", hint=hint)
    from interlock.wiring import open_repo

    skipped, unread = _workflows(open_repo().at_hand)
    for each in rulesets:
        if why := left_out(each, rules):
            face.say(f"The ruleset {each.get('name') or each.get('id')} does not count: {why}.")
    found_rules = protection_of(classic, rules, rulesets)
    open_ways = gaps(found_rules, skipped)
    limits = [limit] if (limit := forgeable(found_rules)) else []
    lines = [line for gap in open_ways for line in (gap.what, f"  why: {gap.why}", f"  fix: {gap.fix}")]
    lines += [f"{name} cannot be read, so its jobs are not judged." for name in unread]
    told = [gap.as_json() for gap in open_ways]
    shape = {"ok": not (open_ways or unread), "gaps": told, "unread": unread, "limits": limits}
    face.answer(shape, [*(lines or ["The branch lets in only what passed its gates."]), *limits])
    return 1 if open_ways or unread else 0


@click.command("checks")
@click.argument("answers", nargs=-1, required=True, type=click.File("rb"), metavar="FILE…")
@click.option("--commit", required=True, metavar="OID", help="The exact commit, in full.")
@click.option("--require", "required", multiple=True, metavar="NAME", help="A check that must succeed; again for more.")
@click.option("--allow", multiple=True, metavar="NAME=CONCLUSION", help="Let a conclusion of a check pass.")
@gate(ok=False, checks=[])
def checks(
    face: Face, answers: tuple[IO[bytes], ...], commit: str, required: tuple[str, ...], allow: tuple[str, ...]
) -> int:
    """Judge a forge's checks on exactly one commit: skipped, neutral, cancelled, missing or older is not success.

    \b
    Give it, as files or - for standard input:
      gh api --paginate --slurp repos/OWNER/NAME/commits/OID/check-runs
      gh api repos/OWNER/NAME/commits/OID/status

    Of several runs of one name the newest decides. Ends with 1 unless every required check is a success.
    """  # noqa: D301 -- click's mark for lines that are kept
    from interlock.core.gate.forge_checks import ForgeRun, judge_checks, runs_of

    if not re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", commit):
        raise Misuse(f"{commit} is not the full name of a commit.", hint="git rev-parse HEAD")
    runs: list[ForgeRun] = []
    for stream in answers:
        try:
            runs += runs_of(_json(stream))
        except (ValueError, KeyError, TypeError) as fault:
            hint = f"Give the answer of {_API}/commits/{commit}/check-runs, every page of it."
            raise Misuse(f"{stream.name} cannot be used: {in_words(fault)}.", hint=hint) from fault
    verdicts = judge_checks(required, runs, commit, allow=_allowed(allow))
    ok = all(verdict.state == "success" for verdict in verdicts)
    lines = [f"{verdict.state}: {verdict.what or verdict.name}" for verdict in verdicts]
    face.answer({"ok": ok, "commit": commit, "checks": [each.as_json() for each in verdicts]}, lines)
    return 0 if ok else 1


def _allowed(pairs: tuple[str, ...]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for pair in pairs:
        name, equals, conclusion = pair.rpartition("=")
        if not equals or not name or not conclusion:
            raise Misuse(f"--allow {pair} is not NAME=CONCLUSION.", hint="--allow docs=skipped")
        found.setdefault(name, []).append(conclusion)
    return found


def _json(stream: IO[bytes]) -> Any:
    try:
        return json.loads(stream.read())
    except (ValueError, RecursionError) as fault:
        hint = f"It should be an answer of {_API}/…"
        raise Misuse(f"{stream.name} cannot be used: {in_words(fault)}.", hint=hint) from fault


def _workflows(top: Path) -> tuple[dict[str, str], list[str]]:
    """Jobs of this folder's workflows that may be skipped, and files that cannot be read."""
    import yaml

    from interlock.core.gate.branch_rules import skippable

    found: dict[str, str] = {}
    unread: list[str] = []
    for path in sorted((top / ".github" / "workflows").glob("*.y*ml")):
        try:
            shape = yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader)
        except (OSError, yaml.YAMLError):
            unread.append(path.name)
            continue
        if isinstance(shape, Mapping):
            found |= skippable(shape)
    return found, unread
