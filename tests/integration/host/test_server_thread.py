"""A server in a thread of its own: it stands for the block and no longer, and its faults are its caller's."""

from __future__ import annotations

import socket
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from interlock.host.network.pipes import Reader, Writer
from interlock.host.network.server_thread import Listeners, own_folder, running


async def echo(reader: Reader, writer: Writer) -> None:
    while data := await reader.read(100):
        writer.write(data)


@asynccontextmanager
async def server(path: Path, *, most: int | None = None) -> AsyncIterator[str]:
    async with Listeners(most=most) as listeners:
        await listeners.listen(f"unix:{path}", echo)
        yield "stands"


def talk(path: Path) -> socket.socket:
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(20)
    client.connect(str(path))
    return client


def test_it_serves_until_the_end_of_the_block_and_cuts_what_is_open(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with running(server(path), name="echo-of-this-test") as given:
        assert given == "stands"
        client = talk(path)
        client.sendall(b"one")
        assert client.recv(10) == b"one"
    assert not path.exists()
    assert "echo-of-this-test" not in {thread.name for thread in threading.enumerate()}
    with client, suppress(ConnectionResetError):
        assert client.recv(10) == b""


def test_one_connection_too_many_is_cut_and_the_others_go_on(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with running(server(path, most=1), name="echo"), talk(path) as first:
        first.sendall(b"one")
        assert first.recv(10) == b"one"
        with talk(path) as second:
            assert second.recv(10) == b""
        first.sendall(b"two")
        assert first.recv(10) == b"two"


def test_what_keeps_it_from_standing_is_raised_and_leaves_nothing(tmp_path: Path) -> None:
    left: list[str] = []

    @asynccontextmanager
    async def broken() -> AsyncIterator[None]:
        async with Listeners() as listeners:
            await listeners.listen(f"unix:{tmp_path / 'socket'}", echo)
            try:
                raise OSError("the second address is taken")
                yield
            finally:
                left.append("seen to")

    with pytest.raises(OSError, match="the second address is taken"), running(broken(), name="broken"):
        raise AssertionError("it never stood")
    assert left == ["seen to"]
    assert not (tmp_path / "socket").exists()


def test_a_folder_of_its_own_is_gone_after_the_block(tmp_path: Path) -> None:
    with own_folder(tmp_path, "own-") as folder:
        (folder / "file").write_bytes(b"")
    assert list(tmp_path.iterdir()) == []
