"""A guard that was asked: where a command's words lead on this disk, the answer in words, and the refusal on the record."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from interlock.core.gate import guards

ORDERS: Final = "guards.json"


def main(arguments: Sequence[str]) -> int:
    """Judge one call.  Takes the guards' folder, the program's name and its words; gives 0 to let it run, else 1."""
    folder, *argv = arguments
    try:
        return _judge(json.loads((Path(folder) / ORDERS).read_bytes()), argv)
    except (OSError, ValueError, KeyError, TypeError) as fault:
        print(f"interlock: {argv[0]} was refused: the guard cannot judge it ({fault}).", file=sys.stderr)
        return 1


def call(argv: Sequence[str]) -> int:
    """Judge a call before a shell makes it, by the orders of the guards on PATH; 0 lets it pass, as it does without guards.

    Unlike a guard it is asked also for a program that is called by its whole path.  Raises what the orders' file raises.
    """
    for folder in os.environ.get("PATH", "").split(":"):
        if folder and (file := Path(folder) / ORDERS).is_file():
            return _judge(json.loads(file.read_bytes()), [os.path.basename(argv[0]), *argv[1:]])  # noqa: PTH119 - no path
    return 0


def _judge(orders: Mapping[str, Any], argv: Sequence[str]) -> int:
    blocked = _destroys(orders, argv)
    name = None if blocked else _waits(orders, argv)
    if blocked is not None:
        return _refuse(blocked, {"guard": "guard", "command": guards.shown(argv)})
    if name is not None:
        from interlock.task import approve

        data = {"guard": "approval", "approval": name, "command": guards.shown(argv)}
        return _refuse(approve.refusal(name, argv, os.environ.get("INTERLOCK_SLUG", "")), data)
    return 0


def _destroys(orders: Mapping[str, Any], argv: Sequence[str]) -> guards.Blocked | None:
    tree = os.path.realpath(str(orders["tree"]))
    homes = dict.fromkeys(os.path.realpath(home) for home in (orders["home"], os.environ.get("HOME") or "/"))
    homes.pop("/", None)
    shared = tuple(os.path.realpath(each) for each in orders["shared"])
    for home in homes or (tree,):
        blocked = guards.judge(
            argv,
            cwd=_cwd(),
            home=home,
            tree=tree,
            shared=shared,
            entries=_entries(tree),
            real=os.path.realpath,
        )
        if blocked is not None:
            return blocked
    return None


def _waits(orders: Mapping[str, Any], argv: Sequence[str]) -> str | None:
    """The approval that the command waits for; what reads the rules is loaded only when one speaks of the program."""
    if not any(pattern.split()[:1] == argv[:1] for rule in orders["rules"] for pattern in rule["commands"]):
        return None
    from interlock.task import approve

    return approve.needed(orders, argv)


def _cwd() -> str:
    try:
        return str(Path.cwd())
    except FileNotFoundError:
        return "/"


def _entries(tree: str) -> frozenset[str]:
    """What is to be seen at the top of the tree."""
    try:
        return frozenset(name for name in os.listdir(tree) if not name.startswith("."))  # noqa: PTH208 - names alone
    except OSError:
        return frozenset()


def _refuse(blocked: guards.Blocked, data: Mapping[str, str]) -> int:
    for text in (blocked.what, blocked.why, blocked.would_change):
        print(f"interlock: {text}", file=sys.stderr)
    record(f"{blocked.what} {blocked.why}", data)
    return 1


def record(text: str, data: Mapping[str, str]) -> None:
    """Leave a note in the spool.  A refusal stands also where it cannot be written down, such as under ``env -i``."""
    from interlock.host import spool
    from interlock.task.inside import Inside, Misuse

    try:
        inside = Inside.of_environment()
        spool.write(inside.spool, inside.attempt, "note", text, data)
    except (Misuse, OSError, spool.SpoolFull, spool.TooLong) as fault:
        print(f"interlock: This could not be put on the record: {fault}", file=sys.stderr)
