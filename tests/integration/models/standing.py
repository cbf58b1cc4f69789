"""What the tests of the model gateway share: gateways over servers on the loopback, a client, and a server that does as it is told."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from interlock.core.agent.gateway import ModelGateway, Upstream
from interlock.core.agent.usage import Price
from interlock.host.models import Served, serving

KEY = "sk-real-0123456789abcdef"
TOKEN = "token-of-this-attempt"
OWN = "2026-11-30/feature/j1-1.json"
TOOL = {"name": "x", "type": "function", "function": {"name": "x"}}
PATHS = {"anthropic": "/v1/messages", "responses": "/v1/responses", "chat": "/v1/chat/completions"}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def gateway(root: Path, url: str, **more: Any) -> ModelGateway:
    """A gateway to one vendor that speaks everything, on a free port; ``more`` are fields of it."""
    upstream = Upstream(name="vendor", dialects=("anthropic", "responses", "chat"), url=url, key=KEY)
    made = ModelGateway(
        upstreams=(upstream,),
        token=TOKEN,
        listen=f"tcp:127.0.0.1:{free_port()}",
        record=str(root / "record"),
        ledgers=str(root / "ledgers"),
        ledger=OWN,
        prices={"cheap": Price(input=1.0, output=10.0)},
    )
    return replace(made, **more)


@contextmanager
def standing(root: Path, url: str, **more: Any) -> Iterator[tuple[Served, Talk]]:
    """A gateway that stands, and a client of it."""
    given = gateway(root, url, **more)
    with serving(given, root, user=None) as served:
        yield served, Talk(int(given.listen.rpartition(":")[2]))


class Talk:
    """A client of a gateway at a port."""

    def __init__(self, port: int) -> None:
        self.port = port

    def open(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)

    def ask(
        self,
        method: str = "POST",
        path: str = "/vendor/v1/messages",
        body: Mapping[str, Any] | bytes | None = None,
        headers: Mapping[str, str] | None = None,
        token: str = TOKEN,
    ) -> tuple[int, bytes]:
        """One call on a connection of its own: status and body."""
        data = json.dumps(body).encode() if isinstance(body, Mapping) else body
        connection = self.open()
        try:
            connection.request(method, path, data, {"x-api-key": token, **(headers or {})})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def say(self, dialect: str = "anthropic", *, stream: bool = False, model: str = "cheap") -> tuple[int, bytes]:
        """One call that asks for work of a model."""
        body = {"model": model, "stream": stream, "tools": [TOOL], "messages": [], "input": []}
        return self.ask(path=f"/vendor{PATHS[dialect]}", body=body)

    def raw(self, data: bytes) -> bytes:
        """Bytes as they are, and what comes until the gateway closes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as sock:
            sock.sendall(data)
            sock.shutdown(socket.SHUT_WR)
            heard = b""
            with suppress(ConnectionError):
                while more := sock.recv(65536):
                    heard += more
            return heard


def ledger(root: Path, name: str = OWN) -> dict[str, Any]:
    path = root / "ledgers" / name
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return found


def told(root: Path) -> list[dict[str, Any]]:
    path = root / "record" / "models.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


Serve = Callable[[socket.socket, bytes], None]


class Obedient:
    """A server that hands each request (its head and whole body) to a function, on a connection that stays open."""

    def __init__(self, serve: Serve, tls: ssl.SSLContext | None) -> None:
        self._tls = tls
        self.heard: list[bytes] = []
        self.connections = 0
        self._serve = serve
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self._listening.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/base"
        self._open: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self) -> None:
        while True:
            try:
                come, _ = self._listening.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(come)
            self._threads.append(threading.Thread(target=self._talk, args=(come,)))
            self._threads[-1].start()

    def _talk(self, come: socket.socket) -> None:
        with suppress(OSError), come if self._tls is None else self._tls.wrap_socket(come, server_side=True) as end:
            while request := self._request(end):
                self.heard.append(request)
                self._serve(end, request)

    def _request(self, come: socket.socket) -> bytes:
        data = b""
        while b"\r\n\r\n" not in data:
            if not (more := come.recv(65536)):
                return b""
            data += more
        head, _, body = data.partition(b"\r\n\r\n")
        lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        length = int(lengths[0].partition(b":")[2]) if lengths else 0
        parts, size = [body], len(body)
        while size < length and (more := come.recv(1 << 20)):
            parts.append(more)
            size += len(more)
        return head + b"\r\n\r\n" + b"".join(parts)

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for each in self._open:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()


@contextmanager
def obedient(serve: Serve, tls: ssl.SSLContext | None = None) -> Iterator[Obedient]:
    made = Obedient(serve, tls)
    try:
        yield made
    finally:
        made.close()


def whole(body: bytes, *fields: bytes) -> bytes:
    """A plain answer."""
    head = [b"HTTP/1.1 200 OK", b"Content-Type: application/json", b"Content-Length: %d" % len(body), *fields]
    return b"\r\n".join((*head, b"", body))


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
BEGUN = (
    b'event: message_start\ndata: {"type": "message_start", "message": {"model": "cheap-20260101", "usage": '
    b'{"input_tokens": 800, "cache_read_input_tokens": 200, "output_tokens": 1}}}\n\n'
)
DONE = b'event: message_delta\ndata: {"type": "message_delta", "usage": {"output_tokens": 50}}\n\n'
MESSAGE = b'{"type": "message", "model": "cheap", "usage": {"input_tokens": 800, "cache_read_input_tokens": 200, "output_tokens": 50}}'
