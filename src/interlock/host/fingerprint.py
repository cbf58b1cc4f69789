"""Trees that a run must leave alone, looked at before and after it: HEAD, index, the facts of each file, and what git would run there.

Nothing that an agent configured is run: git only lists names.  Where no wall stands around a run this is how writing
elsewhere is noticed (case AI-01); who wrote it cannot be told.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from interlock.host import commands, files

MOST_TOLD: Final = 50
_SECONDS: Final = 120.0
_POINTER_MOST: Final = 4096
_FLAGS: Final = ("core.fsmonitor=false", "core.hooksPath=/dev/null", "protocol.allow=never", "core.quotePath=false")
# Names that no file has: git lists none with a slash before it.
_HEAD: Final = "/HEAD"
_INDEX: Final = "/index"
_TREE: Final = "/"
_SETTINGS: Final = "/settings"
_HOOKS: Final = "/hooks/"
_RUNS: Final = re.compile(
    r"core\.(hookspath|fsmonitor|sshcommand|editor|pager|askpass|gitproxy|worktree)|alias\..*|filter\..*|merge\..*\.driver"
    r"|diff\..*|include.*|credential\..*|gpg\..*|pager\..*|sequence\.editor|remote\..*\.(receivepack|uploadpack|vcs)"
)
"""Settings of a repository that have git run something, or be another one, when its user calls it next."""


class Unreadable(Exception):
    """A tree cannot be looked at; the text says why."""


def take(trees: Sequence[Path], file: Path) -> None:
    """Write down how the trees stand, in a process of its own, so that the memory for it is given back.

    Must be called before this process has threads.  A tree that cannot be looked at stands there as that.  Raises
    OSError when the file cannot be written.
    """
    child = os.fork()
    if child == 0:
        code = 1
        try:
            _write(trees, file)
            code = 0
        finally:
            os._exit(code)
    if os.waitpid(child, 0)[1] != 0:
        raise OSError(f"{file} cannot be written")


def _write(trees: Sequence[Path], file: Path) -> None:
    files.write_whole(file, json.dumps({str(tree): _looked_at(tree) for tree in trees}).encode())


def changed(file: Path) -> tuple[str, ...]:
    """The paths that stand otherwise than was written down, at most ``MOST_TOLD`` of them; HEAD and index go by name.

    A fingerprint that cannot be read is told as that, and never as no change.
    """
    try:
        before = _read(file)
    except (OSError, ValueError) as fault:
        return (f"{file}: the fingerprint cannot be read: {fault}",)
    found: list[str] = []
    for tree, facts in before.items():
        now = _looked_at(Path(tree))
        names = sorted(name for name in facts.keys() | now.keys() if facts.get(name) != now.get(name))
        found += [_told(tree, name) for name in names]
    return tuple(found[:MOST_TOLD])


def _told(tree: str, name: str) -> str:
    words = {_HEAD: f"HEAD of {tree}", _INDEX: f"the index of {tree}", _TREE: tree}
    words |= {_SETTINGS: f"programs in the git settings of {tree}"}
    if name.startswith(_HOOKS):
        return f"the hook {name.removeprefix(_HOOKS)} of {tree}"
    return words.get(name) or os.fsencode(f"{tree}/{name}").decode("utf-8", "replace")


def _read(file: Path) -> dict[str, dict[str, str]]:
    shape = json.loads(file.read_bytes())
    if not isinstance(shape, dict) or not all(isinstance(facts, dict) for facts in shape.values()):
        raise ValueError("it is none")
    return shape


def _looked_at(tree: Path) -> dict[str, str]:
    """What stands in a tree by name: its files, HEAD and index; a tree that cannot be looked at has one entry alone."""
    try:
        git_dir = _git_dir(tree)
        head = files.read_plain(git_dir / "HEAD", most=_POINTER_MOST)
        commit = _git(tree, git_dir, "rev-parse", "--verify", "-q", "HEAD")
        staged = _git(tree, git_dir, "ls-files", "-z", "--stage")
        others = _git(tree, git_dir, "ls-files", "-z", "--others", "--exclude-standard")
        programs = _programs(tree, git_dir)
    except (OSError, Unreadable, commands.TimedOut) as fault:
        return {_TREE: type(fault).__name__}
    names = {entry.partition(b"\t")[2] for entry in staged.split(b"\0") if entry}
    names |= {name for name in others.split(b"\0") if name}
    root = os.fsencode(tree)
    found = {os.fsdecode(name): _facts(root + b"/" + name) for name in names}
    return {
        **found,
        **programs,
        _HEAD: os.fsdecode(head.strip() + b" " + commit.strip()),
        _INDEX: f"{zlib.crc32(staged):x}",
    }


def _programs(tree: Path, git_dir: Path) -> dict[str, str]:
    """What git would run there: hooks, and those settings of the repository; nothing for a linked worktree."""
    config = git_dir / "config"
    if not config.is_file():
        return {}
    listed = _git(tree, git_dir, "config", "--file", str(config), "--no-includes", "-z", "--list")
    settings = sorted(each for each in listed.split(b"\0") if _RUNS.match(os.fsdecode(each.partition(b"\n")[0])))
    hooks = os.fsencode(git_dir / "hooks")
    names = os.listdir(hooks) if os.path.isdir(hooks) else []  # noqa: PTH112, PTH208 - names of any bytes
    found = {f"{_HOOKS}{os.fsdecode(name)}": _facts(hooks + b"/" + name) for name in names}
    return {**found, _SETTINGS: f"{zlib.crc32(bytes(1).join(settings)):x}"}


def _facts(path: bytes) -> str:
    try:
        seen = os.lstat(path)
    except OSError:
        return "absent"
    return f"{seen.st_mode:x} {seen.st_size:x} {seen.st_mtime_ns:x} {seen.st_ctime_ns:x} {seen.st_ino:x}"


def _git_dir(tree: Path) -> Path:
    """Where a tree's own HEAD and index are; nothing is discovered upwards."""
    pointer = tree / ".git"
    if pointer.is_dir() and not pointer.is_symlink():
        return pointer
    text = os.fsdecode(files.read_plain(pointer, most=_POINTER_MOST)).strip()
    word, _, place = text.partition(": ")
    if word != "gitdir":
        raise Unreadable(f"{pointer} leads nowhere")
    return tree / place


def _git(tree: Path, git_dir: Path, *words: str) -> bytes:
    flags = [part for flag in _FLAGS for part in ("-c", flag)]
    done = commands.run(["git", *flags, *words], env=dict(_environment(tree, git_dir)), cwd=tree, seconds=_SECONDS)
    if done.code not in (0, 1):
        raise Unreadable(done.error)
    return done.out


def _environment(tree: Path, git_dir: Path) -> Iterator[tuple[str, str]]:
    for name in ("PATH", "HOME", "XDG_CONFIG_HOME"):
        with suppress(KeyError):
            yield name, os.environ[name]
    yield from {
        "GIT_DIR": str(git_dir),
        "GIT_WORK_TREE": str(tree),
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "safe.directory",
        "GIT_CONFIG_VALUE_0": "*",
        "LC_ALL": "C",
    }.items()
