"""The escape tests: one attacking script in a room like a task's, and what became of it; the ways out are attacking's.

An attack counts as blocked only when it was really tried and its effect is absent, inside and out.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from interlock.core.contract.card import Level
from interlock.core.sandbox import Sandbox
from interlock.host import environment, files, processes
from interlock.host.sandbox import attacking, identity, own_tools
from interlock.host.sandbox.scene import Scene

_LIMIT_SECONDS: Final = 60.0
_INSIDE: Final = f"{own_tools.LIB}/interlock/host/sandbox/attacking.py"
_MOST_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """What became of one attack: ``blocked`` None when it was not tried, or is not what the level promises."""

    name: str
    level: Level
    blocked: bool | None
    why: str


MakeSandbox = Callable[[Path, Path, int | None], Sandbox]
"""Takes a tree, a home and the uid to become, and gives the sandbox of a task."""


def plain(tree: Path, home: Path, user: int | None) -> Sandbox:
    """The least sandbox: a tree and a home."""
    return Sandbox(tree=str(tree), home=str(home), user=user)


def names() -> tuple[str, ...]:
    """The attacks that there are."""
    numbers = {"victim": "0", "tcp": "0", "udp": "0"}
    keys = ("outside", "other", "secret", "key", "tmp", "shm", "socket", "abstract", "variable")
    return tuple(attacking.attacks({**dict.fromkeys(keys, ""), **numbers}))


def attacks(level: Level, make_sandbox: MakeSandbox = plain, *, contain: bool = True) -> Iterator[Attack]:
    """Try each way out of a task of this level, here and now; takes about half a second.

    At level worktree the same script runs without walls, so that a person sees what that level does not hold; as root
    it is not run.
    ``contain`` False takes the pid namespace of that level away as well.  Raises Refused (sandbox, root).
    """
    if level == "worktree" and os.geteuid() == 0:
        for name in names():
            yield Attack(name=name, level=level, blocked=None, why="It was not tried: without walls and as root.")
        return
    with Scene(identity.default_user()).laid() as scene:
        ended, outcomes = _run(scene, make_sandbox, walls=level != "worktree", contain=contain)
        effects = scene.effects() | _artifact(scene)
        for name in names():
            if (outcome := outcomes.get(name)) is None:
                yield Attack(name=name, level=level, blocked=None, why=f"It was not tried. The run ended: {ended}")
            else:
                yield _judged(name, level, effects.get(name) or _effect(outcome, scene.token), outcome.fault)


class _Outcome(NamedTuple):
    """What one attack got hold of, or what stopped it."""

    said: str
    fault: str


def _run(scene: Scene, make_sandbox: MakeSandbox, *, walls: bool, contain: bool) -> tuple[str, dict[str, _Outcome]]:
    """Run the attacking script; gives how it ended, and what each attack told."""
    log = scene.root / "log" / "output.log"
    if walls:
        sandbox: Sandbox | None = make_sandbox(scene.root / "tree", scene.root / "home", scene.user)
        assert sandbox is not None  # noqa: S101 - said above
        argv, env = (own_tools.python().path, "-I", "-S", _INSIDE), environment.inside({}, sandbox)
    else:
        sandbox = None
        argv, env = (sys.executable, "-I", "-S", attacking.__file__), environment.exact({})
    ended = processes.run(
        argv,
        env=env,
        cwd=scene.root / "tree",
        log=log,
        stdin=scene.describe(),
        limits=processes.Limits(wall=_LIMIT_SECONDS),
        sandbox=sandbox,
        contain=contain,
    )
    outcomes = {}
    for line in log.read_bytes()[:_MOST_BYTES].splitlines():
        try:
            shape: dict[str, Any] = json.loads(line)
            outcomes[str(shape["name"])] = _Outcome(str(shape["said"]), str(shape["fault"]))
        except (ValueError, KeyError, TypeError):
            continue
    told = ended.message or log.read_bytes()[-300:].decode("utf-8", "replace")
    return f"{ended.how} {ended.exit_code}: {told}", outcomes


def _artifact(scene: Scene) -> dict[str, str]:
    """Collect the artifact as the harness does: the link that stands there must not be followed."""
    tree = scene.root / "tree"
    try:
        with files.open_beneath(tree, "artifact.txt") as descriptor:
            data = files.read_open(descriptor, 1000)
    except OSError:
        return {}
    return {"leave a link as artifact": "the harness followed it"} if scene.token.encode() in data else {}


def _effect(outcome: _Outcome, token: str) -> str:
    """What the attack itself shows to have worked; empty when nothing does."""
    if token in outcome.said:
        return "it read the secret"
    if outcome.said.startswith(attacking.YES):
        return outcome.said.removeprefix(attacking.YES).lstrip(", ") or "it worked"
    return ""


def _judged(name: str, level: Level, effect: str, fault: str) -> Attack:
    """The outcome in words; never what was read, which may be anything."""
    told = effect or fault or "nothing came of it"
    if level == "worktree":
        why, blocked = f"This level does not cover it: {told}.", False if effect else None
    else:
        why, blocked = f"{told[0].upper()}{told[1:]}.", not effect
    return Attack(name=name, level=level, blocked=blocked, why=why)
