"""The proxy with its allow-list and the relays, spoken to over real sockets; a server on the loopback stands for the world."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from interlock.core.sandbox import PROXY_PORT, PROXY_SOCKET, Host, Relay, Sandbox
from interlock.host.network import addresses, inside, lookup, places
from interlock.host.network.allow import BadTarget, Denied, Target, judge, read_target
from interlock.host.network.porter import serving
from interlock.host.network.settings import environment, relays_inside

LIB = Path(inside.__file__).resolve().parents[3]
Resolve = Callable[[str], Sequence[str]]


class World:
    """A server that answers each request with what it heard, and closes."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self._listening.getsockname()[1]
        self._threads = ThreadPoolExecutor(64)
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                come, _ = self._listening.accept()
            except OSError:
                return
            self._threads.submit(self._answer, come)

    def _answer(self, come: socket.socket) -> None:
        with come, suppress(OSError):
            come.settimeout(10)
            data = b""
            while b"\r\n\r\n" not in data and (more := come.recv(65536)):
                data += more
            come.settimeout(0.3)
            with suppress(TimeoutError):
                while more := come.recv(65536) if b"GET" not in data[:4] else b"":
                    data += more
            self.heard.append(data)
            come.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\nhello")

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join()
        self._threads.shutdown()


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.close()


def pinned(world: World, name: str = "api.example.org") -> Host:
    return Host(name=name, port=world.port, address="127.0.0.1")


def nobody(name: str) -> Sequence[str]:
    raise OSError(f"{name} is not known")


class Box:
    """A sandbox's place in the world: what it asks, what it hears, and what is on record."""

    def __init__(self, root: Path, path: str) -> None:
        self._record = root / "network.jsonl"
        self.path = path

    @property
    def record(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._record.read_text().splitlines()] if self._record.exists() else []

    def connect(self) -> socket.socket:
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(20)
        sock.connect(self.path)
        return sock

    def ask(self, data: bytes, *, then: bytes = b"", end: bool = False) -> bytes:
        """Send bytes, and more when something came back; everything that is heard."""
        with self.connect() as sock:
            heard = b""
            with suppress(BrokenPipeError, ConnectionResetError):
                sock.sendall(data)
                if end:
                    sock.shutdown(socket.SHUT_WR)
                while more := sock.recv(65536):
                    heard += more
                    if then:
                        sock.sendall(then)
                        then = b""
            return heard


@contextmanager
def box(root: Path, *hosts: Host, resolve: Resolve = nobody, **more: Any) -> Iterator[Box]:
    sandbox = Sandbox(home=str(root), hosts=hosts, record=str(root))
    with serving(sandbox, root, resolve=resolve, **more) as binds:
        assert [bind.target for bind in binds] == [PROXY_SOCKET]
        yield Box(root, binds[0].source)


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer else 0


# ---------------------------------------------------------------- what is refused
@pytest.mark.parametrize(
    ("target", "says"),
    [
        (b"evil.example.net:443", b"evil.example.net is not among the hosts"),
        (b"example.org:443", b"is not among the hosts"),
        (b"notexample.org:443", b"is not among the hosts"),
        (b"api.example.org.evil.net:443", b"is not among the hosts"),
        (b"localhost:443", b"is not among the hosts"),
        (b"api.example.org:22", b"not on port 22"),
        (b"93.184.216.34:443", b"is an address"),
        (b"[2606:2800:220:1::1]:443", b"is an address"),
        (b"127.0.0.1:443", b"is an address"),
    ],
)
def test_network_a_target_that_is_not_listed_is_refused_with_the_rule_and_the_way(
    tmp_path: Path, target: bytes, says: bytes
) -> None:
    asked: list[str] = []
    with box(tmp_path, Host(name="api.example.org"), Host(name="*.example.org"), resolve=asked.append) as inner:  # type: ignore[arg-type]
        answer = inner.ask(b"CONNECT %s HTTP/1.1\r\n\r\n" % target)
        assert status(answer) == 403
        body = answer.partition(b"\r\n\r\n")[2]
        assert body.startswith(b"network: ")
        assert says in body
        assert b"needs.network of the card" in body
        assert body.count(b"\n") == 1
        (entry,) = inner.record
        assert (entry["allowed"], entry["rule"], entry["address"]) == (False, "network", None)
        assert entry["host"] in target.decode()
    assert asked == [], "a name that is not listed is not even looked up: that too would carry something out"


@pytest.mark.parametrize(
    "line",
    [
        b"CONNECT api.example.org HTTP/1.1",
        b"CONNECT api.example.org:0 HTTP/1.1",
        b"CONNECT api.example.org:65536 HTTP/1.1",
        b"CONNECT api.example.org:443:443 HTTP/1.1",
        b"CONNECT api.example.org..:443 HTTP/1.1",
        b"CONNECT .example.org:443 HTTP/1.1",
        b"CONNECT user@api.example.org:443 HTTP/1.1",
        b"CONNECT api.example.org:443@evil.net:443 HTTP/1.1",
        b"CONNECT api.example.org%00.evil.net:443 HTTP/1.1",
        b"CONNECT http://api.example.org:443 HTTP/1.1",
        b"CONNECT api.example.org:443/x HTTP/1.1",
        b"CONNECT 0x7f.1:443 HTTP/1.1",
        b"CONNECT 127.1:443 HTTP/1.1",
        b"CONNECT 2130706433:443 HTTP/1.1",
        b"CONNECT 0177.0.0.1:443 HTTP/1.1",
        b"CONNECT [fe80::1%25eth0]:443 HTTP/1.1",
        "CONNECT api.example\N{FULLWIDTH FULL STOP}org:443 HTTP/1.1".encode(),
        b"GET / HTTP/1.1",
        b"GET http://user:pass@api.example.org/ HTTP/1.1",
        b"GET http://evil.net\\@api.example.org/ HTTP/1.1",
        b"GET http://api.example.org#@evil.net/ HTTP/1.1",
        b"GET http:///api.example.org/ HTTP/1.1",
        b"GET https://api.example.org/ HTTP/1.1",
        b"GET ftp://api.example.org/ HTTP/1.1",
        b"GET file:///etc/passwd HTTP/1.1",
        b"GET http://api.example.org/ HTTP/2.0",
        b"GET  http://api.example.org/ HTTP/1.1",
        b"GET http://api.example.org/ x HTTP/1.1",
        b"GET http://api.example.org/\x00 HTTP/1.1",
        b"GET http://api.example.org/\r\nX: y HTTP/1.1",
    ],
)
def test_network_a_target_that_could_be_read_in_two_ways_is_refused(tmp_path: Path, world: World, line: bytes) -> None:
    with box(tmp_path, pinned(world), Host(name="api.example.org", address="127.0.0.1")) as inner:
        assert status(inner.ask(line + b"\r\nHost: api.example.org\r\n\r\n")) in (400, 403)
        assert [entry["allowed"] for entry in inner.record] == [False]
    assert world.heard == []


@pytest.mark.parametrize(
    "fields",
    [
        b"Content-Length: 5\r\nTransfer-Encoding: chunked",
        b"Content-Length: 5\r\nContent-Length: 5",
        b"Content-Length: 5\r\nContent-Length: 6",
        b"Content-Length: 5, 5",
        b"Content-Length: +5",
        b"Content-Length: 0x5",
        b"Content-Length: -1",
        b"Content-Length : 5",
        b"Transfer-Encoding: chunked, identity",
        b"Transfer-Encoding: xchunked",
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        b"Transfer-Encoding:\x0bchunked",
        b"X: y\n\tTransfer-Encoding: chunked",
        b"X: y\r\n folded",
        b" X: y",
        b"X: y\rZ: z",
        b"X: y\nTransfer-Encoding: chunked",
        b": empty",
        b"no colon",
    ],
)
def test_network_a_request_that_could_smuggle_another_is_refused(tmp_path: Path, world: World, fields: bytes) -> None:
    with box(tmp_path, pinned(world)) as inner:
        head = b"POST http://api.example.org:%d/ HTTP/1.1\r\n%s\r\n\r\n" % (world.port, fields)
        assert status(inner.ask(head + b"0\r\n\r\nGET /admin HTTP/1.1\r\n\r\n")) == 400
        assert [entry["allowed"] for entry in inner.record] == [False]
    assert world.heard == []


def test_network_a_second_request_on_a_connection_goes_nowhere(tmp_path: Path, world: World) -> None:
    first = b"POST http://api.example.org:%d/ HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi" % world.port
    with box(tmp_path, pinned(world)) as inner:
        answer = inner.ask(first + b"GET http://evil.net/ HTTP/1.1\r\nHost: evil.net\r\n\r\n")
        assert answer.count(b"HTTP/1.1") == 1
        assert len(inner.record) == 1
    (heard,) = world.heard
    assert heard.endswith(b"\r\n\r\nhi")


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0",
        "10.1.2.3",
        "100.64.0.1",
        "127.0.0.1",
        "127.8.8.8",
        "168.63.129.16",
        "169.254.169.254",
        "172.31.0.1",
        "192.168.1.1",
        "192.0.0.192",
        "198.18.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b:1::1",
        "2002:7f00:1::",
        "2002:a00:1::1",
        "2001:0:1::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fec0::1",
        "ff02::1",
        "::ffff:0:127.0.0.1",
    ],
)
def test_network_an_answer_that_is_not_of_the_public_internet_is_refused(tmp_path: Path, address: str) -> None:
    answers = {"a.example.org": [address], "b.example.org": ["93.184.216.34", address]}
    with box(tmp_path, Host(name="*.example.org"), resolve=answers.__getitem__) as inner:
        for name in answers:
            answer = inner.ask(b"CONNECT %s:443 HTTP/1.1\r\n\r\n" % name.encode())
            assert status(answer) == 403
            assert b"leads to" in answer
        assert [entry["allowed"] for entry in inner.record] == [False, False]


def test_network_public_addresses_are_public_in_every_form() -> None:
    public = (
        "93.184.216.34",
        "2606:2800:220:1:248:1893:25c8:1946",
        "::ffff:8.8.8.8",
        "64:ff9b::808:808",
        "2002:808:808::1",
    )
    assert [each for each in public if addresses.why_inner(each)] == []
    assert addresses.why_inner("example.org")


def test_network_a_name_that_changes_its_mind_is_refused_and_is_asked_once_a_request(tmp_path: Path) -> None:
    """Rebinding: the address that was checked is the one that is used."""
    asked: list[str] = []

    def resolve(name: str) -> Sequence[str]:
        asked.append(name)
        return ["192.0.2.1"] if len(asked) > 2 else ["127.0.0.1"] if len(asked) == 2 else ["203.0.113.1"]

    listening = socket.create_server(("127.0.0.1", 0))
    listening.settimeout(0.3)
    port = listening.getsockname()[1]
    with box(tmp_path, Host(name="a.example.org", port=port), resolve=resolve) as inner:
        for _ in range(3):
            assert status(inner.ask(b"CONNECT a.example.org:%d HTTP/1.1\r\n\r\n" % port)) == 403
        with pytest.raises(TimeoutError):
            listening.accept()
    assert asked == ["a.example.org"] * 3
    listening.close()


def test_network_the_address_that_was_checked_is_the_one_that_is_connected_to(
    tmp_path: Path, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(addresses, "why_inner", lambda address: None)

    def resolve(name: str) -> Sequence[str]:
        asked.append(name)
        return ["127.0.0.1"] if len(asked) == 1 else ["127.0.0.2"]

    with box(tmp_path, Host(name="a.example.org", port=world.port), resolve=resolve) as inner:
        assert status(inner.ask(b"GET http://a.example.org:%d/ HTTP/1.1\r\n\r\n" % world.port)) == 200
        assert inner.record[0]["address"] == "127.0.0.1"
    assert asked == ["a.example.org"]


def test_network_a_resolver_that_hangs_holds_nothing_else_up(
    tmp_path: Path, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookup, "SECONDS", 0.5)
    hang = threading.Event()
    asked: list[str] = []

    def resolve(name: str) -> Sequence[str]:
        asked.append(name)
        hang.wait(30)
        return ["127.0.0.1"]

    with box(tmp_path, pinned(world), Host(name="*.slow.example"), resolve=resolve) as inner:
        with ThreadPoolExecutor(20) as pool:
            line = b"CONNECT n%d.slow.example:443 HTTP/1.1\r\n\r\n"
            asks = [pool.submit(inner.ask, line % number) for number in range(20)]
            assert status(inner.ask(b"GET http://api.example.org:%d/ HTTP/1.1\r\n\r\n" % world.port)) == 200
            assert {status(each.result()) for each in asks} == {502}
        assert len(asked) == 16, "no more threads than that, however many names are asked for"
        hang.set()
    until = time.monotonic() + 10
    while any(thread.name == "interlock-lookup" for thread in threading.enumerate()) and time.monotonic() < until:
        time.sleep(0.01)


def test_network_a_huge_head_is_refused(tmp_path: Path) -> None:
    with box(tmp_path, Host(name="a.example.org")) as inner:
        assert status(inner.ask(b"CONNECT a.example.org:443 HTTP/1.1\r\nX: " + b"x" * 100_000 + b"\r\n\r\n")) in (
            431,
            0,
        )
        assert status(inner.ask(b"CONNECT a.example.org:443 HTTP/1.1\r\n" + b"X: y\r\n" * 200 + b"\r\n")) == 431
        assert [entry["allowed"] for entry in inner.record] == [False, False]


def test_network_a_client_that_does_not_come_to_the_point_is_cut_off(tmp_path: Path) -> None:
    with box(tmp_path, Host(name="a.example.org"), head_seconds=0.3) as inner:
        began = time.monotonic()
        assert status(inner.ask(b"CONNECT a.exam")) == 408
        assert time.monotonic() - began < 5


def test_network_too_many_connections_are_refused_and_room_comes_back(tmp_path: Path, world: World) -> None:
    ask = b"GET http://api.example.org:%d/ HTTP/1.1\r\n\r\n" % world.port
    with box(tmp_path, pinned(world)) as inner:
        idle = [inner.connect() for _ in range(256)]
        assert status(inner.ask(ask)) == 503
        for sock in idle:
            sock.close()
        until = time.monotonic() + 10
        while status(inner.ask(ask)) != 200:
            assert time.monotonic() < until


# ---------------------------------------------------------------- what is let through
def test_network_a_listed_host_is_reached_through_connect(tmp_path: Path, world: World) -> None:
    with box(tmp_path, pinned(world)) as inner:
        for name in (b"api.example.org", b"API.Example.org", b"api.example.org."):
            answer = inner.ask(
                b"CONNECT %s:%d HTTP/1.1\r\nProxy-Authorization: Basic eDp5\r\n\r\n" % (name, world.port),
                then=b"GET / HTTP/1.1\r\nHost: inner\r\n\r\n",
            )
            assert answer.startswith(b"HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 200 OK")
            assert answer.endswith(b"hello")
        assert [(each["host"], each["allowed"], each["address"]) for each in inner.record] == [
            ("api.example.org", True, "127.0.0.1")
        ] * 3
        assert {each["rule"] for each in inner.record} == {None}
    assert world.heard == [b"GET / HTTP/1.1\r\nHost: inner\r\n\r\n"] * 3


def test_network_a_plain_request_is_written_anew_for_the_server(tmp_path: Path, world: World) -> None:
    request = (
        b"POST http://API.example.org:%d/a?b=c HTTP/1.1\r\nHost: other.example.net\r\nProxy-Authorization: Basic eDp5\r\n"
        b"Connection: keep-alive, X-Hop\r\nX-Hop: 1\r\nProxy-Connection: keep-alive\r\nTE: trailers\r\nUpgrade: h2c\r\n"
        b"X-Kept: yes\r\nContent-Length: 4\r\n\r\nbody" % world.port
    )
    with box(tmp_path, pinned(world)) as inner:
        answer = inner.ask(request)
    assert answer.endswith(b"\r\nConnection: close\r\n\r\nhello")
    assert b"keep-alive" not in answer
    assert world.heard == [
        b"POST /a?b=c HTTP/1.1\r\nHost: api.example.org:%d\r\nX-Kept: yes\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody"
        % world.port
    ]


def test_network_a_body_in_chunks_is_passed_on_and_its_trailers_are_not(tmp_path: Path, world: World) -> None:
    head = b"POST http://api.example.org:%d HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" % world.port
    with box(tmp_path, pinned(world)) as inner:
        assert status(inner.ask(head + b"3;x=y\r\nabc\r\n0\r\nX-Trailer: 1\r\n\r\nGET / HTTP/1.1\r\n\r\n")) == 200
    (heard,) = world.heard
    assert heard.partition(b"\r\n\r\n")[2] == b"3\r\nabc\r\n0\r\n\r\n"
    assert b"Transfer-Encoding: chunked\r\n" in heard


def test_network_a_server_that_is_not_there_is_told_apart_from_a_refusal(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with box(tmp_path, Host(name="a.example.org", port=port, address="127.0.0.1"), Host(name="b.example.org")) as inner:
        answer = inner.ask(b"CONNECT a.example.org:%d HTTP/1.1\r\n\r\n" % port)
        assert status(answer) == 502
        assert b"It may be reached" in answer
        assert status(inner.ask(b"CONNECT b.example.org:443 HTTP/1.1\r\n\r\n")) == 502
        assert "could not be looked up" in inner.record[1]["why"]


def test_network_names_are_listed_in_their_plain_form() -> None:
    def allowed(host: Host, authority: str) -> bool:
        return not isinstance(judge([host], read_target(authority)), Denied)

    assert allowed(Host(name="*.example.org"), "a.b.example.org:443")
    assert not allowed(Host(name="*.example.org"), "example.org:443")
    assert not allowed(Host(name="*.example.org"), "badexample.org:443")
    assert allowed(Host(name="bücher.example"), "xn--bcher-kva.example:80")
    assert allowed(Host(name="203.0.113.7"), "203.0.113.7:443")
    assert allowed(Host(name="2001:db8::1"), "[2001:DB8:0::1]:443")
    assert allowed(Host(name="a.example", port=8443), "a.example:8443")
    assert not allowed(Host(name="a.example", port=8443), "a.example:443")
    assert read_target("[::1]:80") == Target(name="::1", port=80, literal=True)
    with pytest.raises(BadTarget):
        read_target("a_b-.example:80")


def test_network_the_narrower_entry_and_its_address_win_over_a_wildcard() -> None:
    pin = Host(name="db.example.org", address="10.0.0.5")
    assert judge([Host(name="*.example.org"), pin], read_target("db.example.org:443")) == pin


def test_network_a_listed_private_address_needs_its_pin(tmp_path: Path, world: World) -> None:
    ask = b"GET http://127.0.0.1:%d/ HTTP/1.1\r\n\r\n" % world.port
    with box(tmp_path, Host(name="127.0.0.1", port=world.port)) as inner:
        assert status(inner.ask(ask)) == 403
    with box(tmp_path, Host(name="127.0.0.1", port=world.port, address="127.0.0.1")) as inner:
        assert status(inner.ask(ask)) == 200


# ---------------------------------------------------------------- how it stands
def test_network_two_hundred_connections_at_once_are_served_and_nothing_is_left(tmp_path: Path, world: World) -> None:
    files = len(os.listdir("/proc/self/fd"))
    ask = b"GET http://api.example.org:%d/ HTTP/1.1\r\n\r\n" % world.port
    with box(tmp_path, pinned(world)) as inner:
        with ThreadPoolExecutor(200) as pool:
            barrier = threading.Barrier(200)

            def one(_: int) -> int:
                with inner.connect() as sock:
                    barrier.wait(60)
                    sock.sendall(ask)
                    heard = b""
                    while more := sock.recv(4096):
                        heard += more
                return status(heard)

            assert set(pool.map(one, range(200))) == {200}
        assert len(inner.record) == 200
    assert {thread.name for thread in threading.enumerate() if thread.name.startswith("interlock")} == set()
    until = time.monotonic() + 5
    while len(os.listdir("/proc/self/fd")) > files and time.monotonic() < until:
        time.sleep(0.05)
    assert len(os.listdir("/proc/self/fd")) <= files
    assert [path.name for path in tmp_path.iterdir()] == ["network.jsonl"]


def test_network_open_tunnels_end_with_the_block(tmp_path: Path, world: World) -> None:
    with box(tmp_path, pinned(world)) as inner:
        sock = inner.connect()
        sock.sendall(b"CONNECT api.example.org:%d HTTP/1.1\r\n\r\n" % world.port)
        assert sock.recv(100).startswith(b"HTTP/1.1 200")
    with suppress(ConnectionResetError):
        assert sock.recv(1) == b""
    sock.close()


def test_network_nothing_is_started_where_nothing_is_asked_for(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    with serving(Sandbox(home="/h"), tmp_path) as binds:
        assert binds == ()
        assert set(threading.enumerate()) <= before
        assert list(tmp_path.iterdir()) == []
    assert environment(Sandbox(home="/h")) == {}
    assert relays_inside(Sandbox(home="/h")) == ()


def test_network_the_socket_is_for_the_sandboxs_user_alone(tmp_path: Path, world: World) -> None:
    user = 60999 if os.geteuid() == 0 else None
    sandbox = Sandbox(home="/h", hosts=(pinned(world),), user=user)
    with serving(sandbox, tmp_path) as (bind,):
        path = Path(bind.source)
        for each, mode in ((path, 0o600), (path.parent, 0o700)):
            assert stat.S_IMODE(each.stat().st_mode) == mode
            assert each.stat().st_uid == (os.geteuid() if user is None else user)


@pytest.mark.skipif(os.geteuid() != 0, reason="Only root could change the files of others.")
@pytest.mark.parametrize("swap", ["link", "hard link", "file"])
def test_network_a_socket_that_is_swapped_at_once_changes_no_other_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, swap: str
) -> None:
    """A task that can write in the folder puts something else there as soon as the socket is made."""
    victim, path = tmp_path / "victim", tmp_path / "database-1.sock"
    victim.write_text("")
    victim.chmod(0o755)
    real = socket.socket.bind

    def bind(self: socket.socket, address: str) -> None:
        real(self, address)
        path.unlink()
        if swap == "link":
            path.symlink_to(victim)
        elif swap == "hard link":
            path.hardlink_to(victim)
        else:
            path.write_text("")

    monkeypatch.setattr(socket.socket, "bind", bind)
    with pytest.raises(OSError, match="something else"):
        places.listen(f"unix:{path}", user=60999)
    facts = victim.stat()
    assert (stat.S_IMODE(facts.st_mode), facts.st_uid) == (0o755, os.geteuid())
    assert path.lstat().st_uid == os.geteuid()


def test_network_the_record_stays_within_its_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from interlock.host.network.record import Record

    record = Record(tmp_path / "x.jsonl", most=2000)
    for number in range(200):
        record.write(number=number)
    record.close()
    sizes = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
    assert set(sizes) <= {"x.jsonl", "x.jsonl.1"}
    assert max(sizes.values()) < 2200
    last = [json.loads(line) for path in tmp_path.iterdir() for line in path.read_text().splitlines()]
    assert 199 in {each["number"] for each in last}


def test_network_an_address_that_is_taken_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"tcp:127.0.0.1:{taken.getsockname()[1]}"
        sandbox = Sandbox(
            home="/h", hosts=(Host(name="a.b"),), outward=(Relay(listen=listen, connect="tcp:127.0.0.1:1"),)
        )
        with pytest.raises(OSError, match="in use"), serving(sandbox, tmp_path):
            pass
    assert list(tmp_path.iterdir()) == []
    wide = Sandbox(home="/h", outward=(Relay(listen="tcp:0.0.0.0:0", connect="tcp:127.0.0.1:1"),))
    with pytest.raises(ValueError, match="loopback"), serving(wide, tmp_path):
        pass


def test_network_what_a_sandbox_is_given() -> None:
    sandbox = Sandbox(
        home="/h", hosts=(Host(name="a.b"),), inward=(Relay(listen="tcp:127.0.0.1:5432", connect="unix:/x"),)
    )
    given = environment(sandbox)
    assert given["HTTPS_PROXY"] == given["http_proxy"] == f"http://127.0.0.1:{PROXY_PORT}"
    assert given["NO_PROXY"] == "127.0.0.1,localhost,::1"
    assert [relay.connect for relay in relays_inside(sandbox)] == ["unix:/x", f"unix:{PROXY_SOCKET}"]


# ---------------------------------------------------------------- relays
def test_network_a_relay_does_not_follow_a_link_to_another_socket(tmp_path: Path) -> None:
    """The socket's file lies where a task can write; a link there must not lead us to a socket of this machine."""
    victim = socket.socket(socket.AF_UNIX)
    victim.bind(str(tmp_path / "victim"))
    victim.listen()
    victim.settimeout(0.3)
    (tmp_path / "app").symlink_to(tmp_path / "victim")
    (tmp_path / "file").write_text("")
    relays = tuple(
        Relay(listen=f"unix:{tmp_path / name}.out", connect=f"unix:{tmp_path / name}")
        for name in ("app", "file", "none")
    )
    with serving(Sandbox(home="/h", outward=relays), tmp_path):
        for name in ("app", "file", "none"):
            with socket.socket(socket.AF_UNIX) as sock:
                sock.settimeout(10)
                sock.connect(str(tmp_path / f"{name}.out"))
                assert sock.recv(1) == b""
        with pytest.raises(TimeoutError):
            victim.accept()
    victim.close()
    assert not (tmp_path / "app.out").exists()


@contextmanager
def running_inside(relays: Sequence[tuple[str, str]]) -> Iterator[subprocess.Popen[bytes]]:
    """The inside relay as a child, as the keeper starts it."""
    read, write = os.pipe()
    code = "import sys; sys.path.append(sys.argv.pop(1)); from interlock.host.network.inside import main; main()"
    order = json.dumps([{"listen": listen, "connect": connect} for listen, connect in relays])
    child = subprocess.Popen([sys.executable, "-I", "-S", "-c", code, str(LIB), order, str(write)], pass_fds=[write])
    os.close(write)
    try:
        assert os.read(read, 1) == b""
        yield child
    finally:
        os.close(read)
        child.kill()
        child.wait()


def echo(sock: socket.socket, count: int) -> bytes:
    """Send ``count`` bytes, end, and hear all that comes back."""

    def send() -> None:
        sock.sendall(b"x" * count)
        sock.shutdown(socket.SHUT_WR)

    sender = threading.Thread(target=send)
    sender.start()
    heard = b""
    while more := sock.recv(1 << 16):
        heard += more
    sender.join()
    return heard


class Echo:
    """A server that gives back what it hears once the client has ended: only a half-closed connection can carry that."""

    def __init__(self, path: Path) -> None:
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(path))
        self._listening.listen(64)
        self._threads = ThreadPoolExecutor(32)
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                self._threads.submit(self._echo, self._listening.accept()[0])

    def _echo(self, come: socket.socket) -> None:
        with come:
            heard = b""
            while more := come.recv(1 << 16):
                heard += more
            come.sendall(heard)

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listening.close()
        self._threads.shutdown()


def test_network_relays_inside_and_outside_carry_both_ways_and_half_closed(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = Echo(tmp_path / "server")
    outward = (Relay(listen=f"unix:{tmp_path / 'out'}", connect=f"unix:{tmp_path / 'server'}"),)
    try:
        with (
            serving(Sandbox(home="/h", outward=outward), tmp_path),
            running_inside([(f"tcp:127.0.0.1:{port}", f"unix:{tmp_path / 'out'}")]) as child,
        ):
            for count in (0, 1, 5_000_000):
                with socket.create_connection(("127.0.0.1", port), timeout=20) as sock:
                    assert len(echo(sock, count)) == count
            with ThreadPoolExecutor(20) as pool:

                def one(_: int) -> int:
                    with socket.create_connection(("127.0.0.1", port), timeout=20) as sock:
                        return len(echo(sock, 100_000))

                assert set(pool.map(one, range(20))) == {100_000}
            until = time.monotonic() + 5
            while len(os.listdir(f"/proc/{child.pid}/fd")) > 8 and time.monotonic() < until:
                time.sleep(0.05)
            assert len(os.listdir(f"/proc/{child.pid}/fd")) <= 8, "connections that ended are let go"
    finally:
        server.close()


def test_network_an_inside_relay_to_nowhere_closes_the_connection(tmp_path: Path) -> None:
    with running_inside(
        [(f"unix:{tmp_path / 's'}", f"unix:{tmp_path / 'none'}"), (f"unix:{tmp_path / 't'}", "tcp:127.0.0.1:1")]
    ):
        for name in ("s", "t"):
            with socket.socket(socket.AF_UNIX) as sock:
                sock.settimeout(10)
                sock.connect(str(tmp_path / name))
                assert sock.recv(1) == b""
