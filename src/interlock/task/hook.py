"""``interlock-task hook``: refuses a tool call before it is made, by the card; a courtesy to the agent, and no wall.

It reads what Claude Code and Codex hand to a ``PreToolUse`` hook (facts/agents §1.4).  Whatever it cannot judge it
allows, with a note: the sandbox and the scope gate decide, and neither asks it.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final

from interlock.host import spool
from interlock.task import ask, guard, shell
from interlock.task.inside import Inside

REFUSED: Final = 2
"""The exit code that both vendors take for a no; any other one lets the call pass."""

_PAYLOAD_MOST: Final = 16 << 20
_EDITORS: Final = frozenset({"edit", "multiedit", "notebookedit", "write"})
_SHELLS: Final = frozenset({"bash", "exec_command", "local_shell", "shell", "shell_command"})
_PATCH: Final = "apply_patch"
_NAMED: Final = ("file_path", "notebook_path", "path")
_SAID: Final = ("command", "cmd", "input", "patch")
_PATCHED: Final = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+?)[ \t\r]*$", re.MULTILINE)
_BEGIN: Final = "*** Begin Patch"
_SCRATCH: Final = ("/tmp", "/dev")  # noqa: S108 - what agents use for their notes
_FORBIDDEN: Final = frozenset({"protected", "prohibited", "read-only"})
_SHOWN: Final = 10
_NOTES: Final = 100
"""So many messages of an attempt may be there for a refusal to go on the record: a stop must always fit."""


def main(stdin: BinaryIO | None = None) -> int:
    """Judge one call.  Gives 2 with the reason on standard error when it is refused, else 0, also on any fault."""
    try:
        payload = json.loads((stdin or sys.stdin.buffer).read(_PAYLOAD_MOST))
        inside = Inside.of_environment()
        if isinstance(folder := payload.get("cwd"), str) and Path(folder).is_dir():
            os.chdir(folder)
        return _judge(payload, inside)
    except Exception as fault:  # noqa: BLE001 - nothing may stand between an agent and its work for a fault of ours
        kind = type(fault).__name__
        print(
            f"interlock: This call was not judged ({kind}: {fault}) and is allowed; the gates decide.", file=sys.stderr
        )
        return 0


def _judge(payload: Mapping[str, Any], inside: Inside) -> int:
    tool, given = str(payload.get("tool_name") or ""), payload.get("tool_input")
    name = tool.rpartition(".")[2].lower()
    if name in _EDITORS and isinstance(given, Mapping):
        paths = [given[key] for key in _NAMED if isinstance(given.get(key), str)]
        return _edits(inside, tool, paths)
    text = _text(given)
    if name == _PATCH:
        return _edits(inside, tool, _PATCHED.findall(text))
    return _runs(inside, tool, text) if name in _SHELLS else 0


def _text(given: Any) -> str:
    """The command or patch of a call: a text, or the words of one; for ``sh -c`` what the shell is told."""
    said = next((given[key] for key in _SAID if given.get(key)), "") if isinstance(given, Mapping) else given
    if isinstance(said, list):
        words = [str(each) for each in said]
        return words[-1] if len(words) == 3 and words[1].endswith("c") else _joined(words)
    return said if isinstance(said, str) else ""


def _joined(words: list[str]) -> str:
    import shlex

    return shlex.join(words)


# ---------------------------------------------------------------- edits
def _edits(inside: Inside, tool: str, paths: list[str]) -> int:
    card = inside.card()
    refused = [found for path in paths for found in _rights(card, inside, path) if found["right"] != "owned"]
    return _refuse(inside, tool, refused) if refused else 0


def _rights(card: dict[str, Any], inside: Inside, path: str) -> Iterator[dict[str, str]]:
    """What the card says of a path, and of the place that it leads to over links; nothing for scratch."""
    if _is_scratch(inside, path):
        return
    named = inside.relative(path)
    yield ask.right(card, named, path)
    led = inside.relative(os.path.realpath(path))
    if led != named:
        yield ask.right(card, led, path)


def _is_scratch(inside: Inside, path: str) -> bool:
    """Whether a path lies in a place that is nobody's: temporary folders, the attempt's own HOME, devices."""
    real = os.path.realpath(path)
    if _covers(os.path.realpath(inside.tree), real):
        return False
    scratch = [*_SCRATCH]
    scratch += [os.environ[name] for name in ("TMPDIR", "HOME") if os.environ.get(name, "/") != "/"]
    return any(_covers(os.path.realpath(each), real) for each in scratch)


def _covers(outer: str, inner: str) -> bool:
    return inner == outer or inner.startswith(outer.rstrip("/") + "/")


# ---------------------------------------------------------------- commands
def _runs(inside: Inside, tool: str, line: str) -> int:
    """Refuse what plainly writes outside of the tree or where the card forbids it, and what the guards refuse."""
    if _BEGIN in line and _PATCH in line:
        return _edits(inside, tool, _PATCHED.findall(line))
    card = inside.card()
    for command in shell.commands(line):
        written = [*command.written, *_named(command)]
        for path in (_home(each) for each in written):
            if refused := [each for each in _rights(card, inside, path) if _forbidden(inside, each, path)]:
                return _refuse(inside, tool, refused)
        if command.told and command.words:
            words = tuple(_home(each) for each in command.words)
            if guard.call(words) != 0:
                return REFUSED
            if words[0] == "cd" and not _go(words):
                return 0
    return 0


def _named(command: shell.Simple) -> list[str]:
    """Files that a program writes by its plain words: ``tee``."""
    if not command.told or command.words[:1] not in (("tee",), ("/usr/bin/tee",)):
        return []
    return [word for word in command.words[1:] if not word.startswith("-")]


def _forbidden(inside: Inside, answer: Mapping[str, str], path: str) -> bool:
    """A command may leave what it likes beside the owned paths, where the gate sees it; not outside, nor where it says no."""
    return answer["right"] in _FORBIDDEN or inside.relative(path) is None


def _go(words: tuple[str, ...]) -> bool:
    """Follow a ``cd``, since what comes after it is meant from there; False when it cannot be followed."""
    try:
        os.chdir(words[1] if len(words) > 1 else os.environ.get("HOME", "/"))
    except OSError:
        return False
    return True


def _home(word: str) -> str:
    return posixpath.expanduser(word) if word == "~" or word.startswith("~/") else word


# ---------------------------------------------------------------- the answer
def _refuse(inside: Inside, tool: str, refused: list[dict[str, str]]) -> int:
    shown = list({each["path"]: each for each in refused}.values())
    for each in shown[:_SHOWN]:
        print(
            f"interlock: {tool} was refused: {each['path']} is {_WORDS[each['right']]}. {each['why']}", file=sys.stderr
        )
    paths = [each["path"] for each in shown]
    wanted = " ".join(path for path in paths[:_SHOWN] if not path.startswith("/"))
    print(f"interlock: {_would_change(shown, wanted)}", file=sys.stderr)
    text = f"{tool} was refused: {', '.join(paths[:_SHOWN])}."
    if len(spool.read(inside.spool, inside.attempt)) < _NOTES:
        guard.record(text, {"guard": "hook", "command": text})
    return REFUSED


_WORDS: Final[Mapping[str, str]] = {
    "outside": "not this task's",
    "read-only": "this task's to read only",
    "prohibited": "prohibited by the card",
    "protected": "protected, for every task",
}


def _would_change(refused: list[dict[str, str]], wanted: str) -> str:
    if any(each["right"] == "protected" for each in refused) or not wanted:
        return "Work without it, or ask a person: interlock-task stop --reason … --question …."
    return f"Work without it, or ask: interlock-task scope-request {wanted} --reason …; until the card owns it, the gate refuses it."
