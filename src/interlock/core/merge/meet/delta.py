"""What a change takes away, alters and newly uses, computed once per change; judging two changes is not here."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from interlock.core.merge.facts import FileFacts, Mark, Symbol, Use
from interlock.core.merge.meet.sides import FileChange, SideFacts

_FOLDERS = frozenset({"go", "java"})
"""Languages in which a symbol belongs to the folder (the package) and not to the file."""
_ALIKE = 0.5


@dataclass(frozen=True, slots=True)
class Gone:
    """A symbol that a change takes out of a file; ``new`` is the name that it likely has now."""

    path: str
    symbol: Symbol
    facts: FileFacts
    new: str = ""


@dataclass(frozen=True, slots=True)
class Altered:
    """A symbol that a change keeps and alters in what a caller can notice."""

    path: str
    old: Symbol
    new: Symbol
    facts: FileFacts


@dataclass(frozen=True, slots=True)
class NewUse:
    """A use that was not in the file on the base."""

    path: str
    use: Use
    facts: FileFacts


@dataclass(frozen=True, slots=True)
class At:
    """A mark and the file that it stands in."""

    path: str
    mark: Mark
    facts: FileFacts


@dataclass(frozen=True, eq=False, kw_only=True)
class Delta:
    """A change as what it does to symbols, uses and marks; everything by name, so that two changes meet by a look-up."""

    side: SideFacts
    gone: dict[str, list[Gone]] = field(default_factory=lambda: defaultdict(list))
    altered: dict[str, list[Altered]] = field(default_factory=lambda: defaultdict(list))
    added: dict[str, list[tuple[str, Symbol, FileFacts]]] = field(default_factory=lambda: defaultdict(list))
    uses: dict[str, list[NewUse]] = field(default_factory=lambda: defaultdict(list))
    lost: dict[tuple[str, str], list[At]] = field(default_factory=lambda: defaultdict(list))
    marked: dict[tuple[str, str], list[At]] = field(default_factory=lambda: defaultdict(list))
    modules: dict[str, str] = field(default_factory=dict)
    """Files that are no longer there → where they likely are now, or nothing."""

    @property
    def name(self) -> str:
        return self.side.change


def delta_of(side: SideFacts) -> Delta:
    """The change as a delta, kept beside its facts."""
    found = side.kept.get("delta")
    if not isinstance(found, Delta):
        found = side.kept["delta"] = _delta(side)
    return found


def _delta(side: SideFacts) -> Delta:
    delta = Delta(side=side)
    for change in side.files:
        if any(facts is not None and facts.fault for facts in (change.base, change.side)):
            continue
        _symbols(delta, change)
        _uses(delta, change)
        _marks(delta, change)
        if change.base is not None and change.side is None:
            delta.modules[change.path] = _moved(side, change)
    return delta


def provided(facts: FileFacts) -> list[Symbol]:
    """Symbols of a file, and for Python what it imports at its top, which others may import from there."""
    if facts.language != "python":
        return list(facts.symbols)
    imported = (
        Symbol(name=each.local or each.name or each.module, kind="variable", line=each.line)
        for each in facts.imports
        if each.name != "*"
    )
    return [*facts.symbols, *imported]


def _symbols(delta: Delta, change: FileChange) -> None:
    before = _by_path(change.base) if change.base else {}
    after = _by_path(change.side) if change.side else {}
    elsewhere = _siblings(delta.side, change)
    fresh = [each[0] for path, each in after.items() if path not in before]
    if change.side is not None:
        for symbol in fresh:
            delta.added[symbol.name].append((change.path, symbol, change.side))
    if change.base is None:
        return
    for path, olds in before.items():
        if path in after:
            old, new = olds[0], after[path][0]
            if len(olds) == 1 and len(after[path]) == 1 and _differs(old, new):
                delta.altered[old.name].append(Altered(change.path, old, new, change.base))
        elif olds[0].path not in elsewhere:
            delta.gone[olds[0].name].append(Gone(change.path, olds[0], change.base, _likely(olds[0], fresh)))


def _by_path(facts: FileFacts) -> dict[str, list[Symbol]]:
    """Symbols by their path; a method of Java's may have the name of a field beside it."""
    found: dict[str, list[Symbol]] = {}
    for each in provided(facts):
        ends = "()" if facts.language == "java" and each.kind == "method" else ""
        found.setdefault(each.path + ends, []).append(each)
    return found


def _siblings(side: SideFacts, change: FileChange) -> frozenset[str]:
    """Symbols of the same package that other files of the change have now, where files do not matter."""
    language = change.base.language if change.base else ""
    if language not in _FOLDERS:
        return frozenset()
    folder = change.path.rpartition("/")[0]
    return frozenset(
        symbol.path
        for each in side.files
        if each.side is not None and each.path != change.path and each.path.rpartition("/")[0] == folder
        for symbol in each.side.symbols
    )


def _differs(old: Symbol, new: Symbol) -> bool:
    return (old.signature, old.raises, old.abstract, old.kind, old.bases, old.static, old.public, old.shape) != (
        new.signature,
        new.raises,
        new.abstract,
        new.kind,
        new.bases,
        new.static,
        new.public,
        new.shape,
    )


def _likely(old: Symbol, fresh: list[Symbol]) -> str:
    """The name that a symbol likely has now: the same body first, then the most alike of its kind and owner."""
    near = [each for each in fresh if each.owner == old.owner and (each.kind == old.kind)]
    for each in near:
        if old.digest and each.digest == old.digest:
            return each.name
    scored = sorted(((SequenceMatcher(None, old.name, each.name).ratio(), each.name) for each in near), reverse=True)
    if scored and (scored[0][0] >= _ALIKE or (len(near) == 1 and near[0].signature == old.signature)):
        return scored[0][1]
    return ""


def _use_key(use: Use) -> tuple[object, ...]:
    return (use.name, use.source, use.of, use.call, use.then, use.caught)


def _uses(delta: Delta, change: FileChange) -> None:
    if change.side is None:
        return
    left = Counter(_use_key(each) for each in change.base.uses) if change.base else Counter()
    for use in change.side.uses:
        key = _use_key(use)
        if left[key] > 0:
            left[key] -= 1
        else:
            delta.uses[use.name].append(NewUse(change.path, use, change.side))
    _imported(delta, change)


def _imported(delta: Delta, change: FileChange) -> None:
    """A newly imported name is a use too, for readers that tell it only as an import."""
    if change.side is None or change.side.language == "python":
        return
    told = {(use.name, use.source) for use in change.side.uses}
    before = {(each.module, each.name) for each in change.base.imports} if change.base else set()
    for each in change.side.imports:
        if each.name not in {"", "*"} and (each.module, each.name) not in before | told:
            use = Use(name=each.name, line=each.line, source=each.module)
            delta.uses[each.name].append(NewUse(change.path, use, change.side))


def _marks(delta: Delta, change: FileChange) -> None:
    before = Counter(_mark_key(each) for each in change.base.marks) if change.base else Counter()
    after = Counter(_mark_key(each) for each in change.side.marks) if change.side else Counter()
    if change.side is not None:
        left = Counter(before)
        for mark in change.side.marks:
            if left[_mark_key(mark)] > 0:
                left[_mark_key(mark)] -= 1
            else:
                delta.marked[mark.kind, mark.name].append(At(change.path, mark, change.side))
    if change.base is not None:
        for mark in change.base.marks:
            if not after[_mark_key(mark)]:
                delta.lost[mark.kind, mark.name].append(At(change.path, mark, change.base))


def _mark_key(mark: Mark) -> tuple[str, ...]:
    return (mark.kind, mark.name, mark.role, mark.scope, mark.detail)


def _moved(side: SideFacts, change: FileChange) -> str:
    """Where a file that is gone likely is now: a new one with the most of its symbols, or with its name."""
    if change.base is None:
        return ""
    old = {symbol.path for symbol in change.base.symbols}
    best, score = "", 0.0
    for each in side.files:
        if each.base is None and each.side is not None and each.side.language == change.base.language:
            new = {symbol.path for symbol in each.side.symbols}
            alike = len(old & new) / max(1, len(old | new))
            if each.path.rpartition("/")[2] == change.path.rpartition("/")[2]:
                alike += 0.3
            if alike > score:
                best, score = each.path, alike
    return best if score > 0.2 else ""
