"""Throw-away git directories over a repository's objects: what is written is gone afterwards, and nothing set there is run."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from interlock.adapters.git.plumbing import GitDir
from interlock.host.commands import Finished

LONG: Final = 900.0
SCRATCH: Final = Path("/dev/shm")  # noqa: S108 - a private folder is made in it
_PREFIX: Final = "interlock-merge-"
_OLD: Final = 86400.0
_ROOM: Final = 1 << 30  # bytes that must be free there
# What decides how git merges and is data: everything else of a configuration could name a program.
_DATA: Final = r"^(merge\.(renames|renamelimit|directoryrenames|renormalize)|diff\.(renames|renamelimit|algorithm))$"
_NOBODY: Final = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
_WHO: Final = b"Interlock <interlock@localhost> 0 +0000"


@dataclass(frozen=True, slots=True)
class Scratch:
    """A folder with two git directories over one store of new objects.

    ``git`` has the attributes of the base (``dress``), ``bare`` has only those that ``bare_tree`` holds.  Neither knows a merge
    driver, filter, hook or alias: a file whose attribute names one is merged as text.
    """

    folder: Path
    source: GitDir
    object_format: str

    @property
    def objects(self) -> Path:
        return self.folder / "objects"

    @property
    def git(self) -> GitDir:
        return self._at("git", "tree")

    @property
    def bare(self) -> GitDir:
        return self._at("bare", "bare-tree")

    def _at(self, name: str, tree: str) -> GitDir:
        """Calls run in a work tree that holds attribute files and nothing else."""
        found = GitDir(path=self.folder / name, objects=self.objects, options=("core.commitGraph=false",))
        return found.with_tree(self.folder / tree, self.folder / f"{name}-index")

    def run(self, git: GitDir, *args: str, stdin: bytes | None = None, ok: Sequence[int] = (0,)) -> Finished:
        """Run git there without the user's and the system's configuration.  Raises GitFailed."""
        return git.run(*args, stdin=stdin, seconds=LONG, ok=ok, env=_NOBODY)

    def put(self, kind: str, data: bytes) -> str:
        """Write one loose object; gives its name."""
        whole = b"%s %d\0%s" % (kind.encode(), len(data), data)
        oid = hashlib.new(self.object_format, whole, usedforsecurity=False).hexdigest()
        path = self.objects / oid[:2] / oid[2:]
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(zlib.compress(whole, 1))
        return oid

    def commit(self, tree: str, parents: Sequence[str]) -> str:
        """A commit of nobody's on these parents."""
        lines = [f"tree {tree}".encode(), *(f"parent {oid}".encode() for oid in parents)]
        return self.put("commit", b"\n".join([*lines, b"author " + _WHO, b"committer " + _WHO, b"", b"merged", b""]))

    def tree(self, files: Mapping[bytes, tuple[str, str]]) -> str:
        """A flat tree of plain files: name → (mode, blob)."""
        entries = (
            b"%s %s\0%s" % (mode.encode(), name, bytes.fromhex(oid)) for name, (mode, oid) in sorted(files.items())
        )
        return self.put("tree", b"".join(entries))

    def dress(self, attributes: Mapping[str, bytes]) -> None:
        """Lay attribute files where git looks for them; names that would lead elsewhere are left out."""
        root = self.folder / "tree"
        for path, data in attributes.items():
            parts = path.split("/")
            if path.startswith("/") or any(part in ("", ".", "..", ".git") for part in parts):
                continue
            target = root.joinpath(*parts)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)


@contextmanager
def scratch(source: GitDir) -> Iterator[Scratch]:
    """A throw-away place over the objects of ``source`` and its alternates, taken away with all that was written."""
    where = _where() or Path(tempfile.gettempdir())
    _sweep(where)
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=where))
    try:
        made = Scratch(folder, source, _format(source))
        _build(made)
        yield made
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _sweep(where: Path) -> None:
    """Take away what calls that were killed left there a day ago or longer."""
    for left in where.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            seen = left.lstat()
            if seen.st_uid == os.geteuid() and time.time() - seen.st_mtime > _OLD:
                shutil.rmtree(left, ignore_errors=True)


def _where() -> Path | None:
    """Memory where there is plenty: thousands of small files are written and removed."""
    try:
        room = shutil.disk_usage(SCRATCH).free
    except OSError:
        return None
    return SCRATCH if room >= _ROOM and os.access(SCRATCH, os.W_OK) else None


def _format(source: GitDir) -> str:
    try:
        text = (source.path / "config").read_text(encoding="utf-8", errors="replace").lower()
    except OSError:
        return "sha1"
    if "objectformat" not in text:
        return "sha1"
    return source.text("rev-parse", "--show-object-format")


def _build(made: Scratch) -> None:
    source = made.source
    (made.objects / "info").mkdir(parents=True)
    stores = [source.objects or source.path / "objects", *source.alternates]
    (made.objects / "info" / "alternates").write_bytes(b"".join(os.fsencode(each) + b"\n" for each in stores))
    config = _config(made)
    for name, tree in (("git", "tree"), ("bare", "bare-tree")):
        git_dir = made.folder / name
        (git_dir / "refs").mkdir(parents=True)
        (git_dir / "info").mkdir()
        (git_dir / "HEAD").write_text("ref: refs/heads/nothing\n")
        (git_dir / "config").write_text(config)
        (made.folder / tree).mkdir()
        if (source.path / "shallow").is_file():
            shutil.copyfile(source.path / "shallow", git_dir / "shallow")
    attributes = source.path / "info" / "attributes"
    if attributes.is_file():
        shutil.copyfile(attributes, made.folder / "git" / "info" / "attributes")
    # What stands in a work tree comes before the user's own attributes, so these three are all that is told here.
    (made.folder / "bare-tree" / ".gitattributes").write_text("* merge\n*.binary -merge\n*.union merge=union\n")


def _config(made: Scratch) -> str:
    sha256 = made.object_format != "sha1"
    text = f"[core]\n\trepositoryFormatVersion = {int(sha256)}\n\tbare = false\n"
    if sha256:
        text += f"[extensions]\n\tobjectFormat = {made.object_format}\n"
    told = made.source.run("config", "-z", "--get-regexp", _DATA, ok=(0, 1)).text
    for entry in filter(None, told.split("\0")):
        name, _, value = entry.partition("\n")
        section, _, key = name.partition(".")
        if value.replace("-", "").isalnum():
            text += f"[{section}]\n\t{key} = {value}\n"
    return text
