"""Which of many heads clash in their text, with the base and with each other, exactly as git would say; nothing is kept or run.

Three steps (facts/isolation §2): each head is merged with the base, all by one process; one more tells what each merged tree
changes; then each distinct (base, a, b) of a shared file is merged once, all of them as one synthetic tree.  What contents alone
do not decide (renames, modes, submodules, links, folders in the way) is merged whole, pair by pair, by one process.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from interlock.adapters.git import bulk_merge, marks, worktree_state
from interlock.adapters.git.attributes import attributes_of, is_driver
from interlock.adapters.git.blobs import blob_names, read_blobs
from interlock.adapters.git.discover import Found
from interlock.adapters.git.errors import NoMergeBase
from interlock.adapters.git.lineage import Lineage, lineage
from interlock.adapters.git.matrix_known import Known
from interlock.adapters.git.plumbing import GitDir, names
from interlock.adapters.git.scratch import Scratch, scratch
from interlock.core.gate.changes import Change
from interlock.core.merge.melted import Clash, Matrix, MergedTree
from interlock.core.merge.textual import PairOf, Questions, Triple, ordered, questions, side
from interlock.core.problems import Misuse, Refused
from interlock.ports.isolation import Place

_HOW: Final = {"unset": "binary", "binary": "binary", "union": "union"}
_CHUNK: Final = 20_000
_WITH_MARKS: Final = frozenset({"CONFLICT (contents)", "CONFLICT (add/add)", "CONFLICT (content)"})
_MISSING: Final = "The one changes the file, the other removes it."


@contextmanager
def melting_pot(git: GitDir, base: str, *, known: Known | None = None, found: Found | None = None) -> Iterator[Pot]:
    """Where heads are merged with ``base``, a commit; what is written there is gone afterwards (see ports.Melting).

    ``known`` is kept from call to call; ``found`` is the repository whose tasks' trees can be looked at.
    """
    with scratch(git, own=found is None) as made:
        pot = Pot(made, base, known or Known(), found)
        pot.begin()
        yield pot
        pot.known.save()


@dataclass(slots=True)
class Pot:
    """See ports.Melting."""

    made: Scratch
    base: str
    known: Known
    found: Found | None = None
    tree: str = ""
    _listed: list[bytes] | None = None
    _drivers: dict[str, str] = field(default_factory=dict)
    _commits: dict[str, str] = field(default_factory=dict)
    _rows: dict[str, bulk_merge.Told] = field(default_factory=dict)
    _changes: dict[str, tuple[Change, ...]] = field(default_factory=dict)
    _trees: dict[PairOf, MergedTree] = field(default_factory=dict)
    _marked: dict[str, tuple[str, str]] = field(default_factory=dict)

    def begin(self) -> None:
        """Find out what the base's own attributes say, since they decide how files are merged."""
        self.tree = self.made.git.text("rev-parse", "--verify", f"{self.base}^{{tree}}")
        self.known.open(self.tree, self.made.settings())
        if self.tree in self.known.plain:
            return
        if b".gitattributes\0" in self._list():
            self.made.dress(attributes_of(self.made.source, self.tree))
        else:
            self.known.plain.add(self.tree)

    def _list(self) -> bytes:
        told = self.made.git.run("ls-tree", "-r", "-z", "--name-only", "--full-tree", self.tree).out
        self._listed = told.split(b"\0")[:-1]
        return told

    @property
    def _names(self) -> list[bytes]:
        """The base's files in git's order; listed when they are first needed."""
        if self._listed is None:
            self._list()
        return self._listed or []

    # ------------------------------------------------------------ the matrix
    def matrix(self, heads: Sequence[str]) -> Matrix:
        """Every head against the base and every pair of them; see ports.Melting.  Raises GitFailed."""
        heads = tuple(dict.fromkeys(heads))
        line = lineage(self.made.git, self.base, heads)
        refused: dict[str, Refused] = {
            head: NoMergeBase(self.base, head, shallow=(self.made.git.path / "shallow").exists())
            for head in heads
            if head in line.rootless
        }
        whole = [head for head in heads if head not in refused]
        self._row(whole)
        clean = [head for head in whole if self._rows[head].clean]
        sides = {head: side(self._changes[head]) for head in clean}
        asked = questions(sides, related=line.related, emptied=self._emptied)
        pairs = self._answer(asked, line)
        return Matrix(
            base=self.base,
            refused=refused,
            with_base={head: self._of_base(head) for head in whole if not self._rows[head].clean},
            pairs={pair: clashes for pair, clashes in pairs.items() if clashes},
            changes={head: self._changes[head] for head in clean},
            related=frozenset(pair for pair in line.related if set(pair) <= sides.keys()),
            asked=(len(clean) * (len(clean) - 1)) // 2,
        )

    def _row(self, heads: Sequence[str], *, objects: bool = False) -> None:
        """Merge heads with the base and tell what that changes; with ``objects`` the trees are needed, not only their names."""
        missing = [head for head in heads if head not in self._rows]
        for head in list(missing):
            row = None if objects else self.known.rows.get(f"{self.base} {head}")
            if row is not None:
                self._rows[head], self._changes[head] = row
                missing.remove(head)
        if objects:
            missing = [head for head in heads if head not in self._commits]
        if not missing:
            return
        told = bulk_merge.melt_many(self.made, self.made.git, [(self.base, head) for head in missing])
        self._rows |= dict(zip(missing, told, strict=True))
        fresh = {head: each for head, each in zip(missing, told, strict=True) if each.clean}
        for head, each in fresh.items():
            self._commits[head] = self.made.commit(each.tree, [self.base])
        diffs = bulk_merge.diff_trees(self.made, [(self.tree, each.tree) for each in fresh.values()])
        self._changes |= {head: diffs[(self.tree, each.tree)] for head, each in fresh.items()}
        for head, each in zip(missing, told, strict=True):
            self.known.rows[f"{self.base} {head}"] = (each, self._changes.get(head, ()))

    def _of_base(self, head: str) -> tuple[Clash, ...]:
        told = self._rows[head].clashes
        self._how([path for path, kind, _ in told if kind in _WITH_MARKS])
        return tuple(
            Clash(path=path, kind=_kind(kind), why=self._worded(text), driver=self._drivers.get(path, ""))
            for path, kind, text in told
        )

    def _answer(self, asked: Questions, line: Lineage) -> dict[PairOf, tuple[Clash, ...]]:
        found: dict[PairOf, list[Clash]] = {}
        for pair, paths in asked.gone.items():
            found.setdefault(pair, []).extend(Clash(path=path, kind="modify/delete", why=_MISSING) for path in paths)
        verdicts = self._contents([triple for triples in asked.triples.values() for triple in triples])
        for pair, triples in asked.triples.items():
            for triple in triples:
                if kind := verdicts[triple]:
                    clash = Clash(path=triple.path, kind=kind, triple=triple, driver=self._drivers.get(triple.path, ""))
                    found.setdefault(pair, []).append(clash)
        for pair, told in self._whole(asked.whole, line).items():
            found[pair] = self._of_pair(pair, told)
        return {pair: tuple(clashes) for pair, clashes in found.items()}

    def _of_pair(self, pair: PairOf, told: bulk_merge.Told) -> list[Clash]:
        one, other = pair
        found = []
        self._how([path for path, kind, _ in told.clashes if kind in _WITH_MARKS])
        for path, kind, text in told.clashes:
            first, second = self._path_on(one, other, path), self._path_on(other, one, path)
            specs = (
                f"{told.tree}:{path}",
                f"{self._rows[one].tree}:{first}",
                f"{self._rows[other].tree}:{second}",
            )
            found.append(
                Clash(
                    path=path,
                    kind=_kind(kind),
                    why=self._worded(text),
                    driver=self._drivers.get(path, ""),
                    specs=specs if kind in _WITH_MARKS else None,
                    paths=(first, second) if first != second else None,
                )
            )
        return found

    def _path_on(self, head: str, other: str, path: str) -> str:
        """What ``head`` calls a file that the other renamed to ``path``; the path itself where that cannot be told."""
        mine = {change.path: change for change in self._changes[head]}
        if path in mine or self._in_base(path):
            return path
        gone = {change.path for change in self._changes[other] if change.status == "D"}
        left = [old for old, change in mine.items() if change.status == "M" and old in gone]
        alike = [old for old in left if Path(old).suffix == Path(path).suffix]
        named = [old for old in alike if Path(old).name == Path(path).name]
        return next((each[0] for each in (left, alike, named) if len(each) == 1), path)

    def _in_base(self, path: str) -> bool:
        name = os.fsencode(path)
        at = bisect_left(self._names, name)
        return at < len(self._names) and self._names[at] == name

    def _worded(self, text: str) -> str:
        """Git's sentence with heads where it names commits that were made here."""
        for head, commit in self._commits.items():
            if commit in text:
                text = text.replace(commit, head)
        return text.partition(": ")[2] or text

    def _contents(self, triples: Iterable[Triple]) -> dict[Triple, str]:
        """How each triple clashes, or nothing: every distinct one is merged once, whatever its path is called."""
        triples = list(dict.fromkeys(triples))
        how = self._how(sorted({triple.path for triple in triples}))
        keys = {triple: self._key(how[triple.path], triple) for triple in triples}
        missing = list(dict.fromkeys(key for key in keys.values() if key not in self.known.triples))
        for at in range(0, len(missing), _CHUNK):
            self._merge_contents(missing[at : at + _CHUNK])
        return {triple: self.known.triples[key] for triple, key in keys.items()}

    @staticmethod
    def _key(how: str, triple: Triple) -> str:
        """Sides in one order: whether two clash does not hang on which is first."""
        return " ".join((how, triple.base, *sorted((triple.one, triple.other))))

    def _merge_contents(self, keys: Sequence[str]) -> None:
        sides: tuple[dict[bytes, tuple[str, str]], ...] = ({}, {}, {})
        for number, key in enumerate(keys):
            how, *oids = key.split(" ")
            for files, oid in zip(sides, oids, strict=True):
                if oid:
                    files[b"%08d.%s" % (number, how.encode())] = ("100644", oid)
        base, one, other = (self.made.tree(files) for files in sides)
        root = self.made.commit(base, [])
        pair = (self.made.commit(one, [root]), self.made.commit(other, [root]))
        (told,) = bulk_merge.melt_many(self.made, self.made.bare, [pair])
        clashing = {path: _kind(kind) for path, kind, _ in told.clashes}
        for number, key in enumerate(keys):
            name = f"{number:08d}.{key.partition(' ')[0]}"
            self.known.triples[key] = clashing.get(name, "")
            self._marked[key] = (told.tree, name)

    def _how(self, paths: Sequence[str]) -> dict[str, str]:
        """By which of git's own ways each path is merged, as the base's attributes say; drivers of others are not run."""
        if not paths or not self.made.attributed():
            return dict.fromkeys(paths, "text")
        told = self.made.how(paths)
        drivers = {path: value for path, value in told.items() if is_driver(value)}
        self._drivers |= drivers
        return {path: "binary" if path in drivers else _HOW.get(value, "text") for path, value in told.items()}

    def _whole(self, pairs: Iterable[PairOf], line: Lineage) -> dict[PairOf, bulk_merge.Told]:
        """Pairs merged whole: on the base where they share nothing beyond it, else as one after the other would land."""
        found: dict[PairOf, bulk_merge.Told] = {}
        missing: list[PairOf] = []
        for pair in sorted(pairs):
            told = self.known.pairs.get(f"{self.base} {' '.join(pair)}")
            if told is None:
                missing.append(pair)
            else:
                found[pair] = told
        if missing:
            self._row(sorted({head for pair in missing for head in pair}), objects=True)
            asked = [self._merging(pair, line) for pair in missing]
            for pair, told in zip(missing, bulk_merge.melt_many(self.made, self.made.git, asked), strict=True):
                found[pair] = told
                if told.clean:  # of a clash the merged files are wanted as well, and they are gone with the scratch
                    self.known.pairs[f"{self.base} {' '.join(pair)}"] = told
        return found

    def _merging(self, pair: PairOf, line: Lineage) -> tuple[str, str]:
        one, other = pair
        if pair in line.related:
            return self.made.commit(self._rows[one].tree, [self.base, one]), other
        return self._commits[one], self._commits[other]

    def _emptied(self, folders: Sequence[str], gone: frozenset[str], come: frozenset[str]) -> frozenset[str]:
        found = set()
        for folder in folders:
            under = f"{folder}/" if folder else ""
            if any(path.startswith(under) for path in come):
                continue
            here = sum(path.startswith(under) for path in gone)
            if here == self._count(under):
                found.add(folder)
        return frozenset(found)

    def _count(self, under: str) -> int:
        if not under:
            return len(self._names)
        first = under.encode("utf-8", "surrogateescape")
        after = first[:-1] + b"0"  # the letter that follows the slash
        return bisect_left(self._names, after) - bisect_left(self._names, first)

    # ------------------------------------------------------------ looking closer
    def merged(self, pairs: Sequence[PairOf]) -> Mapping[PairOf, MergedTree | None]:
        """What two heads make together on the base, None where they clash; see ports.Melting."""
        missing = [pair for pair in dict.fromkeys(pairs) if pair not in self._trees]
        line = lineage(self.made.git, self.base, sorted({head for pair in missing for head in pair}))
        self._row(sorted({head for pair in missing for head in pair} - line.rootless), objects=True)
        clean = [pair for pair in missing if all(head in self._commits for head in pair)]
        told = bulk_merge.melt_many(self.made, self.made.git, [self._merging(ordered(*pair), line) for pair in clean])
        whole = {pair: each.tree for pair, each in zip(clean, told, strict=True) if each.clean}
        diffs = bulk_merge.diff_trees(self.made, [(self.tree, tree) for tree in whole.values()])
        for pair, tree in whole.items():
            self._trees[pair] = MergedTree(tree=tree, changes=diffs[(self.tree, tree)])
        return {pair: self._trees.get(pair) for pair in pairs}

    def paths(self) -> tuple[str, ...]:
        """Every path of the base."""
        return tuple(names(b"\0".join(self._names)))

    def read(self, specs: Sequence[str]) -> tuple[bytes | None, ...]:
        """Files by their object, or as TREE:PATH; also those of merged trees."""
        return read_blobs(self.made.git, specs)

    def oids(self, paths: Sequence[str]) -> tuple[str | None, ...]:
        """The objects of files of the base; None for what is not there or is no file."""
        return blob_names(self.made.git, [f"{self.tree}:{path}" for path in paths])

    def placed(self, clashes: Sequence[Clash]) -> tuple[Clash, ...]:
        """The clashes with the lines of both sides where their contents first differ in the way."""
        specs = self._specs(clashes)
        read = self.read([spec for three in specs.values() for spec in three])
        found: dict[Clash, Clash] = {}
        for number, clash in enumerate(specs):
            marked, one, other = read[3 * number : 3 * number + 3]
            swapped = clash.triple is not None and clash.triple.one > clash.triple.other
            lines = marks.first_clash(marked or b"", one or b"", other or b"", swapped=swapped)
            found[clash] = replace(clash, lines=lines) if lines else clash
        return tuple(found.get(clash, clash) for clash in clashes)

    def _specs(self, clashes: Sequence[Clash]) -> dict[Clash, tuple[str, str, str]]:
        """Where the merged file and both sides of each clash of contents can be read; what is gone is merged again."""
        how = self._how(sorted({clash.triple.path for clash in clashes if clash.triple is not None}))
        keys = {clash: self._key(how[each.path], each) for clash in clashes if (each := clash.triple) is not None}
        lost = [key for key in dict.fromkeys(keys.values()) if key not in self._marked]
        for at in range(0, len(lost), _CHUNK):
            self._merge_contents(lost[at : at + _CHUNK])
        found = {clash: clash.specs for clash in clashes if clash.specs is not None}
        for clash, key in keys.items():
            if clash.triple is not None:
                found[clash] = (":".join(self._marked[key]), clash.triple.one, clash.triple.other)
        return found

    def times(self, heads: Sequence[str]) -> Mapping[str, float]:
        """When each head was committed, in seconds since the epoch."""
        if not heads:
            return {}
        git = self.made.git
        asked = "\n".join(heads).encode()
        lines = git.text("rev-list", "--no-walk=unsorted", "--timestamp", "--stdin", stdin=asked).splitlines()
        return {oid: float(moment) for moment, oid in (line.split(" ") for line in lines)}

    def present(self, place: Place, head: str) -> str | None:
        """What a task's tree holds now, as a commit on ``head`` that is made here alone; see present.present."""
        if self.found is None:
            raise Misuse("A task's tree can only be looked at in a repository that Interlock has a record of.")
        return worktree_state.present(self.found, self.made, place, head)


def _kind(told: str) -> str:
    """The kind in git's words: content, add/add, modify/delete, rename/rename, …"""
    inner = told.partition("(")[2].rpartition(")")[0]
    return {"contents": "content"}.get(inner, inner) or told.lower()
