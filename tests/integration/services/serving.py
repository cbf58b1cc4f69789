"""A small web server as a service's command, and ports for it; what is asked of it is the tests'."""

from __future__ import annotations

import os
import random
import sys

from interlock.host import sockets

_CODE = """
import http.server, os, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        code = {"/broken": 500, "/moved": 302}.get(self.path, 200)
        body = os.environ.get("SAYS", "hello").encode()
        self.send_response(code); self.send_header("Content-Length", str(len(body))); self.end_headers()
        self.wfile.write(body)
http.server.HTTPServer.allow_reuse_address = True
http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ[sys.argv[1]])), Handler).serve_forever()
"""


def server(variable: str = "APP_PORT", python: str = sys.executable) -> str:
    """The command of a server on the port that a variable says; / gives what SAYS says, /broken 500, /moved 302."""
    code = _CODE.replace("'", '"')
    return f"exec {python} -c '{code}' {variable}"


SERVER = server()


def free_port() -> int:
    """A port that nobody has now, away from those that outgoing connections use."""
    numbers = random.Random(os.getpid() * 1009 + random.randrange(1 << 30))
    return next(port for _ in range(1000) if sockets.is_free(port := numbers.randrange(20_000, 32_000)))


def free_base() -> int:
    """A base of a family of ports whose first blocks are free now, so that tests at the same time seldom meet."""
    while True:
        base = random.randrange(12_000, 31_000, 100)
        if all(sockets.is_free(base + number) for number in range(0, 70, 10)):
            return base
