"""How often known-good merges of a project's history are flagged by facts, how many broken ones are seen, and what it costs."""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from interlock.adapters.facts import FactReaders
from interlock.core.merge.conflicts import Pair
from interlock.core.merge.facts import FileFacts
from interlock.core.merge.meet.all_rules import FileChange, SideFacts, Tree, candidates, findings

CODE = (".py", ".ts", ".tsx", ".js", ".jsx", ".go", ".java", ".sql", ".sh")


class Git:
    """A repository that is only read: objects that a merge makes go to a folder of their own."""

    def __init__(self, path: Path, scratch: Path) -> None:
        common = subprocess.run(
            ["git", "-C", str(path), "rev-parse", "--path-format=absolute", "--git-common-dir"],
            capture_output=True,
            check=True,
            text=True,
        ).stdout.strip()
        self.path = path
        self.env = {
            **os.environ,
            "GIT_OBJECT_DIRECTORY": str(scratch),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": f"{common}/objects",
        }
        self.batch = subprocess.Popen(
            ["git", "-C", str(path), "cat-file", "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self.env
        )

    def run(self, *words: str) -> tuple[int, str]:
        done = subprocess.run(["git", "-C", str(self.path), *words], capture_output=True, env=self.env, check=False)
        return done.returncode, done.stdout.decode("utf-8", "surrogateescape")

    def blob(self, oid: str) -> bytes:
        ask, answer = self.batch.stdin, self.batch.stdout
        if ask is None or answer is None:
            raise RuntimeError
        ask.write(oid.encode() + b"\n")
        ask.flush()
        return _answer(answer)

    def tree(self, revision: str) -> dict[str, str]:
        entries = self.run("ls-tree", "-rz", revision)[1].split("\0")
        return {
            path: meta.split()[2]
            for meta, _, path in (each.partition("\t") for each in entries if each)
            if meta.split()[1] == "blob"
        }

    def changes(self, old: str, new: str) -> dict[str, tuple[str, str]]:
        parts = self.run("diff-tree", "-r", "-z", "--no-renames", old, new)[1].split("\0")
        return {path: (meta.split()[2], meta.split()[3]) for meta, path in zip(parts[::2], parts[1::2], strict=False)}


def _answer(stream: IO[bytes]) -> bytes:
    head = stream.readline().split()
    if len(head) < 3:
        return b""
    data = stream.read(int(head[2]))
    stream.read(1)
    return data


@dataclass
class World:
    """Facts of one repository, read through a cache."""

    git: Git
    readers: FactReaders
    read: int = 0
    seconds: float = 0.0

    def facts(self, path: str, oid: str | None) -> FileFacts | None:
        if oid is None or not oid.strip("0"):
            return None
        if not self.readers.looks_at(path):
            return FileFacts(language="other")
        found = self.readers.known(path, oid)
        if found is None:
            data = self.git.blob(oid)
            start = time.perf_counter()
            found = self.readers.read(path, oid, data)
            self.seconds += time.perf_counter() - start
            self.read += 1
        return found

    def side(self, name: str, base: str, head: str) -> SideFacts:
        files = [
            FileChange(path=path, base=self.facts(path, old), side=self.facts(path, new))
            for path, (old, new) in sorted(self.git.changes(base, head).items())
            if self.readers.looks_at(path)
        ]
        return SideFacts(change=name, files=tuple(files))


@dataclass
class Tally:
    """What came of the merges of a history."""

    looked: int = 0
    altered: int = 0
    alarmed: int = 0
    flagged: list[tuple[str, tuple[Pair, ...]]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Sample:
    """Which merges are taken: how many, in runs of how many neighbours, of how many files a side, how new, in how many seconds."""

    most: int
    seed: int
    neighbours: int
    files: int
    since: str
    seconds: float


def _drawn(world: World, sample: Sample) -> Iterator[list[str]]:
    """Merges with their parents, run after run of neighbours: neighbours share most files, so that each is read once."""
    words = ("--all", "--min-parents=2", "--max-parents=2", "--parents", f"--since={sample.since}")
    merges = [line.split() for line in world.git.run("rev-list", *words)[1].split("\n") if line]
    starts = list(range(0, len(merges), sample.neighbours))
    random.Random(sample.seed).shuffle(starts)
    for start in starts:
        yield from merges[start : start + sample.neighbours]


def replay(world: World, sample: Sample) -> Tally:
    """Two-parent merges of which both sides change code and that git makes alone, each as if it were to be decided now."""
    tally = Tally()
    end = time.monotonic() + sample.seconds
    for merge, one, other in _drawn(world, sample):
        if tally.looked >= sample.most or time.monotonic() > end:
            break
        base = world.git.run("merge-base", "--all", one, other)[1].split()
        if len(base) != 1 or base[0] in {one, other}:
            continue
        sides = [world.git.changes(base[0], side) for side in (one, other)]
        if not all(any(path.endswith(CODE) for path in side) and len(side) <= sample.files for side in sides):
            continue
        code, made = world.git.run("merge-tree", "--write-tree", one, other)
        if code != 0:
            continue
        if world.git.run("rev-parse", f"{merge}^{{tree}}")[1].strip() != made.split()[0]:
            tally.altered += 1
            continue
        tally.looked += 1
        _judge(world, tally, merge, (base[0], one, other, made.split()[0]))
        print(f"{tally.looked} {merge[:12]} {tally.seconds[-1]:.2f} s of processor", file=sys.stderr, flush=True)
        if tally.flagged and tally.flagged[-1][0] == merge:
            print(
                *(f"  {pair.rule}: {pair.why}" for pair in tally.flagged[-1][1]), sep="\n", file=sys.stderr, flush=True
            )
    return tally


def _judge(world: World, tally: Tally, merge: str, trees: tuple[str, str, str, str]) -> None:
    base, one, other, made = trees
    start = time.process_time()
    a, b = world.side("first", base, one), world.side("second", base, other)
    merged = world.git.tree(made)
    tally.alarmed += bool(candidates(a, b))
    found = findings(a, b, _asking(world, merged))
    tally.seconds.append(time.process_time() - start)
    if found:
        tally.flagged.append((merge, found))


def _asking(world: World, merged: dict[str, str]) -> Tree:
    folders: dict[str, list[str]] = {}
    for path in merged:
        folders.setdefault(path.rpartition("/")[0], []).append(path)
    return Tree(lambda path: world.facts(path, merged.get(path)), lambda folder: folders.get(folder, []))


# Recall: breaks made in real code.

DEF = re.compile(
    r"^(?P<head>(?:async )?def )(?P<name>[a-z]\w{3,})(?P<open>\()(?P<rest>[^()\n]*\)[^\n]*:)$", re.MULTILINE
)


def mutate(world: World, most: int, seed: int) -> dict[str, tuple[int, int, list[str]]]:
    """Rename a function, or give it a new required parameter, on one side, and call it anew from another file on the other."""
    head = world.git.run("rev-parse", "HEAD")[1].strip()
    tree = world.git.tree(head)
    dice = random.Random(seed)
    places = []
    for path, oid in tree.items():
        if path.endswith(".py") and re.fullmatch(r"(?!docs?/|.*test)[\w/]+/\w+\.py", path):
            text = world.git.blob(oid).decode("utf-8", "replace")
            places += [(path, found) for found in DEF.finditer(text)]
    dice.shuffle(places)
    told = {}
    for kind in ("rename", "parameter"):
        seen, tried, missed = 0, 0, []
        for path, found in places:
            if tried >= most:
                break
            if kind == "parameter" and "*" in found["rest"]:
                continue
            rules = _broken(world, tree, path, found, kind)
            if rules is None:
                continue
            tried += 1
            hit = bool(rules & ({"signature"} if kind == "parameter" else {"renamed-symbol", "removed-symbol"}))
            seen += hit
            missed += [] if hit else [f"{path}: {found['name']}"]
        told[kind] = (seen, tried, missed)
    return told


def _broken(world: World, tree: dict[str, str], path: str, found: re.Match[str], kind: str) -> set[str] | None:
    text = world.git.blob(tree[path]).decode("utf-8", "replace")
    name = found["name"]
    if kind == "rename":
        changed = re.sub(rf"\b{name}\b", f"{name}_again", text)
    else:
        changed = (
            text[: found.start("rest")]
            + ("needed, " if found["rest"][:1] != ")" else "needed")
            + text[found.start("rest") :]
        )
    stem = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    new = f"{path.rpartition('/')[0]}/interlock_caller.py"

    def facts(data: str, at: str) -> FileFacts:
        return world.readers.read(at, f"{hash((data, at))}", data.encode())

    base = facts(text, path)
    mine = [symbol for symbol in base.symbols if symbol.path == name]
    if base.fault or len(mine) != 1 or (taken := mine[0].signature) is None or taken.unsure or taken.must:
        return None
    call = f"{name}({', '.join('1' * taken.required)})"
    caller = f"from {stem.removeprefix('src.')} import {name}\n\n\ndef call():\n    return {call}\n"
    a = SideFacts(change="a", files=(FileChange(path=path, base=base, side=facts(changed, path)),))
    b = SideFacts(change="b", files=(FileChange(path=new, base=None, side=facts(caller, new)),))
    own = {path: facts(changed, path), new: facts(caller, new)}
    merged = Tree(lambda at: own[at] if at in own else world.facts(at, tree.get(at)))
    return {pair.rule for pair in findings(a, b, merged)}


def main() -> int:
    """Print the figures as JSON, with every flagged merge to be looked at by a person."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--merges", type=int, default=200)
    parser.add_argument("--mutations", type=int, default=50)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--neighbours", type=int, default=20, help="how many merges that follow each other make a run")
    parser.add_argument("--files", type=int, default=400, help="leave merges with a larger side out")
    parser.add_argument("--since", default="1970-01-02", help="leave older merges out, by a date that git takes")
    parser.add_argument("--seconds", type=float, default=3600.0, help="begin no further merge after so long")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder) / "objects"
        scratch.mkdir()
        world = World(Git(given.repository, scratch), FactReaders(Path(folder) / "facts"))
        tally = replay(
            world, Sample(given.merges, given.seed, given.neighbours, given.files, given.since, given.seconds)
        )
        times = sorted(tally.seconds) or [0.0]
        report = {
            "merges": tally.looked,
            "merged otherwise than git does, left out": tally.altered,
            "with an alarm before the merged tree was asked": tally.alarmed,
            "flagged": len(tally.flagged),
            "share": round(len(tally.flagged) / max(1, tally.looked), 4),
            "processor seconds a merge, median, 95th and most": [
                round(times[len(times) // 2], 3),
                round(times[int(len(times) * 0.95)], 3),
                round(times[-1], 3),
            ],
            "files read": world.read,
            "milliseconds a file": round(1000 * world.seconds / max(1, world.read), 2),
            "examples": [
                {"merge": merge, "findings": [f"{pair.rule}: {pair.why}" for pair in found]}
                for merge, found in tally.flagged
            ],
            "mutations": {
                kind: {"seen": seen, "of": tried, "missed": missed[:10]}
                for kind, (seen, tried, missed) in (
                    mutate(world, given.mutations, given.seed) if given.mutations else {}
                ).items()
            },
        }
        world.git.batch.terminate()
        world.git.batch.wait()
    print(json.dumps(report, indent=2))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
