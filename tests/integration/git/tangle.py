"""Tangled repositories for the matrix tests: every way in which two changes can meet, at random, and git itself as the judge."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

from tests.integration.git.build import ENV, git

Entry = tuple[str, bytes]
Tree = dict[str, Entry]
ATTRIBUTES = b"*.lock -merge\n*.log merge=union\n*.bin binary\n*.drv merge=ours-driver\nd1/*.txt merge=union\n"
LINK = "8f94139338f9404f26296befa88755fc2598c289"


def lines(seed: int, count: int = 24, end: bytes = b"\n") -> bytes:
    return b"".join(b"line %d of %d%s" % (number, seed, end) for number in range(count))


def base_tree(dice: random.Random) -> Tree:
    """Files of all kinds in a few folders."""
    names = [f"d{number % 4}/f{number}.{kind}" for number, kind in enumerate(["txt", "lock", "log", "bin", "drv"] * 4)]
    tree: Tree = {name: ("100644", lines(dice.randrange(99))) for name in names}
    tree |= {
        ".gitattributes": ("100644", ATTRIBUTES),
        "d2/.gitattributes": ("100644", b"*.txt -merge\n"),
        "crlf.txt": ("100644", lines(1, end=b"\r\n")),
        "run.sh": ("100755", lines(2)),
        "link": ("120000", b"d0/f0.txt"),
        "sub": ("160000", LINK.encode()),
        "old/deep/a.txt": ("100644", lines(41)),
        "old/deep/b.txt": ("100644", lines(42)),
        "old/c.txt": ("100644", lines(43)),
        "odd name\u00e9\ttab.txt": ("100644", lines(44)),
        "raw.bin": ("100644", bytes(range(256)) * 4),
    }
    return tree


@dataclass
class Mover:
    """Changes a tree as a branch would."""

    dice: random.Random
    tree: Tree
    ways: list[Callable[[], None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ways = [self.edit] * 6 + [
            *(self.add, self.add, self.remove, self.rename, self.rename_folder, self.chmod, self.crlf),
            *(self.link, self.submodule, self.to_folder, self.to_file, self.into_folder, self.retype, self.same),
        ]

    def any(self, kind: str = "100") -> str:
        names = sorted(name for name, (mode, _) in self.tree.items() if mode.startswith(kind) and "attr" not in name)
        return self.dice.choice(names)

    def edit(self) -> None:
        name = self.any()
        mode, data = self.tree[name]
        parts = data.split(b"\n")
        at = self.dice.randrange(len(parts))
        parts[at : at + self.dice.randrange(2)] = [b"changed %d" % self.dice.randrange(4)]
        self.tree[name] = (mode, b"\n".join(parts))

    def add(self) -> None:
        folder = self.dice.choice(["", "d0/", "d1/", "old/", "old/deep/", "new/"])
        self.tree[f"{folder}n{self.dice.randrange(5)}.txt"] = ("100644", lines(self.dice.randrange(3)))

    def remove(self) -> None:
        del self.tree[self.any()]

    def rename(self) -> None:
        name = self.any()
        folder = self.dice.choice(["d0/", "d3/", "new/", "old/"])
        self.tree[f"{folder}r{self.dice.randrange(4)}.txt"] = self.tree.pop(name)

    def rename_folder(self) -> None:
        old, new = self.dice.choice([("old/", "fresh/"), ("old/deep/", "old/flat/"), ("d0/", "d9/"), ("d1/", "d9/")])
        for name in [name for name in self.tree if name.startswith(old)]:
            self.tree[new + name.removeprefix(old)] = self.tree.pop(name)

    def chmod(self) -> None:
        name = self.any()
        mode, data = self.tree[name]
        self.tree[name] = ("100755" if mode == "100644" else "100644", data)

    def crlf(self) -> None:
        name = self.any()
        mode, data = self.tree[name]
        self.tree[name] = (mode, data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))

    def link(self) -> None:
        self.tree["link"] = ("120000", b"d%d/f0.txt" % self.dice.randrange(4))

    def submodule(self) -> None:
        self.tree["sub"] = ("160000", (f"{self.dice.randrange(1, 4)}" * 40).encode())

    def to_folder(self) -> None:
        """A file becomes a folder with a file in it."""
        name = self.any()
        del self.tree[name]
        self.tree[f"{name}/x{self.dice.randrange(3)}"] = ("100644", lines(self.dice.randrange(3)))

    def to_file(self) -> None:
        """A folder becomes a file."""
        folder = self.dice.choice(["old/deep", "d3", "new"])
        for name in [name for name in self.tree if name.startswith(f"{folder}/")]:
            del self.tree[name]
        self.tree[folder] = ("100644", lines(self.dice.randrange(3)))

    def into_folder(self) -> None:
        folder = self.dice.choice(["new", "d5", "d0/f0.txt"])
        if folder not in self.tree:
            self.tree[f"{folder}/y{self.dice.randrange(2)}"] = ("100644", lines(self.dice.randrange(3)))

    def retype(self) -> None:
        self.tree[self.any()] = ("120000", b"somewhere")

    def same(self) -> None:
        """What several do alike."""
        name = self.any()
        self.tree[name] = (self.tree[name][0], lines(77))


def branch_tree(dice: random.Random, base: Tree, steps: int) -> Tree:
    mover = Mover(dice, dict(base))
    for _ in range(steps):
        dice.choice(mover.ways)()
    return tidy(mover.tree)


def tidy(tree: Tree) -> Tree:
    """A tree that git can hold: no file stands where another's folder is."""
    folders = {name[:at] for name in tree for at, letter in enumerate(name) if letter == "/"}
    return {name: entry for name, entry in tree.items() if name not in folders}


def commits(top: Path, trees: Sequence[tuple[str, Tree, Sequence[str]]]) -> dict[str, str]:
    """Branches with these trees, made as one stream: (branch, tree, parents); gives their commits."""
    out: list[bytes] = []
    size = 64 if git(top, "rev-parse", "--show-object-format") == "sha256" else 40
    for number, (name, tree, parents) in enumerate(trees, start=1):
        out.append(
            f"commit refs/heads/{name}\nmark :{number}\ncommitter A <a@b> {1_700_000_000 + number} +0000".encode()
        )
        out.append(b"data 1\nx")
        out += [
            f"{word} refs/heads/{parent}".encode() for word, parent in zip(["from", "merge"], parents, strict=False)
        ]
        out.append(b"deleteall")
        for path, (mode, data) in tree.items():
            quoted = b'"' + path.encode().replace(b"\t", b"\\t") + b'"'
            if mode == "160000":
                out.append(b"M 160000 %s %s" % (data.ljust(size, b"1"), quoted))
            else:
                out.append(b"M %s inline %s\ndata %d\n%s" % (mode.encode(), quoted, len(data), data))
    subprocess.run(
        ["git", "fast-import", "--quiet", "--force"], cwd=top, env=ENV, input=b"\n".join(out) + b"\n", check=True
    )
    return {name: git(top, "rev-parse", f"refs/heads/{name}") for name, _, _ in trees}


@dataclass(frozen=True)
class Judge:
    """Git itself in a checkout of the base, where its attributes count, one process for each question.

    The driver that they name says of any two changes that they do not go together.
    """

    top: Path
    base: str

    def merge(self, ours: str, theirs: str) -> tuple[bool, str, frozenset[str]]:
        """Whether two commits merge, the tree, and the paths that are left unmerged."""
        driver = ("-c", "merge.ours-driver.driver=exit 1")
        words = ["git", *driver, "merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", ours, theirs]
        done = subprocess.run(words, cwd=self.top, env=ENV, capture_output=True, check=False)
        assert done.returncode in (0, 1), done.stderr
        tree, *rest = done.stdout.decode("utf-8", "surrogateescape").split("\0")
        return done.returncode == 0, tree, frozenset(filter(None, rest))

    def on_base(self, tree: str) -> str:
        return git(self.top, "commit-tree", tree, "-p", self.base, "-m", "x")

    def matrix(
        self, heads: Sequence[str]
    ) -> tuple[dict[str, bool], dict[tuple[str, str], tuple[bool, frozenset[str]]]]:
        """Every head with the base, and every pair of those that fit it."""
        told = {head: self.merge(self.base, head) for head in heads}
        placed = {head: self.on_base(tree) for head, (clean, tree, _) in told.items() if clean}
        pairs = {}
        for one, other in combinations(sorted(placed), 2):
            clean, _, paths = self.merge(placed[one], placed[other])
            pairs[(one, other)] = (clean, paths)
        return {head: clean for head, (clean, _, _) in told.items()}, pairs
