"""Which branches are open where work lands as other commits: a tip is landed when the base's history carries its job."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.integration.git.build import git

from interlock.adapters.git.reader import open_reader, unmerged
from interlock.adapters.git.repo import GitRepo

Branch = Callable[..., None]
JOB = "Interlock-Job: job-{}"


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A repository with one commit on main."""
    top = tmp_path / "r"
    git(tmp_path, "init", "-q", "-b", "main", str(top))
    git(top, "config", "user.name", "a")
    git(top, "config", "user.email", "a@b")
    commit(top, "a.txt", "base")
    return top


def commit(top: Path, path: str, message: str) -> None:
    (top / path).write_text(f"{message}\n")
    git(top, "add", "-A")
    git(top, "commit", "-q", "-m", message)


def task(top: Path, slug: str, *more: str) -> None:
    """A branch of a task, with the trailer of its job on its only commit."""
    git(top, "switch", "-q", "-c", f"agent/{slug}", "main")
    commit(top, f"{slug}.txt", "\n\n".join([slug, *more, JOB.format(slug)]))
    git(top, "switch", "-q", "main")


def squash(top: Path, slug: str, message: str) -> None:
    git(top, "merge", "-q", "--squash", f"agent/{slug}")
    git(top, "commit", "-q", "-m", message)


def open_ones(top: Path) -> set[str]:
    reader = open_reader(top)
    return set(reader.branches(reader.resolve("main")))


def test_a_branch_whose_job_landed_as_another_commit_is_not_open(top: Path) -> None:
    for slug in ("one", "two", "three"):
        task(top, slug)
    squash(top, "one", f"one, for a@b\n\n{JOB.format('one')}\nInterlock-Card: one@abc")
    squash(top, "two", f"two names it only here: {JOB.format('two')}\n\nand nowhere else.")
    assert open_ones(top) == {"agent/two", "agent/three"}


def test_what_was_reverted_is_not_open_either(top: Path) -> None:
    task(top, "one")
    squash(top, "one", f"one\n\n{JOB.format('one')}")
    git(top, "revert", "--no-edit", "HEAD")
    assert open_ones(top) == set()


@pytest.mark.parametrize(
    ("then", "why"),
    [
        ("more work", "a commit on top that no job made is work that did not land"),
        (f"quoted\n\n{JOB.format('one')}\n\nThe end.", "a line of the text is no trailer"),
        ("another attempt\n\nInterlock-Job: job-one-2", "another job has not landed"),
    ],
)
def test_a_tip_that_does_not_carry_the_landed_job_stays_open(top: Path, then: str, why: str) -> None:
    task(top, "one")
    squash(top, "one", f"one\n\n{JOB.format('one')}")
    git(top, "switch", "-q", "agent/one")
    commit(top, "more.txt", then)
    git(top, "switch", "-q", "main")
    assert open_ones(top) == {"agent/one"}, why


def test_the_clock_of_another_machine_does_not_open_it_again(top: Path) -> None:
    task(top, "one")
    git(top, "merge", "-q", "--squash", "agent/one")
    (top / "m").write_text(f"one\n\n{JOB.format('one')}")
    earlier = int(git(top, "log", "-1", "--format=%ct", "agent/one")) - 7200
    git(top, "-c", f"alias.old=!GIT_COMMITTER_DATE='{earlier} +0000' git commit -q -F m", "old")
    assert open_ones(top) == set()


def test_the_mirror_tells_the_same(top: Path) -> None:
    for slug in ("one", "two"):
        task(top, slug)
    squash(top, "one", f"one\n\n{JOB.format('one')}")
    git(top.parent, "clone", "-q", "--bare", str(top), str(top.parent / "origin.git"))
    git(top, "remote", "add", "origin", str(top.parent / "origin.git"))
    git(top, "fetch", "-q", "origin")
    repo = GitRepo.open(top)
    base = repo.refresh()
    assert set(repo.branches(base.oid)) == {"agent/two"}
    assert set(repo.agent_branches()) == {"agent/two"}


def test_no_history_is_read_where_no_tip_names_a_job(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(top, "switch", "-q", "-c", "agent/plain")
    commit(top, "b.txt", "plain")
    reader = open_reader(top)
    asked: list[str] = []
    run = type(reader.git).run

    def seen(self: object, *args: str, **more: object) -> object:
        asked.append(args[0])
        return run(self, *args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(type(reader.git), "run", seen)
    oid = reader.resolve("agent/plain")
    assert unmerged(reader.git, reader.resolve("main"), {"agent/plain": oid}) == {"agent/plain": oid}
    assert "log" not in asked
