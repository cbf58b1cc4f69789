"""Trees looked at before and after a run: what is told, what is left alone, and that nothing in them is run."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.integration.git.build import git

from interlock.host import fingerprint


@pytest.fixture
def main(tmp_path: Path) -> Path:
    top = tmp_path / "main"
    top.mkdir()
    git(top, "init", "-q", "-b", "main")
    (top / "src").mkdir()
    (top / "src" / "x.py").write_text("one\n")
    (top / ".gitignore").write_text("*.log\n")
    (top / "odd\nname \xff").write_text("odd\n")
    git(top, "add", ".")
    git(top, "commit", "-qm", "one")
    (top / "mine.txt").write_text("the user's own\n")
    return top


def told(main: Path, act: Callable[[Path], object]) -> tuple[str, ...]:
    """What is told of an act, with paths as they are below the checkout."""
    file = main.parent / "around"
    fingerprint.take([main], file)
    assert fingerprint.changed(file) == ()
    act(main)
    return tuple(each.replace(f"{main}/", "").replace(str(main), "main") for each in fingerprint.changed(file))


def same_length_and_time(main: Path) -> None:
    before = (main / "src" / "x.py").stat()
    (main / "src" / "x.py").write_text("two\n")
    os.utime(main / "src" / "x.py", ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize(
    ("act", "expected"),
    [
        (lambda main: (main / "src" / "x.py").write_text("two\n"), ("src/x.py",)),
        (same_length_and_time, ("src/x.py",)),
        (lambda main: (main / "src" / "new.py").write_text("new\n"), ("src/new.py",)),
        (lambda main: (main / "src" / "x.py").unlink(), ("src/x.py",)),
        (lambda main: (main / "mine.txt").unlink(), ("mine.txt",)),
        (lambda main: (main / "mine.txt").chmod(0o755), ("mine.txt",)),
        (lambda main: (main / "odd\nname \xff").write_text("x"), ("odd\nname \xff",)),
        (lambda main: git(main, "add", "mine.txt"), ("the index of main",)),
        (lambda main: git(main, "commit", "-q", "--allow-empty", "-m", "two"), ("HEAD of main",)),
        (lambda main: git(main, "switch", "-qc", "other"), ("HEAD of main",)),
        (lambda main: git(main, "config", "core.hooksPath", "/x"), ("programs in the git settings of main",)),
        (lambda main: git(main, "config", "filter.x.clean", "x"), ("programs in the git settings of main",)),
        (lambda main: git(main, "config", "branch.x.remote", "origin"), ()),
        (
            lambda main: (main / ".git" / "hooks" / "pre-commit").write_text("#!/bin/sh\n"),
            ("the hook pre-commit of main",),
        ),
        (lambda main: (main / "debug.log").write_text("ignored\n"), ()),
        (lambda main: git(main, "branch", "another"), ()),
        (lambda main: git(main, "status"), ()),
        (lambda main: (main / ".git").rename(main / "git"), ("main", "HEAD of main", "the index of main")),
    ],
)
def test_what_changed_is_told_by_name(main: Path, act: Callable[[Path], object], expected: tuple[str, ...]) -> None:
    found = told(main, act)
    assert set(expected) <= set(found) if len(expected) > 1 else found == expected


def test_a_linked_worktree_has_a_head_and_an_index_of_its_own(main: Path) -> None:
    git(main, "worktree", "add", "-q", "../linked", "-b", "linked")
    linked = main.parent / "linked"
    file = main.parent / "around"
    fingerprint.take([main, linked], file)
    (linked / "src" / "x.py").write_text("two\n")
    git(linked, "add", ".")
    assert fingerprint.changed(file) == (f"the index of {linked}", f"{linked}/src/x.py")


def test_nothing_that_is_configured_there_is_run(main: Path) -> None:
    ran = main.parent / "ran"
    (main / ".gitattributes").write_text("* filter=evil\n")
    for name in ("core.fsmonitor", "filter.evil.clean", "filter.evil.process", "core.pager", "core.sshCommand"):
        git(main, "config", name, f"touch {ran}")
    hooks = main / ".git" / "hooks"
    for name in ("post-index-change", "fsmonitor-watchman", "post-checkout"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {ran}\n")
        (hooks / name).chmod(0o755)
    told(main, lambda main: (main / "src" / "x.py").write_text("two\n"))
    assert not ran.exists()


def test_a_fingerprint_that_was_spoilt_is_told_and_never_no_change(main: Path) -> None:
    file = main.parent / "around"
    for spoilt in (b"", b"{", b"[]", b'{"x": 1}'):
        file.write_bytes(spoilt)
        found = fingerprint.changed(file)
        assert len(found) == 1
        assert "cannot be read" in found[0]


def test_many_changes_are_told_in_part(main: Path) -> None:
    found = told(main, lambda main: [(main / f"f{number}").write_text("") for number in range(200)])
    assert len(found) == fingerprint.MOST_TOLD


def test_where_it_cannot_be_written_down_the_run_must_not_begin(main: Path) -> None:
    with pytest.raises(OSError, match="cannot be written"):
        fingerprint.take([main], main / "gone" / "around")
