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

    Without REF: all agent branches that are not merged, here and on the remote. Both names of a renamed file count. New
    migrations of one number clash too, whatever they are called (numbered in interlock.yaml says where numbers count).
    An overlap is no fault here: the command ends with 0; the train is where it blocks until the owner decides.
    """
    from interlock.app.scope import numbered_in, open_heads, overlaps, same_number

    reader, against = opened(face, base)
    if refs:
        heads = list(zip(dict.fromkeys(refs), reader.resolve_many(tuple(dict.fromkeys(refs))), strict=True))
    else:
        heads = [(asked.ref, asked.oid) for asked in open_heads(reader, against)]
    changes = reader.changes_many(against.oid, [oid for _, oid in heads])
    files = overlaps(changes, heads)

    def counted_where() -> tuple[str, ...]:
        from interlock.wiring import contract_files  # a reader of policies is worth loading only for a clash

        return numbered_in(reader, contract_files(), against)

    numbers = same_number(changes, heads, counted_where)
    shape = {
        "files": {path: list(names) for path, names in files.items()},
        "numbers": [each.as_json() for each in numbers],
        "cut": False,
        "base": {"ref": against.ref, "oid": against.oid},
        "refs": [ref for ref, _ in heads],
    }
    lines = [f"{shown(path)}: {' '.join(map(shown, names))}" for path, names in files.items()]
    for each in numbers:
        told = ", ".join(f"{shown(path)} ({' '.join(map(shown, by))})" for path, by in each.files.items())
        lines.append(f"{shown(each.folder) or '.'}: number {each.number} is taken twice: {told}")
    none = "No branch is open" if not heads else "Only one branch is open" if len(heads) == 1 else ""
    nothing = (
        f"{none}, so no file is changed by two." if none else f"No file is changed by two of {len(heads)} branches."
    )
    face.answer(shape, lines or [nothing])
    return 0
