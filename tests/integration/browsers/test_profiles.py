"""Profiles as folders: what is refused, what is copied and what is not, finding one again, and stale locks."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
from pathlib import Path

import pytest

from interlock.adapters.browsers.chromium import ChromiumBrowsers
from interlock.core.contract.around import Browser
from interlock.core.problems import Refused


@pytest.fixture
def golden(tmp_path: Path) -> Path:
    made = tmp_path / "golden"
    for name in ("Default/Cookies", "Default/Local Storage/leveldb/000003.log", "Local State"):
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_text(f"golden {name}")
    return made


def profile(golden: Path | str | None, folder: Path, role: str = "customer") -> Path:
    return ChromiumBrowsers().profile(Browser(role=role, golden=str(golden) if golden else None), folder)


def gone_pid() -> int:
    child = subprocess.Popen(["true"])
    child.wait()
    return child.pid


def test_a_golden_profile_that_is_not_there_is_refused_and_nothing_is_made(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="golden profile of customer is not there") as refused:
        profile(tmp_path / "nowhere", tmp_path / "job" / "customer")
    assert refused.value.refusal.rule == "browser"
    assert "--password-store=basic" in refused.value.refusal.would_change
    assert list((tmp_path / "job").iterdir()) == []


def test_a_golden_profile_in_use_is_refused_with_the_process(golden: Path, tmp_path: Path) -> None:
    (golden / "SingletonLock").symlink_to(f"{socket.gethostname()}-{os.getpid()}")
    with pytest.raises(Refused, match=f"in use by process {os.getpid()}"):
        profile(golden, tmp_path / "job" / "customer")
    (golden / "SingletonLock").unlink()
    (golden / "SingletonLock").symlink_to(f"{socket.gethostname()}-{gone_pid()}")
    assert profile(golden, tmp_path / "job" / "customer").is_dir()


def test_home_is_expanded(golden: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    made = profile("~/golden", tmp_path / "job" / "customer")
    assert (made / "Local State").read_text() == "golden Local State"


def test_plain_files_are_copied_and_nothing_that_leads_elsewhere(golden: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("of another role")
    (golden / "Default" / "link").symlink_to(secret)
    (golden / "Default" / "folder-link").symlink_to(golden)
    os.mkfifo(golden / "Default" / "pipe")
    for name in ("Default/Cache/data_1", "Default/Code Cache/js/index", "Default/Local Storage/leveldb/LOCK"):
        (golden / name).parent.mkdir(parents=True, exist_ok=True)
        (golden / name).write_text("left out")
    (golden / "SingletonCookie").symlink_to("123")
    done: list[Path] = []
    thread = threading.Thread(target=lambda: done.append(profile(golden, tmp_path / "job" / "customer")))
    thread.start()
    thread.join(20)  # a pipe would hold a reader for ever
    found = {str(each.relative_to(done[0])) for each in done[0].rglob("*") if not each.is_dir()}
    assert found == {"Default/Cookies", "Default/Local Storage/leveldb/000003.log", "Local State"}
    assert (done[0] / "Default" / "Cookies").stat().st_mode & 0o777 == 0o600
    (done[0] / "Default" / "Cookies").write_text("changed by the task")
    assert (golden / "Default" / "Cookies").read_text() == "golden Default/Cookies"


def test_a_copy_that_was_cut_short_is_not_taken_for_one(golden: Path, tmp_path: Path) -> None:
    (golden / "Local State").unlink()
    (golden / "Local State").write_text("whole")
    unreadable = golden / "Default" / "Cookies"
    unreadable.unlink()
    unreadable.symlink_to("nowhere")
    job = tmp_path / "job"
    job.mkdir()
    half = job / ".customer.0badcafe"
    half.mkdir()
    (half / "Local State").write_text("half")
    made = profile(golden, job / "customer")
    assert (made / "Local State").read_text() == "whole"


def test_it_is_found_again_with_what_the_task_did(golden: Path, tmp_path: Path) -> None:
    made = profile(golden, tmp_path / "job" / "customer")
    (made / "Default" / "Cookies").write_text("signed in")
    assert profile(tmp_path / "gone since", made) == made
    assert (made / "Default" / "Cookies").read_text() == "signed in"


def test_a_role_without_a_golden_profile_begins_with_nothing(tmp_path: Path) -> None:
    assert list(profile(None, tmp_path / "job" / "guest", "guest").iterdir()) == []


def test_a_lock_goes_only_when_its_browser_is_gone(golden: Path, tmp_path: Path) -> None:
    made = profile(golden, tmp_path / "job" / "customer")
    lock = made / "SingletonLock"
    for holder, stays in (
        (f"{socket.gethostname()}-{os.getpid()}", True),
        (f"{socket.gethostname()}-{gone_pid()}", False),
        ("interlock-4", True),  # of a sandbox, whose processes have numbers of their own
    ):
        lock.unlink(missing_ok=True)
        lock.symlink_to(holder)
        profile(golden, made)
        assert lock.is_symlink() is stays, holder
