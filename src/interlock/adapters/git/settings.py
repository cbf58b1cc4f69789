"""The settings of the user's repository that a trusted copy must share, taken once; living by them is the mirror's work."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from interlock.adapters.git.discover import Found, Remote, config

# What decides the bytes of files and commits, how the remote is reached, and how commits are signed.  Everything
# else in the user's configuration can only start programs or change output.
_SHARED: Final = re.compile(
    r"filter\..*|merge\..*|lfs\..*"
    r"|core\.(autocrlf|eol|safecrlf|ignorecase|symlinks|filemode|precomposeunicode|excludesfile|attributesfile"
    r"|checkroundtripencoding|bigfilethreshold|longpaths|protecthfs|protectntfs|compression)"
    r"|http\..*|credential\..*|url\..*|ssh\.variant|core\.(sshcommand|gitproxy|askpass)"
    r"|gpg\..*|user\..*"
)
_OF_REMOTE: Final = ("pushurl", "proxy", "proxyauthmethod", "uploadpack", "receivepack", "serveroption", "vcs")
IGNORED: Final = ".agent-env"


def snapshot(found: Found, remote: Remote) -> dict[str, tuple[str, ...]]:
    """The shared settings as they stand now; the remote is called origin in the copy."""
    present = config(found.git(), "--includes")
    taken = {name: values for name, values in present.items() if _SHARED.fullmatch(name)}
    if remote.name and remote.url:
        taken["remote.origin.url"] = (remote.url,)
        for key in _OF_REMOTE:
            if values := present.get(f"remote.{remote.name}.{key}"):
                taken[f"remote.origin.{key}"] = values
    return taken


def as_text(settings: Mapping[str, tuple[str, ...]]) -> str:
    """Settings in the syntax of a git configuration file."""
    lines: list[str] = []
    for name, values in settings.items():
        section, _, rest = name.partition(".")
        subsection, _, key = rest.rpartition(".")
        named = subsection.replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'[{section} "{named}"]' if subsection else f"[{section}]")
        lines += [f'\t{key} = "{_escaped(value)}"' for value in values]
    return "".join(f"{line}\n" for line in lines)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")


def copy_info(found: Found, mirror: Path) -> None:
    """Take over attributes and excludes that are set outside the tree, and ignore .agent-env."""
    (mirror / "info").mkdir(exist_ok=True)
    attributes = found.common_dir / "info" / "attributes"
    if attributes.is_file():
        shutil.copyfile(attributes, mirror / "info" / "attributes")
    exclude = found.common_dir / "info" / "exclude"
    text = exclude.read_bytes() if exclude.is_file() else b""
    (mirror / "info" / "exclude").write_bytes(with_line(text, IGNORED))


def ignore_in(found: Found) -> None:
    """Let the user's repository ignore .agent-env in all its worktrees, without touching a .gitignore."""
    exclude = found.common_dir / "info" / "exclude"
    exclude.parent.mkdir(exist_ok=True)
    present = exclude.read_bytes() if exclude.is_file() else b""
    wanted = with_line(present, IGNORED)
    if wanted != present:
        fresh = exclude.with_name("exclude.interlock")
        fresh.write_bytes(wanted)
        fresh.replace(exclude)


def with_line(text: bytes, line: str) -> bytes:
    """The text with the line at its end, unless it stands there already."""
    if line.encode() in text.splitlines():
        return text
    if text and not text.endswith(b"\n"):
        text += b"\n"
    return text + line.encode() + b"\n"
