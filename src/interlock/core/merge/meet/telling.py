"""How an alarm about a text is told, and which file a function that is given one is of; the rules are in the modules that ask."""

from __future__ import annotations

from collections.abc import Callable

from interlock.core.merge.conflicts import Spot
from interlock.core.merge.meet.delta import At, Delta
from interlock.core.merge.meet.marks import has_mark
from interlock.core.merge.meet.modules import resolve
from interlock.core.merge.meet.sides import Alarm, Tree

Check = Callable[[Tree], bool]


def tell(
    breaker: Delta, user: Delta, rule: str, old: tuple[str, int, str], at: At, gone: str, do: str, check: Check
) -> Alarm:
    path, line, text = old

    def both(tree: Tree) -> bool:
        return has_mark(tree, at.path, at.mark) and check(tree)

    return Alarm(
        rule=rule,
        symbol=text,
        breaker=Spot(change=breaker.name, path=path, line=line, text=text),
        user=Spot(change=user.name, path=at.path, line=at.mark.line, text=at.mark.name),
        why=f"{breaker.name} {gone}, and {user.name} newly names it in {at.path}, line {at.mark.line}.",
        action=f"{do} in {user.name}, or keep the old one in {breaker.name} until nothing names it.",
        check=both,
        paths=(at.path, path),
    )


def module_of(tree: Tree, path: str, callee: str) -> str | None:
    """The file that a function as told by a call (``app.core:run``, ``app:core.run``) is of."""
    source, _, dotted = callee.partition(":")
    parts = dotted.split(".")
    for count in range(len(parts) - 1, -1, -1):
        glue = "" if source.endswith(".") else "."
        module = source + (glue + ".".join(parts[:count]) if count else "")
        if (where := resolve(tree, path, module)) is not None:
            return where
    return None
