"""The present state of a task's tree, told from outside: the same tree that committing it would give, and nothing written or run."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.integration.git.build import World, git, place, snapshot_of, work
from tests.integration.git.sealed.agent import KINDS, sealed

from interlock.adapters.git.sealed.layout import Kind
from interlock.core.problems import Refused

pytest_plugins = ("tests.integration.git.fixtures",)
pytestmark = pytest.mark.usefixtures("no_user_settings")

CHANGES = "echo changed > a.txt; mkdir -p new; echo new > 'new/with space.txt'; echo x > ignored.log"


def test_a_worktree_is_told_as_it_would_be_committed_and_stays_as_it_is(team: World) -> None:
    repo = team.repo()
    where = place(team, repo=repo)
    (where.path / "a.txt").write_text("changed\n")
    (where.path / "new").mkdir()
    (where.path / "new" / "with space.txt").write_text("new\n")
    before = snapshot_of(where.path), snapshot_of(team.top / ".git")
    with repo.melting(where.base) as pot:
        now = pot.present(where, where.base)
        assert now is not None
        found = pot.matrix([now])
        paths = {change.path for change in found.changes[now]}
        tree = pot.read([f"{now}:a.txt"])
    assert tree == (b"changed\n",)
    assert paths == {"a.txt", "new/with space.txt"}
    tmp = str(team.top / ".git" / "interlock")
    assert snapshot_of(where.path) == before[0]
    left = {name for name, data in snapshot_of(team.top / ".git").items() if before[1].get(name) != data}
    assert all(name.startswith("interlock/matrix/") for name in left), (tmp, left)
    with repo.melting(where.base) as pot:
        assert pot.present(where, work(repo, where).commit) is None


def test_a_tree_that_is_gone_is_refused(team: World) -> None:
    repo = team.repo()
    where = place(team, repo=repo)
    git(team.top, "worktree", "remove", "--force", str(where.path))
    with repo.melting(where.base) as pot, pytest.raises(Refused) as refused:
        pot.present(where, where.base)
    assert refused.value.refusal.rule == "workspace-missing"


@pytest.mark.parametrize("kind", KINDS)
def test_a_sealed_tree_is_told_as_it_would_be_committed_and_its_settings_run_nothing(
    tmp_path: Path, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = sealed(tmp_path, kind, monkeypatch)
    task.run(CHANGES)
    mark = "/home/agent/ran"
    task.run(f"git config core.fsmonitor 'touch {mark}'; git config filter.x.clean 'touch {mark}; cat'")
    task.run("echo '*.txt filter=x' > .gitattributes")
    base = task.place.base
    with task.repo.melting(base) as pot:
        now = pot.present(task.place, base)
        assert now is not None
        told = pot.read([f"{now}:a.txt", f"{now}:new/with space.txt"])
        (tree,) = [
            each.decode()
            for each in pot.made.git.run(  # type: ignore[attr-defined]
                "rev-parse", f"{now}^{{tree}}"
            ).out.split()
        ]
    assert told == (b"changed\n", b"new\n")
    assert task.repo.found.git().run("cat-file", "-e", now, ok=(0, 1, 128)).code != 0, "it is in no store of ours"
    assert task.work().tree == tree
    assert task.run(f"test -e {mark} && echo ran || true") == ""
