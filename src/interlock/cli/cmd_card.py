"""``interlock card``: check, draw, explain and write task cards; the rules are in core."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from interlock.cli.actor import default_actor
from interlock.cli.card_split import accept, split
from interlock.cli.groups import ThingGroup
from interlock.cli.names import shown
from interlock.cli.render import Face, gate, problem_lines, table, verb
from interlock.core.problems import InterlockError, Misuse

if TYPE_CHECKING:
    from interlock.app.card_source import Source
    from interlock.app.cards import CardReport
    from interlock.ports.repository import Repo

here_option = click.option("--here", is_flag=True, help="Read the files at hand instead of the default branch.")


@click.group("card", cls=ThingGroup)
def command() -> None:
    """Write and check task cards: what a task may change, how it is checked, and when to stop."""


@command.command("check")
@click.argument("names", nargs=-1, metavar="[SLUG]...")
@here_option
@gate(ready=False, problems=[], overlaps=[], order=[])
def check(face: Face, names: tuple[str, ...], here: bool) -> int:
    """Show everything that keeps cards from being ready, alone and together.

    Reads the default branch of the remote, as dispatch does, or with --here the files at hand. Refuses vague cards,
    YAML that two readers would read differently, circles of dependencies, classes that paths contradict, and paths
    that two unordered cards both claim. Warnings do not count.
    """
    source, landed = _open(names, here)
    report = source.check(names, landed)
    if not here:
        report = report.without(_given_up())
    face.answer(report.as_json(), _lines(report, source), then=_next(report, names, here))
    return 0 if report.ready else 1


@command.command("graph")
@here_option
@verb
def graph(face: Face, here: bool) -> int:
    """Show what depends on what, and in which order the cards can land.

    Ends with 1 when cards depend on each other in a circle or on a card that does not exist.
    """
    from interlock.app.cards import graph_of

    source, landed = _open((), here)
    shape = graph_of(source.cards, landed)
    rows = [(node["wave"] or "-", node["slug"], ", ".join(node["depends_on"]) or "-") for node in shape["nodes"]]
    lines = [f"read from {source.name}", *table(rows, ("wave", "card", "after"))]
    lines += [f"circle: {' -> '.join((*circle, circle[0]))}" for circle in shape["cycles"]]
    lines += [f"unknown: {item['needs']}, which {item['slug']} depends on" for item in shape["unknown"]]
    face.answer({**shape, "source": source.name}, lines)
    return 1 if shape["cycles"] or shape["unknown"] else 0


@command.command("explain")
@click.argument("slug")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@here_option
@verb
def explain(face: Face, slug: str, paths: tuple[str, ...], here: bool) -> int:
    """Tell for each path which pattern decides whether the card may change it.

    Ends with 1 when one of the paths may not be changed.
    """
    from interlock.app.cards import explain_paths

    source, _ = _open((slug,), here)
    found = explain_paths(source.cards, source.policy, slug, paths)
    lines = [f"{item['path']}: {item['rule'] or 'in scope'}. {item['why']}" for item in found]
    face.answer({"slug": slug, "source": source.name, "paths": found}, lines)
    return 1 if any(item["rule"] for item in found) else 0


@command.command("new")
@click.argument("name", metavar="SLUG")
@click.option("--class", "class_name", required=True, help="The class of the work, such as vertical-slice.")
@click.option("--goal", default="", help="What, for whom.")
@click.option("--owns", multiple=True, metavar="PATTERN", help="A path it may change; can be given again.")
@click.option(
    "--check", "checks", multiple=True, metavar="COMMAND", help="A command that proves it; can be given again."
)
@click.option("--done", multiple=True, metavar="CONDITION", help="When the goal is reached; can be given again.")
@click.option("--owner", default=None, help="Who decides about it and signs it off; you, when not given.")
@verb
def new(
    face: Face,
    name: str,
    class_name: str,
    goal: str,
    owns: tuple[str, ...],
    checks: tuple[str, ...],
    done: tuple[str, ...],
    owner: str | None,
) -> int:
    """Write tasks/SLUG.yaml from a template; what is not given is left as a marked blank.

    Refuses a slug that cannot name a branch, an unknown class, a pattern that cannot be used, and to overwrite.
    """
    from interlock.app.new_card import NewCard, blanks_of, card_text
    from interlock.wiring import open_repo

    card = NewCard(
        slug=name,
        class_name=class_name,
        owner=owner or f"@{default_actor().removeprefix('@')}",
        goal=goal,
        owned_paths=owns,
        checks=checks,
        done_when=done,
    )
    repo = open_repo()
    text = card_text(card)
    _refuse_unusable(repo, name, class_name, text)
    path = f"tasks/{name}.yaml"
    _write_new(repo.at_hand / path, text)
    blanks = blanks_of(text)
    lines = [f"wrote {path}"]
    if blanks:
        lines.append(f"Blanks to fill in there, each marked FILL IN: {blanks}.")
        then = f"interlock card check {name} --here"
    else:
        then = f"git add {path} && git commit -m 'Add card {name}' && git push && interlock dispatch {name}"
    face.answer({"slug": name, "file": path, "blanks": blanks}, lines, then=then)
    return 0


command.add_command(split)
command.add_command(accept)


# ---------------------------------------------------------------- what the verbs lean on
def _open(slugs: tuple[str, ...], here: bool) -> tuple[Source, frozenset[str]]:
    from interlock.app.card_source import from_default_branch, from_files_at_hand
    from interlock.wiring import contract_files, open_repo

    repo = open_repo()
    read = from_files_at_hand if here else from_default_branch
    return read(repo, contract_files(), slugs), _landed(repo)


def _landed(repo: Repo) -> frozenset[str]:
    """Slugs that have landed, as the default branch's own history says; none before the first fetch."""
    try:
        return repo.landed_slugs(repo.last_base().oid)
    except InterlockError:
        return frozenset()


def _given_up() -> tuple[str, ...]:
    """Slugs of the default branch that a person abandoned; none where nothing was ever dispatched, or nobody can tell."""
    from interlock.wiring import has_record, open_ports, open_repo

    if not has_record(open_repo()):
        return ()
    from interlock.app.dispatch import given_up

    with suppress(InterlockError):  # cards are judged by what they say, whether the record can be opened or not
        ports = open_ports()
        return given_up(ports, ports.repo.last_base().oid)
    return ()


def _lines(report: CardReport, source: Source) -> list[str]:
    lines = [f"read from {report.source}"]
    if source.note:
        lines.append(f"note: {source.note}")
    for each in report.problems:
        first, *rest = problem_lines(each.problem)
        lines += [first if each.blocks else f"warning: {first}", *rest]
    for overlap in report.overlaps:
        both = overlap.kind == "write-write"
        who = f"{overlap.a} and {overlap.b} both own" if both else f"{overlap.a} owns and {overlap.b} reads"
        lines.append(f"{who} {overlap.path}. [{overlap.kind}]")
        lines.append(f"    fix: {overlap.fix}")
    if report.skipped:
        lines.append(f"landed already: {', '.join(report.skipped)}")
    lines += [f"abandoned: {slug}. Change the card, or name it: interlock dispatch {slug}" for slug in report.abandoned]
    blocking = sum(each.blocks for each in report.problems)
    if report.ready:
        lines.append(f"ready, in this order: {', '.join(report.order)}" if report.order else "no card to check")
    else:
        lines.append(f"not ready: problems {blocking}, overlaps {len(report.overlaps)}")
    return lines


def _next(report: CardReport, slugs: tuple[str, ...], here: bool) -> str | None:
    again = " ".join(("interlock card check", *slugs, *(("--here",) if here else ())))
    if not report.ready:
        return again
    if not report.order:
        return "interlock card new SLUG --class vertical-slice"
    if here:
        return "git add tasks && git commit -m 'Add cards' && git push && interlock dispatch --ready"
    due = [slug for slug in report.order if slug not in report.abandoned]
    return f"interlock dispatch {' '.join(due)}" if due else None


def _refuse_unusable(repo: Repo, slug: str, class_name: str, text: str) -> None:
    """Refuse before anything is written: the text has to be a card, of a class that the policy at hand has."""
    from interlock.core.contract.suggest import nearest
    from interlock.core.problems import BadInput
    from interlock.wiring import contract_files

    files = contract_files()
    policy_file = repo.at_hand / "interlock.yaml"
    policy, _ = files.policy(policy_file.read_bytes() if policy_file.is_file() else b"", "interlock.yaml")
    if policy.find_class(class_name) is None:
        names = [each.name for each in policy.classes]
        guess = nearest(class_name, names)
        raise Misuse(
            f"The class {shown(class_name) or 'of an empty name'} is not known.",
            hint=f"Did you mean {guess}?" if guess else f"Known: {', '.join(names)}.",
        )
    found = files.card(text.encode("utf-8", "surrogateescape"), f"tasks/{slug}.yaml", slug)
    if found.problems:
        raise BadInput(found.problems)


def _write_new(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        fault = InterlockError(
            f"{path.name} is there already, and is not overwritten.", hint="Edit it, or take another slug."
        )
        fault.code = "name-taken"
        raise fault from None
