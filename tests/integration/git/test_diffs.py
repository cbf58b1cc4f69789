"""Differences of many heads at once are those that git gives one by one, for any shape of history."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.integration.git.build import World, git, world, write

from interlock.adapters.git import diffs, plumbing
from interlock.adapters.git.plumbing import GitDir
from interlock.core.problems import Refused
from interlock.host.commands import Finished

pytest_plugins = ("tests.integration.git.fixtures",)
pytestmark = pytest.mark.usefixtures("no_user_settings")


def naive(team: World, base: str, head: str) -> list[tuple[str, str]] | None:
    found = git(team.top, "merge-base", base, head, code=None)
    if not found:
        return None
    out = git(team.top, "diff", "--no-renames", "--name-status", "-z", found.split()[0], head)
    parts = [part for part in out.split("\0") if part]
    return sorted(zip(parts[1::2], parts[::2], strict=True))


def grown(team: World, seed: int, count: int = 40) -> list[str]:
    """A history of commits, merges both ways, criss-crosses, and one that is unrelated; gives all branch tips."""
    dice = random.Random(seed)
    tips = [git(team.top, "rev-parse", "main")]
    for number in range(count):
        parent = dice.choice(tips)
        git(team.top, "checkout", "-q", "--detach", parent)
        if dice.random() < 0.3:
            other = dice.choice(tips)
            git(team.top, "merge", "-q", "-m", "m", "-X", "ours", other, code=None)
            git(team.top, "reset", "-q", "--hard")
        write(team.top, {f"d{dice.randrange(4)}/f{dice.randrange(6)}": str(number)})
        git(team.top, "add", "-A")
        git(team.top, "commit", "-q", "--allow-empty", "-m", str(number))
        tips.append(git(team.top, "rev-parse", "HEAD"))
    return tips


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.long
def test_equal_to_one_by_one(tmp_path: Path, seed: int) -> None:
    team = world(tmp_path)
    tips = grown(team, seed)
    git(team.top, "checkout", "-q", "--orphan", "alien")
    tips.append(team.commit({"z": "z"}))
    own = GitDir(path=team.top / ".git")
    for base in tips[::9]:
        found = diffs.changes_many(own, base, tips)
        for head in tips:
            told, expected = found[head], naive(team, base, head)
            if expected is None:
                assert isinstance(told, Refused)
                assert told.refusal.rule == "no-merge-base"
            else:
                assert not isinstance(told, Refused)
                assert sorted((change.path, change.status) for change in told) == expected


def test_a_handful_of_processes_for_any_number(team: World, monkeypatch: pytest.MonkeyPatch) -> None:
    base = git(team.top, "rev-parse", "main")
    heads = []
    for number in range(30):
        git(team.top, "checkout", "-q", "--detach", base)
        if number == 7:
            (team.top / "link").symlink_to("x")
        heads.append(team.commit({f"f{number}.txt": "x"}))
    calls: list[str] = []
    real = plumbing.call

    def counted(args: Sequence[str], **more: Any) -> Finished:
        calls.append(args[0])
        return real(args, **more)

    monkeypatch.setattr(plumbing, "call", counted)
    found = diffs.changes_many(GitDir(path=team.top / ".git"), base, heads)
    assert calls == ["rev-list", "diff-tree", "cat-file"]
    assert [change.path for change in found[heads[3]]] == ["f3.txt"]  # type: ignore[union-attr]


def test_a_name_instead_of_a_commit_is_no_empty_difference(team: World) -> None:
    with pytest.raises(ValueError, match="not the full name"):
        diffs.changes_many(GitDir(path=team.top / ".git"), git(team.top, "rev-parse", "main"), ["main"])


def test_a_missing_commit_is_an_error(team: World) -> None:
    from interlock.adapters.git.errors import GitFailed

    with pytest.raises(GitFailed):
        diffs.changes_many(GitDir(path=team.top / ".git"), git(team.top, "rev-parse", "main"), ["1" * 40])


def test_modes_types_and_deletions(team: World) -> None:
    base = team.commit({"x.sh": "x", "to-link": "y", "gone": "z"})
    (team.top / "x.sh").chmod(0o755)
    (team.top / "to-link").unlink()
    (team.top / "to-link").symlink_to("x.sh")
    head = team.commit({"gone": None})
    found = {change.path: change for change in diffs.changes_many(GitDir(path=team.top / ".git"), base, [head])[head]}  # type: ignore[union-attr]
    assert (found["x.sh"].old_mode, found["x.sh"].new_mode, found["x.sh"].status) == (0o100644, 0o100755, "M")
    assert (found["to-link"].status, found["to-link"].target) == ("T", "x.sh")
    assert (found["gone"].status, found["gone"].new_mode, found["gone"].new_oid) == ("D", 0, "")
