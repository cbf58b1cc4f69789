"""Whether a port is really free on this machine, and which ports the machine keeps; who gets one is decided elsewhere.

One dual-stack bind and listen sees every listener, on whichever address (facts/isolation §3); a second bind without
SO_REUSEADDR sees sockets that are bound and do not listen yet, and one more sees UDP.
"""

from __future__ import annotations

import errno
import socket
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

_NET: Final = Path("/proc/sys/net/ipv4")
_TABLES: Final = ("/proc/net/tcp", "/proc/net/tcp6")
_EPHEMERAL: Final = 32768
_TIME_WAIT: Final = "06"
_NO_IPV6: Final = frozenset(
    {errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL, errno.EPROTONOSUPPORT, errno.ENOPROTOOPT, errno.EINVAL}
)


def is_free(port: int) -> bool:
    """Whether a server could be started on this port, on any address, for TCP and for UDP."""
    if not _binds(port, socket.SOCK_STREAM, reuse=True):
        return False
    if not _binds(port, socket.SOCK_STREAM, reuse=False) and not _only_waits(port):
        return False
    return _binds(port, socket.SOCK_DGRAM, reuse=False)


def ephemeral_start() -> int:
    """The first port of the range that outgoing connections use (ip_local_port_range)."""
    with suppress(OSError, ValueError, IndexError):
        return int((_NET / "ip_local_port_range").read_text(encoding="ascii").split()[0])
    return _EPHEMERAL


def reserved() -> frozenset[int]:
    """The ports of ip_local_reserved_ports, such as ``8080,9000-9010``."""
    found: set[int] = set()
    with suppress(OSError, ValueError):
        for part in (_NET / "ip_local_reserved_ports").read_text(encoding="ascii").strip().split(","):
            first, _, last = part.partition("-")
            if first:
                found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)


def _binds(port: int, kind: socket.SocketKind, *, reuse: bool) -> bool:
    """Bind every address; where IPv6 is not there, every IPv4 one."""
    for family, address in ((socket.AF_INET6, "::"), (socket.AF_INET, "0.0.0.0")):  # noqa: S104 - a look, closed at once
        try:
            _bind(family, address, port, kind, reuse=reuse)
        except OSError as fault:
            if family == socket.AF_INET6 and fault.errno in _NO_IPV6:
                continue
            return False
        else:
            return True
    return False


def _bind(family: socket.AddressFamily, address: str, port: int, kind: socket.SocketKind, *, reuse: bool) -> None:
    with closing(socket.socket(family, kind)) as probe:
        if family == socket.AF_INET6:
            probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        if reuse:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((address, port))
        if reuse:
            probe.listen(1)


def _only_waits(port: int) -> bool:
    """Whether nothing but closed connections (TIME_WAIT) still name the port; a server may start on it then."""
    states = [state for table in _TABLES for local, state in _connections(table) if local == port]
    return bool(states) and all(state == _TIME_WAIT for state in states)


def _connections(table: str) -> list[tuple[int, str]]:
    try:
        lines = Path(table).read_text(encoding="ascii").splitlines()[1:]
    except OSError:
        return []
    fields = (line.split() for line in lines)
    return [(int(each[1].rpartition(":")[2], 16), each[3]) for each in fields]
