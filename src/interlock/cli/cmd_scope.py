"""``interlock scope``: the changed files of branches against their cards, in any repository and without set-up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from interlock.cli.names import shown
from interlock.cli.render import Face, gate, problem_lines, refusal_lines
from interlock.core.counting import count
from interlock.core.problems import BadInput, Misuse, Refused

if TYPE_CHECKING:
    from interlock.app.scope import Against, Judged
    from interlock.ports.repository import Reader

base_option = click.option("--base", metavar="REF", help="Compare with this branch or commit, and fetch nothing.")


@click.command("scope")
@click.argument("slugs", nargs=-1, metavar="[SLUG]…")
@base_option
@click.option("--head", metavar="REF", help="The branch or commit to judge; agent/SLUG when it is not given.")
@click.option(
    "--change",
    metavar="BRANCH",
    help="Judge --head as a change on a forge, by this name, its commits and agent branches at it; the name may be empty.",
)
@click.option("--all", "every", is_flag=True, help="Every agent branch that is not merged, here and on the remote.")
@gate(ok=False, violations=[])
def command(
    face: Face, slugs: tuple[str, ...], base: str | None, head: str | None, change: str | None, every: bool
) -> int:
    """Judge the files that a branch changes against its card.

    Card and policy are read from the base (the remote's default branch, freshly fetched, or --base), never from the
    branch. Refuses a path that is not owned, only read, prohibited or protected, both names of a rename, links and
    submodules that lead out; and gives no verdict where the difference cannot be told.
    """
    from interlock.app.scope import find_heads, judge, of_change, open_heads
    from interlock.wiring import contract_files

    _check_call(slugs, head, change, every=every)
    reader, against = opened(face, base)
    if change is not None:
        asked = of_change(reader, against, change, head or "")
        if not asked:
            return _nobodys(face, against, change)
    else:
        asked = open_heads(reader, against) if every else find_heads(reader, slugs, head)
    results = judge(reader, contract_files(), against, asked)
    one = len(results) == 1 and not every
    if one and results[0].fault is not None:
        raise results[0].fault
    ok = all(result.ok for result in results)
    shape = results[0].as_json() if one else {"ok": ok, "results": [result.as_json() for result in results]}
    lines = [line for result in results for line in _lines(result)]
    face.answer(shape, lines or [f"No agent branch is open against {against.ref}."])
    return 0 if ok else 1


def _check_call(slugs: tuple[str, ...], head: str | None, change: str | None, *, every: bool) -> None:
    if change is not None:
        if slugs or every or not head:
            raise Misuse("--change goes with --head alone.", hint="interlock scope --change BRANCH --head COMMIT")
        return
    if every == bool(slugs):
        raise Misuse("Name slugs, or --all.", hint="interlock scope SLUG --base REF --head REF")
    if head is not None and len(slugs) != 1:
        raise Misuse("--head goes with exactly one slug.", hint="interlock scope SLUG --head REF")


def _nobodys(face: Face, against: Against, change: str) -> int:
    """A change that nothing ties to an agent: a person's, whose review is the code owners' matter."""
    base = {"ref": against.ref, "oid": against.oid}
    said = f"{shown(change) or 'This change'} is no task's: neither its name nor its commits say that an agent made it."
    face.answer({"ok": True, "agent": False, "base": base, "violations": []}, [said])
    return 0


def opened(face: Face, base: str | None) -> tuple[Reader, Against]:
    """What reads the repository at hand, and the base: the ref that was named, else the freshly fetched default branch."""
    from interlock.app.scope import Against

    if base is not None:
        from interlock.wiring import open_reader

        reader: Reader = open_reader()
        return reader, Against(ref=base, oid=reader.resolve_many([base])[0])
    from interlock.wiring import open_repo

    repo = open_repo()
    fetched = repo.refresh()
    if fetched.note:
        face.say(fetched.note)
    return repo, Against(ref=fetched.ref, oid=fetched.oid)


def _lines(result: Judged) -> list[str]:
    name = shown(result.asked.ref)
    if isinstance(result.fault, Refused):
        return [f"{name}: no verdict", *(f"  {line}" for line in refusal_lines(result.fault.refusal))]
    if isinstance(result.fault, BadInput):
        told = [line for problem in result.fault.problems for line in problem_lines(problem)]
        return [f"{name}: no verdict, the card cannot be read", *(f"  {line}" for line in told)]
    if result.fault is not None:
        return [f"{name}: no verdict: {result.fault.message}"]
    if result.ok:
        changed = count(result.changed, "changed file") if result.changed else "no changes"
        return [f"{name}: in scope, {changed}."]
    many = f"{len(result.violations)} of {count(result.changed, 'change')}"
    lines = [f"{name}: refused, {many} {'is' if len(result.violations) == 1 else 'are'} not allowed."]
    for violation in result.violations:
        moved = f" (moved from {shown(violation.old_path)})" if violation.old_path else ""
        lines.append(f"  {shown(violation.path)}{moved} [{violation.rule}] {violation.why}")
    return lines
