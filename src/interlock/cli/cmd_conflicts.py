"""``interlock conflicts``: open changes that do not go together, in any repository and without set-up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import click

from interlock.cli.cmd_scope import base_option, opened
from interlock.cli.names import shown
from interlock.cli.render import Face, verb

if TYPE_CHECKING:
    from interlock.app.conflicts import Open
    from interlock.app.scope import Against
    from interlock.core.merge.conflicts import Pair, Prediction, Tier
    from interlock.ports.bundle import Ports
    from interlock.ports.repository import Reader

TIERS: Final[tuple[Tier, ...]] = ("text", "facts", "diagnostics")
ROWS: Final = 40
NAMES: Final = 12


@click.command("conflicts")
@click.argument("refs", nargs=-1, metavar="[REF]…")
@base_option
@click.option("--tier", type=click.Choice(TIERS), help="Look no further than this tier, and fail where it cannot look.")
@click.option("--no-diagnostics", is_flag=True, help="Run no checker: look no further than facts.")
@click.option("--all", "whole", is_flag=True, help="Look at all pairs in every tier, whatever it costs.")
@verb
def command(
    face: Face, refs: tuple[str, ...], base: str | None, tier: Tier | None, no_diagnostics: bool, whole: bool
) -> int:
    """Tell which open changes do not go together, with each other or with the base, and what to do about it.

    Without REF: all agent branches that are not merged, and all live tasks with what is not committed in them. Tiers, from cheap
    to dear: what cards declare, text, facts (a removed name that is still used), and the checkers that interlock.yaml names
    under diagnostics. Nothing is written. Ends with 1 when a conflict was found, or when a tier failed to look. What no tier reaches
    here (a language that nothing reads, checkers on pairs that share no file) is told, and a failure only of the tier that --tier names.
    """
    from interlock.app.conflicts import Asked, predict
    from interlock.app.diagnosing import diagnoser
    from interlock.wiring import contract_files, facts_reader

    demanded, tier = tier, tier or "diagnostics"
    if no_diagnostics and tier == "diagnostics":
        demanded, tier = None, "facts"
    reader, against, changes, ports = _open_changes(face, refs, base)
    left_out = _left_out(tier)
    diagnose, why = (None, "") if "diagnostics" in left_out else diagnoser(reader, contract_files(), against, ports)
    if demanded == "diagnostics" and diagnose is None:
        why = why or "No checker is configured: interlock.yaml names none under diagnostics."
    asked = Asked(
        base=against,
        changes=changes,
        facts=None if "facts" in left_out else ports.facts if ports else facts_reader(),
        diagnose=diagnose,
        without={**left_out, **({"diagnostics": why} if why else {})},
        whole=whole,
    )
    found = predict(reader, asked)
    face.answer({**found.as_json(), "base": {"ref": against.ref, "oid": against.oid}}, _lines(found))
    missed = [each for each in found.skipped if each.tier not in left_out and (not each.limit or each.tier == demanded)]
    return 1 if found.pairs or missed else 0


def _left_out(tier: str) -> dict[Tier, str]:
    after = TIERS[[*TIERS].index(tier) + 1 :]  # type: ignore[arg-type]  # click gave one of them
    return dict.fromkeys(after, f"Left out: you asked for no more than {tier}.")


def _open_changes(
    face: Face, refs: tuple[str, ...], base: str | None
) -> tuple[Reader, Against, tuple[Open, ...], Ports | None]:
    """The changes that are meant; tasks are looked at where this repository has a record of them and no ref was named."""
    from interlock.app.open_changes import of_branches, of_refs, of_tasks
    from interlock.app.scope import Against
    from interlock.wiring import contract_files, has_record, open_ports, open_repo

    ports = open_ports(narrate=face.say) if has_record(open_repo()) else None
    if ports is None or base is None:
        reader, against = opened(face, base)
    else:
        reader, against = ports.repo, Against(ref=base, oid=ports.repo.resolve_many([base])[0])
    if refs:
        return reader, against, of_refs(reader, contract_files(), against, refs), ports
    if ports is not None:
        return reader, against, of_tasks(ports, against), ports
    return reader, against, of_branches(reader, contract_files(), against), None


def _lines(found: Prediction) -> list[str]:
    lines = [line for pair in found.pairs[:ROWS] for line in pair_lines(pair)]
    if len(found.pairs) > ROWS:
        lines.append(f"… and {len(found.pairs) - ROWS} more; --json has them all.")
    if not found.pairs:
        lines.append(f"No conflict found{' in what was looked at' if found.skipped else ''}: {found.notes[0]}")
    lines += [_declared(row) for row in found.overlaps[:NAMES]]
    if len(found.overlaps) > NAMES:
        lines.append(f"declared: … and {len(found.overlaps) - NAMES} more; --json has them all.")
    lines += [f"skipped ({each.tier}): {each.why}" for each in found.skipped]
    meeting = {name for pair in found.pairs for name in (pair.a, pair.b)}
    order = [name for name in found.order if name in meeting]
    if len(order) > 1:
        more = f" … and {len(order) - NAMES} more" if len(order) > NAMES else ""
        lines.append(f"suggested order: {', '.join(map(shown, order[:NAMES]))}{more}")
    if found.pairs:
        lines.append(found.notes[0])
    lines.append("seconds: " + ", ".join(f"{tier} {seconds:.2f}" for tier, seconds in found.cost.items()))
    return lines


def _declared(row: Mapping[str, Any]) -> str:
    a, b, path = shown(row["a"]), shown(row["b"]), shown(row["path"])
    both = f"both own {path}" if row["kind"] == "write-write" else f"own and read {path}"
    return f"declared: {a} and {b} {both}. {row['fix']}"


def pair_lines(pair: Pair) -> list[str]:
    """One conflict: who, what, where on both sides, why, and what to do."""
    place = f"{shown(pair.path)}{f':{pair.line}' if pair.line else ''}"
    what = pair.rule if pair.symbol is None else f"{pair.rule} {shown(pair.symbol)}"
    lines = [f"{shown(pair.a)} and {shown(pair.b)}: {pair.kind}, {what}, {place}", f"    {pair.why}"]
    for spot in pair.places:
        if spot.line is not None:
            text = f"  {spot.text}" if spot.text else ""
            lines.append(f"    {shown(spot.change)} {shown(spot.path)}:{spot.line}{text}")
    return [*lines, f"    do: {pair.action}"] if pair.action else lines
