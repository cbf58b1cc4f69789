"""Sealed tasks are kept, taken away and brought back with everything that they held, and never while somebody lives there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.integration.git.build import git
from tests.integration.git.sealed.agent import KINDS, REF, Sealed, sealed

from interlock.adapters.git.levels import LevelWorkspaces
from interlock.adapters.git.sealed.layout import Kind
from interlock.adapters.git.trees import remove_folder
from interlock.core.problems import Refused

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("no_user_settings")]

pytest_plugins = ("tests.integration.git.fixtures",)


@pytest.fixture(params=KINDS)
def made(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sealed:
    """A task that committed, staged, changed, ignored, removed and linked things."""
    kind: Kind = request.param
    start: dict[str, str | bytes | None] = {
        "a.txt": "a\n",
        "b.txt": "b\n",
        "d/one": "1\n",
        "d/two": "2\n",
        ".gitignore": "*.log\n",
        ".gitattributes": "*.crlf eol=crlf\n",
        "x.crlf": "one\n",
    }
    task = sealed(tmp_path, kind, monkeypatch, start)
    task.run(
        "echo own > own; git add own; git commit -qm own; echo staged > staged; git add staged; echo more >> staged;"
        "echo changed >> a.txt; rm b.txt; rm -r d; mkdir d; echo 3 > d/three; echo l > x.log; ln -s a.txt link;"
        "printf 'x\\r\\ny\\n' > x.crlf; printf 'latin' > \"$(printf 'n\\344me')\"; chmod +x a.txt; mkfifo pipe"
    )
    return task


def spaces(task: Sealed) -> LevelWorkspaces:
    return LevelWorkspaces(task.repo)


STATE = (
    "git status --porcelain=v1 -uall --ignored; git log --format='%H %s'; git diff --cached; git diff;"
    "find . -path ./.git -prune -o -type f -exec sha1sum {} + | sort;"
    "find . -path ./.git -prune -o \\( -type f -printf '%m %p\\n' -o -type l -printf '%p -> %l\\n' \\) | sort"
)


def state(task: Sealed) -> str:
    """All that the agent sees of its tree."""
    return task.run(STATE)


def test_a_snapshot_names_what_it_holds_and_the_agents_own_commits_are_in_it(made: Sealed) -> None:
    own = made.run("git rev-parse HEAD").strip()
    taken = spaces(made).snapshot(made.place, REF)
    assert set(taken.modified) == {"a.txt", "b.txt", "d/one", "d/two", "x.crlf"}
    assert {*taken.untracked} == {"d/three", "link", "staged", os.fsdecode(b"n\344me")}
    assert taken.ignored == ("x.log",)
    for where in (made.team.top, made.repo.mirror.path):
        assert git(where, "rev-parse", REF) == taken.oid
        git(where, "merge-base", "--is-ancestor", own, taken.oid)
    assert git(made.team.top, "cat-file", "-s", f"{REF}:x.crlf") == "5"


def test_everything_comes_back_from_the_trash_at_once(made: Sealed) -> None:
    before, inode = state(made), made.layout.tree(made.task).stat().st_ino
    every = spaces(made)
    every.snapshot(made.place, REF)
    every.remove(made.place, REF)
    assert not made.place.path.exists()
    assert not every.exists(made.place)
    assert git(made.team.top, "branch", "--list", "agent/*") == ""
    every.restore(REF, made.place)
    assert made.layout.tree(made.task).stat().st_ino == inode, "moved back, and not copied"
    assert every.exists(made.place)
    assert state(made) == before
    assert made.run("test -p pipe && echo still") == "still\n"


@pytest.mark.parametrize("layers", ["there", "gone"])
def test_everything_comes_back_from_the_snapshot_alone(made: Sealed, layers: str) -> None:
    before = state(made)
    every = spaces(made)
    every.snapshot(made.place, REF)
    every.remove(made.place, REF)
    remove_folder(made.layout.root / "trash")
    remove_folder(made.place.path.parent / ".trash")
    if layers == "gone":
        remove_folder(made.layout.bases)
    every.restore(REF, made.place)
    assert state(made) == before
    done = made.work()
    assert not done.empty
    assert made.run("git status --porcelain").splitlines() == []


def test_restoring_the_same_again_or_over_something_is_refused(made: Sealed) -> None:
    every = spaces(made)
    every.snapshot(made.place, REF)
    with pytest.raises(Refused) as caught:
        every.restore(REF, made.place)
    assert caught.value.refusal.rule == "name-taken"
    every.remove(made.place, REF)
    made.place.path.mkdir()
    (made.place.path / "mine").write_text("x")
    with pytest.raises(Refused) as caught:
        every.restore(REF, made.place)
    assert caught.value.refusal.rule == "name-taken"
    assert (made.place.path / "mine").read_text() == "x"


def test_what_was_written_after_the_snapshot_is_not_taken_away(made: Sealed) -> None:
    every = spaces(made)
    with pytest.raises(Refused) as caught:
        every.remove(made.place, REF)
    assert caught.value.refusal.rule == "unsaved"
    every.snapshot(made.place, REF)
    made.run("echo late > late")
    before = state(made)
    with pytest.raises(Refused) as caught:
        every.remove(made.place, REF)
    assert caught.value.refusal.rule == "unsaved"
    assert state(made) == before


def test_a_task_with_a_process_in_it_is_not_taken_away(made: Sealed) -> None:
    every = spaces(made)
    every.snapshot(made.place, REF)
    assert every.occupants(made.place) == ()
    with made.lives():
        assert every.occupants(made.place)
        with pytest.raises(Refused) as caught:
            every.remove(made.place, REF)
        assert caught.value.refusal.rule == "alive"
        assert any(" sleep" in holder or " sh" in holder for holder in caught.value.refusal.holders)
    every.remove(made.place, REF)
    assert not made.place.path.exists()


def test_a_removal_asked_for_again_does_nothing(made: Sealed) -> None:
    every = spaces(made)
    every.snapshot(made.place, REF)
    every.remove(made.place, REF)
    made.place.path.mkdir()
    every.remove(made.place, REF)
    assert made.place.path.is_dir()


@pytest.mark.parametrize(
    "ruin",
    [
        "rm -rf .git",
        "rm -rf .git/objects; mkdir .git/objects",
        "find .git/objects -type f -exec chmod u+w {} + -exec sh -c 'echo x > \"$1\"' _ {} \\;",
        "echo garbage > .git/index",
        "rm -rf .git; ln -s /etc .git",
        "mv .git/objects .git/o; ln -s / .git/objects",
        "rm .git/HEAD; mkfifo .git/HEAD; rm .git/index; mkfifo .git/index",
        "printf 'gitdir: /tmp\\n' > g; rm -rf .git; mv g .git",
    ],
)
def test_a_repository_that_the_agent_ruined_is_no_reason_to_lose_its_files(made: Sealed, ruin: str) -> None:
    made.run(ruin)
    taken = spaces(made).snapshot(made.place, REF)
    assert git(made.team.top, "cat-file", "blob", f"{taken.oid}:a.txt") == "a\nchanged"
    assert git(made.team.top, "cat-file", "blob", f"{taken.oid}:staged") == "staged\nmore"
    spaces(made).remove(made.place, REF)
    spaces(made).restore(REF, made.place)
    assert made.run("cat a.txt") == "a\nchanged\n"
