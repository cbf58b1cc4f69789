"""``interlock overlap``: files that more than one open branch changes, in any repository and without set-up."""

from __future__ import annotations

import click

from interlock.cli.cmd_scope import base_option, opened
from interlock.cli.names import shown
from interlock.cli.render import Face, verb


@click.command("overlap")
@click.argument("refs", nargs=-1, metavar="[REF]…")
@base_option
@verb
def command(face: Face, refs: tuple[str, ...], base: str | None) -> int:
    """List every file that several branches change against the base, with the branches.

    Without REF: all agent branches that are not merged, here and on the remote. Both names of a renamed file count.
    An overlap is no fault here: the command ends with 0; the train is where it blocks until the owner decides.
    """
    from interlock.app.scope import open_heads, overlaps

    reader, against = opened(face, base)
    if refs:
        heads = list(zip(dict.fromkeys(refs), reader.resolve_many(tuple(dict.fromkeys(refs))), strict=True))
    else:
        heads = [(asked.ref, asked.oid) for asked in open_heads(reader, against)]
    files = overlaps(reader, against, heads)
    shape = {
        "files": {path: list(names) for path, names in files.items()},
        "cut": False,
        "base": {"ref": against.ref, "oid": against.oid},
        "refs": [ref for ref, _ in heads],
    }
    lines = [f"{shown(path)}: {' '.join(map(shown, names))}" for path, names in files.items()]
    face.answer(shape, lines or [f"No file is changed by two of the {len(heads)} branches."])
    return 0
