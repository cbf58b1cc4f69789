"""Blocks of ports as arithmetic: which ports a block has and which blocks can never be given; what is free is asked elsewhere.

Block 0 is the main checkout's historical table; block n lies ``STRIDE`` x n above it (seed 000, case PT-04).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

STRIDE: Final = 10
_LOWEST: Final = 1025
_HIGHEST: Final = 65535
_ROOMY: Final = 50
"""Where the families meet only above this block, no block above the meeting is given; nearer ones go by the claims."""

SERVICES: Final[Mapping[int, str]] = {
    1433: "SQL Server",
    1521: "Oracle",
    2375: "Docker",
    2376: "Docker",
    2379: "etcd",
    2380: "etcd",
    3306: "MySQL",
    3389: "a remote desktop",
    4369: "Erlang",
    5432: "PostgreSQL",
    5672: "AMQP",
    6379: "Redis",
    6443: "Kubernetes",
    8080: "an HTTP proxy",
    8443: "an HTTPS proxy",
    9090: "Prometheus",
    9092: "Kafka",
    9200: "Elasticsearch",
    9300: "Elasticsearch",
    11211: "memcached",
    15672: "RabbitMQ",
    26257: "CockroachDB",
    27017: "MongoDB",
    27018: "MongoDB",
    27019: "MongoDB",
}
"""Ports that people expect a service on."""

UNSAFE: Final = frozenset(
    {1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, *range(6665, 6670), 6679, 6697, 10080}
)
"""Ports above 1024 that browsers refuse to open (the Fetch standard's bad ports)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What the machine keeps for itself: outgoing connections use ``ephemeral`` and above; ``reserved`` ports are not ours."""

    ephemeral: int = 32768
    reserved: frozenset[int] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Table:
    """The port families of a policy (name → port of block 0) on a machine."""

    families: Mapping[str, int]
    room: Room = field(default_factory=Room)

    def ports(self, block: int) -> dict[str, int]:
        """The port of each family in a block."""
        return {name: base + STRIDE * block for name, base in self.families.items()}

    def ranges(self, block: int) -> tuple[range, ...]:
        """All ports of a block; families whose bases lie within one stride share a range."""
        return tuple(range(start + STRIDE * block, start + STRIDE * (block + 1)) for start in self._starts)

    def fault(self, block: int) -> str | None:
        """Why a block can never be given, as a sentence, or None."""
        if block == 0:
            return "Block 0 is the main checkout's own."
        if block < 0:
            return "A block is a whole number from 1."
        if self.meeting is not None and block > self.meeting:
            return f"Above block {self.meeting} the port families run into each other."
        return next(filter(None, map(self._fault_of, self.ranges(block))), None)

    @cached_property
    def top(self) -> int:
        """No block above this one can be given."""
        if not self._starts:
            return 1
        by_room = (min(self.room.ephemeral, _HIGHEST + 1) - self._starts[-1]) // STRIDE - 1
        return max(0, by_room if self.meeting is None else min(by_room, self.meeting))

    @cached_property
    def maximum(self) -> int:
        """The highest block that can be given, 0 where there is none."""
        return next((block for block in range(self.top, 0, -1) if self.fault(block) is None), 0)

    @cached_property
    def meeting(self) -> int | None:
        """The last block before one family reaches another's block 0; None where that comes too soon to be a rule."""
        pairs = zip(self._starts, self._starts[1:], strict=False)
        meeting = min(((above - below) // STRIDE - 1 for below, above in pairs), default=None)
        return None if meeting is None or meeting < _ROOMY else meeting

    @cached_property
    def _starts(self) -> tuple[int, ...]:
        starts: list[int] = []
        for base in sorted(self.families.values()):
            if not starts or base - starts[-1] >= STRIDE:
                starts.append(base)
        return tuple(starts)

    def _fault_of(self, span: range) -> str | None:
        if span[-1] > _HIGHEST:
            return f"Port {span[-1]} does not exist: the last one is {_HIGHEST}."
        if span[0] < _LOWEST:
            return f"Port {span[0]} belongs to the system: the first one that may be given is {_LOWEST}."
        if span[-1] >= self.room.ephemeral:
            return f"Port {span[-1]} lies where this machine opens outgoing connections, from {self.room.ephemeral}."
        own = [start for start in self._starts if span[0] < start + STRIDE and start <= span[-1]]
        if own:
            return f"Ports {span[0]} to {span[-1]} touch the main checkout's, from {own[0]}."
        return next(filter(None, map(self._keeper_of, span)), None)

    def _keeper_of(self, port: int) -> str | None:
        if port in SERVICES:
            return f"Port {port} is where {SERVICES[port]} is expected."
        if port in UNSAFE:
            return f"Port {port} is refused by browsers."
        return f"Port {port} is reserved on this machine." if port in self.room.reserved else None
