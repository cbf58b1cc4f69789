"""The parts of git's wire protocol that the gate reads and writes itself (gitprotocol-pack, version 0); git does the rest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

MOST: Final = 65_520
_BAND: Final = 65_000
_COMMAND: Final = re.compile(rb"([0-9a-f]{40}|[0-9a-f]{64}) ([0-9a-f]{40}|[0-9a-f]{64}) ([^\0\n ]+)")
_ADVERTISED: Final = re.compile(rb"([0-9a-f]{40}|[0-9a-f]{64}) ([^\0\n]+)")


class BadPacket(Exception):
    """What came is not what git sends here."""


class Source(Protocol):
    """Where packets come from, such as a StreamReader; the hook reads none and shall not load asyncio."""

    async def readexactly(self, n: int, /) -> bytes: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One ref that a client wants to move, its name as the bytes that came."""

    old: str
    new: str
    ref: bytes

    @property
    def deletes(self) -> bool:
        return not self.new.strip("0")

    @property
    def creates(self) -> bool:
        return not self.old.strip("0")

    @property
    def name(self) -> str:
        return self.ref.decode("utf-8", "backslashreplace")


@dataclass(frozen=True, slots=True, kw_only=True)
class Advertised:
    """The refs that git offers, what it can do, and lines about where a shallow history ends."""

    refs: dict[str, str]
    able: tuple[str, ...]
    shallow: tuple[bytes, ...] = ()


def packet(data: bytes) -> bytes:
    return b"%04x" % (len(data) + 4) + data


FLUSH: Final = b"0000"


async def read(reader: Source) -> bytes | None:
    """The next packet; None for the one that ends a list.  Raises BadPacket, EOFError."""
    header = await reader.readexactly(4)
    try:
        size = int(header, 16) if header.isalnum() else -1
    except ValueError:
        size = -1
    if size == 0:
        return None
    if not 4 < size <= MOST:
        raise BadPacket("a packet's length is wrong")
    return await reader.readexactly(size - 4)


async def read_list(reader: Source, *, most: int) -> list[bytes]:
    """Packets up to the end of their list, at most ``most`` bytes of them.  Raises BadPacket, EOFError."""
    found: list[bytes] = []
    size = 0
    while (data := await read(reader)) is not None:
        found.append(data)
        size += len(data)
        if size > most:
            raise BadPacket("a list is too long")
    return found


def advertised(packets: Sequence[bytes]) -> Advertised:
    """What git offered.  Raises BadPacket."""
    refs: dict[str, str] = {}
    able: tuple[str, ...] = ()
    shallow = tuple(each for each in packets if each.startswith(b"shallow "))
    for number, each in enumerate(each for each in packets if not each.startswith(b"shallow ")):
        line, _, rest = each.rstrip(b"\n").partition(b"\0")
        match = _ADVERTISED.fullmatch(line)
        if match is None:
            raise BadPacket("git offered something unknown")
        if number == 0:
            able = tuple(rest.decode().split())
        refs[match[2].decode("utf-8", "surrogateescape")] = match[1].decode()
    return Advertised(refs=refs, able=able, shallow=shallow)


def offer(refs: Iterable[tuple[str, str]], able: Sequence[str], shallow: Sequence[bytes], zero: str) -> bytes:
    """The refs in the order given, as git offers them."""
    lines = [f"{oid} {name}" for name, oid in refs] or [f"{zero} capabilities^{{}}"]
    lines[0] += "\0" + " ".join(able)
    return (
        b"".join(packet(f"{line}\n".encode("utf-8", "surrogateescape")) for line in lines)
        + b"".join(map(packet, shallow))
        + FLUSH
    )


def commands(packets: Sequence[bytes]) -> tuple[list[Command], frozenset[bytes]]:
    """What the client wants to move, and what it asked for.  Raises BadPacket."""
    found: list[Command] = []
    asked: frozenset[bytes] = frozenset()
    for number, each in enumerate(packets):
        line, nul, rest = each.partition(b"\0")
        if number == 0:
            asked = frozenset(rest.split())
        elif nul:
            raise BadPacket("a ref's name holds a null byte")
        match = _COMMAND.fullmatch(line.removesuffix(b"\n"))
        if match is None:
            raise BadPacket("a command is malformed")
        found.append(Command(old=match[1].decode(), new=match[2].decode(), ref=match[3]))
    return found, asked


def refusal(found: Sequence[Command], asked: frozenset[bytes], *, reason: str, message: str) -> bytes:
    """The answer that makes git tell its user that none of the refs was taken, with the message above it."""
    report = packet(b"unpack ok\n")
    report += b"".join(packet(b"ng %s %s\n" % (each.ref, reason.encode())) for each in found) + FLUSH
    wants = asked & {b"report-status", b"report-status-v2"}
    if b"side-band-64k" not in asked:
        return report if wants else b""
    parts = [packet(b"\x02" + message.encode("utf-8", "backslashreplace")[:_BAND])]
    if wants:
        parts += [packet(b"\x01" + report[at : at + _BAND]) for at in range(0, len(report), _BAND)]
    return b"".join(parts) + FLUSH
