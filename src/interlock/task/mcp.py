"""The verbs of interlock-task as tools of the Model Context Protocol, for clients without a shell; written out by hand to start at once.

The shell command stays the way that counts: clients hide or drop tools of servers (facts/agents §3).  Each tool calls the
function of its verb and answers with what that prints.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, Final

from interlock import __version__
from interlock.task import ask, say
from interlock.task.inside import Inside, Misuse, NotDone

_VERSIONS: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
_PARSE, _INVALID, _NO_METHOD, _BAD_PARAMS = -32700, -32600, -32601, -32602
_TEXT: Final = {"type": "string"}
_TEXTS: Final = {"type": "array", "items": {"type": "string"}}

Arguments = Mapping[str, Any]


_Run = Callable[[Inside, Arguments], int]
_TOOLS: Final[Mapping[str, tuple[str, Mapping[str, Any], tuple[str, ...], _Run]]] = {
    "card": ("Show the card of this job.", {}, (), lambda i, _: ask.card(i, as_json=True)),
    "may_i": (
        "Tell for each path whether it is owned by this job; an error unless all are.",
        {"paths": _TEXTS},
        ("paths",),
        lambda i, a: ask.may_i(i, a["paths"], as_json=True),
    ),
    "stop": (
        "End this attempt, with the reason and the smallest question that a person must answer.",
        {"reason": _TEXT, "question": _TEXT, "options": _TEXTS},
        ("reason",),
        lambda i, a: say.stop(i, a["reason"], a.get("question"), a.get("options", [])),
    ),
    "scope_request": (
        "Ask for paths that the card does not own.",
        {"paths": _TEXTS, "reason": _TEXT},
        ("paths", "reason"),
        lambda i, a: say.scope_request(i, a["paths"], a["reason"]),
    ),
    "attach": (
        "Put a copy of a file of the task on the record.",
        {"file": _TEXT, "kind": _TEXT},
        ("file",),
        lambda i, a: say.attach(i, a["file"], a.get("kind", "file")),
    ),
    "note": ("Put a remark on the record.", {"text": _TEXT}, ("text",), lambda i, a: say.note(i, a["text"])),
    "pack": (
        "Hand a text on to the next phase of the job; the last one counts.",
        {"text": _TEXT},
        ("text",),
        lambda i, a: say.pack_text(i, a["text"].encode("utf-8", "replace")),
    ),
}


class _Fault(Exception):
    """A call that the protocol answers with an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def serve(inside: Inside, given: BinaryIO | None = None, told: BinaryIO | None = None) -> int:
    """Answer one client, line by line, until it closes its end; gives 0."""
    source, target = given or sys.stdin.buffer, told or sys.stdout.buffer
    while line := source.readline():
        if line.strip() and (answer := _answer(inside, line)) is not None:
            target.write(json.dumps(answer).encode() + b"\n")
            target.flush()
    return 0


def _answer(inside: Inside, line: bytes) -> dict[str, Any] | None:
    """The answer to one line; None for what wants none."""
    number: Any = None
    try:
        message = _read(line)
        number = message.get("id")
        result = _result(inside, str(message.get("method")), message.get("params") or {})
    except _Fault as fault:
        shape = {"jsonrpc": "2.0", "id": number, "error": {"code": fault.code, "message": str(fault)}}
        return shape if number is not None or fault.code in (_PARSE, _INVALID) else None
    return None if number is None else {"jsonrpc": "2.0", "id": number, "result": result}


def _read(line: bytes) -> dict[str, Any]:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as fault:
        raise _Fault(_PARSE, "This is no JSON.") from fault
    if not isinstance(message, dict) or not isinstance(message.get("params", {}), dict):
        raise _Fault(_INVALID, "This is no message of JSON-RPC.")
    return message


def _result(inside: Inside, method: str, params: dict[str, Any]) -> dict[str, Any]:
    match method:
        case "initialize":
            wanted = params.get("protocolVersion")
            return {
                "protocolVersion": wanted if wanted in _VERSIONS else _VERSIONS[0],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "interlock-task", "version": __version__},
            }
        case "tools/list":
            return {"tools": [_listed(name) for name in _TOOLS]}
        case "tools/call":
            return _call(inside, params)
        case "ping" | "notifications/initialized" | "notifications/cancelled":
            return {}
        case _:
            raise _Fault(_NO_METHOD, f"There is no method {method}.")


def _listed(name: str) -> dict[str, Any]:
    what, arguments, required, _ = _TOOLS[name]
    schema = {
        "type": "object",
        "properties": dict(arguments),
        "required": list(required),
        "additionalProperties": False,
    }
    return {"name": name, "description": what, "inputSchema": schema}


def _call(inside: Inside, params: dict[str, Any]) -> dict[str, Any]:
    """Carry a tool out; what its verb refuses is an answer that says so."""
    name, given = str(params.get("name")), params.get("arguments") or {}
    if name not in _TOOLS:
        raise _Fault(_BAD_PARAMS, f"There is no tool {name}.")
    _, arguments, required, run = _TOOLS[name]
    if not isinstance(given, dict) or not _fits(given, arguments, required):
        raise _Fault(_BAD_PARAMS, f"{name} takes {', '.join(arguments) or 'nothing'}.")
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            code = run(inside, given)
        text = printed.getvalue()
    except (Misuse, NotDone) as fault:
        code, text = 1, str(fault)
    return {"content": [{"type": "text", "text": text.strip()}], "isError": code != 0}


def _fits(given: Mapping[str, Any], arguments: Arguments, required: tuple[str, ...]) -> bool:
    if any(name not in given for name in required) or any(name not in arguments for name in given):
        return False
    return all(
        isinstance(value, str)
        if arguments[name] is _TEXT
        else isinstance(value, list) and all(isinstance(each, str) for each in value)
        for name, value in given.items()
    )
