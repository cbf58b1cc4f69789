"""Cases PT: blocks that are given again, ports that only look free, and numbers that can never be given."""

from __future__ import annotations

import errno
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from interlock.adapters.ports_on_host import HostBlocks
from interlock.core.job.blocks import Room, Table
from interlock.core.problems import Refused
from interlock.host import sockets

USUAL = {"APP_PORT": 3000, "DEBUG_PORT": 9229}


@pytest.fixture
def base() -> int:
    """The base of a family whose first blocks are free now, chosen so that tests at the same time seldom meet."""
    import os

    first = 12_000 + (os.getpid() % 100) * 150
    for start in range(first, 31_000, 100):
        if all(sockets.is_free(port) for port in range(start, start + 70)) and _clear(start):
            return start
    raise AssertionError("no free stretch of ports")


def _clear(start: int) -> bool:
    table = Table(families={"A": start})
    return all(table.fault(block) is None for block in range(1, 7))


def blocks_at(folder: Path) -> HostBlocks:
    (folder / "store").touch()
    return HostBlocks(store=f"sqlite:///{folder}/store", registry=folder / "registry")


def registered(folder: Path) -> str:
    """The one entry of the machine's registry, as text."""
    (entry,) = (folder / "registry").glob("*.json")
    return entry.read_text()


# ---------------------------------------------------------------- PT-02
def test_pt_02_numbers_are_not_counted_but_held(tmp_path: Path, base: int) -> None:
    families = {"A": base}
    blocks = blocks_at(tmp_path)
    assert [blocks.claim(f"j{number}", families)[0] for number in (1, 2, 3)] == [1, 2, 3]
    blocks.release("j2")
    assert [blocks.claim(f"j{number}", families)[0] for number in (4, 5)] == [2, 4]
    again = blocks_at(tmp_path)
    assert again.claim("j6", families)[0] == 5
    assert [again.claim(f"j{number}", families)[0] for number in (1, 3, 4, 5)] == [1, 3, 2, 4]


def test_pt_02_a_block_is_free_only_when_its_ports_are(tmp_path: Path, base: int) -> None:
    families = {"A": base}
    blocks = blocks_at(tmp_path)
    blocks.claim("j1", families)
    with closing(socket.create_server(("127.0.0.1", base + 13))):
        blocks.release("j1")
        assert blocks.claim("j2", families)[0] == 2
        assert "j1" in registered(tmp_path)
    assert blocks.claim("j3", families)[0] == 1
    assert '"j1"' not in registered(tmp_path)


def test_pt_02_giving_back_twice_or_nothing_is_nothing(tmp_path: Path, base: int) -> None:
    blocks = blocks_at(tmp_path)
    blocks.release("nobody")
    blocks.claim("j1", {"A": base})
    blocks.release("j1")
    blocks.release("j1")
    assert blocks.claim("j2", {"A": base})[0] == 1


# ---------------------------------------------------------------- PT-03
def listening(family: socket.AddressFamily, address: str) -> Callable[[int], socket.socket]:
    def hold(port: int) -> socket.socket:
        one = socket.socket(family, socket.SOCK_STREAM)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        one.bind((address, port))
        one.listen()
        return one

    return hold


def bound(
    family: socket.AddressFamily, kind: socket.SocketKind, address: str, *, reuse: bool
) -> Callable[[int], socket.socket]:
    def hold(port: int) -> socket.socket:
        one = socket.socket(family, kind)
        if reuse:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind((address, port))
        return one

    return hold


HOLDERS = {
    "::1": listening(socket.AF_INET6, "::1"),
    ":: for IPv6 alone": listening(socket.AF_INET6, "::"),
    "127.0.0.1": listening(socket.AF_INET, "127.0.0.1"),
    "127.0.0.2": listening(socket.AF_INET, "127.0.0.2"),
    "0.0.0.0": listening(socket.AF_INET, "0.0.0.0"),
    "bound, not listening": bound(socket.AF_INET, socket.SOCK_STREAM, "127.0.0.1", reuse=False),
    "bound with reuse, not listening": bound(socket.AF_INET, socket.SOCK_STREAM, "127.0.0.1", reuse=True),
    "bound on ::1, not listening": bound(socket.AF_INET6, socket.SOCK_STREAM, "::1", reuse=True),
    "UDP": bound(socket.AF_INET, socket.SOCK_DGRAM, "127.0.0.1", reuse=False),
    "UDP on ::1": bound(socket.AF_INET6, socket.SOCK_DGRAM, "::1", reuse=False),
}


@pytest.mark.parametrize("name", HOLDERS)
def test_pt_03_a_port_that_anybody_holds_is_not_free(tmp_path: Path, base: int, name: str) -> None:
    port = base + 10
    assert sockets.is_free(port)
    with closing(HOLDERS[name](port)):
        assert not sockets.is_free(port)
        assert blocks_at(tmp_path).claim("j1", {"A": base})[0] == 2
        with pytest.raises(Refused, match="Block 1") as caught:
            blocks_at(tmp_path).claim("j2", {"A": base}, wanted=1)
        assert f"Port {port} is in use" in caught.value.refusal.why
    assert sockets.is_free(port)


@pytest.mark.parametrize("code", [errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL])
def test_pt_03_without_ipv6_the_other_addresses_are_still_looked_at(
    base: int, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """The kernel's switch for IPv6 is not ours to turn, so that its two answers are given here in its place."""
    real = sockets._bind

    def without(family: socket.AddressFamily, *more: object, **options: object) -> None:
        if family == socket.AF_INET6:
            raise OSError(code, "no IPv6 here")
        real(family, *more, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(sockets, "_bind", without)
    assert sockets.is_free(base + 10)
    for name in ("127.0.0.1", "127.0.0.2", "0.0.0.0", "bound, not listening", "UDP"):
        with closing(HOLDERS[name](base + 10)):
            assert not sockets.is_free(base + 10), name


def test_pt_03_in_a_network_of_its_own_without_addresses_it_works_too(base: int) -> None:
    code = f"from interlock.host import sockets; print(sockets.is_free({base + 10}))"
    words = ["unshare", "--user", "--map-root-user", "--net", sys.executable, "-c", code]
    done = subprocess.run(words, capture_output=True, text=True)
    if "unshare" in done.stderr:
        pytest.skip("no network namespace can be had here")
    assert done.stdout == "True\n", done.stderr


# ---------------------------------------------------------------- PT-04
@pytest.mark.parametrize("index", [243, 300, 622, 2977, 6254, 0, -1])
def test_pt_04_a_block_that_can_never_be_given_is_refused_with_the_maximum(tmp_path: Path, index: int) -> None:
    with pytest.raises(Refused) as caught:
        blocks_at(tmp_path).claim("j1", USUAL, wanted=index)
    refusal = caught.value.refusal
    assert (refusal.rule, refusal.number) == ("ports", 621)
    assert "from 1 to 621" in refusal.would_change
    assert not list((tmp_path / "registry").glob("*.json"))


def test_pt_04_the_largest_block_is_given(tmp_path: Path) -> None:
    table = Table(families=USUAL)
    if not all(sockets.is_free(port) for span in table.ranges(621) for port in span):
        pytest.skip("another program uses these ports now")
    assert blocks_at(tmp_path).claim("j1", USUAL, wanted=621)[0] == 621


def test_pt_04_blocks_on_service_ports_are_passed_over() -> None:
    table = Table(families={"APP_PORT": 3000})
    given = [block for block in range(1, 600) if table.fault(block) is None]
    ports = {port for block in given for span in table.ranges(block) for port in span}
    assert not ports & {3306, 5432, 6379, 8080, 6000, 6666}
    assert 30 not in given
    assert 29 in given


def test_pt_04_the_machines_own_ranges_are_read(tmp_path: Path) -> None:
    start = sockets.ephemeral_start()
    assert 1024 < start <= 65535
    assert all(port > 0 for port in sockets.reserved())
    table = Table(families={"A": 3000}, room=Room(ephemeral=start))
    assert max(port for span in table.ranges(table.maximum) for port in span) < start
