"""The relays inside a sandbox: connections taken at one address go on to another; the network's rules are outside.

Only C modules of the standard library, and one thread for any number of connections: this runs beside every agent, in
its limits, and socket, selectors, json and contextlib alone would take twice the memory of all else here.
"""

# ruff: noqa: SIM105 - see above

from __future__ import annotations

import _socket as socket
import errno
import os
import select
import sys
import time

_CHUNK = 1 << 16
_MOST = 1 << 18  # bytes that wait for one side before the other is no longer read
_BACKLOG = 512
_FULL_SECONDS = 0.02


def main(arguments: list[str] | None = None) -> None:
    """Run as ``RELAYS [READY]``: a JSON list of {"listen", "connect"}, and a descriptor that is closed once all listen.

    Never returns.  Ends with a line on standard error when an address cannot be had.
    """
    import json

    given = sys.argv[1:] if arguments is None else arguments
    relays = [(each["listen"], each["connect"]) for each in json.loads(given[0])]
    serve(relays, int(given[1]) if len(given) > 1 else None)


def serve(relays: list[tuple[str, str]], ready: int | None) -> None:
    """Take connections at each first address on to the second; as ``main``."""
    try:
        taken = [(listen(address), target) for address, target in relays]
    except (OSError, ValueError) as fault:
        sys.exit(f"sandbox: A relay cannot listen: {fault}.")
    if ready is not None:
        os.close(ready)
    relay(taken)


def listen(address: str) -> socket.socket:
    """A listening socket at ``tcp:HOST:PORT`` or ``unix:PATH``.  Raises OSError, ValueError."""
    family, place = _place(address)
    taken = socket.socket(family, socket.SOCK_STREAM)
    if family == socket.AF_UNIX:
        try:
            os.unlink(str(place))  # noqa: PTH108 - pathlib costs more than all else here
        except FileNotFoundError:
            pass
    else:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind(place)
        taken.listen(_BACKLOG)
    except OSError as fault:
        taken.close()
        raise OSError(fault.errno, f"{address}: {fault.strerror}") from fault
    taken.setblocking(False)
    return taken


def relay(taken: list[tuple[socket.socket, str]]) -> None:
    """Serve the listening sockets for ever, each with the address that its connections go on to."""
    loop = Loop()
    for one, target in taken:
        loop.take(one, target)
    while True:
        loop.turn(None)


class Side:
    """One end of a relayed connection: ``out`` waits to be written to it; ``ended`` when it will send no more."""

    __slots__ = ("connecting", "ended", "other", "out", "shut", "sock")

    def __init__(self, sock: socket.socket, *, connecting: bool) -> None:
        self.sock = sock
        self.other: Side = self
        self.out = bytearray()
        self.connecting = connecting
        self.ended = False
        self.shut = False

    @property
    def wanted(self) -> int:
        """What to wait for here."""
        reads = not self.ended and not self.connecting and len(self.other.out) < _MOST
        return (select.EPOLLIN if reads else 0) | (select.EPOLLOUT if self.out or self.connecting else 0)


class Loop:
    """All relays of one sandbox."""

    def __init__(self) -> None:
        self._poll = select.epoll()
        self._known: dict[int, Side | tuple[socket.socket, str]] = {}
        self._waiting: dict[Side, int] = {}

    def take(self, listening: socket.socket, target: str) -> None:
        self._known[listening.fileno()] = (listening, target)
        self._poll.register(listening.fileno(), select.EPOLLIN)

    def close(self) -> None:
        """Let go of every connection; the listening sockets are the caller's."""
        for side in list(self._waiting):
            side.sock.close()
        self._poll.close()

    def turn(self, seconds: float | None) -> None:
        """Wait for what comes next, at most ``seconds``, and carry it on."""
        # Who is meant is looked up first: a number may belong to another connection when its turn comes.
        met = [(self._known.get(number), events) for number, events in self._poll.poll(seconds)]
        for who, events in met:
            if isinstance(who, tuple):
                self._accept(*who)
            elif who in self._waiting:
                self._move(who, events)

    def _accept(self, listening: socket.socket, target: str) -> None:
        try:
            number, _ = listening._accept()  # type: ignore[attr-defined]  # noqa: SLF001 - socket.accept's own way
        except OSError as fault:
            if fault.errno in (errno.EMFILE, errno.ENFILE):
                time.sleep(_FULL_SECONDS)  # the connection stays in the queue, and would be told of again at once
            return
        come = socket.socket(listening.family, listening.type, 0, number)
        come.setblocking(False)
        try:
            family, place = _place(target)
            gone = socket.socket(family, socket.SOCK_STREAM)
        except (OSError, ValueError):
            come.close()
            return
        gone.setblocking(False)
        code = gone.connect_ex(place)
        if code not in (0, errno.EINPROGRESS):
            gone.close()
            come.close()
            return
        one, other = Side(come, connecting=False), Side(gone, connecting=code != 0)
        one.other, other.other = other, one
        for side in (one, other):
            if side.sock.family != socket.AF_UNIX:
                side.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._waiting[side] = 0
        self._settle(one)

    def _move(self, side: Side, events: int) -> None:
        """Carry on what was waited for here; a fault or an end of the other side counts as both."""
        wanted = self._waiting[side]
        try:
            if wanted & select.EPOLLOUT and events & ~select.EPOLLIN:
                if side.connecting and side.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                    self._drop(side)
                    return
                side.connecting = False
                if side.out:
                    del side.out[: side.sock.send(side.out)]
            if wanted & select.EPOLLIN and events & ~select.EPOLLOUT and not side.ended:
                self._read(side)
        except BlockingIOError:
            pass
        except OSError:
            self._drop(side)
            return
        self._settle(side)

    def _read(self, side: Side) -> None:
        data = side.sock.recv(_CHUNK)
        if not data:
            side.ended = True
            return
        other = side.other
        if other.out or other.connecting:
            other.out += data
            return
        try:
            sent = other.sock.send(data)
        except BlockingIOError:
            sent = 0
        other.out += data[sent:]

    def _settle(self, side: Side) -> None:
        """Pass an end on, forget what is over, and wait for what is due now."""
        other = side.other
        for here, there in ((side, other), (other, side)):
            if here.ended and not there.shut and not there.out and not there.connecting:
                there.shut = True
                try:
                    there.sock.shutdown(socket.SHUT_WR)
                except OSError:
                    self._drop(side)
                    return
        if side.shut and other.shut:
            self._drop(side)
            return
        self._await(side)
        self._await(other)

    def _await(self, side: Side) -> None:
        wanted, known = side.wanted, self._waiting[side]
        if wanted == known:
            return
        self._waiting[side] = wanted
        number = side.sock.fileno()
        if not known:
            self._known[number] = side
            self._poll.register(number, wanted)
        elif not wanted:
            self._forget(side)
        else:
            self._poll.modify(number, wanted)

    def _forget(self, side: Side) -> None:
        del self._known[side.sock.fileno()]
        self._poll.unregister(side.sock.fileno())

    def _drop(self, side: Side) -> None:
        for each in (side, side.other):
            if self._waiting.pop(each, 0):
                self._forget(each)
            each.sock.close()


def _place(address: str) -> tuple[int, str | tuple[str, int]]:
    kind, _, rest = address.partition(":")
    if kind == "unix" and rest:
        return socket.AF_UNIX, rest
    host, _, port = rest.rpartition(":")
    if kind != "tcp" or not host or not port.isdigit():
        raise ValueError(f"{address} is no address")
    host = host.strip("[]")
    return (socket.AF_INET6 if ":" in host else socket.AF_INET), (host, int(port))
