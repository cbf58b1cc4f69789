"""Where an agent's client is on this machine: on PATH, beside our Python, or inside a wheel that brings it; and its version."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Final

from interlock.host.sandbox import system, toolchains

_SECONDS: Final = 20.0


def find(name: str, wheel: tuple[str, str] | None = None) -> str | None:
    """The path of a client's executable, links followed no further than its name; None when there is none.

    ``wheel`` is a package that may bring it, and its place in that; PATH and our own environment come first.
    """
    found = shutil.which(name) or shutil.which(name, path=str(Path(sys.prefix) / "bin"))
    return found or (_in_wheel(*wheel) if wheel else None)


def folders(paths: Iterable[str]) -> tuple[str, ...]:
    """What a sandbox has to show for these executables: each itself, what a link leads to, and the environment it is in."""
    found: dict[str, None] = {}
    for path in paths:
        for each in (path, os.path.realpath(path)):
            place = toolchains.environment_of(Path(each)) or _package_of(Path(each)) or each
            if not system.is_shown(place) and not toolchains.is_wide(Path(place)):
                found[place] = None
    return tuple(found)


def _package_of(program: Path) -> str | None:
    """The outermost ``node_modules`` that a program stands in: a client from npm needs its packages beside it."""
    above = [folder for folder in program.parents if folder.name == "node_modules"]
    return str(above[-1]) if above else None


def _in_wheel(package: str, place: str) -> str | None:
    spec = importlib.util.find_spec(package)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        if os.access(path := Path(folder) / place, os.X_OK):
            return str(path)
    return None


def version(path: str) -> str:
    """What a client prints for ``--version``, without our environment; empty when it does not say in time."""
    try:
        stamp = os.stat(path)  # noqa: PTH116 - a link's target is what counts
    except OSError:
        return ""
    return _version(path, stamp.st_mtime_ns, stamp.st_size)


@lru_cache(maxsize=32)
def _version(path: str, _changed: int, _size: int) -> str:
    env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": "/nonexistent", "LANG": "C.UTF-8"}
    try:
        done = subprocess.run(
            [path, "--version"],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_SECONDS,
            check=False,
            start_new_session=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode("utf-8", "replace").strip()[:200]
