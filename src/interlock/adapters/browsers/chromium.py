"""Profiles of Chromium and its kin: copied from a golden one, whole or not at all, or found again; which role is the app's."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from interlock.core.contract.around import Browser
from interlock.core.problems import Refused, refused
from interlock.host import files, tree

# What is of one running browser, or comes back by itself.
_LEFT_OUT: Final = frozenset(
    {
        "Cache",
        "Code Cache",
        "GPUCache",
        "GPUPersistentCache",
        "ShaderCache",
        "GrShaderCache",
        "GraphiteDawnCache",
        "DawnCache",
        "DawnGraphiteCache",
        "DawnWebGPUCache",
        "ScriptCache",
        "component_crx_cache",
        "extensions_crx_cache",
        "optimization_guide_model_store",
        "BrowserMetrics",
        "Crashpad",
        "Crash Reports",
        "DevToolsActivePort",
        "LOCK",
        "lockfile",
        ".parentlock",
    }
)
_SINGLETON: Final = "Singleton"
_LOCK: Final = "SingletonLock"
_HELD: Final = re.compile(r"(?P<host>.+)-(?P<pid>\d+)")


class ChromiumBrowsers:
    """Folders for ``--user-data-dir`` (ports.Browsers)."""

    def profile(self, browser: Browser, folder: Path) -> Path:
        """The profile at ``folder``: found again, or copied from the golden one; empty for a role without one.

        Raises Refused (browser) when the golden profile is not there or in use, OSError when it cannot be copied.
        """
        if folder.is_dir() and not folder.is_symlink():
            _let_go(folder)
            return folder
        folder.parent.mkdir(parents=True, exist_ok=True)
        fresh = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}")
        try:
            fresh.mkdir(mode=0o700)
            if browser.golden is not None:
                _copy(_golden(browser.role, browser.golden), fresh)
            fresh.rename(folder)
        except BaseException:
            shutil.rmtree(fresh, ignore_errors=True)
            raise
        files.sync_folder(folder.parent)
        return folder


def _golden(role: str, named: str) -> Path:
    """The golden profile as a folder of this machine.  Raises Refused."""
    golden = Path(named).expanduser()
    if not golden.is_absolute() or not golden.is_dir():
        raise _refused(
            role,
            f"The golden profile of {role} is not there: {golden}.",
            "Each task's profile is a copy of it; an empty one would not be signed in.",
            f"Start chromium --password-store=basic --user-data-dir={golden}, sign in as {role}, close it; or correct golden.",
        )
    if (pid := _holder(golden)) is not None:
        raise _refused(
            role,
            f"The golden profile of {role} is in use by process {pid}: {golden}.",
            "A copy of files that are being written is no profile.",
            "Close that browser, then dispatch again.",
            pid,
        )
    return golden


def _copy(source: Path, target: Path) -> None:
    """Plain files and folders alone: a link would lead back to the golden profile, or further."""
    for entry in _entries(source):
        into = target / entry.name
        if entry.is_dir(follow_symlinks=False):
            into.mkdir(mode=0o700)
            _copy(Path(entry.path), into)
        elif entry.is_file(follow_symlinks=False):
            shutil.copyfile(entry.path, into, follow_symlinks=False)
            into.chmod(0o600)


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as found:
        yield from (each for each in found if each.name not in _LEFT_OUT and not each.name.startswith(_SINGLETON))


def _let_go(folder: Path) -> None:
    """Remove the lock of a browser that is gone; one of a sandbox is left, its next browser tells by itself."""
    held = _lock(folder)
    if held is None or held[0] != socket.gethostname() or _holder(folder) is not None:
        return
    for name in (_LOCK, "SingletonSocket", "SingletonCookie"):
        with suppress(FileNotFoundError):
            (folder / name).unlink()


def _holder(folder: Path) -> int | None:
    """The living process of this machine that a profile's lock names."""
    held = _lock(folder)
    if held is None or held[0] != socket.gethostname():
        return None
    who = tree.identify(held[1])
    return who.pid if who is not None and tree.alive(who) else None


def _lock(folder: Path) -> tuple[str, int] | None:
    """Host and process that hold a profile, as the lock's link says them."""
    try:
        found = _HELD.fullmatch(str((folder / _LOCK).readlink()))
    except OSError:
        return None
    return (found["host"], int(found["pid"])) if found else None


def _refused(role: str, what: str, why: str, would_change: str, number: int | None = None) -> Refused:
    return refused(
        rule="browser",
        what=what,
        why=why,
        would_change=would_change,
        number=number,
        holders=(role,),
    )
