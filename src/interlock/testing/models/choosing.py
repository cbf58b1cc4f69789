"""Which of the tools that a client offers carries a step out, and with which arguments; the client's own description of them decides."""

from __future__ import annotations

import json
import posixpath
import shlex
from collections.abc import Mapping
from typing import Any, Final

from interlock.testing.models.asking import Asking, Offered, Reply, Use
from interlock.testing.models.steps import Big, Call, Run, Say, Write

_WRITERS: Final = ("Write", "write_file", "write", "create_file", "edit_file")
_SHELLS: Final = (
    "shell_command",
    "exec_command",
    "Bash",
    "run_shell_command",
    "bash",
    "shell",
    "run_terminal_cmd",
    "execute_command",
    "terminal",
)
_PATHS: Final = ("file_path", "filePath", "path", "filename")
_TEXTS: Final = ("content", "contents", "file_text", "text")
_COMMANDS: Final = ("command", "cmd", "script")
_CODE: Final = "exec"
"""Codex's tool for scripts that call its other tools."""


def reply_to(step: Say | Write | Run | Call | Big, asking: Asking) -> Reply:
    """The answer that a step means for this client; a text that says so where none of its tools can."""
    match step:
        case Say():
            return step.text
        case Write():
            return _writing(step, asking)
        case Big():
            return _running(f"head -c {step.size} /dev/zero | tr '\\0' x; echo", asking)
        case Run():
            return _running(step.command, asking)
        case Call():
            return _calling(step, asking)


def _writing(step: Write, asking: Asking) -> Reply:
    patch = asking.tools.get("apply_patch")
    if patch is not None:
        lines = "".join(f"+{line}\n" for line in step.text.splitlines())
        text = f"*** Begin Patch\n*** Add File: {step.path}\n{lines}*** End Patch\n"
        return Use(tool=patch, arguments=text if patch.form == "custom" else {"input": text})
    tool = _first(asking, _WRITERS)
    if tool is None:
        return _running(f"printf %s {shlex.quote(step.text)} > {shlex.quote(step.path)}", asking)
    path = posixpath.join(asking.folder, step.path) if asking.folder else step.path
    return Use(tool=tool, arguments=_named(tool, _PATHS, path) | _named(tool, _TEXTS, step.text))


def _running(command: str, asking: Asking) -> Reply:
    tool = _first(asking, _SHELLS)
    if tool is not None:
        return Use(tool=tool, arguments=_command(tool, command))
    if (code := asking.tools.get(_CODE)) is not None and code.form == "custom":
        called = json.dumps({"cmd": command})
        script = f"const r = await tools.exec_command({called}); text(JSON.stringify(r));"
        return Use(tool=code, arguments=script)
    return _none("a command", asking)


def _calling(step: Call, asking: Asking) -> Reply:
    for name, tool in asking.tools.items():
        if name == step.tool or name.endswith((f"_{step.tool}", f".{step.tool}")):
            return Use(tool=tool, arguments=step.arguments)
    return _none(step.tool, asking)


def _command(tool: Offered, command: str) -> dict[str, Any]:
    """The command as a text, or as words where the tool wants a list; with a description where one is asked for."""
    found = _named(tool, _COMMANDS, command)
    for name in found:
        described = tool.properties.get(name)
        if isinstance(described, Mapping) and described.get("type") == "array":
            found[name] = ["bash", "-lc", command]
    return found | ({"description": "Run a scripted command"} if "description" in tool.properties else {})


def _named(tool: Offered, names: tuple[str, ...], value: str) -> dict[str, Any]:
    """The value under the first of the names that the tool knows."""
    return {next((name for name in names if name in tool.properties), names[0]): value}


def _first(asking: Asking, names: tuple[str, ...]) -> Offered | None:
    return next((asking.tools[name] for name in names if name in asking.tools), None)


def _none(what: str, asking: Asking) -> str:
    return f"No tool for {what} was offered, only {', '.join(sorted(asking.tools))}."
