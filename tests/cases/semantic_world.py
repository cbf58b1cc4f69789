"""Repositories of pairs of changes, their merge by git itself, and the facts of both sides; what is asserted stands in the tests."""

from __future__ import annotations

import hashlib
import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from interlock.adapters.facts import FactReaders
from interlock.core.merge.conflicts import Pair
from interlock.core.merge.facts import FileFacts
from interlock.core.merge.meet.all_rules import FileChange, SideFacts, Tree, findings

FOLDER = Path(__file__).parent / "semantic"
Case = dict[str, Any]


def cases(*names: str) -> list[Case]:
    """The scenarios of these files: files of the base, what each side writes (None: takes away), whether the two break each other."""
    return [case for name in names for case in json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))]


def edited_cases(name: str) -> list[Case]:
    """Scenarios that share a world: each names it (``on``), adds files of its own, and says a side as replacements ``[old, new]``.

    A replacement of nothing is put at the end of the file.
    """
    worlds = json.loads((FOLDER / f"{name}_worlds.json").read_text(encoding="utf-8"))
    found = []
    for case in cases(name):
        base = {**worlds[case["on"]], **case["base"]}
        sides = {which: {path: _edited(base, path, edit) for path, edit in case[which].items()} for which in ("a", "b")}
        found.append({**case, **sides, "base": base})
    return found


def _edited(base: dict[str, str], path: str, edit: str | list[list[str]] | None) -> str | None:
    if not isinstance(edit, list):
        return edit
    text = base[path]
    for old, new in edit:
        assert not old or text.count(old) == 1, (path, old)
        text = text.replace(old, new) if old else text + new
    return text


def git(repo: Path, *words: str, stdin: bytes | None = None) -> bytes:
    return subprocess.run(["git", "-C", str(repo), *words], input=stdin, capture_output=True, check=True).stdout


def stream(given: list[Case]) -> bytes:
    """All scenarios as one stream for fast-import: ``NAME/base``, ``NAME/a``, ``NAME/b``."""
    lines: list[bytes] = []
    mark = 0

    def commit(ref: str, files: dict[str, str | None], parent: int) -> int:
        nonlocal mark
        mark += 1
        lines.append(f"commit refs/heads/{ref}\nmark :{mark}\ncommitter A <a@b> {mark} +0000\ndata 1\nx".encode())
        if parent:
            lines.append(f"from :{parent}".encode())
        for path, text in files.items():
            if text is None:
                lines.append(f"D {path}".encode())
            else:
                data = text.encode()
                lines.append(b"M 100644 inline %s\ndata %d\n%s" % (path.encode(), len(data), data))
        return mark

    for case in given:
        base = commit(f"{case['name']}/base", case["base"], 0)
        commit(f"{case['name']}/a", case["a"], base)
        commit(f"{case['name']}/b", case["b"], base)
    return b"\n".join(lines) + b"\n"


def blob_id(data: bytes) -> str:
    """The name that git gives to these bytes."""
    return hashlib.sha1(b"blob %d\0%s" % (len(data), data), usedforsecurity=False).hexdigest()


@dataclass
class Meeting:
    """One repository with every scenario, its merges, and the readers of facts; what is known of it is not asked again."""

    repo: Path
    readers: FactReaders = field(default_factory=FactReaders)
    trees: dict[str, dict[str, str]] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)
    merges: dict[str, str] = field(default_factory=dict)

    @classmethod
    def made(cls, folder: Path, given: list[Case]) -> Meeting:
        repo = folder / "meeting.git"
        subprocess.run(["git", "init", "-q", "--bare", str(repo)], check=True)
        git(repo, "fast-import", "--quiet", stdin=stream(given))
        meeting = cls(repo)
        for case in given:
            for which in ("base", "a", "b"):
                files = {**case["base"], **(case[which] if which != "base" else {})}
                known = {path: text.encode() for path, text in files.items() if text is not None}
                meeting.trees[f"{case['name']}/{which}"] = {path: blob_id(data) for path, data in known.items()}
                meeting.blobs |= {blob_id(data): data for data in known.values()}
        pairs = "".join(f"{case['name']}/a {case['name']}/b\n" for case in given)
        told = git(repo, "merge-tree", "--write-tree", "--no-messages", "--stdin", stdin=pairs.encode())
        # Each is a state (1: clean), a tree, paths that clash, and nothing; the scenarios have no paths that clash.
        parts = told.decode().split("\0")
        meeting.merges = {case["name"]: oid for case, oid in zip(given, parts[1::3], strict=False)}
        assert parts[::3][:-1] == ["1"] * len(given), "One of the scenarios clashes as text."
        return meeting

    def tree(self, revision: str) -> dict[str, str]:
        if revision not in self.trees:
            entries = git(self.repo, "ls-tree", "-rz", revision).decode().split("\0")
            found = {path: meta.split()[2] for meta, _, path in (each.partition("\t") for each in entries if each)}
            self.trees[revision] = found
        return self.trees[revision]

    def merged(self, name: str) -> str:
        """The tree that git makes of both sides."""
        return self.merges[name]

    def blob(self, oid: str) -> bytes:
        if oid not in self.blobs:
            self.blobs[oid] = git(self.repo, "cat-file", "blob", oid)
        return self.blobs[oid]

    def write(self, revision: str, folder: Path) -> Path:
        for path, oid in self.tree(revision).items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(self.blob(oid))
        return folder

    def facts(self, path: str, oid: str | None) -> FileFacts | None:
        if oid is None:
            return None
        known = self.readers.known(path, oid)
        return known or self.readers.read(path, oid, self.blob(oid))

    def side(self, name: str, which: str) -> SideFacts:
        base, head = self.tree(f"{name}/base"), self.tree(f"{name}/{which}")
        files = [
            FileChange(path=path, base=self.facts(path, base.get(path)), side=self.facts(path, head.get(path)))
            for path in sorted(base.keys() | head.keys())
            if base.get(path) != head.get(path)
        ]
        return SideFacts(change=which, files=tuple(files))

    def found(self, name: str) -> tuple[Pair, ...]:
        whole = self.tree(self.merged(name))
        tree = Tree(
            lambda path: self.facts(path, whole.get(path)),
            lambda folder: [path for path in whole if path.rpartition("/")[0] == folder],
        )
        return findings(self.side(name, "a"), self.side(name, "b"), tree)
