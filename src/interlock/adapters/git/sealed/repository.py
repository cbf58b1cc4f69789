"""A private repository written by hand: settings, HEAD, its one branch, the way to the store; its index and files are others' work."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from interlock.adapters.git import settings
from interlock.adapters.git.discover import BRANCHES, config
from interlock.adapters.git.mirror import HEAD, TRACKED, Mirror
from interlock.adapters.git.sealed.layout import Layout
from interlock.host import files

REMOTE: Final = "ssh://gate/repo"
"""What a task calls its remote: the gate of host.gate, which needs no credential."""

# What decides the bytes of files; how the team's remote is reached and who its people are stays outside.
_CONVERTING: Final = re.compile(
    r"filter\..*|merge\..*|lfs\..*"
    r"|core\.(autocrlf|eol|safecrlf|ignorecase|symlinks|filemode|precomposeunicode|checkroundtripencoding"
    r"|bigfilethreshold|longpaths|protecthfs|protectntfs)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Private:
    """A repository to be written: on ``branch`` (None: detached) at ``commit``, reading ``objects``, for ``slug``.

    ``exclude`` are further lines of what git is to ignore.
    """

    commit: str
    objects: str
    branch: str | None = None
    slug: str = ""
    exclude: bytes = b""


def write(mirror: Mirror, git_dir: Path, wanted: Private) -> None:
    """Write all of it but the index and the objects of commits that the store does not hold."""
    for folder in ("objects/info", "objects/pack", "refs/heads", "refs/tags", "info"):
        (git_dir / folder).mkdir(parents=True)
    (git_dir / "config").write_bytes(os.fsencode(_config(mirror, wanted)))
    (git_dir / "objects" / "info" / "alternates").write_bytes(os.fsencode(f"{wanted.objects}\n"))
    if (mirror.path / "info" / "attributes").is_file():
        shutil.copyfile(mirror.path / "info" / "attributes", git_dir / "info" / "attributes")
    exclude = (mirror.path / "info" / "exclude").read_bytes()
    (git_dir / "info" / "exclude").write_bytes(exclude + wanted.exclude)
    if wanted.branch is None:
        (git_dir / "HEAD").write_text(f"{wanted.commit}\n")
        return
    _put(git_dir, f"{BRANCHES}{wanted.branch}", wanted.commit)
    if default := default_branch(mirror):
        _put(git_dir, f"{TRACKED}{default}", wanted.commit)
        _put(git_dir, HEAD, f"ref: {TRACKED}{default}")
    (git_dir / "HEAD").write_text(f"ref: {BRANCHES}{wanted.branch}\n")


def _put(git_dir: Path, ref: str, text: str) -> None:
    path = git_dir / ref
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n")


def default_branch(mirror: Mirror) -> str | None:
    """The default branch as the mirror's own file says, which spares a call of git."""
    with suppress(OSError, UnicodeDecodeError):
        text = (mirror.path / HEAD).read_text().strip()
        if text.startswith(f"ref: {TRACKED}"):
            return text.removeprefix(f"ref: {TRACKED}")
    return None


def _config(mirror: Mirror, wanted: Private) -> str:
    sha1 = mirror.found.object_format == "sha1"
    text = f"[core]\n\trepositoryFormatVersion = {0 if sha1 else 1}\n\tbare = false\n"
    text += "\tlogAllRefUpdates = true\n"
    text += "" if sha1 else f"[extensions]\n\tobjectFormat = {mirror.found.object_format}\n"
    text += converting(mirror)
    if wanted.branch is None:
        return text
    person: Mapping[str, tuple[str, ...]] = {
        "user.name": (f"agent ({wanted.slug})",),
        "user.email": (f"agent+{wanted.slug}@interlock.invalid",),
        "remote.origin.url": (REMOTE,),
        "remote.origin.fetch": (f"+{BRANCHES}*:{TRACKED}*",),
        "push.default": ("current",),
    }
    return text + settings.as_text(person)


def converting(mirror: Mirror) -> str:
    """The mirror's settings that decide the bytes of files, as text; read once for each state of its configuration."""
    seen = (mirror.path / "config").stat()
    kept = Layout(mirror.found).root / "settings" / f"{seen.st_mtime_ns}-{seen.st_size}-{seen.st_ino}"
    with suppress(FileNotFoundError):
        return os.fsdecode(kept.read_bytes())
    present = {name: values[-1:] for name, values in config(mirror.git).items() if _CONVERTING.fullmatch(name)}
    text = settings.as_text(present)
    kept.parent.mkdir(parents=True, exist_ok=True)
    files.write_whole(kept, os.fsencode(text))
    return text
