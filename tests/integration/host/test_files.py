"""Files written whole, and read with care where others can write."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from interlock.host import files
from interlock.host.files import Unsafe


def test_it_is_written_whole_with_its_mode_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    files.write_whole(path, b"one")
    files.write_whole(path, b"two", mode=0o640)
    assert path.read_bytes() == b"two"
    assert path.stat().st_mode & 0o777 == 0o640
    assert [each.name for each in tmp_path.iterdir()] == ["a.json"]


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "kept").touch()
    with pytest.raises(OSError, match="directory"):
        files.write_whole(tmp_path / "folder", b"no")
    assert [each.name for each in tmp_path.iterdir()] == ["folder"]


def test_killed_while_writing_the_old_or_the_new_is_there(tmp_path: Path) -> None:
    path = tmp_path / "state"
    files.write_whole(path, b"0" * 100_000)
    code = (
        "import sys; from pathlib import Path; from interlock.host import files\n"
        "print('up', flush=True)\n"
        "while True:\n    for c in b'123456789': files.write_whole(Path(sys.argv[1]), bytes([c]) * 100_000)\n"
    )
    for delay in range(6):
        child = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE)
        assert child.stdout is not None
        child.stdout.readline()
        try:
            child.wait(0.003 * delay + 0.001)
        except subprocess.TimeoutExpired:
            child.kill()
        child.communicate()
        data = path.read_bytes()
        assert len(data) == 100_000
        assert len(set(data)) == 1


def test_only_a_plain_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"secret")
    (tmp_path / "link").symlink_to("real")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("link", "pipe", "folder"):
        with pytest.raises(Unsafe, match=name):
            files.read_plain(tmp_path / name, most=100)
    with pytest.raises(FileNotFoundError):
        files.read_plain(tmp_path / "gone", most=100)
    assert files.read_plain(tmp_path / "real", most=6) == b"secret"
    with pytest.raises(Unsafe, match="6 bytes, and 5 are allowed"):
        files.read_plain(tmp_path / "real", most=5)


def test_beneath_a_folder_no_part_may_be_a_link_or_lead_out(tmp_path: Path) -> None:
    inside = tmp_path / "tree"
    (inside / "a" / "b").mkdir(parents=True)
    (inside / "a" / "b" / "file").write_bytes(b"yes")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_bytes(b"no")
    (inside / "out").symlink_to(tmp_path / "outside")
    (inside / "a" / "link").symlink_to(tmp_path / "outside" / "file")
    with files.open_beneath(inside, "a/b/file") as found:
        assert files.read_open(found, 10) == b"yes"
    refused = (
        "out/file",
        "a/link",
        "../outside/file",
        str(tmp_path / "outside" / "file"),
        "",
        "a",
        "a/b/file/x",
        "a\0b",
    )
    for path in refused:
        with pytest.raises(Unsafe), files.open_beneath(inside, path):
            pass
    with pytest.raises(FileNotFoundError), files.open_beneath(inside, "a/gone/file"):
        pass


def test_removing_beneath_takes_the_link_and_not_what_it_names(tmp_path: Path) -> None:
    inside = tmp_path / "tree"
    inside.mkdir()
    (tmp_path / "kept").touch()
    (inside / "link").symlink_to(tmp_path / "kept")
    (inside / "folder").mkdir()
    files.remove_beneath(inside, "link")
    files.remove_beneath(inside, "gone/at/all")
    assert not (inside / "link").is_symlink()
    assert (tmp_path / "kept").exists()
    with pytest.raises(Unsafe):
        files.remove_beneath(inside, "folder")
    with pytest.raises(Unsafe):
        files.remove_beneath(inside, "../kept")


def test_the_tail_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"0123456789")
    assert files.tail(tmp_path / "log", 4) == b"6789"
    assert files.tail(tmp_path / "log", 40) == b"0123456789"
    assert files.tail(tmp_path / "gone", 4) == b""
