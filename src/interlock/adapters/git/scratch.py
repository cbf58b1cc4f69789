"""Throw-away git directories over a repository's objects, in which commits are merged and nothing that is set there is run."""

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
from functools import lru_cache
from pathlib import Path
from typing import Final

from interlock.adapters.git.attributes import attributes_of, dress, is_driver, merged_how, without_drivers
from interlock.adapters.git.plumbing import GitDir
from interlock.host.commands import Finished

LONG: Final = 900.0
SCRATCH: Final = Path("/dev/shm")  # noqa: S108 - a private folder is made in it
_PREFIX: Final = "interlock-merge-"
_OLD: Final = 86400.0
_ROOM: Final = 1 << 30  # bytes that must be free there
# What decides how git merges and is data: everything else of a configuration could name a program.
_DATA: Final = (
    r"^(merge\.(renames|renamelimit|directoryrenames|renormalize)|diff\.(renames|renamelimit|algorithm)"
    r"|core\.(autocrlf|eol|ignorecase))$"
)
_ATTRIBUTES: Final = "core.attributesfile"
_NOBODY: Final = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
_WHO: Final = b"Interlock <interlock@localhost> 0 +0000"


@dataclass(frozen=True, slots=True)
class Scratch:
    """A folder with git directories over one store of objects.

    ``git`` has the attributes of a commit (``dress``) without the drivers that they name, ``said`` has them as they are, and ``bare``
    only those that its own tree holds.  None knows a merge driver, filter, hook or alias: see attributes.without_drivers.
    ``objects`` is where new ones go; ``own`` says that the user's own attributes and settings count as well.
    """

    folder: Path
    source: GitDir
    object_format: str
    objects: Path
    own: bool

    @property
    def git(self) -> GitDir:
        return self._at("git")

    @property
    def said(self) -> GitDir:
        return self._at("said")

    @property
    def bare(self) -> GitDir:
        return self._at("bare")

    def _at(self, name: str) -> GitDir:
        """Calls run in a work tree that holds attribute files and nothing else."""
        alternates = self.source.alternates if self._kept else ()
        options = ("core.commitGraph=false",)
        found = GitDir(path=self.folder / name, objects=self.objects, alternates=alternates, options=options)
        return found.with_tree(self.folder / f"{name}-tree", self.folder / f"{name}-index")

    @property
    def _kept(self) -> bool:
        """Whether new objects go to the store of the source and stay."""
        return self.objects == _store(self.source)

    @property
    def _env(self) -> Mapping[str, str]:
        return _NOBODY if self.own else {**_NOBODY, "GIT_ATTR_NOSYSTEM": "1"}

    def run(self, git: GitDir, *args: str, stdin: bytes | None = None, ok: Sequence[int] = (0,)) -> Finished:
        """Run git there without the user's and the system's configuration.  Raises GitFailed."""
        return git.run(*args, stdin=stdin, seconds=LONG, ok=ok, env=self._env)

    def how(self, paths: Sequence[str]) -> dict[str, str]:
        """What the attribute ``merge`` says of paths, in git's words."""
        return merged_how(self.said, paths, self._env)

    def attributed(self) -> bool:
        """Whether any attribute file lies there."""
        lying = (self.folder / "said" / "info" / "attributes", self.folder / "said" / "own")
        return any((self.folder / "said-tree").iterdir()) or any(file.exists() for file in lying)

    def settings(self) -> bytes:
        """All that decides how git merges there and does not stand in the commit that it is dressed by."""
        files = ("git/config", "said/info/attributes", "said/own")
        read = (self.folder / name for name in files)
        told = b"\0".join(file.read_bytes() if file.is_file() else b"" for file in read)
        return told.replace(os.fsencode(self.folder), b"")

    def drivers(self, paths: Sequence[str]) -> dict[str, str]:
        """The paths of these that a program is to merge, which is never run, and what it is called."""
        return {path: value for path, value in self.how(paths).items() if is_driver(value)}

    def put(self, kind: str, data: bytes) -> str:
        """Write one loose object, in one step and for good where it is kept; gives its name."""
        whole = b"%s %d\0%s" % (kind.encode(), len(data), data)
        oid = hashlib.new(self.object_format, whole, usedforsecurity=False).hexdigest()
        path = self.objects / oid[:2] / oid[2:]
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            packed = zlib.compress(whole, 1)
            if self._kept:
                _write_whole(path, packed)
            else:
                path.write_bytes(packed)
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
        """Lay attribute files where git looks for them."""
        dress(self.folder / "said-tree", attributes)
        dress(self.folder / "git-tree", {path: without_drivers(data) for path, data in attributes.items()})


@contextmanager
def scratch(source: GitDir, *, own: bool = False, keep: bool = False) -> Iterator[Scratch]:
    """A throw-away place over the objects of ``source`` and its alternates, taken away with all that was written.

    With ``keep`` new objects go to the store of ``source`` and stay.  ``own``: the user's own attributes and settings count,
    as they do in a repository that is only looked at; those of a mirror were taken once, when nobody else could have set them.
    """
    where = _where() or Path(tempfile.gettempdir())
    _sweep(where)
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=where))
    try:
        objects = _store(source) if keep else folder / "objects"
        made = Scratch(folder, source, _format(source), objects, own)
        _build(made)
        yield made
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def ruled(source: GitDir, commit: str) -> Iterator[Scratch]:
    """Where commits are merged by the attributes of one of them and by no program; what is merged stays in ``source``."""
    with scratch(source, keep=True) as made:
        made.dress(attributes_of(source, commit))
        yield made


def _write_whole(path: Path, data: bytes) -> None:
    """An object that is there is never written again, so half a one would stay for ever."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix="tmp_obj_", delete=False) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    Path(file.name).chmod(0o444)
    Path(file.name).replace(path)


def _store(source: GitDir) -> Path:
    return source.objects or source.path / "objects"


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
    if made.objects != _store(source):
        (made.objects / "info").mkdir(parents=True)
        stores = [_store(source), *source.alternates]
        (made.objects / "info" / "alternates").write_bytes(b"".join(os.fsencode(each) + b"\n" for each in stores))
    settings = _settings(source) if made.own else _settings_of(source, _stamp(source.path / "config"))
    config = _config(made, settings)
    for name in ("git", "said", "bare"):
        git_dir = made.folder / name
        (git_dir / "refs").mkdir(parents=True)
        (git_dir / "info").mkdir()
        (git_dir / "HEAD").write_text("ref: refs/heads/nothing\n")
        (git_dir / "config").write_text(config + f'\tattributesFile = "{git_dir / "own"}"\n')
        (made.folder / f"{name}-tree").mkdir()
        if (source.path / "shallow").is_file():
            shutil.copyfile(source.path / "shallow", git_dir / "shallow")
    outside = {"info/attributes": source.path / "info" / "attributes"}
    if made.own:
        outside["own"] = own_attributes(settings)
    for name, file in outside.items():
        if file.is_file():
            data = file.read_bytes()
            (made.folder / "said" / name).write_bytes(data)
            (made.folder / "git" / name).write_bytes(without_drivers(data))
    # What stands in a work tree comes before the user's own attributes, so these three are all that is told here.
    (made.folder / "bare-tree" / ".gitattributes").write_text("* merge\n*.binary -merge\n*.union merge=union\n")


def _config(made: Scratch, settings: Mapping[str, str]) -> str:
    """The settings that are data, ending within the section ``core``."""
    sha256 = made.object_format != "sha1"
    text = f"[extensions]\n\tobjectFormat = {made.object_format}\n" if sha256 else ""
    for name, value in settings.items():
        section, _, key = name.partition(".")
        if name != _ATTRIBUTES and value.replace("-", "").isalnum():
            text += f"[{section}]\n\t{key} = {value}\n"
    return text + f"[core]\n\trepositoryFormatVersion = {int(sha256)}\n\tbare = false\n"


def _settings(source: GitDir, *words: str) -> dict[str, str]:
    told = source.run("config", *words, "-z", "--get-regexp", f"{_DATA}|^{_ATTRIBUTES}$", ok=(0, 1)).text
    entries = (entry.partition("\n") for entry in filter(None, told.split("\0")))
    return {name: value for name, _, value in entries}


@lru_cache(maxsize=16)
def _settings_of(source: GitDir, stamp: tuple[int, int]) -> Mapping[str, str]:
    """What the configuration file of a git directory says itself; asked again when the file is another one."""
    del stamp
    return _settings(source, "--file", str(source.path / "config"))


def _stamp(file: Path) -> tuple[int, int]:
    try:
        seen = file.stat()
    except OSError:
        return 0, 0
    return seen.st_mtime_ns, seen.st_size


def own_attributes(settings: Mapping[str, str]) -> Path:
    """Where git looks for the user's own attributes."""
    if named := settings.get(_ATTRIBUTES):
        return Path(named).expanduser()
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "git" / "attributes"
