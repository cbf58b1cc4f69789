"""What the tests of sandboxes share: a room on this machine, as root or as whoever runs them, and commands in it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from interlock.core.sandbox import Layers, Sandbox
from interlock.host import environment, processes, procfs
from interlock.host.sandbox import identity
from interlock.host.sandbox.probe import probe


def needs_sandbox() -> None:
    """Skip where none can be made; a failure under CI, where that must not go unseen."""
    found = probe(identity.default_user())
    if not found.ok:
        if os.environ.get("CI"):
            pytest.fail(f"no sandbox here: {found.why}")
        pytest.skip(f"no sandbox here: {found.why}")


_LASTING = (b"runner.nursery", b"tests.preloaded", b"multiprocessing")


def below() -> list[int]:
    """What lives below this process, nearest first, without the lasting ones that runners and commands are forked from."""
    return [pid for pid in procfs.descendants(os.getpid()) if not any(name in _words(pid) for name in _LASTING)]


def _words(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


class Box:
    """A folder that nobody but us may enter, with a tree, a home and layers in it, and the sandbox of a task."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.user = identity.default_user()
        root.chmod(0o700)
        for name in ("tree", "home", "lower", "both/up", "both/work", "log"):
            (root / name).mkdir(parents=True)
        (root / "lower" / "below.txt").write_text("below\n")
        self.own()
        self.sandbox = Sandbox(tree=str(root / "tree"), home=str(root / "home"), user=self.user)
        both = root / "both"
        layers = Layers(lower=(str(root / "lower"),), upper=str(both / "up"), work=str(both / "work"))
        self.layered = replace(self.sandbox, tree="", layers=layers)

    def own(self) -> None:
        for name in ("tree", "home", "lower", "both"):
            identity.own(self.root / name, self.user)

    @property
    def log(self) -> Path:
        return self.root / "log" / "output.log"

    def run(self, script: str, sandbox: Sandbox | None = None, **more: object) -> tuple[processes.Ended, str]:
        """A shell script inside, and what it wrote."""
        walls = sandbox or self.sandbox
        more.setdefault("env", environment.inside({}, walls))
        more.setdefault("limits", processes.Limits(wall=30))
        ended = processes.run(
            ("bash", "-c", script),
            cwd=self.root,
            log=self.log,
            sandbox=walls,
            **more,  # type: ignore[arg-type]
        )
        return ended, self.log.read_text(errors="replace")


@contextmanager
def a_box() -> Iterator[Box]:
    needs_sandbox()
    root = Path(tempfile.mkdtemp(prefix="il-box-"))
    try:
        yield Box(root)
    finally:
        for each in root.rglob("work/work"):
            each.chmod(0o700)
        shutil.rmtree(root)
