"""Objects carried between the mirror and the user's repository without running git in the latter's configuration."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from interlock.adapters.git.errors import GitFailed
from interlock.adapters.git.plumbing import GitDir

# A pack below this size (bytes) is unpacked, so that many small transfers do not leave many packs behind.
_LOOSE: Final = 1_000_000
_LONG: Final = 1800.0


def complete(git: GitDir, wants: Iterable[str], haves: Iterable[str] = ()) -> bool:
    """True when the commits are here with everything they lead to, down to ``haves``, which are taken for whole.

    A transfer that was killed leaves a commit without its files, so the mere presence of a commit proves nothing.
    """
    lines = [*wants, *(f"^{oid}" for oid in haves)]
    if not lines:
        return True
    done = git.run(
        "rev-list", "--objects", "--quiet", "--stdin", stdin="\n".join(lines).encode(), seconds=_LONG, ok=(0, 128, 1)
    )
    return done.code == 0


def present(git: GitDir, oids: Iterable[str]) -> list[str]:
    """Those of the objects that exist here at all, in their order."""
    wanted = list(dict.fromkeys(oids))
    if not wanted:
        return []
    lines = git.text("cat-file", "--batch-check=%(objectname)", stdin="\n".join(wanted).encode()).splitlines()
    return [oid for oid, line in zip(wanted, lines, strict=True) if line == oid]


def fetch_local(mirror: GitDir, source: Path, wants: list[str], haves: Iterable[str]) -> None:
    """Bring commits from the object store ``source`` of the user's repository into the mirror, verified.

    What the store says is not believed: every object is hashed again on the way in, and the result must be whole.
    Raises GitFailed when something is missing there.
    """
    known = list(haves)
    reading = mirror.also_reading(source)
    with _pack(reading, wants, known) as pack:
        if pack is not None:
            pack.with_suffix(".idx").unlink()
            mirror.run("index-pack", str(pack), seconds=_LONG)
            _install(pack, mirror.path / "objects")
    if not complete(mirror, wants, known):
        raise GitFailed(
            ["git", "index-pack"], None, f"the objects of {', '.join(wants)[:200]} are not whole in {source}"
        )


def send_local(mirror: GitDir, target: Path, wants: list[str], haves: Iterable[str]) -> None:
    """Bring commits of the mirror into the object store ``target`` of the user's repository."""
    with _pack(mirror, wants, list(haves)) as pack:
        if pack is None:
            return
        if pack.stat().st_size < _LOOSE:
            writing = replace(mirror, objects=target, alternates=())  # what an alternate holds would not be written
            writing.run("unpack-objects", "-q", stdin=pack.read_bytes())
        else:
            _install(pack, target)


@contextmanager
def _pack(git: GitDir, wants: list[str], haves: list[str]) -> Iterator[Path | None]:
    """A temporary pack of what ``wants`` lead to and ``haves`` do not; None when there is nothing to carry."""
    parent = git.path / "tmp"
    parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="pack-", dir=parent) as folder:
        revisions = "\n".join([*wants, *(f"^{oid}" for oid in haves)])
        git.run(
            *("pack-objects", "--revs", "--non-empty", "--delta-base-offset", "-q", f"{folder}/pack"),
            stdin=revisions.encode(),
            seconds=_LONG,
        )
        yield next(Path(folder).glob("*.pack"), None)


def _install(pack: Path, store: Path) -> None:
    """Move a pack with its indexes into a store, the index that makes it visible last."""
    folder = store / "pack"
    folder.mkdir(exist_ok=True)
    for suffix in (".pack", ".rev", ".idx"):
        part = pack.with_suffix(suffix)
        if not part.exists() or (folder / part.name).exists():
            continue
        try:
            part.rename(folder / part.name)
        except OSError:
            fresh = folder / f"tmp_{part.name}"
            shutil.copyfile(part, fresh)
            fresh.replace(folder / part.name)
        with suppress(OSError):
            (folder / part.name).chmod(0o444)
