"""A commit with some paths as in another one: added, changed, removed, whole folders, odd names; nothing else moves."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.adapters.git.repo import GitRepo
from interlock.testing.world import World


@pytest.fixture
def sides(tmp_path: Path) -> tuple[World, GitRepo, str, str]:
    world = World.make(tmp_path / "w")
    for path in ("a.txt", "tests/test_1.py", "tests/deep/ü *[x].py", "gone.py"):
        world.write(path, "base")
    base = world.push()
    for path in ("a.txt", "tests/test_1.py", "tests/new.py"):
        world.write(path, "head")
    (world.repo / "gone.py").unlink()
    (world.repo / "tests" / "deep" / "ü *[x].py").unlink()
    head = world.push()
    repo = GitRepo.open(world.repo)
    repo.refresh()
    return world, repo, base, head


def files(repo: GitRepo, commit: str) -> dict[str, str]:
    return {
        path: (repo.read(commit, path) or b"").decode()
        for path in repo.files(commit)
        if not path.startswith(("tasks", "interlock"))
    }


def test_only_the_paths_change(sides: tuple[World, GitRepo, str, str]) -> None:
    world, repo, base, head = sides
    made = repo.graft(head, base, ["a.txt", "gone.py"])
    assert files(repo, made) == {**files(repo, head), "a.txt": "base", "gone.py": "base"}
    assert world.git("rev-parse", f"{made}^", at=repo.mirror.path) == head


def test_a_folder_is_taken_whole_and_what_is_not_there_is_removed(sides: tuple[World, GitRepo, str, str]) -> None:
    _, repo, base, head = sides
    assert files(repo, repo.graft(head, base, ["tests"])) == {
        "a.txt": "head",
        "tests/test_1.py": "base",
        "tests/deep/ü *[x].py": "base",
    }
    assert "tests/deep/ü *[x].py" in files(repo, repo.graft(head, base, ["tests/deep/ü *[x].py"]))
    assert "tests/new.py" in files(repo, repo.graft(base, head, ["tests/new.py"]))


def test_where_nothing_differs_the_commit_stays_what_it_is(sides: tuple[World, GitRepo, str, str]) -> None:
    _, repo, base, head = sides
    assert repo.graft(head, base, ["interlock.yaml", "nowhere"]) == head
    assert repo.graft(head, base, []) == head
