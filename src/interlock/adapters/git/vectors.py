"""Ways in which an agent plants a program in git's settings, and whether any command of ours runs one; worlds are vector_world's."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from interlock.adapters.git.settings import as_text
from interlock.adapters.git.vector_world import World, everything, git, network
from interlock.core.contract.card import Level
from interlock.ports.isolation import Place

Plant = Callable[["Field"], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """Where one program is planted: a task's git directory and tree; ``evil`` is the program, which leaves a mark."""

    world: World
    place: Place
    name: str
    evil: str

    @property
    def git_dir(self) -> Path:
        return self.world.settings(self.place)

    @property
    def tree(self) -> Path:
        return self.world.written(self.place)

    def setting(self, name: str, value: str) -> None:
        """Set something in the file that the agent can write."""
        config = self.git_dir / "config"
        if name == "remote.origin.url":  # a second one would only be pushed to
            config.write_text(re.sub(r"(?m)^\s*url = .*$", "", config.read_text()))
        append(config, as_text({name: (value,)}))

    def script(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{self.evil} </dev/null\n")
        path.chmod(0o755)


@dataclass(frozen=True, slots=True, kw_only=True)
class Vector:
    """One way in; those of one ``batch`` do not hinder each other and are tried together.

    Where two plant the same and differ in the command that would run it, they have one mark.
    """

    name: str
    batch: str
    plant: Plant


def append(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)


def settings(*pairs: tuple[str, str]) -> Plant:
    """Plant settings; EVIL stands for the program, REMOTE for the remote's path."""

    def plant(field: Field) -> None:
        for name, value in pairs:
            text = value.replace("EVIL", field.evil).replace("REMOTE", str(field.world.remote))
            field.setting(name.replace("EVIL", field.evil), text)

    return plant


def hook(name: str) -> Plant:
    return lambda field: field.script(field.git_dir / "hooks" / name)


def _hooks_path(field: Field) -> None:
    for name in ("pre-commit", "post-checkout", "reference-transaction", "post-index-change", "pre-push"):
        field.script(field.tree / ".githooks" / name)
    field.setting("core.hooksPath", str(field.tree / ".githooks"))


def _included(field: Field) -> None:
    (field.tree / "inc").write_text(f"[core]\n\tfsmonitor = {field.evil};true\n")
    field.setting("include.path", str(field.tree / "inc"))


def _swapped(field: Field) -> None:
    """The tree's own .git becomes a file that points at a repository full of programs."""
    evil = field.world.root / "evil"
    git(field.world.root, "init", "-q", "evil")
    for name in ("core.fsmonitor", "filter.x.clean", "filter.x.smudge", "diff.external", "core.sshCommand"):
        append(evil / ".git" / "config", as_text({name: (f"{field.evil};cat",)}))
    there = field.tree / ".git"
    if there.is_dir():
        there.rename(field.tree / ".git-old")
    there.write_text(f"gitdir: {evil}/.git\n")


def _of_worktree(field: Field) -> None:
    field.setting("extensions.worktreeConfig", "true")
    folder = field.git_dir
    if field.world.level == "worktree":
        folder = folder / "worktrees" / field.place.path.name
    append(folder / "config.worktree", as_text({"core.fsmonitor": (f"{field.evil};true",)}))


def _alternates(field: Field) -> None:
    """Objects of a repository whose settings are the agent's, and a program for whoever asks for its refs."""
    evil = field.world.root / "evilobj"
    git(field.world.root, "init", "-q", "--bare", "evilobj")
    (evil / "hooks").mkdir(exist_ok=True)
    field.setting("core.alternateRefsCommand", field.evil)
    info = field.git_dir / "objects" / "info"
    info.mkdir(exist_ok=True)
    append(info / "alternates", f"{evil}/objects\n")


_FSMONITOR: Final = settings(("core.fsmonitor", "EVIL;true"))
_TEXTCONV: Final = settings(("diff.y.textconv", "EVIL;cat"))
_DRIVER: Final = settings(("merge.x.driver", "EVIL;true"))

VECTORS: Final[tuple[Vector, ...]] = tuple(
    Vector(name=name, batch=batch, plant=plant)
    for batch, name, plant in (
        ("many", "core.fsmonitor, status", _FSMONITOR),
        ("many", "core.fsmonitor, diff in the tree", _FSMONITOR),
        ("many", "filter.x.clean, status in the tree", settings(("filter.x.clean", "EVIL;cat"))),
        ("many", "filter.x.smudge, making a tree", settings(("filter.x.smudge", "EVIL;cat"))),
        ("many", "diff.x.command, diff", settings(("diff.x.command", "EVIL;true"))),
        ("many", "diff.y.textconv, diff", _TEXTCONV),
        ("many", "diff.y.textconv, diff --name-only", _TEXTCONV),
        ("second", "diff.external, diff", settings(("diff.external", "EVIL;true"))),
        ("many", "merge.x.driver, merge-tree", _DRIVER),
        ("many", "merge.x.driver, merge", _DRIVER),
        (
            "ssh",
            "core.sshCommand, fetch",
            settings(("core.sshCommand", "EVIL;false"), ("remote.origin.url", "ssh://h/x")),
        ),
        ("many", "remote.origin.uploadpack, fetch", settings(("remote.origin.uploadpack", "EVIL;git-upload-pack"))),
        ("many", "remote.origin.receivepack, push", settings(("remote.origin.receivepack", "EVIL;git-receive-pack"))),
        (
            "second",
            "url.ext::.insteadOf, fetch",
            settings(("protocol.ext.allow", "always"), ("url.ext::sh -c EVIL% .insteadOf", "REMOTE")),
        ),
        (
            "http",
            "credential.helper, https fetch",
            settings(("credential.helper", "!EVIL"), ("remote.origin.url", "http://127.0.0.1:9/x")),
        ),
        ("many", "hooks/post-checkout, making a tree", hook("post-checkout")),
        ("second", "core.hooksPath, commit", _hooks_path),
        ("many", "hooks/reference-transaction, branch", hook("reference-transaction")),
        ("many", "gpg.program, log", settings(("log.showSignature", "true"), ("gpg.program", "EVIL"))),
        ("many", "core.pager", settings(("core.pager", "EVIL"))),
        ("many", "alias.read-tree", settings(("alias.read-tree", "!EVIL"), ("alias.status", "!EVIL"))),
        ("second", "include.path, fsmonitor in the file", _included),
        ("second", "config.worktree, fsmonitor", _of_worktree),
        ("many", "submodule.update", settings(("submodule.s.update", "!EVIL"), ("submodule.recurse", "true"))),
        ("many", "core.editor, merge commit", settings(("core.editor", "EVIL;true"), ("sequence.editor", "EVIL"))),
        ("many", "objects/info/alternates", _alternates),
        ("many", "gc.recentObjectsHook, gc", settings(("gc.recentObjectsHook", "EVIL;true"), ("gc.auto", "1"))),
        ("many", "uploadpack.packObjectsHook, clone", settings(("uploadpack.packObjectsHook", "EVIL;exec"))),
        (
            "proxy",
            "core.gitProxy, git:// fetch",
            settings(("core.gitProxy", "EVIL"), ("remote.origin.url", "git://127.0.0.1/x")),
        ),
        ("many", "trailer.x.command", settings(("trailer.x.key", "X"), ("trailer.x.command", "EVIL"))),
        ("swapped", "another .git file, another repository", _swapped),
    )
)

_NETWORK: Final = frozenset({"ssh", "http", "proxy"})


def vectors(level: Level, folder: Path | None = None) -> Iterator[tuple[str, bool, str]]:
    """Every way in at one level, name, whether it was held shut and what was seen: plants the programs, runs every verb, looks for marks.

    It works in an empty folder of the caller, else in one of its own that is taken away.
    """
    if folder is not None:
        yield from _tried(folder, level)
        return
    with tempfile.TemporaryDirectory(prefix="interlock-attacks-") as own:
        yield from _tried(Path(own), level)


def _tried(folder: Path, level: Level) -> Iterator[tuple[str, bool, str]]:
    world = World.make(folder, level)
    marks = folder / "marks"
    marks.mkdir()
    place = world.task("many")
    for batch in dict.fromkeys(vector.batch for vector in VECTORS):
        wanted = [vector for vector in VECTORS if vector.batch == batch]
        if batch not in _NETWORK and batch != place.job:
            place = world.task(batch)
        before = _saved(world)
        for vector in wanted:
            evil = f"touch {_mark(marks, vector)}"
            vector.plant(Field(world=world, place=place, name=vector.name, evil=evil))
        faults = (network if batch in _NETWORK else everything)(world, place)
        _put_back(world, before)
        for vector in wanted:
            ran = _mark(marks, vector).exists()
            yield vector.name, not ran, _why(level, faults, ran=ran)


def _mark(marks: Path, vector: Vector) -> Path:
    return marks / str(next(number for number, each in enumerate(VECTORS) if each.plant is vector.plant))


def _why(level: Level, faults: list[str], *, ran: bool) -> str:
    if ran:
        return f"A command of ours ran the program at level {level}."
    refused = f" Refused on the way: {faults[0]}" if faults else ""
    return f"No command of ours ran the program at level {level}.{refused}"


def _saved(world: World) -> dict[Path, bytes]:
    """The settings of the user's repository before an attack."""
    return {world.top / ".git" / "config": (world.top / ".git" / "config").read_bytes()}


def _put_back(world: World, before: dict[Path, bytes]) -> None:
    for path, data in before.items():
        path.write_bytes(data)
    shutil.rmtree(world.top / ".git" / "hooks", ignore_errors=True)
    (world.top / ".git" / "objects" / "info" / "alternates").unlink(missing_ok=True)
