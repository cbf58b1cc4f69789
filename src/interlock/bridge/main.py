"""One prompt from start to end: the agent's process, the turn, the stop; what is said of it is in updates, asking and session.

The agent has a process group of its own, so that the ladder's SIGINT reaches this process alone and becomes a
``session/cancel``; the ladder's later steps go by descent and reach everybody.  Its standard error is ours: a pipe
that nobody reads would stop it in its greeting (facts/agents §2).
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final, cast

from acp import PromptResponse, RequestError, RequestPermissionResponse, connect_to_agent
from acp.client.connection import ClientSideConnection
from acp.helpers import text_block
from acp.interfaces import Client
from acp.schema import AllowedOutcome, DeniedOutcome

from interlock.bridge import counting, options, private, session
from interlock.bridge.asking import Asking
from interlock.bridge.lines import Lines
from interlock.bridge.options import Options
from interlock.bridge.updates import Updates
from interlock.bridge.wire import LONGEST_LINE, Wire

_CANCEL_SECONDS: Final = 0.3
_LEAVE_SECONDS: Final = 3.0
_INTERNAL: Final = -32603


def main(words: Sequence[str] | None = None) -> int:
    """Run one order.  Gives 0 when the turn came to its end, 1 otherwise, 2 on misuse."""
    private.keep()
    return asyncio.run(_Run(options.read(words)).go())


def _said_of(fault: RequestError) -> str:
    """The words of an error: often its message is the protocol's alone, and the agent's own stands in its data."""
    inner = fault.data if isinstance(fault.data, dict) else {}
    told = inner.get("message") or inner.get("details")
    return told if isinstance(told, str) else str(fault)


class _Permissions:
    """What the agent may ask of us: permissions, and nothing else."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    async def request_permission(
        self, options: list[Any], session_id: str, tool_call: Any, **_more: Any
    ) -> RequestPermissionResponse:
        del session_id
        shown = tool_call.model_dump(mode="json", by_alias=True, exclude_none=True)
        offered = [option.model_dump(mode="json", by_alias=True, exclude_none=True) for option in options]
        chosen = await self._asking.ask(shown, offered)
        if chosen is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(option_id=chosen, outcome="selected"))

    async def session_update(self, **_update: Any) -> None:
        """Taken out of the stream before; see Wire."""


class _Run:
    """One order and its state."""

    def __init__(self, order: Options) -> None:
        self._order = order
        self._lines = Lines()
        self._updates = Updates(self._lines, resumed=bool(order.resume))
        self._asking = Asking(self._lines, order.answers, order.waiting, self._updates.called)
        self._process: asyncio.subprocess.Process | None = None
        self._stopping = asyncio.Event()
        self._session: session.Session | None = None

    async def go(self) -> int:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._stopping.set)
        self._process = await asyncio.create_subprocess_exec(
            "bash",
            "-c",
            self._order.command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=LONGEST_LINE,
            process_group=0,
        )
        assert self._process.stdin is not None and self._process.stdout is not None  # noqa: S101, PT018 - asked for
        wire = Wire(self._process.stdout, self._process.stdin, self._lines, self._updates.take)
        agent = connect_to_agent(cast("Client", _Permissions(self._asking)), wire)
        turn = asyncio.create_task(self._turn(agent))
        stop = asyncio.create_task(self._stopping.wait())
        await asyncio.wait((turn, stop), return_when=asyncio.FIRST_COMPLETED)
        stopped = not turn.done()
        if stopped:
            await self._cancel(agent, turn)
        ended = await self._ended(turn, stopped=stopped)
        self._lines.write("ended", **ended)
        await self._leave(hurried=stopped)
        # What still waits for an answer that nobody gave ends with us.
        os._exit(0 if ended["reason"] == "end_turn" else 1)

    async def _turn(self, agent: ClientSideConnection) -> PromptResponse:
        self._session = await session.begin(agent, self._order, self._updates, self._lines)
        return await agent.prompt(session_id=self._session.id, prompt=[text_block(self._order.prompt)])

    async def _cancel(self, agent: ClientSideConnection, turn: asyncio.Task[PromptResponse]) -> None:
        """Ask the agent to stop, and give it a moment to say so: some tell what was used."""
        self._asking.give_up()
        with suppress(Exception):
            if self._session is not None:
                await asyncio.wait_for(agent.cancel(session_id=self._session.id), _CANCEL_SECONDS)
                await asyncio.wait((turn,), timeout=_CANCEL_SECONDS)

    async def _ended(self, turn: asyncio.Task[PromptResponse], *, stopped: bool) -> dict[str, Any]:
        """How the turn ended, as the last line says it; what was used is said before it."""
        self._updates.flush()
        if not turn.done():
            self._used(None)
            return {"reason": "cancelled", "asked": True, "message": "It did not answer the order to stop."}
        try:
            answer = turn.result()
        except session.CannotBegin as fault:
            return {"reason": "error", "code": 0, "message": str(fault)}
        except RequestError as fault:
            self._used(None)
            return {"reason": "error", "code": fault.code, "message": _said_of(fault), "data": fault.data}
        except Exception as fault:  # noqa: BLE001 - whatever the SDK raises when the agent is gone
            self._used(None)
            return await self._died(fault)
        self._used(answer)
        if answer.stop_reason == "end_turn" and self._updates.in_trouble:
            return {"reason": "error", "code": _INTERNAL, "message": self._updates.last, "data": None}
        return {
            "reason": answer.stop_reason,
            "asked": stopped,
            "denied": self._asking.denied,
            "raw": answer.model_dump(mode="json", by_alias=True, exclude_none=True),
        }

    def _used(self, answer: PromptResponse | None) -> None:
        """Tokens and money of the turn, as far as they are known."""
        raw = (
            answer.usage.model_dump(mode="json", by_alias=True, exclude_none=True) if answer and answer.usage else None
        )
        usd = self._updates.usd
        if raw is None and usd is None:
            return
        name = self._session.agent if self._session else ""
        scope = "turn" if counting.is_of_turn(name) else "unknown"
        self._lines.write("used", scope=scope, tokens=counting.tokens(raw), usd=usd, raw=raw or {})

    async def _died(self, fault: Exception) -> dict[str, Any]:
        assert self._process is not None  # noqa: S101 - it was started
        with suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), 1.0)
        code = self._process.returncode
        how = f"ended with {code}" if code is not None else f"cannot be understood any more: {fault}"
        where = "in the middle of its turn" if self._session else "before its session began"
        return {"reason": "died", "status": code, "message": f"The agent {how} {where}."}

    async def _leave(self, *, hurried: bool) -> None:
        """See the agent out: most leave when their input ends; one that does not is ended.

        What it leaves behind in turn is not ours to end: the keeper finds it, and puts it on the record.
        """
        assert self._process is not None and self._process.stdin is not None  # noqa: S101, PT018 - see go
        self._process.stdin.close()
        for number, patience in ((signal.SIGTERM, 0.05 if hurried else _LEAVE_SECONDS), (signal.SIGKILL, 0.1)):
            with suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), patience)
                return
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)
