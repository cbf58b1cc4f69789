"""Taking a task's tree away so that it can come back; nothing is deleted but the name of a branch that is kept."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from interlock.adapters.git import admin, intents, locks, snapshot
from interlock.adapters.git.discover import BRANCHES
from interlock.adapters.git.making import lock_path
from interlock.adapters.git.mirror import HEAD, Mirror
from interlock.adapters.git.occupants import occupants
from interlock.adapters.git.snapshot import Kept
from interlock.core.problems import Refused, refused
from interlock.ports.isolation import Place


@dataclass(frozen=True, slots=True)
class Bin:
    """Where one removal puts things: the folder beside its root, so that a rename suffices, the registration with ours."""

    tree: Path
    registration: Path
    marker: Path

    @property
    def used(self) -> bool:
        return self.tree.exists() or self.registration.exists()


def bin_of(mirror: Mirror, place: Place, ref: str) -> Bin:
    name = "-".join(ref.split("/")[-2:])
    ours = mirror.found.state / "trash"
    return Bin(tree=place.path.parent / ".trash" / name, registration=ours / name, marker=ours / f"{name}.restoring")


def remove(mirror: Mirror, place: Place, ref: str) -> None:
    """Move the tree to the trash, deregister that entry alone, and delete the branch where the snapshot keeps it.

    Without a folder there is no snapshot: then only the registration goes, and the branch stays unless it is
    merged.  The same call after a kill goes on.  Raises Refused: alive, unsaved (no snapshot, or the tree
    changed since), workspace-missing (a folder that is not registered), locked.
    """
    found = mirror.found
    with locks.held(lock_path(found), what="A tree is being taken away"):
        saved = snapshot.read(mirror, ref)
        target = bin_of(mirror, place, ref)
        tree_admin = admin.find(found, place.path)
        if target.registration.exists() and tree_admin is not None:
            return  # done before, and the place has a new tree since
        if admin.there(place.path) and not target.used:
            _check_saved(mirror, place, ref, saved)
            target.tree.parent.mkdir(exist_ok=True)
            place.path.rename(target.tree)
        if tree_admin is not None:
            target.registration.parent.mkdir(parents=True, exist_ok=True)
            tree_admin.folder.rename(target.registration)
        delete_branch(mirror, place.branch, saved[1] if saved else None)
        for intent in intents.of_path(found, place.path):
            intents.write(found, replace(intent, state="removed"))


def _check_saved(mirror: Mirror, place: Place, ref: str, saved: tuple[str, Kept] | None) -> None:
    """Look again, under the lock: nobody lives there, and the snapshot is of the tree as it is now."""
    refuse_alive(place.path, occupants(place.path))
    picture = snapshot.take(mirror, place)
    if saved is None or saved[1] != picture.kept or tree_of(mirror, saved[0]) != picture.tree:
        raise unsaved(place.path, ref, taken=saved is not None)


def refuse_alive(path: Path, living: tuple[str, ...]) -> None:
    """Refuse (alive) when somebody lives there."""
    if living:
        raise refused(
            "alive",
            f"A process lives in {path}.",
            "Taking the tree away would pull it from under that process.",
            "End the process, or leave its shell, then try again.",
            holders=living,
        )


def unsaved(path: Path, ref: str, *, taken: bool) -> Refused:
    """The refusal for a tree that is not the one its snapshot is of, or that has none."""
    what = f"changed since its snapshot at {ref}" if taken else f"has no snapshot at {ref}"
    return refused(
        "unsaved",
        f"The tree {path} {what}.",
        "A tree is taken away only when all of it is kept.",
        "Take a snapshot, then try again.",
    )


def tree_of(mirror: Mirror, commit: str) -> str:
    """The tree object of a commit."""
    return mirror.git.text("rev-parse", f"{commit}^{{tree}}")


def delete_branch(mirror: Mirror, branch: str, kept: Kept | None) -> None:
    """Delete the branch by its expected commit, and only when that is kept: by the snapshot, or as part of the default branch."""
    user = mirror.found.git()
    ref = f"{BRANCHES}{branch}"
    tip = user.refs(ref).get(ref)
    if tip is None:
        return
    if kept is not None:
        safe = tip == kept.tip
    else:
        safe = mirror.git.run("merge-base", "--is-ancestor", tip, HEAD, ok=(0, 1, 128)).code == 0
    if safe:
        user.run("update-ref", "-m", "interlock: kept elsewhere", "-d", ref, tip)
