"""Blocks of ports on this machine: real sockets, a real registry, many processes."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from tests.integration.ports.claims import FAMILIES
from tests.needs import FULL

from interlock.adapters.ports_on_host import HostBlocks
from interlock.adapters.store.engine import sqlite_url
from interlock.core.problems import InterlockError, Refused
from interlock.host import registry, sockets


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "store.sqlite3"
    path.touch()
    return path


@pytest.fixture
def blocks(tmp_path: Path, store: Path) -> HostBlocks:
    return HostBlocks(store=f"sqlite:///{store}", registry=tmp_path / "registry")


def low_families(blocks: HostBlocks) -> dict[str, int]:
    """Families whose first block is free now, so that a test can count from 1."""
    for base in range(11_000, 29_000, 500):
        families = {"A": base, "B": base + 20_000 if base < 5000 else base + 250}
        if all(sockets.is_free(port) for start in families.values() for port in range(start, start + 80)):
            return families
    raise AssertionError("no free stretch of ports")


def test_the_same_owner_gets_the_same_block_and_another_one_another(blocks: HostBlocks) -> None:
    families = low_families(blocks)
    first = blocks.claim("j1", families)
    assert first == (1, {name: base + 10 for name, base in families.items()})
    assert blocks.claim("j2", families)[0] == 2
    assert blocks.claim("j1", families) == first


@pytest.mark.parametrize("name", ["a b", "é", "100%25", "what?", "#1", "ana@host:x", "it's"])
def test_a_claim_holds_whatever_the_folder_of_its_store_is_called(tmp_path: Path, name: str) -> None:
    store = tmp_path / name / "store.sqlite3"
    store.parent.mkdir()
    store.touch()
    blocks = HostBlocks(store=sqlite_url(store), registry=tmp_path / "registry")
    families = low_families(blocks)
    assert [blocks.claim(owner, families)[0] for owner in ("j1", "j2", "j1")] == [1, 2, 1]
    store.unlink()
    assert HostBlocks(store=f"{sqlite_url(store)}x", registry=tmp_path / "registry").claim("j3", families)[0] == 1


def test_a_claim_survives_its_process(tmp_path: Path, store: Path, blocks: HostBlocks) -> None:
    families = low_families(blocks)
    code = (
        "import json, sys; from pathlib import Path; from interlock.adapters.ports_on_host import HostBlocks\n"
        "print(HostBlocks(store=sys.argv[1], registry=Path(sys.argv[2])).claim('j1', json.loads(sys.argv[3]))[0])"
    )
    words = [sys.executable, "-c", code, f"sqlite:///{store}", str(tmp_path / "registry"), json.dumps(families)]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == "1\n"
    assert blocks.claim("j2", families)[0] == 2


def test_other_projects_with_other_bases_never_share_a_port(tmp_path: Path, blocks: HostBlocks) -> None:
    families = low_families(blocks)
    blocks.claim("j1", families)
    (tmp_path / "other").touch()
    other = HostBlocks(store=f"sqlite:///{tmp_path}/other", registry=tmp_path / "registry")
    shifted = {"C": families["A"] + 5}
    number, given = other.claim("j1", shifted)
    assert number == 2, "block 1 of the other table would touch block 1 of ours"
    assert given == {"C": families["A"] + 25}


def test_a_claim_whose_store_is_gone_is_free(store: Path, blocks: HostBlocks, tmp_path: Path) -> None:
    families = low_families(blocks)
    blocks.claim("j1", families)
    other_store = tmp_path / "second"
    other_store.touch()
    other = HostBlocks(store=f"sqlite:///{other_store}", registry=tmp_path / "registry")
    assert other.claim("k1", families)[0] == 2
    store.unlink()
    assert other.claim("k2", families)[0] == 1


def test_a_store_that_is_no_file_never_counts_as_gone_and_its_password_is_not_told(tmp_path: Path) -> None:
    remote = HostBlocks(store="postgresql://user:hush@host/db", registry=tmp_path / "registry")
    families = low_families(remote)
    assert remote.claim("j1", families)[0] == 1
    assert remote.claim("j2", families)[0] == 2
    assert "hush" not in (tmp_path / "registry" / f"{os.getuid()}.json").read_text()


def test_new_families_keep_the_owner_and_get_real_ports(blocks: HostBlocks) -> None:
    families = low_families(blocks)
    blocks.claim("j1", families)
    number, given = blocks.claim("j1", {**families, "C": families["A"] + 3})
    assert number == 1
    assert set(given) == {"A", "B", "C"}


def test_the_override_is_honoured_or_refused_with_the_maximum(
    blocks: HostBlocks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("INTERLOCK_JOB", raising=False)
    families = low_families(blocks)
    assert blocks.claim("j1", families, wanted=3)[0] == 3
    with pytest.raises(Refused) as caught:
        blocks.claim("j2", families, wanted=3)
    assert caught.value.refusal.holders == ("j1",)
    monkeypatch.setenv("INTERLOCK_BLOCK", "4")
    assert blocks.claim("j2", families)[0] == 4
    monkeypatch.setenv("INTERLOCK_BLOCK", "many")
    with pytest.raises(Refused, match="'many'"):
        blocks.claim("j3", families)
    monkeypatch.setenv("INTERLOCK_JOB", "j1")
    assert blocks.claim("j3", families)[0] == 1, "inside a task the variable says which block the task has"


def test_nothing_left_to_give_is_refused(blocks: HostBlocks) -> None:
    with pytest.raises(Refused, match="No block") as caught:
        blocks.claim("j1", {"A": sockets.ephemeral_start() - 5})
    assert caught.value.refusal.rule == "ports"
    with pytest.raises(Refused, match="Block 3") as caught:
        blocks.claim("j1", {"A": sockets.ephemeral_start() - 5}, wanted=3)
    assert "no block can be given" in caught.value.refusal.would_change


def test_a_damaged_registry_is_told_and_not_overwritten(tmp_path: Path, blocks: HostBlocks) -> None:
    blocks.claim("j1", low_families(blocks))
    own = tmp_path / "registry" / f"{os.getuid()}.json"
    own.write_text("{")
    with pytest.raises(InterlockError, match="cannot be read"):
        blocks.claim("j2", FAMILIES)
    assert own.read_text() == "{"


def test_another_folder_can_be_named(tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(registry.FOLDER, str(tmp_path / "named"))
    named = HostBlocks(store=f"sqlite:///{store}")
    assert named.claim("j1", low_families(named))[0] == 1
    assert (tmp_path / "named" / f"{os.getuid()}.json").exists()


def test_the_folder_is_one_for_all_users_and_lies_outside_home_and_temp() -> None:
    for place in registry.PLACES:
        assert Path(place).is_absolute()
        assert not Path(place).is_relative_to(Path.home())
        assert not Path(place).is_relative_to("/tmp")


USER = """
import json, sys
sys.path[:0] = json.loads(sys.argv[1])
from pathlib import Path
from interlock.adapters.ports_on_host import HostBlocks
print(HostBlocks(store=sys.argv[2], registry=Path(sys.argv[3])).claim("j1", json.loads(sys.argv[4]))[0])
"""


@pytest.mark.skipif(os.getuid() != 0, reason="another user can be made only by root")
def test_another_user_sees_our_claims_and_we_see_theirs() -> None:
    """Real users: the registry's folder is made as on a machine, and each writes only the own file."""
    import shutil
    import tempfile

    folder = Path(tempfile.mkdtemp(dir="/var/tmp"))
    try:
        folder.chmod(0o755)
        shared = folder / "registry"
        assert registry._make(shared)
        assert shared.stat().st_mode & 0o7777 == 0o1777
        (folder / "store").touch()
        ours = HostBlocks(store=f"sqlite:///{folder}/store", registry=shared)
        families = low_families(ours)
        assert ours.claim("j1", families)[0] == 1
        source = Path(sys.modules["interlock"].__file__ or "").parent.parent
        paths = json.dumps([str(source), *(path for path in sys.path if path.endswith("site-packages"))])
        words = ["/usr/bin/python3", "-c", USER, paths, f"sqlite:///{folder}/store", str(shared), json.dumps(families)]
        done = subprocess.run(
            ["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups", *words],
            capture_output=True,
            text=True,
            cwd="/",
        )
        if "Permission denied" in done.stderr or "No module named" in done.stderr:
            pytest.skip("another user cannot read this checkout")
        assert done.stdout == "2\n", done.stderr
        assert ours.claim("j3", families)[0] == 3
        assert {path.name for path in shared.iterdir()} == {"lock", "0.json", "12345.json"}
    finally:
        shutil.rmtree(folder)


def race(tmp_path: Path, processes: int, rounds: int) -> None:
    (tmp_path / "judge").mkdir()
    (tmp_path / "store").touch()
    script = Path(__file__).with_name("claims.py")
    children = [
        subprocess.Popen(
            [sys.executable, str(script), str(tmp_path), f"p{number}", str(rounds)], stderr=subprocess.PIPE, text=True
        )
        for number in range(processes)
    ]
    faults = [child.communicate()[1] for child in children]
    assert [child.returncode for child in children] == [0] * processes, faults
    assert list((tmp_path / "judge").iterdir()) == []
    claims = json.loads((tmp_path / "registry" / f"{os.getuid()}.json").read_text())["claims"]
    assert claims == [], "every block was given back"


@pytest.mark.long
@pytest.mark.timeout(900)
def test_forty_processes_that_claim_at_once_never_collide(tmp_path: Path) -> None:
    """Eight hundred claims; ten thousand with INTERLOCK_TESTS=full."""
    race(tmp_path, 40, 250 if FULL else 20)


def test_killed_while_claiming_the_registry_heals(tmp_path: Path, blocks: HostBlocks, store: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from interlock.adapters.ports_on_host import HostBlocks\n"
        "blocks = HostBlocks(store=sys.argv[1], registry=Path(sys.argv[2]))\n"
        "print('up', flush=True)\n"
        "for n in range(100000): blocks.claim(f'k{n % 7}', {'A': 15000}); blocks.release(f'k{n % 7}')\n"
    )
    for delay in (0.0, 0.01, 0.02, 0.05):
        words = [sys.executable, "-c", code, f"sqlite:///{store}", str(tmp_path / "registry")]
        child = subprocess.Popen(words, stdout=subprocess.PIPE)
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(delay)
        child.send_signal(signal.SIGKILL)
        child.communicate()
        blocks.claim("j1", {"A": 15_000})
    for owner in [f"k{number}" for number in range(7)]:
        blocks.release(owner)
    names = {path.name for path in (tmp_path / "registry").iterdir() if not path.name.startswith(".")}
    assert names == {"lock", f"{os.getuid()}.json"}


def test_a_probe_costs_little() -> None:
    began = time.perf_counter()
    for port in range(20_000, 20_200):
        sockets.is_free(port)
    assert time.perf_counter() - began < 1.0


def test_a_closed_server_in_time_wait_does_not_block_its_port() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
        with closing(socket.create_connection(("127.0.0.1", port))) as client:
            peer, _ = server.accept()
            peer.close()  # the server closes first, so that the wait is on its side
            client.recv(1)
    assert any(local == port and state == "06" for local, state in sockets._connections("/proc/net/tcp"))
    assert sockets.is_free(port)
