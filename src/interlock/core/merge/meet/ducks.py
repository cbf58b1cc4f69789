"""Python types that only a name, a fixture or a likeness tells: what is called like its class, what has all of a protocol."""

from __future__ import annotations

import re
from collections.abc import Callable

from interlock.core.merge.conflicts import Spot
from interlock.core.merge.facts import FileFacts, Symbol
from interlock.core.merge.meet.defined import Where, defined, member, type_at
from interlock.core.merge.meet.delta import Altered, Delta, Gone, NewUse
from interlock.core.merge.meet.members import untold
from interlock.core.merge.meet.modules import family, names_file
from interlock.core.merge.meet.names import same_use, still_used, users
from interlock.core.merge.meet.sides import Alarm, Tree

Check = Callable[[Tree], bool]


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def so_called(breaker: Delta, user: Delta, gone: Gone) -> list[Alarm]:
    """A member that is gone, read from what is called like its class (``order.customer.vip``) or is a fixture that makes one."""
    found = []
    for new in user.uses.get(gone.symbol.name, ()):
        named = {each.partition(":")[2] for each in new.use.then if each.startswith("on:")}
        if not named or "." in gone.symbol.owner or still_used(breaker.side, new):
            continue
        check = _lost_of_name(breaker, new, gone, named)
        renamed = f"renames {gone.symbol.path} to {gone.new}" if gone.new else f"removes {gone.symbol.path}"
        found.append(
            Alarm(
                rule="renamed-member" if gone.new else "removed-member",
                symbol=gone.symbol.path,
                breaker=Spot(change=breaker.name, path=gone.path, line=gone.symbol.line, text=gone.symbol.path),
                user=Spot(change=user.name, path=new.path, line=new.use.line, text=gone.symbol.name),
                why=f"{breaker.name} {renamed} in {gone.path}, and {user.name} newly uses {gone.symbol.name} of"
                f" {min(named)} in {new.path}, line {new.use.line}.",
                action=(f"Use {gone.new} in {user.name}" if gone.new else f"Take the use out of {user.name}")
                + f", or keep {gone.symbol.name} in {breaker.name} until nothing uses it.",
                check=check,
                paths=(new.path, gone.path),
            )
        )
    return found


def _lost_of_name(breaker: Delta, new: NewUse, gone: Gone, named: set[str]) -> Check:
    owner, name = gone.symbol.owner, gone.symbol.name

    def check(tree: Tree) -> bool:
        for path, facts in users(tree, breaker.side, new.path):
            if (use := same_use(facts, new.use)) is None or not untold(tree, path, facts, use):
                continue
            for fixture in named:
                place = fixture_type(tree, path, facts, fixture)
                if place is not None:
                    seen: list[Where] = []
                    return (
                        member(tree, place, name, seen) is None and (gone.path, owner) in seen and ("?", "") not in seen
                    )
            seen = []
            if _snake(owner) in named and len(name) > 2 and member(tree, (gone.path, owner), name, seen) is None:
                return ("?", "") not in seen and _only_one(tree, path, facts, owner, gone) and _is_near(path, gone.path)
        return False

    return check


def so_read(breaker: Delta, altered: Altered, new: NewUse) -> Check | None:
    """How to see in the merged tree that a property which is a method now is read of what is called like its class; None for other uses."""
    named = {each.partition(":")[2] for each in new.use.then if each.startswith("on:")}
    done = {each for each in new.use.then if not each.startswith("on:")}
    owner, name = altered.new.owner, altered.new.name
    if not named or not done or new.use.call is not None or "." in owner:
        return None

    def check(tree: Tree) -> bool:
        target = tree(altered.path)
        now = [each for each in target.symbols if each.path == altered.new.path] if target is not None else []
        if len(now) != 1 or now[0].shape == "property" or now[0].kind != "method":
            return False
        for path, facts in users(tree, breaker.side, new.path):
            uses = [
                each
                for each in facts.uses
                if (each.name, each.of, each.then, each.call) == (name, new.use.of, new.use.then, None)
            ]
            if not uses or not untold(tree, path, facts, uses[0]):
                continue
            types = [place for each in sorted(named) if (place := fixture_type(tree, path, facts, each)) is not None]
            if types:
                return (altered.path, owner) in types
            own = [each for each in facts.symbols if each.name == name]
            return _snake(owner) in named and not own and _is_near(path, altered.path)
        return False

    return check


def _is_near(path: str, other: str) -> bool:
    """In one top folder and no test: what tests call by the name of a class is a fake more often than not."""
    return path.partition("/")[0] == other.partition("/")[0] and "test" not in path


def _only_one(tree: Tree, path: str, facts: FileFacts, owner: str, gone: Gone) -> bool:
    """Whether no other class of that name, and no other member of the name, is in sight."""
    mine = defined(tree, path, owner)
    if mine is not None and mine[0] != gone.path:
        return False
    own = [each for each in facts.symbols if each.name == gone.symbol.name]
    return not own and (mine is not None or bool(gone.new))


def fixture_type(tree: Tree, path: str, facts: FileFacts, name: str) -> Where | None:
    """The class of what a fixture of pytest makes, nearest first; None where the file asks for none of that name."""
    if not any(each.kind == "fixture" and each.name == name and each.role == "uses" for each in facts.marks):
        return None
    place = path
    while True:
        here = tree(place)
        if here is not None:
            types = [each.detail for each in here.marks if each.scope == "fixture-type" and each.name == name]
            if types:
                return type_at(tree, place, types[0])
            if any(each.kind == "fixture" and each.name == name and each.role == "defines" for each in here.marks):
                return None
        above = (
            place.rpartition("/")[0]
            if not place.endswith("conftest.py")
            else place.rpartition("/")[0].rpartition("/")[0]
        )
        if place == "conftest.py" or (
            place.endswith("/conftest.py")
            and "/" not in place.removesuffix("/conftest.py")
            and tree("conftest.py") is None
        ):
            return None
        place = f"{above}/conftest.py".lstrip("/")


def duck_types(breaker: Delta, user: Delta) -> list[Alarm]:
    """A protocol that wants one more member, and a new class that has the others and is handed to who asks for it."""
    found = []
    for name, news in breaker.added.items():
        for path, symbol, facts in news:
            change = breaker.side.get(path)
            if family(facts) != "python" or symbol.kind != "method" or change is None or change.base is None:
                continue
            types = [each for each in facts.symbols if each.path == symbol.owner]
            if not types or not any(base.rpartition(".")[2].partition("[")[0] == "Protocol" for base in types[0].bases):
                continue
            wanted = {each.name for each in change.base.symbols if each.owner == symbol.owner and each.kind == "method"}
            found += [
                _duck(breaker, user, (path, symbol), (where, new))
                for added in user.added.values()
                for where, new, inside in added
                if new.kind == "class" and wanted and not new.bases
                and wanted <= (has := {each.name for each in inside.symbols if each.owner == new.path}) and name not in has
                and _handed(user, new.name, path, facts)
            ]  # fmt: skip
    return found


def _handed(user: Delta, name: str, path: str, facts: FileFacts) -> bool:
    """Whether a file that makes one of the class also takes something of the protocol's module."""
    makers = {new.path: new for new in user.uses.get(name, ()) if new.use.call is not None}
    return any(
        names_file(new.path, new.facts, each.module, path, facts)
        for new in makers.values()
        for each in new.facts.imports
    )


def _duck(breaker: Delta, user: Delta, asked: tuple[str, Symbol], new: tuple[str, Symbol]) -> Alarm:
    (path, duty), (where, symbol) = asked, new

    def check(tree: Tree) -> bool:
        facts, now = tree(where), tree(path)
        if facts is None or now is None or not any(each.path == symbol.path for each in facts.symbols):
            return False
        seen: list[Where] = []
        lacks = member(tree, (where, symbol.path), duty.name, seen) is None and ("?", "") not in seen
        return lacks and any(each.path == duty.path for each in now.symbols)

    return Alarm(
        rule="new-abstract",
        symbol=duty.path,
        breaker=Spot(change=breaker.name, path=path, line=duty.line, text=duty.path),
        user=Spot(change=user.name, path=where, line=symbol.line, text=symbol.path),
        why=f"{breaker.name} lets {duty.owner} in {path} want {duty.name} too, and {user.name} adds {symbol.path} in {where},"
        f" line {symbol.line}, which has all the rest of it but that.",
        action=f"Define {duty.name} in {symbol.path} of {user.name}, or do without it in {breaker.name}.",
        check=check,
        paths=(where, path),
    )
