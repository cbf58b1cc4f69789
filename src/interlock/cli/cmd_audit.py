"""``interlock audit``: whether the history, or one job of it, is what was written and signed; offline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from interlock.cli.render import Face, gate
from interlock.core.counting import count

if TYPE_CHECKING:
    from interlock.app.audit import Audit
    from interlock.ports.bundle import Ports

_FILE = click.Path(path_type=Path, dir_okay=False)
_ROWS = ("row of evidence", "rows of evidence")
_COUNTED = (("events", ("event",)), ("evidence", _ROWS), ("landings", ("landing",)), ("files", ("file",)))
_LIST = "\0"
"""What --keys is without a file: no file can be called so."""


@click.command("audit")
@click.argument("slug", required=False)
@click.option(
    "--keys",
    is_flag=False,
    flag_value=_LIST,
    metavar="[FILE]",
    help="Public keys (PEM) that count, instead of those of the history. Without FILE: print the lines that list keys in the policy.",
)
@click.option("--export", "target", type=_FILE, metavar="FILE", help="Write the whole history to one new file.")
@click.option("--bundle", type=_FILE, metavar="FILE", help="Audit such a file alone, without a repository.")
@gate(holds=False)
def command(face: Face, slug: str | None, keys: str | None, target: Path | None, bundle: Path | None) -> int:
    """Verify the chain of the history, the signature of each evidence, its logs and reports, and each landed commit.

    SLUG is a job's slug or id; without it everything is looked at. Nothing is asked over a network. Each place that
    does not hold is named: wrong is what was changed, missing what is gone or was never signed.

    Where interlock.yaml lists keys under evidence.keys, what another key signed counts for nothing. With --keys alone, last on the
    line, the keys of the history and of this machine are printed as the lines to copy there.

    Exits with 0 only when all holds.
    """
    from interlock.wiring import open_ports, public_keys, verifier

    if sum(each is not None for each in (slug, target, bundle)) > 1:
        raise click.UsageError("SLUG, --export and --bundle exclude each other.")
    if keys == _LIST:
        if slug or target or bundle:
            raise click.UsageError("--keys without FILE stands alone.")
        return _tell_keys(face, open_ports())
    trusted = public_keys(Path(keys)) if keys is not None else ()
    if bundle is not None:
        from interlock.app.bundle import audit_bundle

        return _tell(face, audit_bundle(verifier(), bundle, trusted=trusted))
    if target is not None:
        from interlock.app.bundle import export

        done = export(open_ports(), target)
        told = ", ".join(count(done[name], *words) for name, words in (*_COUNTED, ("keys", ("key",))) if name in done)
        line = f"{done['file']}: {told}."
        face.answer(done, [line], then=f"interlock audit --bundle {target}")
        return 0
    from interlock.app.audit import audit

    return _tell(face, audit(open_ports(), slug, trusted=trusted))


def _tell_keys(face: Face, ports: Ports) -> int:
    from interlock.app.audit_keys import known_keys, policy_lines

    keys = known_keys(ports)
    copy = policy_lines(keys)
    lines = []
    for key in keys:
        words = ["listed" if key.listed else "not listed", *(["this user's"] if key.own else [])]
        rows = count(key.rows, *_ROWS)
        lines.append(f"key {key.id[:12]} of {key.runner or 'unknown'}: {rows}, {', '.join(words)}.")
    lines += ["", *copy, ""]
    lines.append("Copy what is the team's into interlock.yaml: who can write to the history can add a key to it.")
    new = not all(key.listed for key in keys)
    then = "git commit -m 'Keys that may sign evidence' -- interlock.yaml" if new else "interlock audit"
    face.answer({"keys": [key.as_json() for key in keys], "lines": copy, "next": then}, lines, then=then)
    return 0


def _tell(face: Face, found: Audit) -> int:
    counts = found.counts
    lines = [f"{each.state:7}  {each.where}: {each.what} [{each.rule}]" for each in found.findings]
    wrong = sum(each.state == "wrong" for each in found.findings)
    seen = ", ".join(count(counts[name], *words) for name, words in _COUNTED)
    lines.append(f"{found.scope}: {seen}; {wrong} wrong, {len(found.findings) - wrong} missing.")
    lines += [f"key {key}" for key in found.keys]
    lines += list(found.notes)
    face.answer(found.as_json(), lines)
    return 0 if found.holds else 1
