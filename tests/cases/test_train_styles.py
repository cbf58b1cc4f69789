"""How changes stand on the default branch, decided before the test: merged, squashed or rebased, always the tested tree."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cases.test_mq_git import LINES, heads, patch, three
from tests.integration.git.build import git, world

from interlock.ports.repository import Merged

pytest_plugins = ("tests.integration.git.fixtures",)
pytestmark = pytest.mark.usefixtures("no_user_settings")


@pytest.mark.parametrize("style", ["squash", "rebase"])
def test_mq_02_each_landed_commit_is_its_member_s_change_and_nothing_else(tmp_path: Path, style: str) -> None:
    team = world(tmp_path, {"list.txt": LINES})
    members = three(team)
    repo = team.repo()
    base = repo.refresh()
    words = [f"subject of {slug}\n\nInterlock-Card: {slug}@0\n" for slug in ("one", "two", "three")]
    made = repo.merge(base.oid, members, message="unused", style=style, each=words)  # type: ignore[arg-type]
    merged = repo.merge(base.oid, members, message="Land")
    assert isinstance(made, Merged)
    assert isinstance(merged, Merged)
    assert (made.tree, made.diff) == (merged.tree, merged.diff), "Whatever the style, the same tree is tested."
    assert repo.land(base, made.commit).state == "landed"
    line = git(team.remote, "rev-list", "--reverse", f"{base.oid}..main").split()
    assert len(line) == 3
    before = base.oid
    for commit, head in zip(line, members, strict=True):
        assert git(team.remote, "rev-parse", f"{commit}^@") == before
        assert patch(repo.mirror.path, before, commit) == patch(repo.mirror.path, base.oid, head)
        before = commit
    if style == "squash":
        assert repo.landed_slugs(made.commit) >= {"one", "two", "three"}
    assert repo.lacking(base.oid, made.commit, members) == ((), ())


def test_mq_02_a_line_that_was_built_on_a_stale_base_is_seen_before_it_is_pushed(tmp_path: Path) -> None:
    """Later commits that were made of trees without the earlier ones undo them, and every one of them looks green."""
    team = world(tmp_path, {"list.txt": LINES})
    members = three(team)
    repo = team.repo()
    base = repo.refresh()
    mirror = repo.mirror.path
    at = base.oid
    for head in members:
        at = git(mirror, "commit-tree", f"{head}^{{tree}}", "-p", at, "-m", "built on the old base")
    lacking, extra = repo.lacking(base.oid, at, members)
    assert (lacking, extra) == (tuple(members[:2]), ())


def test_mq_02_what_no_member_brought_is_named(tmp_path: Path) -> None:
    team = world(tmp_path, {"list.txt": LINES})
    (one, *_) = three(team)
    repo = team.repo()
    base = repo.refresh()
    both = heads(team, {"extra": {"other.txt": "x"}})
    merged = repo.merge(base.oid, [one, *both], message="more than it says")
    assert isinstance(merged, Merged)
    assert repo.lacking(base.oid, merged.commit, [one]) == ((), ("other.txt",))
    assert repo.lacking(base.oid, merged.commit, [one, *both]) == ((), ())


def test_a_change_that_stands_on_the_base_already_is_not_missed(tmp_path: Path) -> None:
    team = world(tmp_path, {"list.txt": LINES})
    one, two, _ = three(team)
    repo = team.repo()
    same: dict[str, str | bytes | None] = {"list.txt": LINES.replace("line 3\n", "line 3 of one\n")}
    team.outsider(same)
    base = repo.refresh()
    merged = repo.merge(base.oid, [one, two], message="Land")
    assert isinstance(merged, Merged)
    assert repo.lacking(base.oid, merged.commit, [one, two]) == ((), ())


def test_a_remote_that_puts_something_else_there_is_not_believed(tmp_path: Path) -> None:
    team = world(tmp_path, {"list.txt": LINES})
    (one, *_) = three(team)
    repo = team.repo()
    base = repo.refresh()
    merged = repo.merge(base.oid, [one], message="Land")
    assert isinstance(merged, Merged)
    hook = team.remote / "hooks" / "post-receive"
    hook.write_text(f"#!/bin/sh\nunset GIT_QUARANTINE_PATH\ngit update-ref refs/heads/main {base.oid}\n")
    hook.chmod(0o755)
    answer = repo.land(base, merged.commit)
    assert (answer.state, answer.oid) == ("otherwise", base.oid)


def test_a_rebase_keeps_each_commit_of_a_head_with_its_author_and_words(tmp_path: Path) -> None:
    team = world(tmp_path, {"list.txt": LINES})
    base = team.repo().refresh()
    git(team.top, "switch", "-q", "-c", "agent/many")
    for number in range(2):
        (team.top / f"new{number}.txt").write_text("x")
        git(team.top, "add", "-A")
        git(
            team.top,
            "-c",
            "user.name=Zoe",
            "-c",
            "user.email=z@x",
            "commit",
            "-qm",
            f"step {number}",
            "--author=Zoe <z@x>",
        )
    git(team.top, "switch", "-q", "main")
    repo = team.repo()
    head = repo.import_branch("agent/many")
    made = repo.merge(base.oid, [head], message="x", style="rebase", each=["squashed"])
    assert isinstance(made, Merged)
    told = git(repo.mirror.path, "log", "--format=%an %s", f"{base.oid}..{made.commit}")
    assert told.splitlines() == ["Zoe step 1", "Zoe step 0"]
