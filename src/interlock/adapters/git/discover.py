"""Which repository a folder belongs to, which remote it has and which branch is the default; nothing is written here."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from interlock.adapters.git.errors import UnknownBase
from interlock.adapters.git.plumbing import GitDir, call, environment
from interlock.core.problems import Misuse

BRANCHES = "refs/heads/"
TASKS = "refs/heads/agent/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A repository on this machine: the main checkout (of a bare one: itself) and the common git directory.

    ``here`` is the work tree that was asked from: a linked one too, None where there is none.
    """

    top: Path
    here: Path | None
    common_dir: Path
    bare: bool
    object_format: str

    def git(self) -> GitDir:
        """The user's own repository, for plumbing that reads no index and starts no program."""
        return GitDir(path=self.common_dir, safe=(self.top,))

    @property
    def state(self) -> Path:
        """Where everything of ours lives: beside git's own files, never in a work tree."""
        return self.common_dir / "interlock"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote:
    """A remote as configured; ``url`` is absolute when it is a path; ``note`` says why none was taken."""

    name: str | None
    url: str | None
    note: str = ""


def discover(start: Path) -> Found:
    """The repository that ``start`` lies in, also from inside a linked worktree.  Raises Misuse where there is none."""
    start = Path(os.path.realpath(start))
    done = call(
        [
            "rev-parse",
            "--path-format=absolute",
            *("--is-inside-work-tree", "--show-cdup"),
            *("--git-common-dir", "--is-bare-repository", "--show-object-format"),
        ],
        env=environment((start, *start.parents)),
        cwd=start,
    )
    if done.code != 0:
        raise Misuse(
            f"{start} is not inside a Git repository.", hint=f"Run git init there, or go to one. ({done.error})"
        )
    inside, _, rest = done.text.rstrip("\n").partition("\n")
    up, _, rest = rest.partition("\n") if inside == "true" else ("", "", rest)  # git says nothing of it elsewhere
    common, bare, object_format = rest.rsplit("\n", 2)
    # Inside a linked worktree git answers for the worktree, which is never bare.
    common_dir = Path(os.path.realpath(common))
    top = _main_checkout(common_dir)
    return Found(
        top=top or common_dir,
        here=Path(os.path.normpath(start / up)) if inside == "true" else top,
        common_dir=common_dir,
        bare=bare == "true" or top is None,
        object_format=object_format,
    )


def _main_checkout(common_dir: Path) -> Path | None:
    """The folder of the main checkout, or None for a bare repository."""
    git = GitDir(path=common_dir, safe=(common_dir.parent,))
    settings = {**config(git, "--includes"), **config(git, file=common_dir / "config.worktree")}
    if tree := settings.get("core.worktree"):
        return Path(os.path.normpath(common_dir / tree[-1]))
    if settings.get("core.bare", ("",))[-1].lower() == "true":
        return None
    return common_dir.parent if common_dir.name == ".git" else None


def config(git: GitDir, *options: str, file: Path | None = None) -> dict[str, tuple[str, ...]]:
    """Settings of one file (default: the directory's own), each name with all its values in their order.

    A file that includes no other is read by git once for each content that it has.
    """
    path = file or git.path / "config"
    if not path.is_file():
        return {}
    content = path.read_bytes()
    known = _KNOWN.get((path, options))
    if known is not None and known[0] == content:
        return dict(known[1])
    done = git.run("config", "--file", str(path), *options, "-z", "--list")
    found: dict[str, tuple[str, ...]] = {}
    for entry in done.text.split("\0"):
        if entry:
            name, _, value = entry.partition("\n")
            found[name] = (*found.get(name, ()), value)
    if b"include" not in content.lower():
        _KNOWN[path, options] = content, dict(found)
    return found


_KNOWN: Final[dict[tuple[Path, tuple[str, ...]], tuple[bytes, dict[str, tuple[str, ...]]]]] = {}


def remote_of(found: Found, settings: Mapping[str, tuple[str, ...]]) -> Remote:
    """The remote that counts: origin, else the only one, else none (which is said)."""
    urls = {
        name.removeprefix("remote.").removesuffix(".url"): values[0]
        for name, values in settings.items()
        if name.startswith("remote.") and name.endswith(".url")
    }
    if "origin" in urls:
        return Remote(name="origin", url=_absolute(urls["origin"], found.top))
    if len(urls) == 1:
        name = next(iter(urls))
        return Remote(name=name, url=_absolute(urls[name], found.top))
    if urls:
        return Remote(name=None, url=None, note=f"There are several remotes ({', '.join(urls)}) and none is origin.")
    return Remote(name=None, url=None, note="There is no remote.")


def _absolute(url: str, top: Path) -> str:
    """A path made absolute, since git would read it relative to whatever folder a command runs in."""
    before = url.split("/", 1)[0]
    if "://" in url or ":" in before or url.startswith("~"):
        return url
    return str(Path(os.path.normpath(top / url)))


def local_default(refs: Mapping[str, str], configured: str | None, init_default: str | None) -> str:
    """The default branch of a repository without a remote: configured, init.defaultBranch, main or master, the only one.

    ``refs`` are its branches by full name.  Raises UnknownBase rather than guess between two.
    """
    branches = [name.removeprefix(BRANCHES) for name in refs if not name.startswith(TASKS)]
    if refs and not branches:
        raise UnknownBase("Every branch here is a task's, so none is the base.", "Make the default branch again.")
    if not branches:
        raise UnknownBase(
            "The repository has no commit yet.",
            "Make a first commit on the default branch.",
            why="Tasks start from it.",
        )
    for name in (configured, init_default):
        if name in branches:
            return str(name)
    usual = [name for name in ("main", "master") if name in branches]
    candidates = usual or branches
    if len(candidates) > 1:
        raise UnknownBase(
            f"There is no remote, and {' and '.join(sorted(candidates)[:5])} could each be the default branch.",
            "Say which: git config --global init.defaultBranch NAME, or add a remote.",
        )
    return candidates[0]
