"""The scripted model server itself: it listens on loopback, finds the scenario in the path, plays the step, keeps the journal."""

from __future__ import annotations

import gzip
import json
import socket
import threading
import time
import zlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Final, Self, cast
from urllib.parse import unquote, urlsplit

from interlock.testing.models.asking import Asking, Dialect, Event, code_of
from interlock.testing.models.chat import Chat
from interlock.testing.models.choosing import reply_to
from interlock.testing.models.journal import Journal, Request
from interlock.testing.models.messages import Messages
from interlock.testing.models.responses import Responses
from interlock.testing.models.steps import Cut, Fault, Hang, Say, Scenario, Step, Tokens

_DIALECTS: Final[dict[str, Dialect]] = {
    "/responses": Responses(),
    "/chat/completions": Chat(),
    "/messages": Messages(),
}
_ASIDES: Final[dict[str, Mapping[str, Any]]] = {
    "/messages/count_tokens": {"input_tokens": 1000},
    "/v1/logs": {},
    "/v1/metrics": {},
    "/v1/traces": {},
}
_MODELS: Final = {"object": "list", "data": [{"id": "scripted", "object": "model", "created": 1}], "models": []}


class ScriptedModels:
    """A server of scripted models, as a context manager; see interlock.testing.models.

    ``url`` is its address on 127.0.0.1, ``journal`` what it was asked.
    """

    def __init__(self, port: int = 0) -> None:
        self.journal = Journal()
        self.scenarios: dict[str, Scenario] = {}
        self.closing = threading.Event()
        self._server = _Server(("127.0.0.1", port), self)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def play(
        self, scenario: str, *steps: Step, tokens: Tokens | None = None, aside: str = "A scripted title", key: str = ""
    ) -> str:
        """Set a scenario and give the base URL of it, without a version part.

        ``tokens`` is what each answer says that it used.  ``aside`` answers requests that offer no tools.  With
        ``key``, a request that shows another one is answered with 401.
        """
        self.scenarios[scenario] = Scenario(steps=steps, tokens=tokens or Tokens(), aside=aside, key=key)
        return f"{self.url}/{scenario}"

    def close(self) -> None:
        """Stop, also in the middle of an answer; nothing of it is left when this returns."""
        self.closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.drop()
        self._server.server_close()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], models: ScriptedModels) -> None:
        self.models = models
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        super().__init__(address, _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away in the middle is no news."""

    def drop(self) -> None:
        """Break off every connection, so that its thread ends."""
        with self._lock:
            for each in self._open:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def models(self) -> ScriptedModels:
        return cast(_Server, self.server).models

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name there
        """The journal is enough."""

    def do_HEAD(self) -> None:
        self._note()
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        self._note()
        if urlsplit(self.path).path.endswith("/models"):
            self._whole(_MODELS)
        else:
            self._whole({"error": {"message": "There is nothing here."}}, 404)

    def do_POST(self) -> None:
        raw = self._body()
        path = urlsplit(self.path).path
        dialect = next((each for end, each in _DIALECTS.items() if path.endswith(end)), None)
        if dialect is None:
            self._note(size=len(raw))
            found = next((answer for end, answer in _ASIDES.items() if path.endswith(end)), None)
            self._whole(found or {}, 404 if found is None else 200)
            return
        try:
            body = json.loads(self._opened(raw) or b"{}")
        except (ValueError, OSError, zlib.error):
            body = None
        if not isinstance(body, dict):
            self._note(size=len(raw), step="unreadable")
            self._whole(dialect.error(Fault(400, message="The body cannot be read.")), 400)
            return
        self._play(dialect, body, len(raw))

    def _play(self, dialect: Dialect, body: dict[str, Any], size: int) -> None:
        name = unquote(self.path.lstrip("/").split("/", 1)[0])
        scenario = self.models.scenarios.get(name)
        if scenario is None:
            self._note(size=size, step="no scenario")
            self._whole(dialect.error(Fault(404, message=f"There is no scenario {name}.")), 404)
            return
        asking = dialect.read(body)
        hit, step = 0, cast(Step, Say(scenario.aside))
        if asking.tools:
            hit = self.models.journal.hit(name, asking.place)
            step = scenario.at(asking.place, hit)
        if scenario.key and self._auth() != scenario.key:
            step = Fault(401, message="That is not the key.")
        self.models.journal.add(
            self._request(
                scenario=name,
                dialect=dialect.name,
                model=asking.model,
                stream=asking.stream,
                size=size,
                tools=tuple(asking.tools),
                place=asking.place,
                hit=hit,
                step=type(step).__name__.lower() if asking.tools or isinstance(step, Fault) else "aside",
                body=body,
            )
        )
        self._carry_out(step, dialect, asking, scenario.tokens)

    def _carry_out(self, step: Step, dialect: Dialect, asking: Asking, tokens: Tokens) -> None:
        match step:
            case Hang():
                self.models.closing.wait(step.seconds)
                self.close_connection = True
            case Cut():
                self._stream(dialect.events(asking, "This answer is cut off.", tokens), most=step.after)
            case Fault(inside=True):
                self._stream(dialect.failing(asking, step))
            case Fault():
                self._fail(step, dialect)
            case _:
                reply = reply_to(cast(Any, step), asking)
                if asking.stream:
                    self._stream(dialect.events(asking, reply, tokens))
                else:
                    self._whole(dialect.plain(asking, reply, tokens))

    def _fail(self, fault: Fault, dialect: Dialect) -> None:
        after = {} if fault.retry_after is None else {"retry-after": str(fault.retry_after)}
        self._whole(dialect.error(fault), fault.status, {"x-scripted": code_of(fault), **after})

    # ---------------------------------------------------------------- writing
    def _whole(self, shape: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        sent = json.dumps(shape).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(sent)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(sent)

    def _stream(self, events: Iterable[Event], most: int | None = None) -> None:
        """Send events; with ``most`` no more than so many bytes of them, and then close."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("cache-control", "no-cache")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for name, data in events:
            text = data if isinstance(data, str) else json.dumps(data)
            sent = (f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode()
            if most is not None:
                sent = sent[:most]
                most -= len(sent)
            if sent:
                self.wfile.write(b"%x\r\n" % len(sent) + sent + b"\r\n")
            self.wfile.flush()
        if most is None:
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.close_connection = True

    # ---------------------------------------------------------------- reading
    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("transfer-encoding", "").lower():
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0].strip() or b"0", 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return b"".join(parts)

    def _opened(self, raw: bytes) -> bytes:
        encoding = self.headers.get("content-encoding", "identity").lower()
        if encoding == "gzip":
            return gzip.decompress(raw)
        return zlib.decompress(raw) if encoding == "deflate" else raw

    def _auth(self) -> str:
        shown = self.headers.get("authorization", "")
        return shown.partition(" ")[2] or shown or self.headers.get("x-api-key", "")

    def _request(self, **known: Any) -> Request:
        return Request(
            at=time.time(),
            method=self.command,
            path=self.path,
            auth=self._auth(),
            agent=self.headers.get("user-agent", ""),
            **known,
        )

    def _note(self, **known: Any) -> None:
        self.models.journal.add(self._request(scenario=unquote(self.path.lstrip("/").split("/", 1)[0]), **known))
