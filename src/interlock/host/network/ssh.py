"""What git inside a sandbox runs in place of ssh: the gate's socket as standard input, output and error; the gate is outside.

Only the standard library, and little of it: git starts this for every fetch and push.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
from contextlib import suppress

SOCKET = "/run/interlock/git.sock"
SERVICES = ("upload-pack", "receive-pack")
OUT, ERR, EXIT = 1, 2, 3
HEADER = 5
_CHUNK = 1 << 16


def main(path: str = SOCKET) -> None:
    """Run as ``ssh HOST "git-upload-pack 'repo'"``: ends with git's own exit code, and 255 where the gate is not there."""
    words = sys.argv[-1].split()
    service = words[0].removeprefix("git-") if words else ""
    if service not in SERVICES:
        sys.exit("gate: Only fetch and push go through the gate.")
    gate = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        gate.connect(path)
        gate.sendall(service.encode() + b"\n")
    except OSError as fault:
        print(f"gate: The git gate at {path} does not answer: {fault.strerror}.", file=sys.stderr)
        sys.exit(255)
    threading.Thread(target=_send, args=(gate,), daemon=True).start()
    code = _receive(gate)
    sys.stdout.flush()
    os._exit(code)  # the thread may still wait for standard input


def _send(gate: socket.socket) -> None:
    """Standard input to the gate; what it no longer takes is read all the same, so that git hears the answer."""
    heard = True
    while data := os.read(0, _CHUNK):
        if heard:
            try:
                gate.sendall(data)
            except OSError:
                heard = False
    with suppress(OSError):
        gate.shutdown(socket.SHUT_WR)


def _receive(gate: socket.socket) -> int:
    """Frames of the gate (a kind, four bytes of length, the bytes) until it says how git ended."""
    with gate.makefile("rb") as frames:
        while len(header := frames.read(HEADER)) == HEADER:
            kind, length = header[0], int.from_bytes(header[1:], "big")
            data = frames.read(length)
            if kind == EXIT:
                return data[0] if data else 255
            _write(kind, data)
    return 255


def _write(kind: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(kind, view) :]
