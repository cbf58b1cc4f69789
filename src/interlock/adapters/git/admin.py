"""Registrations of worktrees in the user's repository, found by recorded path and never through a task's own .git file."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from interlock.adapters.git.discover import BRANCHES, Found
from interlock.core.problems import refused
from interlock.ports.isolation import Place
from interlock.ports.repository import Head

_OID = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


@dataclass(frozen=True, slots=True)
class Admin:
    """The folder under worktrees/ of the common git directory that belongs to one tree."""

    folder: Path

    @property
    def index(self) -> Path:
        return self.folder / "index"

    def head(self) -> str:
        """What HEAD says: a full ref name, or an object name when it is detached; empty when it cannot be read."""
        with suppress(OSError, UnicodeDecodeError):
            text = (self.folder / "HEAD").read_text().strip()
            return text.removeprefix("ref: ") if text.startswith("ref: ") else text if _OID.fullmatch(text) else ""
        return ""

    def pseudo_refs(self) -> dict[str, str]:
        """Commits that unfinished operations of this tree remember: ORIG_HEAD, MERGE_HEAD and their kind."""
        found: dict[str, str] = {}
        for file in sorted(self.folder.glob("*HEAD")):
            if file.name not in ("HEAD", "FETCH_HEAD"):
                for number, word in enumerate(_words(file)):
                    found[f"{file.name}{number or ''}"] = word
        for name in ("rebase-merge/orig-head", "rebase-merge/onto", "rebase-apply/orig-head"):
            if words := _words(self.folder / name):
                found[name] = words[0]
        return found

    def reflog(self) -> list[str]:
        """Every commit that HEAD of this tree stood on, oldest first."""
        with suppress(OSError):
            lines = (self.folder / "logs" / "HEAD").read_bytes().splitlines()
            return [word.decode() for line in lines if len(parts := line.split(b" ", 2)) > 1 for word in parts[:2]]
        return []


def _words(file: Path) -> list[str]:
    """The object names that the lines of a file begin with."""
    with suppress(OSError, UnicodeDecodeError):
        first = [line.split(maxsplit=1)[0] for line in file.read_text().splitlines() if line.strip()]
        return [word for word in first if _OID.fullmatch(word)]
    return []


def names(found: Found) -> list[str]:
    """The names of all registrations."""
    try:
        return sorted(entry.name for entry in (found.common_dir / "worktrees").iterdir())
    except FileNotFoundError:
        return []


def tree_of(folder: Path) -> Path | None:
    """The tree that a registration is for; None where that is not written yet."""
    with suppress(OSError):
        text = os.fsdecode((folder / "gitdir").read_bytes()).rstrip("\n")
        if text:
            return Path(os.path.normpath(folder / text)).parent
    return None


def find(found: Found, tree: Path) -> Admin | None:
    """The registration of a tree.  git names it after the folder, so that one is looked at first."""
    folder = found.common_dir / "worktrees"
    wanted = Path(os.path.realpath(tree.parent)) / tree.name
    if tree_of(folder / tree.name) == wanted:
        return Admin(folder / tree.name)
    name = next((name for name in names(found) if tree_of(folder / name) == wanted), None)
    return Admin(folder / name) if name else None


def there(path: Path) -> bool:
    """True for a folder that is really at that path: one behind a link could be anybody's."""
    return path.is_dir() and not path.is_symlink()


def registered(found: Found, place: Place) -> Admin:
    """The registration of a task's tree.  Raises Refused (workspace-missing) when folder or registration is gone."""
    admin = find(found, place.path)
    if admin and there(place.path):
        return admin
    gone = "registration" if there(place.path) else "folder"
    raise refused(
        "workspace-missing",
        f"The {gone} of {place.branch} is gone: {place.path}.",
        "The harness never works in another tree instead.",
        f"interlock resume makes the tree again from {place.branch}; work that was not committed is lost.",
    )


def head_of(found: Found, place: Place) -> Head:
    """Where HEAD of a task's tree stands."""
    says = registered(found, place).head()
    if says.startswith(BRANCHES):
        oid = found.git().run("rev-parse", "--verify", "--quiet", f"{says}^{{commit}}", ok=(0, 1)).text.strip()
        return Head(branch=says.removeprefix(BRANCHES), oid=oid or None)
    return Head(branch=None, oid=says if _OID.fullmatch(says) else None)
