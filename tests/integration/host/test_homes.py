"""The private HOME of an attempt: outside of its temporary folder, nobody else's, and written without following links."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from interlock.host import empty_folders, homes
from interlock.host.environment import PASSED


def test_a_home_is_its_owners_alone_and_found_again(tmp_path: Path) -> None:
    home = homes.prepare(tmp_path, user=None)
    assert (home, home.stat().st_mode & 0o777) == (tmp_path / "home", 0o700)
    homes.put(home, ".codex/config/a.toml", b"x", user=None)
    assert homes.prepare(tmp_path, user=None) == home
    assert (home / ".codex" / "config" / "a.toml").read_bytes() == b"x"
    assert (home / ".codex").stat().st_mode & 0o777 == 0o700
    assert (home / ".codex" / "config" / "a.toml").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", ["../out", "/etc/x", "a/../../out"])
def test_nothing_is_put_outside_of_it(tmp_path: Path, name: str) -> None:
    home = homes.prepare(tmp_path, user=None)
    with pytest.raises((ValueError, OSError)):
        homes.put(home, name, b"x", user=None)
    assert os.listdir(tmp_path) == ["home"]


def test_no_link_is_followed_and_one_at_the_end_is_replaced(tmp_path: Path) -> None:
    home = homes.prepare(tmp_path, user=None)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "file").write_text("theirs")
    (home / "folder").symlink_to(elsewhere)
    with pytest.raises(OSError, match="is a link"):
        homes.put(home, "folder/file", b"x", user=None)
    (home / "file").symlink_to(elsewhere / "file")
    homes.put(home, "file", b"mine", user=None)
    assert ((home / "file").read_text(), (elsewhere / "file").read_text()) == ("mine", "theirs")


def test_the_temporary_folder_never_holds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Codex refuses its own helpers below the temporary folder, and every command fails (facts/agents §1.4)."""
    monkeypatch.setenv("HOME", "/the/users/own")
    home = homes.prepare(tmp_path, user=None)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    inside = homes.variables(home, {})
    assert inside == {"HOME": str(home), "TMPDIR": str(tmp_path / "tmp")}
    assert not home.is_relative_to(inside["TMPDIR"])
    with tempfile.TemporaryDirectory(dir="/var/tmp") as beside:
        other = homes.prepare(Path(beside), user=None)
        assert homes.variables(other, {}) == {"HOME": str(other)}


def test_the_users_own_home_is_given_only_where_the_policy_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/the/users/own")
    home = homes.prepare(tmp_path, user=None)
    assert homes.variables(home, {PASSED: "X HOME Y"}) == {"HOME": "/the/users/own"}
    assert homes.variables(home, {PASSED: "HOMES"})["HOME"] == str(home)


def test_empty_folders_that_a_client_leaves_go_and_everything_else_stays(tmp_path: Path) -> None:
    for name in (".agents", ".aws", "src"):
        (tmp_path / name).mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    (tmp_path / "file").touch()
    (tmp_path / "src" / "below").mkdir()
    (tmp_path / ".codex").symlink_to(tmp_path / "src" / "below")
    wanted = (".agents", ".aws", ".codex", "full", "file", "src/below", "..", ".", "")
    assert empty_folders.remove_empty(tmp_path, wanted) == (".agents", ".aws")
    assert sorted(os.listdir(tmp_path)) == [".codex", "file", "full", "src"]
    assert (tmp_path / "src" / "below").is_dir()
