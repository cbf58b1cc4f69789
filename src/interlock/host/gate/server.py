"""The gate's side of a fetch or push: what is offered, what is passed to git, and what goes on record; rules are in rules and hook.

One socket is one task, so nothing inside needs a credential.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import sys
import tempfile
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from interlock.core.problems import Refusal, Refused
from interlock.core.sandbox import Gate
from interlock.host.gate import packets
from interlock.host.gate.children import Child, environment, settings, sweep
from interlock.host.gate.hook import ORDER, VERDICT
from interlock.host.gate.packets import Advertised, BadPacket, Command
from interlock.host.gate.rules import HEADS, RULE, TRACKED, Objection, judge_refs
from interlock.host.network import pipes
from interlock.host.network.pipes import Reader, Writer
from interlock.host.network.record import Record
from interlock.host.network.ssh import ERR, EXIT, OUT

MOST_OPEN: Final = 8
_SERVICES: Final = {b"upload-pack\n": "upload-pack", b"receive-pack\n": "receive-pack"}
# A pack is whole by itself.  Git would complete a thin one from the mirror with any object that it names as a base,
# another task's too, and what is completed looks like pushed; a git that does not know the option takes no push.
_OPTIONS: Final = {"upload-pack": (), "receive-pack": ("--reject-thin-pack-for-testing",)}
_WHOLE_PACKS: Final = "no-thin"
_FIRST_SECONDS: Final = 10.0
_WHOLE_SECONDS: Final = 1800.0
_MOST_OFFERED: Final = 1 << 20
_MOST_COMMANDS: Final = 1 << 16
_KEPT: Final = 4096
_BANDS: Final = re.compile(rb"[0-9a-f]{4}[\x01\x02]")
_COMPLAINT: Final = re.compile(r"(?:fatal|error): [^\r\n]+")
_REPORT: Final = re.compile(r"unpack [^\r\n]+")
_LIB: Final = str(Path(__file__).resolve().parents[3])
_HOOK: Final = "import sys; sys.path.append(sys.argv[1]); from interlock.host.gate.hook import main; main()"


class Server:
    """The gate of one task.  ``folder`` is ours alone, and takes the hook and its orders."""

    def __init__(self, gate: Gate, folder: Path, record: Record) -> None:
        """Raises Refused when the branch is the default one, or when the folder cannot hold a program."""
        if gate.branch == gate.default:
            raise _unusable("The task's branch is the default branch.", "A branch of the task's own.")
        self._gate = gate
        self._folder = folder
        self._record = record
        self._open = 0
        self._shown = (f"{HEADS}{gate.branch}", f"{TRACKED}{gate.default}")
        self._hook = folder / "hooks" / "pre-receive"
        self._hook.parent.mkdir()
        python = shlex.join([os.path.realpath(sys.executable), "-I", "-S", "-c", _HOOK, _LIB])
        self._hook.write_text(f"#!/bin/sh\nexec {python}\n", encoding="utf-8")
        self._hook.chmod(0o700)
        (folder / "gate.json").write_text(json.dumps(asdict(gate)), encoding="utf-8")
        self._env = {
            **environment(),
            **settings(gate.repository, str(self._hook.parent), self._shown, gate.most_bytes),
            ORDER: str(folder / "gate.json"),
        }
        self._check_hook()
        sweep(gate.repository)

    def _check_hook(self) -> None:
        """Git passes over a hook that it cannot run, so that it has to be able to."""
        if not os.access(self._hook, os.X_OK):
            raise _unusable(f"Nothing can be run from {self._folder}.", "A folder that is not mounted noexec.")

    async def serve(self, reader: Reader, writer: Writer) -> None:
        """One connection, from its first line to its end."""
        self._open += 1
        try:
            if self._open > MOST_OPEN:
                self._refuse(f"More than {MOST_OPEN} conversations are open at once.")
                return
            async with asyncio.timeout(_WHOLE_SECONDS):
                await self._one(reader, writer)
        except (BadPacket, asyncio.LimitOverrunError) as fault:
            self._refuse(f"What came is not what git sends: {fault}.")
        except (OSError, EOFError):
            pass
        finally:
            self._open -= 1
            await pipes.close(writer)

    async def _one(self, reader: Reader, writer: Writer) -> None:
        line = await asyncio.wait_for(reader.readuntil(b"\n"), _FIRST_SECONDS)
        service = _SERVICES.get(line)
        if service is None:
            self._refuse("Only fetch and push go through the gate.")
            return
        try:
            self._check_hook()
        except Refused as fault:
            self._refuse(fault.message)
            writer.write(_frame(ERR, f"interlock: {fault.message}\n".encode()) + _frame(EXIT, b"\1"))
            await writer.drain()
            return
        descriptor, verdict = tempfile.mkstemp(prefix="verdict-", dir=self._folder)
        os.close(descriptor)
        try:
            words = [service, *_OPTIONS[service], self._gate.repository]
            child = await Child.start(words, {**self._env, VERDICT: verdict})
            try:
                await _Talk(self, child, Path(verdict), reader, writer).hold(service)
            finally:
                await child.end(seconds=0)
        finally:
            os.unlink(verdict)  # noqa: PTH108 - one quick call

    def offered(self, found: Advertised, *, fetch: bool) -> bytes:
        """What the task is shown: its own branch and the default one, under the names that they have at the remote."""
        own, default = (found.refs.get(ref) for ref in self._shown)
        refs = [
            (f"{HEADS}{name}", oid) for name, oid in ((self._gate.branch, own), (self._gate.default, default)) if oid
        ]
        refs.sort()
        able = [each for each in found.able if not each.startswith("symref=")]
        if fetch and default:
            refs.insert(0, ("HEAD", default))
            able.append(f"symref=HEAD:{HEADS}{self._gate.default}")
        if not fetch:
            able.append(_WHOLE_PACKS)
        zero = "0" * len(default or next(iter(found.refs.values()), "0" * 40))
        return packets.offer(refs, able, found.shallow, zero)

    def judge(self, commands: list[Command]) -> Objection | None:
        return judge_refs(self._gate, commands)

    @property
    def most_bytes(self) -> int:
        return self._gate.most_bytes

    async def tip(self) -> str:
        """Where the task's branch is now; empty where it is not."""
        child = await Child.start(
            ["-C", self._gate.repository, "rev-parse", "--verify", "--quiet", self._shown[0]], self._env
        )
        try:
            return (await child.out.read(_KEPT)).decode("ascii", "replace").strip()
        finally:
            await child.end()

    def _refuse(self, why: str) -> None:
        """Put on record that a conversation was not had, before any ref was named in it."""
        with suppress(OSError):
            self._record.write(ref="", old="", new="", allowed=False, rule=RULE, why=why)

    def note(self, command: Command, *, allowed: bool, rule: str | None, why: str) -> None:
        with suppress(OSError):
            self._record.write(ref=command.name, old=command.old, new=command.new, allowed=allowed, rule=rule, why=why)


class _Talk:
    """One conversation between a client and the git that serves it."""

    def __init__(self, server: Server, child: Child, verdict: Path, reader: Reader, writer: Writer) -> None:
        self._server = server
        self._child = child
        self._verdict = verdict
        self._reader = reader
        self._writer = writer
        self._tail = b""

    async def hold(self, service: str) -> None:
        """From git's offer to its exit code.  Raises OSError, EOFError, BadPacket."""
        errors = asyncio.create_task(self._pass(self._child.err, ERR))
        feeding: asyncio.Task[None] | None = None
        try:
            try:
                found = packets.advertised(await packets.read_list(self._child.out, most=_MOST_OFFERED))
            except EOFError:
                await errors
                await self._say(EXIT, bytes([await self._child.end()]))
                return
            await self._say(OUT, self._server.offered(found, fetch=service == "upload-pack"))
            commands: list[Command] = []
            if service == "receive-pack":
                commands, refused = await self._commands()
                if refused:
                    return
            feeding = asyncio.create_task(self._feed())
            await self._pass(self._child.out, OUT)
            await errors
            code = await self._child.end()
            for command in commands:
                await self._tell(command)
            await self._say(EXIT, bytes([code]))
        finally:
            for task in (errors, feeding):
                if task is not None:
                    task.cancel()
                    await asyncio.gather(task, return_exceptions=True)

    async def _commands(self) -> tuple[list[Command], bool]:
        """What the client wants to move, passed on to git, or answered here with a no: then git never sees the push."""
        try:
            sent = await packets.read_list(self._reader, most=_MOST_COMMANDS)
            commands, asked = packets.commands(sent)
        except EOFError:
            return [], False
        objection = self._server.judge(commands)
        if objection is None:
            self._child.put.write(b"".join(map(packets.packet, sent)) + packets.FLUSH)
            return commands, False
        await self._child.end(seconds=0)
        for command in commands:
            self._server.note(command, allowed=False, rule=objection.rule, why=f"{objection.what} {objection.why}")
        await self._say(OUT, packets.refusal(commands, asked, reason=objection.rule, message=objection.message))
        await self._drain()
        await self._say(EXIT, b"\0")
        return commands, True

    async def _feed(self) -> None:
        """The rest of what the client says to git, and then to nobody, so that the client hears git's answer."""
        hears = True
        left = self._server.most_bytes
        try:
            while left > 0 and (data := await self._reader.read(pipes.CHUNK)):
                if hears:
                    hears = await self._put(data)
                else:
                    left -= len(data)
        finally:
            with suppress(OSError, RuntimeError):
                self._child.put.write_eof()

    async def _put(self, data: bytes) -> bool:
        """Whether git took it."""
        try:
            self._child.put.write(data)
            await self._child.put.drain()
        except OSError:
            return False
        return True

    async def _drain(self) -> None:
        left = self._server.most_bytes
        while left > 0 and (data := await self._reader.read(pipes.CHUNK)):
            left -= len(data)

    async def _pass(self, source: Reader, kind: int) -> None:
        while data := await source.read(pipes.CHUNK):
            self._tail = (self._tail + data)[-_KEPT:]
            await self._say(kind, data)

    async def _say(self, kind: int, data: bytes) -> None:
        self._writer.write(_frame(kind, data))
        await self._writer.drain()

    async def _tell(self, command: Command) -> None:
        """Put on record what came of the push: the hook's word, unless git itself did not carry it out."""
        try:
            verdict: dict[str, Any] = json.loads(self._verdict.read_bytes())
        except (OSError, ValueError):
            verdict = {"allowed": False, "rule": RULE, "why": _complaint(self._tail)}
        carried_out = b"ok %s\n" % command.ref in _BANDS.sub(b"", self._tail)  # git's report, where it was asked for
        if verdict["allowed"] and not carried_out and await self._server.tip() != command.new:
            verdict = {"allowed": False, "rule": RULE, "why": _complaint(self._tail)}
        self._server.note(command, **verdict)


def _frame(kind: int, data: bytes) -> bytes:
    return bytes([kind]) + len(data).to_bytes(4, "big") + data


def _complaint(tail: bytes) -> str:
    """What git said last about a push that it did not take, from its texts for people."""
    text = _BANDS.sub(b"", tail).decode("utf-8", "replace").replace("unpack ok", "")
    found = _COMPLAINT.findall(text) or _REPORT.findall(text) or ["it did not say why"]
    return f"Git did not take it: {''.join(filter(str.isprintable, found[-1]))}."


def _unusable(what: str, change: str) -> Refused:
    return Refused(Refusal(rule=RULE, what=what, why="The gate could not hold there.", would_change=change))
