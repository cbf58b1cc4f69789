"""``interlock audit``: whether the history, or one job of it, is what was written and signed; offline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from interlock.cli.render import Face, verb

if TYPE_CHECKING:
    from interlock.app.audit import Audit

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("audit")
@click.argument("slug", required=False)
@click.option(
    "--keys", type=_FILE, metavar="FILE", help="Public keys (PEM) that count, instead of those of the history."
)
@click.option("--export", "target", type=_FILE, metavar="FILE", help="Write the whole history to one new file.")
@click.option("--bundle", type=_FILE, metavar="FILE", help="Audit such a file alone, without a repository.")
@verb
def command(face: Face, slug: str | None, keys: Path | None, target: Path | None, bundle: Path | None) -> int:
    """Verify the chain of the history, the signature of each evidence, its logs and reports, and each landed commit.

    SLUG is a job's slug or id; without it everything is looked at. Nothing is asked over a network. Each place that
    does not hold is named: wrong is what was changed, missing what is gone or was never signed.

    Exits with 0 only when all holds.
    """
    from interlock.wiring import open_ports, public_keys, verifier

    if sum(each is not None for each in (slug, target, bundle)) > 1:
        raise click.UsageError("SLUG, --export and --bundle exclude each other.")
    trusted = public_keys(keys) if keys is not None else ()
    if bundle is not None:
        from interlock.app.bundle import audit_bundle

        return _tell(face, audit_bundle(verifier(), bundle, trusted=trusted))
    if target is not None:
        from interlock.app.bundle import export

        done = export(open_ports(), target)
        line = f"{done['file']}: {done['events']} events, {done['evidence']} rows of evidence, {done['keys']} keys."
        face.answer(done, [line], then=f"interlock audit --bundle {target}")
        return 0
    from interlock.app.audit import audit

    return _tell(face, audit(open_ports(), slug, trusted=trusted))


def _tell(face: Face, found: Audit) -> int:
    counts = found.counts
    lines = [f"{each.state:7}  {each.where}: {each.what} [{each.rule}]" for each in found.findings]
    wrong = sum(each.state == "wrong" for each in found.findings)
    seen = ", ".join(
        f"{counts[name]} {word}"
        for name, word in (
            ("events", "events"),
            ("evidence", "rows of evidence"),
            ("landings", "landings"),
            ("files", "files"),
        )
    )
    lines.append(f"{found.scope}: {seen}; {wrong} wrong, {len(found.findings) - wrong} missing.")
    lines += [f"key {key}" for key in found.keys]
    lines += list(found.notes)
    face.answer(found.as_json(), lines)
    return 0 if found.holds else 1
