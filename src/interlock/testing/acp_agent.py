"""A scripted agent of the Agent Client Protocol, for tests of what drives one: ``python acp_agent.py SCRIPT``, with nothing but Python.

SCRIPT is JSON: ``steps`` to take in the turn, and how the agent behaves besides.  Each step is one of

``{"say": TEXT, "times": N}``, ``{"think": TEXT}``, ``{"run": COMMAND}``, ``{"noise": TEXT}`` (a line that is no message),
``{"edit": PATH, "text": TEXT, "ask": true}`` (asks for a permission first), ``{"update": {…}}`` (sent as it stands),
``{"die": CODE}``, ``{"hang": true}`` (until it is cancelled), ``{"fail": {"code", "message", "data"}}``.

Besides: ``name``, ``stop`` (the stop reason), ``usage`` (of the answer), ``stderr`` (bytes written before the
greeting is answered), ``silent`` (``initialize`` or ``session/prompt`` is never answered), ``models``, ``modes``,
``sessions`` (``resume`` or ``load``; it keeps one where claude-agent-acp does), ``reject_cancels`` (a denial cancels the whole turn, as codex-acp has it),
``deaf`` (it does not heed a cancel).
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

OPTIONS = (
    {"optionId": "always", "name": "Always allow", "kind": "allow_always"},
    {"optionId": "allow", "name": "Allow", "kind": "allow_once"},
    {"optionId": "reject", "name": "Reject", "kind": "reject_once"},
)


def command(script: Mapping[str, Any], *, python: str = sys.executable) -> str:
    """The shell command of an agent with this script, as a card's ``agent.command``."""
    return shlex.join([python, str(Path(__file__).resolve()), json.dumps(script)])


class Cancelled(Exception):
    """The client cancelled the turn."""


class Agent:
    """One agent and one client, over standard input and output."""

    def __init__(self, script: Mapping[str, Any]) -> None:
        self._script = script
        self._session = "s-1"
        self._asked = 0
        self._chosen: dict[str, str] = {}

    def serve(self) -> None:
        """Answer until the client closes its end."""
        while (message := self._next()) is not None:
            method = message.get("method")
            if method == self._script.get("silent"):
                continue
            handler = {
                "initialize": self._greet,
                "session/new": self._open,
                "session/resume": self._reopen,
                "session/load": self._load,
                "session/set_mode": lambda _: {},
                "session/set_config_option": self._set_option,
                "session/prompt": self._turn,
            }.get(str(method))
            if handler is not None:
                self._answer(message, handler)

    def _answer(self, message: Mapping[str, Any], handler: Any) -> None:
        try:
            result = handler(message.get("params") or {})
        except _Failed as fault:
            self._send({"id": message["id"], "error": fault.shape})
        else:
            self._send({"id": message["id"], "result": result})

    def _next(self) -> dict[str, Any] | None:
        line = sys.stdin.buffer.readline()
        return json.loads(line) if line else None

    def _send(self, shape: Mapping[str, Any]) -> None:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **shape}) + "\n")
        sys.stdout.flush()

    def _update(self, what: str, /, **data: Any) -> None:
        update = {"sessionUpdate": what, **data}
        self._send({"method": "session/update", "params": {"sessionId": self._session, "update": update}})

    # ---------------------------------------------------------------- sessions
    def _greet(self, _params: Mapping[str, Any]) -> dict[str, Any]:
        for _ in range(int(self._script.get("stderr", 0)) // 100):
            sys.stderr.write("x" * 99 + "\n")
        sys.stderr.flush()
        how = self._script.get("sessions")
        return {
            "protocolVersion": self._script.get("protocol", 1),
            "agentInfo": {"name": self._script.get("name", "scripted"), "version": "1.0"},
            "agentCapabilities": {
                "loadSession": how == "load",
                "sessionCapabilities": {"resume": {}} if how == "resume" else {},
            },
        }

    def _open(self, _params: Mapping[str, Any]) -> dict[str, Any]:
        if self._script.get("sessions"):
            place = Path.home() / ".claude" / "projects" / "scripted"
            place.mkdir(parents=True, exist_ok=True)
            (place / f"{self._session}.jsonl").write_text("{}\n")
        return {"sessionId": self._session, **self._state()}

    def _reopen(self, params: Mapping[str, Any]) -> dict[str, Any]:
        self._session = str(params["sessionId"])
        return self._state()

    def _load(self, params: Mapping[str, Any]) -> dict[str, Any]:
        self._session = str(params["sessionId"])
        self._update("agent_message_chunk", content={"type": "text", "text": "what was said before"})
        return self._state()

    def _state(self) -> dict[str, Any]:
        state: dict[str, Any] = {"configOptions": self._options()}
        if modes := self._script.get("modes"):
            known = [{"id": mode, "name": mode.title()} for mode in modes]
            state["modes"] = {"currentModeId": modes[0], "availableModes": known}
        return state

    def _options(self) -> list[dict[str, Any]]:
        """The model, and for all but the first of them an effort, as some agents have it."""
        models = list(self._script.get("models") or ())
        if not models:
            return []
        model = self._chosen.get("model", models[0])
        found = [_select("model", "model", models, model)]
        if model != models[0]:
            found.append(_select("effort", "thought_level", ["low", "high"], self._chosen.get("effort", "low")))
        return found

    def _set_option(self, params: Mapping[str, Any]) -> dict[str, Any]:
        self._chosen[str(params["configId"])] = str(params["value"])
        return {"configOptions": self._options()}

    # ---------------------------------------------------------------- the turn
    def _turn(self, params: Mapping[str, Any]) -> dict[str, Any]:
        del params
        stop = str(self._script.get("stop", "end_turn"))
        try:
            for number, step in enumerate(self._script.get("steps", ())):
                self._take(f"call-{number}", step)
        except Cancelled:
            stop = "cancelled"
        usage = self._script.get("usage")
        return {"stopReason": stop, **({"usage": usage} if usage else {})}

    def _take(self, number: str, step: Mapping[str, Any]) -> None:
        match step:
            case {"say": text}:
                self._say("agent_message_chunk", str(text) * int(step.get("times", 1)))
            case {"think": text}:
                self._say("agent_thought_chunk", str(text))
            case {"run": line}:
                self._run(number, str(line))
            case {"edit": path}:
                self._edit(number, str(path), str(step.get("text", "edited\n")), ask=bool(step.get("ask")))
            case {"noise": text}:
                print(text, flush=True)
            case {"update": update}:
                self._update(
                    update["sessionUpdate"], **{name: update[name] for name in update if name != "sessionUpdate"}
                )
            case {"die": code}:
                sys.exit(int(code))
            case {"hang": _}:
                self._hang()
            case {"fail": shape}:
                raise _Failed(shape)

    def _say(self, kind: str, text: str) -> None:
        """In two pieces, as models do."""
        half = len(text) // 2
        for part in (text[:half], text[half:]):
            self._update(kind, content={"type": "text", "text": part})

    def _run(self, number: str, line: str) -> None:
        self._update(
            "tool_call", toolCallId=number, title=line, kind="execute", status="in_progress", rawInput={"command": line}
        )
        done = subprocess.run(["bash", "-c", line], stdin=subprocess.DEVNULL, capture_output=True, check=False)
        status = "completed" if done.returncode == 0 else "failed"
        self._update("tool_call_update", toolCallId=number, status=status)

    def _edit(self, number: str, path: str, text: str, *, ask: bool) -> None:
        diff = {"type": "diff", "path": path, "newText": text}
        call = {
            "toolCallId": number,
            "title": f"Write {path}",
            "kind": "edit",
            "content": [diff],
            "locations": [{"path": path}],
        }
        self._update("tool_call", **call, status="pending")
        if ask and not self._may(call):
            self._update("tool_call_update", toolCallId=number, status="failed")
            if self._script.get("reject_cancels"):
                raise Cancelled
            return
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text, encoding="utf-8")
        self._update("tool_call_update", toolCallId=number, status="completed")

    def _may(self, call: Mapping[str, Any]) -> bool:
        self._asked += 1
        number = 1000 + self._asked
        params = {"sessionId": self._session, "toolCall": call, "options": list(self._script.get("options", OPTIONS))}
        self._send({"id": number, "method": "session/request_permission", "params": params})
        while (message := self._heard()) is not None:
            if message.get("id") == number and "method" not in message:
                outcome = (message.get("result") or {}).get("outcome") or {}
                if outcome.get("outcome") != "selected":
                    raise Cancelled
                return str(outcome.get("optionId")) in ("allow", "always")
        sys.exit(0)

    def _hang(self) -> None:
        if self._script.get("deaf"):
            time.sleep(600)
        while self._heard() is not None:
            pass
        sys.exit(0)

    def _heard(self) -> dict[str, Any] | None:
        """The next message in the midst of a turn.  Raises Cancelled for a cancel."""
        message = self._next()
        if message is not None and message.get("method") == "session/cancel":
            raise Cancelled
        return message


def _select(name: str, category: str, values: list[str], current: str) -> dict[str, Any]:
    options = [{"value": value, "name": value.upper()} for value in values]
    return {
        "id": name,
        "name": name,
        "category": category,
        "type": "select",
        "options": options,
        "currentValue": current,
    }


class _Failed(Exception):
    """The turn ends with an error of the protocol."""

    def __init__(self, shape: Mapping[str, Any]) -> None:
        super().__init__(str(shape))
        self.shape = dict(shape)


if __name__ == "__main__":
    Agent(json.loads(sys.argv[1])).serve()
