"""Case SB-05: localhost is the task's own, and of this machine only what the policy names by a port reaches a task."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest
from tests.integration.host.boxes import Box, a_box

from interlock.adapters.files import ContractFilesReader
from interlock.core.sandbox import Host

OWN_PORT = 23111
SCRIPT = """
cat > /tmp/own.py <<'P'
import http.server
class Own(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"own server")
    def log_message(self, *words): pass
http.server.HTTPServer(("127.0.0.1", {own}), Own).serve_forever()
P
python3 /tmp/own.py & sleep 1
cat > /tmp/ask.py <<'P'
import socket, sys, urllib.request
def say(name, work):
    try: print("==", name, work(), flush=True)
    except OSError as fault: print("==", name, "refused", getattr(fault, "code", ""), flush=True)
def get(url): return urllib.request.urlopen(url, timeout=10).read().decode()
def direct(host, port):
    with socket.create_connection((host, port), timeout=5) as s: return s.recv(20).decode()
def through(target):
    with socket.create_connection(("127.0.0.1", 3128), timeout=10) as s:
        s.sendall(f"CONNECT {{target}} HTTP/1.1\\r\\n\\r\\n".encode()); return s.recv(4000).decode().split()[1]
say("own", lambda: get("http://127.0.0.1:{own}/"))
say("own-by-name", lambda: get("http://localhost:{own}/"))
say("other-task", lambda: direct("127.0.0.1", {other}))
say("other-by-proxy", lambda: through("127.0.0.1:{other}"))
say("other-as-localhost", lambda: through("localhost:{other}"))
say("unlisted-by-address", lambda: direct("192.0.2.7", 80))
say("unlisted-by-proxy", lambda: through("192.0.2.7:80"))
say("unlisted-by-name", lambda: through("elsewhere.example:443"))
say("listed-other-port", lambda: through("db.internal:{free}"))
say("listed", lambda: get("http://db.internal:{other}/"))
P
python3 /tmp/ask.py
kill %1
"""


@pytest.fixture
def box() -> Iterator[Box]:
    with a_box() as made:
        yield made


def talking() -> socket.socket:
    """A server of this machine, such as another task's or the main checkout's."""
    server = socket.create_server(("127.0.0.1", 0))
    server.settimeout(60)
    return server


@pytest.mark.long
def test_sb_05_only_the_tasks_own_server_and_the_named_one_are_reached(box: Box) -> None:
    server = talking()
    port = server.getsockname()[1]
    heard: list[bytes] = []

    def serve() -> None:
        while True:
            try:
                come, _ = server.accept()
            except OSError:
                return
            with closing(come):
                heard.append(come.recv(4000))
                come.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nnamed")

    thread = threading.Thread(target=serve)
    thread.start()
    (box.root / "record").mkdir()
    sandbox = replace(
        box.sandbox,
        hosts=(Host(name="db.internal", port=port, address="127.0.0.1"),),
        record=str(box.root / "record"),
    )
    try:
        ended, out = box.run(SCRIPT.format(own=OWN_PORT, other=port, free=port + 1), sandbox)
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join()
    assert ended.how == "exited", out
    found = {
        line.split(" ", 2)[1]: line.split(" ", 2)[2].strip() for line in out.splitlines() if line.startswith("== ")
    }
    assert found == {
        "own": "own server",
        "own-by-name": "own server",
        "other-task": "refused",
        "other-by-proxy": "403",
        "other-as-localhost": "403",
        "unlisted-by-address": "refused",
        "unlisted-by-proxy": "403",
        "unlisted-by-name": "403",
        "listed-other-port": "403",
        "listed": "named",
    }
    assert len(heard) == 1, "nothing but the named request reached this machine's server"
    told = [json.loads(line) for line in (box.root / "record" / "network.jsonl").read_text().splitlines()]
    refused = [(entry["host"], entry["port"], entry["rule"]) for entry in told if not entry["allowed"]]
    assert refused == [
        ("127.0.0.1", port, "network"),
        ("localhost", port, "network"),
        ("192.0.2.7", 80, "network"),
        ("elsewhere.example", 443, "network"),
        ("db.internal", port + 1, "network"),
    ]
    assert [entry["host"] for entry in told if entry["allowed"]] == ["db.internal"]


@pytest.mark.long
def test_sb_05_without_hosts_there_is_only_the_tasks_own_loopback(box: Box) -> None:
    with closing(talking()) as server:
        port = server.getsockname()[1]
        ended, out = box.run(SCRIPT.format(own=OWN_PORT, other=port, free=port + 1))
    assert ended.how == "exited", out
    reached = {line.split()[1] for line in out.splitlines() if line.startswith("== ") and "refused" not in line}
    assert reached == {"own", "own-by-name"}


@pytest.mark.parametrize("name", ["localhost", "app.localhost", "{host: localhost, port: 8080}"])
def test_sb_05_localhost_cannot_be_listed_and_the_way_is_told(name: str) -> None:
    _, problems = ContractFilesReader().policy(f"network: [{name}]\n".encode(), "interlock.yaml")
    assert [problem.kind for problem in problems] == ["network"]
    assert "address: 127.0.0.1" in problems[0].fix
