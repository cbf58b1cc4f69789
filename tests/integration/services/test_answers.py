"""Whether something answers, asked of servers that keep talking: the whole exchange has its time."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from tests.leftovers import no_thread_left

from interlock.host.services.answers import Target, status


@contextmanager
def server(path: Path, *said: bytes, drips: bool = False) -> Iterator[None]:
    """Says its pieces to one client; then, if it drips, a byte each tenth of a second for as long as one listens."""
    over = threading.Event()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()

        def serve() -> None:
            client, _ = listening.accept()
            with client, suppress(OSError):
                client.recv(4096)
                for piece in said:
                    client.sendall(piece)
                while drips and not over.wait(0.1):
                    client.sendall(b"a")

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


@pytest.mark.parametrize("start", [b"", b"HTTP/1.1 200 O", b"HTTP/1.1 200 OK\r\nX: "])
def test_a_server_that_never_comes_to_the_end_is_no_answer_in_time(tmp_path: Path, start: bytes) -> None:
    with no_thread_left(), server(tmp_path / "s", start, drips=True):
        began = time.monotonic()
        assert status(Target(path=tmp_path / "s"), "/") is None
        assert time.monotonic() - began < 60, "it drips for ever"


def test_a_server_that_answers_is_heard(tmp_path: Path) -> None:
    with server(tmp_path / "s", b"HTTP/1.1 404 Not", b" Found\r\nContent-Length: 5\r\n\r\n", drips=True):
        assert status(Target(path=tmp_path / "s"), "/") == 404
