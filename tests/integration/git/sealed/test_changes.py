"""What a task wrote is told from its upper layer: every kind of change, odd names, and nothing hostile is followed or opened."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from tests.integration.git.sealed.agent import KINDS, Sealed, sealed

from interlock.adapters.git.sealed import changes
from interlock.adapters.git.sealed.layout import Kind

pytest_plugins = ("tests.integration.git.fixtures",)
pytestmark = pytest.mark.usefixtures("no_user_settings")


@pytest.fixture(params=KINDS)
def made(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sealed:
    kind: Kind = request.param
    files = ("a", "b", "d/one", "d/in/two", "e/f", "g", "h/i", ".gitignore")
    return sealed(tmp_path, kind, monkeypatch, {name: "*.log\n" if name == ".gitignore" else name for name in files})


def kinds(task: Sealed) -> dict[str, str]:
    found, cut = changes.every(task.layout, task.task)
    assert not cut
    return {each.path: each.kind for each in found}


def test_a_fresh_task_has_changed_nothing(made: Sealed) -> None:
    assert changes.changed(made.layout, made.task) == ()


def test_each_kind_of_change_is_told(made: Sealed) -> None:
    made.run("echo x >> a; rm b; echo n > new; echo l > x.log; mkdir -p p/q; echo z > p/q/r; ln -s a link; rm -r e")
    assert kinds(made) == {
        "a": "changed",
        "b": "deleted",
        "new": "added",
        "x.log": "added",
        "p/q/r": "added",
        "link": "added",
        "e/f": "deleted",
    }


def test_a_folder_that_was_replaced_hides_what_was_in_it(made: Sealed) -> None:
    made.run("rm -r d; mkdir d; echo 3 > d/three; rm g; mkdir g; echo 4 > g/four; rm -r h; echo 5 > h; mv e moved")
    assert kinds(made) == {
        "d/one": "deleted",
        "d/in/two": "deleted",
        "d/three": "added",
        "g": "deleted",
        "g/four": "added",
        "h": "added",
        "h/i": "deleted",
        "e/f": "deleted",
        "moved/f": "added",
    }


def test_a_change_that_keeps_size_and_time_is_seen(made: Sealed) -> None:
    assert changes.changed(made.layout, made.task) == ()
    made.run("touch -r a ../tmp/t; printf z > a; touch -r ../tmp/t a")
    assert changes.changed(made.layout, made.task) == ("a",)


def test_git_s_own_folder_is_left_out_and_odd_names_come_as_they_are(made: Sealed) -> None:
    made.run("git config x.y z; echo 1 > \"$(printf 'l\\344\\n')\"; git init -q nest; echo 2 > nest/f; echo 3 > ' -x'")
    assert set(kinds(made)) == {os.fsdecode(b"l\344"), "nest/f", " -x"}


def test_what_is_no_file_is_named_and_never_opened(made: Sealed) -> None:
    made.run(
        "mkfifo a-pipe; rm b; mkfifo b; ln -s . loop; ln -s /etc etc; ln -s loop/loop/loop d/in/again;"
        "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")'"
    )
    began = time.monotonic()
    found = kinds(made)
    assert time.monotonic() - began < 60
    assert found == {
        "a-pipe": "added",
        "b": "changed",
        "loop": "added",
        "etc": "added",
        "d/in/again": "added",
        "sock": "added",
    }
    done = made.work()
    tree = set(made.repo.files(done.commit))
    assert {"loop", "etc", "d/in/again"} < tree
    assert not {"a-pipe", "b", "sock"} & tree


def test_a_swapped_folder_is_not_followed(made: Sealed, tmp_path: Path) -> None:
    """Between two looks a folder becomes a link to somebody else's; the walk never goes there."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key").write_text("x")
    tree = made.layout.tree(made.task)
    made.run("echo 1 > d/new")
    inner = tree / "d"
    inner.rename(tree / "d-away")
    inner.symlink_to(tmp_path / "secret")
    assert "d/key" not in kinds(made)
    assert kinds(made)["d"] == "added"


def test_too_much_is_cut_and_said(made: Sealed, monkeypatch: pytest.MonkeyPatch) -> None:
    made.run("mkdir many; cd many; for n in $(seq 60); do : > $n; done")
    monkeypatch.setattr(changes, "MOST", 40)
    found, cut = changes.every(made.layout, made.task)
    assert cut
    assert len(found) <= 50
    done = made.work()  # then git looks for itself
    assert len([path for path in made.repo.files(done.commit) if path.startswith("many/")]) == 60


def test_deep_folders_are_cut_and_said(made: Sealed) -> None:
    made.run("for n in $(seq 200); do mkdir x; cd x; done; echo 1 > f")
    found, cut = changes.every(made.layout, made.task)
    assert cut
    assert found == ()
