"""The tier of facts: what pairs that merge as text do to each other's names, each alarm asked of the merged tree; rules are core's."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from interlock.core.counting import count, some
from interlock.core.gate.changes import Change
from interlock.core.merge.conflicts import Pair, Skipped
from interlock.core.merge.facts import FileFacts
from interlock.core.merge.meet.all_rules import Alarm, FileChange, Read, SideFacts, Tree, candidates, confirmed, unread
from interlock.core.merge.textual import REGULAR

if TYPE_CHECKING:
    from interlock.app.conflicts import Looked
    from interlock.core.merge.melted import MergedTree
    from interlock.ports.meeting import FactsReader, Melting

PAIRS: Final = 2000
"""So many pairs are looked at unless all are asked for: the tier's cost grows with their square."""
NOTHING: Final = FileFacts(language="other")
_UNREAD: Final = 5
# What people read and what machines show: two changes of it cannot break each other.  All else counts as code.
_PROSE: Final = re.compile(
    r"md|markdown|mdx|rst|adoc|asciidoc|txt|text|org|tex|bib|log|csv|tsv|pdf|docx?|odt|ods|xlsx?|pptx?|pot?|png|jpe?g|gif|webp|avif|bmp|ico"
    r"|svg|mp3|mp4|wav|ogg|webm|mov|ttf|otf|woff2?|eot|zip|t?gz|tar|xz|bz2|7z|lock|sum|diff|patch|snap",
    re.IGNORECASE,
)
_PROSE_NAMES: Final = re.compile(
    r"licen[sc]e|copying|notice|authors|contributors|maintainers|codeowners|readme|changelog|changes|news|todo|version"
    r"|\.(git(ignore|attributes|keep|modules)|keep|mailmap|editorconfig|dockerignore|npmignore)",
    re.IGNORECASE,
)
Named = tuple[str, str]


@dataclass(slots=True)
class Facts:
    """Facts of files by path and blob, each read once; ``at_base`` the blobs of the base's files."""

    pot: Melting
    reader: FactsReader
    held: dict[tuple[str, str], FileFacts] = field(default_factory=dict)
    at_base: dict[str, str | None] = field(default_factory=dict)
    folders: dict[str, list[str]] = field(default_factory=dict)

    def fetch(self, wanted: Iterable[tuple[str, str]]) -> None:
        """Read (path, blob) pairs, all that are missing by one process."""
        missing = []
        for each in dict.fromkeys(wanted):
            if each in self.held:
                continue
            known = self.reader.known(*each) if self.reader.looks_at(each[0]) else NOTHING
            if known is None:
                missing.append(each)
            else:
                self.held[each] = known
        for (path, oid), data in zip(missing, self.pot.read([oid for _, oid in missing]), strict=True):
            gone = FileFacts(language="other", fault="Its bytes are not here.")
            self.held[(path, oid)] = gone if data is None else self.reader.read(path, oid, data)

    def fetch_base(self, paths: Iterable[str]) -> None:
        """The same for files as the base has them."""
        missing = [path for path in dict.fromkeys(paths) if path not in self.at_base]
        self.at_base |= dict(zip(missing, self.pot.oids(missing), strict=True))
        self.fetch((path, oid) for path in missing if (oid := self.at_base[path]))

    def get(self, path: str, oid: str) -> FileFacts:
        if (path, oid) not in self.held:
            self.fetch([(path, oid)])
        return self.held[(path, oid)]

    def of_base(self, path: str) -> FileFacts | None:
        if path not in self.at_base:
            self.fetch_base([path])
        oid = self.at_base[path]
        return self.get(path, oid) if oid else None

    def within(self, folder: str) -> Collection[str]:
        """The paths of the base right within a folder."""
        if not self.folders:
            for path in self.pot.paths():
                self.folders.setdefault(path.rpartition("/")[0], []).append(path)
        return self.folders.get(folder, ())


def facts_tier(pot: Melting, reader: FactsReader, looked: Looked) -> tuple[list[Pair], list[Skipped]]:
    """What pairs that merge as text break of each other, and what could not be read.

    Only pairs whose facts meet are merged, all by one process, and every alarm is asked of the merged tree.
    """
    facts = Facts(pot, reader)
    pairs = looked.free if looked.whole else looked.free[:PAIRS]
    skipped: list[Skipped] = []
    if len(pairs) < len(looked.free):
        why = (
            f"Only {len(pairs)} of {len(looked.free)} pairs, of the oldest changes, were looked at; --all looks at all."
        )
        skipped.append(Skipped(tier="facts", why=why))
    names = list(dict.fromkeys(name for pair in pairs for name in pair))
    changes = {name: _regular(looked.matrix.changes[looked.heads[name]]) for name in names}
    facts.fetch(each for found in changes.values() for change in found for each in _blobs(change))
    sides = {name: _side(facts, name, found) for name, found in changes.items()}
    skipped += _faults(sides.values())
    alarms = {pair: found for pair in pairs if (found := candidates(*_sides(facts, looked, pair, sides, changes)))}
    return _confirm(facts, looked, alarms), skipped


def unread_code(reader: FactsReader, looked: Looked) -> dict[str, tuple[str, ...]]:
    """The files of each change that are code, by their names, and that no reader reads."""
    found: dict[str, tuple[str, ...]] = {}
    for name, head in looked.heads.items():
        changes = _regular(looked.matrix.changes.get(head, ()))
        paths = tuple(change.path for change in changes if _kind_of(change.path) and not reader.looks_at(change.path))
        if paths:
            found[name] = paths
    return found


def text_only(looked: Looked, covered: Collection[Named]) -> list[Skipped]:
    """The pairs whose both sides touch code that nothing reads and no checker covered: text is all that was looked at."""
    pairs = looked.free if looked.whole else looked.free[:PAIRS]
    bare = tuple(pair for pair in pairs if looked.unread.keys() >= set(pair) and pair not in covered)
    if not bare:
        return []
    names = dict.fromkeys(name for pair in bare for name in pair)
    kinds = [
        kind for kind, _ in Counter(_kind_of(path) for name in names for path in looked.unread[name]).most_common()
    ]
    shown = some(kinds, _UNREAD)
    return [
        Skipped(
            tier="facts",
            why=f"Nothing reads {shown}: {count(len(bare), 'pair was', 'pairs were')} looked at as text only.",
            pairs=bare,
            limit=True,
        )
    ]


def _kind_of(path: str) -> str:
    """What code is called by its name: its suffix, or the whole name where it has none; empty for what is no code."""
    name = path.rpartition("/")[2]
    stem, dot, suffix = name.rpartition(".")
    if _PROSE_NAMES.fullmatch(name) or (stem and _PROSE.fullmatch(suffix)):
        return ""
    return f"{dot}{suffix}" if stem else name


def _regular(changes: Sequence[Change]) -> tuple[Change, ...]:
    return tuple(change for change in changes if {change.old_mode, change.new_mode} <= REGULAR | {0})


def _blobs(change: Change) -> list[tuple[str, str]]:
    return [(change.path, oid) for oid in (change.old_oid, change.new_oid) if oid]


def _side(facts: Facts, name: str, changes: Sequence[Change]) -> SideFacts:
    return SideFacts(
        change=name,
        files=tuple(
            FileChange(
                path=change.path,
                base=facts.get(change.path, change.old_oid) if change.old_oid else None,
                side=facts.get(change.path, change.new_oid) if change.new_oid else None,
            )
            for change in changes
        ),
    )


def _sides(
    facts: Facts,
    looked: Looked,
    pair: Named,
    sides: Mapping[str, SideFacts],
    changes: Mapping[str, Sequence[Change]],
) -> tuple[SideFacts, SideFacts]:
    """Both sides; of two that share commits, without what they changed alike: that is one piece of work."""
    one, other = pair
    heads = tuple(sorted((looked.heads[one], looked.heads[other])))
    if heads not in looked.matrix.related:
        return sides[one], sides[other]
    alike = set(changes[one]) & set(changes[other])
    mine, theirs = (_side(facts, name, [each for each in changes[name] if each not in alike]) for name in pair)
    return mine, theirs


def _confirm(facts: Facts, looked: Looked, alarms: Mapping[Named, Sequence[Alarm]]) -> list[Pair]:
    keys = {pair: (looked.heads[pair[0]], looked.heads[pair[1]]) for pair in alarms}
    merged = facts.pot.merged(tuple(keys.values()))
    whole = {pair: tree for pair, key in keys.items() if (tree := merged[key]) is not None}
    _prefetch(facts, {pair: (tree, alarms[pair]) for pair, tree in whole.items()})
    found: list[Pair] = []
    for pair, tree in whole.items():
        asked = Tree(_reading(facts, tree), _naming(facts, tree))
        told: dict[tuple[str, str, str], Pair] = {}
        for alarm in alarms[pair]:
            key = (alarm.rule, alarm.symbol, alarm.user.path)
            if key not in told and (one := confirmed(alarm, *pair, asked)) is not None:
                told[key] = one
        found += told.values()
    return found


def _prefetch(facts: Facts, asked: Mapping[Named, tuple[MergedTree, Sequence[Alarm]]]) -> None:
    """Read what the checks will read first, by two processes for all pairs."""
    fresh: list[tuple[str, str]] = []
    base: list[str] = []
    for tree, alarms in asked.values():
        changed = {change.path: change for change in tree.changes}
        for path in dict.fromkeys(path for alarm in alarms for path in alarm.paths):
            change = changed.get(path)
            if change is None:
                base.append(path)
            elif change.new_oid and change.new_mode in REGULAR:
                fresh.append((path, change.new_oid))
    facts.fetch(fresh)
    facts.fetch_base(base)


def _reading(facts: Facts, tree: MergedTree) -> Read:
    changed = {change.path: change for change in tree.changes}

    def read(path: str) -> FileFacts | None:
        change = changed.get(path)
        if change is None:
            return facts.of_base(path)
        return facts.get(path, change.new_oid) if change.new_oid and change.new_mode in REGULAR else None

    return read


def _naming(facts: Facts, tree: MergedTree) -> Callable[[str], Collection[str]]:
    """The paths right within a folder of a merged tree."""

    def within(folder: str) -> Collection[str]:
        here = [change for change in tree.changes if change.path.rpartition("/")[0] == folder]
        gone = {change.path for change in here if not change.new_oid}
        return {*facts.within(folder), *(change.path for change in here)} - gone

    return within


def _faults(sides: Iterable[SideFacts]) -> list[Skipped]:
    """Files that could not be read as their language: the tier did not look at them, and says so."""
    told = [f"{side.change}: {fault}" for side in sides for fault in unread(side)]
    if not told:
        return []
    more = f" And {len(told) - _UNREAD} more." if len(told) > _UNREAD else ""
    return [Skipped(tier="facts", why=f"Not read: {'; '.join(each.rstrip('.') for each in told[:_UNREAD])}.{more}")]
