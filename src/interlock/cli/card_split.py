"""``interlock card split`` and ``accept``: cards proposed by an agent for a plan, and accepted by a person; judging is app.proposal's."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from interlock.cli.actor import actor_option, refuse_inside_a_task
from interlock.cli.render import Face, problem_lines, table, verb
from interlock.core.counting import count
from interlock.core.problems import Misuse

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from interlock.app.proposal import Judged
    from interlock.app.split import Proposal
    from interlock.core.agent.proposing import Document


@click.command("split")
@click.argument("plan")
@click.option("--into", metavar="FOLDER", help="Write the proposed cards there as well, to be edited.")
@click.option("--agent", metavar="NAME", help="The agent; that of interlock.yaml, when not given.")
@actor_option
@verb
def split(face: Face, plan: str, into: str | None, agent: str | None, actor: str) -> int:
    """Have an agent split PLAN, a file of the default branch, into proposed cards.

    Its cards have to pass what card check asks, owners excepted; every problem is handed back, twice at most. Shows
    what depends on what and every overlap. Nothing is committed. Ends with 1 when the proposal is not ready.
    """
    from interlock.app.split import split as propose
    from interlock.wiring import open_ports

    target = _new_folder(into) if into else None
    made = propose(open_ports(narrate=face.say), plan, actor, agent=agent)
    if target is not None:
        _copy(made.judged.documents, target)
    face.answer(made.as_json(), _lines(made, into), then=_next(made, into, actor))
    return 0 if made.judged.ready else 1


@click.command("accept")
@click.argument("proposal")
@click.option(
    "--owner",
    "owners",
    multiple=True,
    metavar="[SLUG=]NAME",
    help="The owner of open cards, or of one; can be given again.",
)
@click.option("--into", metavar="FOLDER", help="Accept nothing: write the cards there, to be edited.")
@actor_option
@verb
def accept(face: Face, proposal: str, owners: tuple[str, ...], into: str | None, actor: str) -> int:
    """Write the cards of a proposal, or of a folder of cards, into tasks/ of the working tree. Never commits.

    Judges them anew on the default branch as it is. Refuses while a card is not ready, an owner is open or two cards
    meet, to overwrite a file, and to be called from inside a task.
    """
    from interlock.app.proposal import accept as accepted
    from interlock.wiring import open_ports

    if into:
        return _export(face, proposal, into, actor)
    refuse_inside_a_task("A proposal of cards")
    default, named = _owners(owners)
    files = accepted(open_ports(narrate=face.say), proposal, named, default, actor)
    lines = [f"wrote {file}" for file in files]
    then = "git add tasks && git commit -m 'Add cards' && git push && interlock dispatch --ready"
    face.answer({"proposal": proposal, "files": list(files), "by": actor}, lines, then=then)
    return 0


def _export(face: Face, proposal: str, into: str, actor: str) -> int:
    """Hand a proposal's cards to a person's editor; what is accepted is judged anew."""
    from interlock.app.proposal import load
    from interlock.wiring import open_ports

    target = _new_folder(into)
    cards = load(open_ports(narrate=face.say), proposal)
    _copy(cards, target)
    files = [str(target / f"{each.slug}.yaml") for each in cards]
    shape = {"proposal": proposal, "files": files, "by": actor}
    face.answer(shape, [f"wrote {file}" for file in files], then=f"interlock card accept {shlex.quote(into)}")
    return 0


def _owners(given: tuple[str, ...]) -> tuple[str | None, dict[str, str]]:
    """The owner of whatever is open, and those of single cards."""
    named = dict(each.split("=", 1) for each in given if "=" in each)
    plain = [each for each in given if "=" not in each]
    if len(plain) > 1:
        raise Misuse(f"Two owners are given for all open cards: {' and '.join(plain[:2])}.", hint="Write SLUG=NAME.")
    return (plain[0] if plain else None), named


def _new_folder(name: str) -> Path:
    """A folder that nothing is in yet.  Raises Misuse."""
    from pathlib import Path

    target = Path(name)
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise Misuse(f"{name} is there and not an empty folder.", hint="Name a new folder.")
    return target


def _copy(documents: Iterable[Document], target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for each in documents:
        (target / f"{each.slug}.yaml").write_text(each.text, encoding="utf-8")


def _lines(made: Proposal, into: str | None) -> list[str]:
    judged = made.judged
    nodes = judged.graph["nodes"]
    rows = [
        (
            node["wave"] or "-",
            node["slug"],
            judged.owners.get(node["slug"]) or "open",
            ", ".join(node["depends_on"]) or "-",
        )
        for node in nodes
    ]
    lines = [f"{made.name}: {count(len(judged.documents), 'card')} of {made.plan}, in {made.folder}"]
    lines += table(rows, ("wave", "card", "owner", "after")) if rows else []
    lines += [f"circle: {' -> '.join((*circle, circle[0]))}" for circle in judged.graph["cycles"]]
    lines += _problems(judged)
    lines += [
        f"run {run['run']}: {count(run['cards'], 'card')}, {count(len(run['problems']), 'problem')}, {run['seconds']:.1f} s"
        for run in made.runs
    ]
    if judged.ready:
        lines.append("ready once its owners are named" if _open_owners(made) else "ready")
    else:
        lines.append(
            f"not ready: mend the cards in {into}." if into else "not ready: mend the cards, once written out."
        )
    return lines


def _problems(judged: Judged) -> list[str]:
    lines = []
    for each in judged.problems:
        first, *rest = problem_lines(each.problem)
        lines += [first if each.blocks else f"warning: {first}", *rest]
    overlaps = [(each.kind, each.a, each.b, each.path, each.fix) for each in judged.overlaps]
    return lines + (table(overlaps, ("overlap", "card", "card", "path", "fix")) if overlaps else ["no overlap"])


def _open_owners(made: Proposal) -> bool:
    return not all(made.judged.owners.get(each.slug) for each in made.judged.documents)


def _next(made: Proposal, into: str | None, actor: str) -> str:
    """What accepts the cards, or writes them out where they have to be mended first; who splits a plan may own them."""
    if not made.judged.ready and not into:
        return f"interlock card accept {made.name} --into cards-{made.name.removeprefix('split-')}"
    owner = f" --owner {shlex.quote('@' + actor.removeprefix('@'))}" if _open_owners(made) else ""
    return f"interlock card accept {shlex.quote(into or made.name)}{owner}"
