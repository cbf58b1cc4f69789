"""Cases of the train that git decides: the landed tree, the expected value, the remote's words, nobody's checkout touched."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.integration.git.build import World, git, place, snapshot_of, work, world, write

from interlock.core.problems import Refused
from interlock.ports.repository import Merged, TextConflict

pytest_plugins = ("tests.integration.git.fixtures",)
pytestmark = pytest.mark.usefixtures("no_user_settings")

LINES = "".join(f"line {number}\n" for number in range(1, 31))


def heads(team: World, edits: dict[str, dict[str, str | bytes | None]]) -> list[str]:
    """One committed task for each slug."""
    repo = team.repo()
    found = []
    for slug, files in edits.items():
        made = place(team, slug, f"job-{slug}", repo)
        write(made.path, files)
        found.append(work(repo, made, message=f"work of {slug}", keep=f"refs/interlock/kept/{slug}/1").commit)
    return found


def three(team: World) -> list[str]:
    """Three tasks that each add a file and change another line of one shared list."""
    return heads(
        team,
        {
            slug: {f"src/{slug}.py": slug, "list.txt": LINES.replace(f"line {line}\n", f"line {line} of {slug}\n")}
            for slug, line in (("one", 3), ("two", 15), ("three", 27))
        },
    )


def patch(where: Path, old: str, new: str) -> str:
    """The difference as text without positions: what a person would call the change."""
    text = git(where, "diff", "--no-renames", "-U0", old, new)
    return "\n".join(line for line in text.splitlines() if not line.startswith(("@@", "index ")))


def test_mq_02_the_landed_tree_is_the_merged_tree_and_each_change_is_whole(tmp_path: Path) -> None:
    team = world(tmp_path, {"list.txt": LINES})
    members = three(team)
    repo = team.repo()
    base = repo.refresh()
    merged = repo.merge(base.oid, members, message="Land one, two, three")
    assert isinstance(merged, Merged)
    assert repo.land(base, merged.commit).state == "landed"
    assert team.tip() == merged.commit
    assert git(team.remote, "rev-parse", "main^{tree}") == merged.tree
    assert git(team.remote, "rev-parse", "main^@").split() == [base.oid, *members]
    assert git(team.remote, "rev-list", "--first-parent", "--count", f"{base.oid}..main") == "1"
    for slug, head in zip(("one", "two", "three"), members, strict=True):
        others = [each for each in members if each != head]
        without = repo.merge(base.oid, others, message="the others alone")
        assert isinstance(without, Merged)
        mirror = repo.mirror.path
        assert patch(mirror, without.commit, merged.commit) == patch(mirror, base.oid, head), slug
        assert git(team.remote, "show", f"main:src/{slug}.py") == slug


def test_mq_02_a_runner_with_a_stale_base_cannot_land(tmp_path: Path) -> None:
    team = world(tmp_path, {"list.txt": LINES})
    one, two, three_ = three(team)
    repo = team.repo()
    base = repo.refresh()
    first = repo.merge(base.oid, [one], message="first")
    stale = repo.merge(base.oid, [two, three_], message="built on the old base")
    assert isinstance(first, Merged)
    assert isinstance(stale, Merged)
    assert repo.land(base, first.commit).state == "landed"
    answer = repo.land(base, stale.commit)
    assert (answer.state, answer.oid) == ("moved", first.commit)
    fresh = repo.refresh()
    with pytest.raises(Refused) as caught:
        repo.land(fresh, stale.commit)
    assert caught.value.refusal.rule == "tree-mismatch"
    assert team.tip() == first.commit
    assert "of one" in git(team.remote, "show", "main:list.txt")


def test_mq_02_the_first_clashing_member_and_its_paths_are_named(tmp_path: Path) -> None:
    team = world(tmp_path, {"list.txt": LINES, "other.txt": "x\n"})
    found = heads(
        team,
        {
            "a": {"list.txt": LINES.replace("line 3\n", "mine\n")},
            "b": {"other.txt": "y\n"},
            "c": {"list.txt": LINES.replace("line 3\n", "yours\n"), "new.txt": "x"},
        },
    )
    repo = team.repo()
    base = repo.last_base()
    assert repo.merge(base.oid, found, message="x") == TextConflict(head=found[2], paths=("list.txt",))
    assert isinstance(repo.merge(base.oid, found[:2], message="x"), Merged)


def test_mq_02_the_difference_has_one_name_wherever_else_the_base_moves(tmp_path: Path) -> None:
    team = world(tmp_path, {"list.txt": LINES})
    members = three(team)
    repo = team.repo()
    before = repo.merge(repo.refresh().oid, members, message="x")
    team.outsider({"elsewhere.txt": "x"})
    after = repo.merge(repo.refresh().oid, members, message="y")
    team.outsider({"list.txt": LINES.replace("line 9\n", "line 9 changed\n")})
    touched = repo.merge(repo.refresh().oid, members, message="z")
    assert isinstance(before, Merged)
    assert isinstance(after, Merged)
    assert isinstance(touched, Merged)
    assert before.diff == after.diff
    assert before.tree != after.tree
    assert touched.diff != after.diff


def test_mq_03_main_moved_by_hand_is_seen_and_nothing_is_lost(team: World) -> None:
    (head,) = heads(team, {"one": {"src/one.py": "x"}})
    repo = team.repo()
    base = repo.refresh()
    merged = repo.merge(base.oid, [head], message="Land")
    assert isinstance(merged, Merged)
    theirs = team.outsider({"theirs.txt": "x"})
    answer = repo.land(base, merged.commit)
    assert (answer.state, answer.oid) == ("moved", theirs)
    assert team.tip() == theirs
    again = repo.merge(repo.refresh().oid, [head], message="Land")
    assert isinstance(again, Merged)
    assert repo.land(repo.last_base(), again.commit).state == "landed"
    assert git(team.remote, "show", "main:theirs.txt") == "x"


def test_mq_03_main_taken_back_by_hand_is_not_written_over(team: World) -> None:
    """A plain push would go through here, since the new commit follows the older one too."""
    (head,) = heads(team, {"one": {"src/one.py": "x"}})
    first = git(team.top, "rev-parse", "main")
    second = team.outsider({"bad.txt": "x"})
    repo = team.repo()
    base = repo.refresh()
    assert base.oid == second
    merged = repo.merge(base.oid, [head], message="Land")
    assert isinstance(merged, Merged)
    git(team.remote, "update-ref", "refs/heads/main", first)
    answer = repo.land(base, merged.commit)
    assert (answer.state, answer.oid) == ("moved", first)
    assert team.tip() == first


def test_mq_03_asking_again_after_a_kill_lands_once(team: World) -> None:
    (head,) = heads(team, {"one": {"src/one.py": "x"}})
    repo = team.repo()
    base = repo.refresh()
    merged = repo.merge(base.oid, [head], message="Land")
    assert isinstance(merged, Merged)
    git(team.root, "--git-dir", str(repo.mirror.path), "push", "-q", str(team.remote), f"{merged.commit}:main")
    assert repo.land(base, merged.commit).state == "landed"
    later = team.outsider({"on-top.txt": "x"})
    answer = repo.land(base, merged.commit)
    assert (answer.state, answer.oid) == ("landed", merged.commit), "it is part of main, whoever came after"
    assert team.tip() == later


def test_mq_03_a_task_branch_pushed_by_somebody_is_not_written_over(team: World) -> None:
    (head,) = heads(team, {"one": {"src/one.py": "x"}})
    repo = team.repo()
    assert repo.push_branch("agent/one", head, None).state == "landed"
    theirs = team.outsider({"extra.txt": "x"}, "agent/one")
    answer = repo.push_branch("agent/one", head, None)
    assert answer.state == "landed", "the commit is part of the branch"
    other = repo.merge(head, [], message="another attempt")
    assert isinstance(other, Merged)
    answer = repo.push_branch("agent/one", other.commit, head)
    assert (answer.state, answer.oid) == ("moved", theirs)
    assert team.tip("agent/one") == theirs


def test_mq_03_a_later_attempt_replaces_its_own_branch_and_the_earlier_one_is_kept(team: World) -> None:
    repo = team.repo()
    made = place(team, "one", "j", repo)
    write(made.path, {"src/one.py": "first"})
    first = work(repo, made, keep="refs/interlock/kept/j/1").commit
    assert repo.push_branch("agent/one", first, None).state == "landed"
    write(made.path, {"src/one.py": "second"})
    second = work(repo, made, keep="refs/interlock/kept/j/2").commit
    assert repo.push_branch("agent/one", second, first).state == "landed"
    assert team.tip("agent/one") == second
    assert git(repo.mirror.path, "rev-parse", f"refs/interlock/replaced/agent/one/{first}") == first
    assert git(team.top, "rev-parse", "refs/interlock/kept/j/2") == first


@pytest.mark.parametrize("hook", ["pre-receive", "update"])
def test_mq_07_a_hook_that_refuses_is_quoted_and_nothing_is_lost(team: World, hook: str) -> None:
    (head,) = heads(team, {"one": {"src/one.py": "x"}})
    repo = team.repo()
    base = repo.refresh()
    merged = repo.merge(base.oid, [head], message="Land")
    assert isinstance(merged, Merged)
    script = team.remote / "hooks" / hook
    script.write_text("#!/bin/sh\necho 'frozen until Monday' >&2\nexit 1\n")
    script.chmod(0o755)
    answer = repo.land(base, merged.commit)
    assert answer.state == "rejected"
    assert "frozen until Monday" in answer.message
    assert answer.oid == base.oid == team.tip()
    assert git(team.top, "rev-parse", "agent/one") == head
    script.unlink()
    assert repo.land(base, merged.commit).state == "landed"


def test_mq_07_a_branch_that_the_remote_has_checked_out_is_rejected_in_its_words(tmp_path: Path) -> None:
    team = world(tmp_path)
    work_remote = tmp_path / "nonbare"
    git(tmp_path, "clone", "-q", str(team.remote), "nonbare")
    git(team.top, "remote", "set-url", "origin", str(work_remote))
    (head,) = heads(team, {"one": {"src/one.py": "x"}})
    repo = team.repo()
    base = repo.refresh()
    merged = repo.merge(base.oid, [head], message="Land")
    assert isinstance(merged, Merged)
    answer = repo.land(base, merged.commit)
    assert answer.state == "rejected"
    assert "checked out" in answer.message
    assert git(work_remote, "status", "--porcelain") == ""


def test_mq_07_unrelated_histories_do_not_merge(team: World) -> None:
    git(team.top, "switch", "-q", "--orphan", "agent/alien")
    alien = team.commit({"x.txt": "x"})
    git(team.top, "switch", "-q", "main")
    repo = team.repo()
    base = repo.refresh()
    assert repo.import_branch("agent/alien") == alien
    with pytest.raises(Refused) as caught:
        repo.merge(base.oid, [alien], message="Land")
    assert caught.value.refusal.rule == "no-merge-base"


def test_mq_07_a_remote_that_cannot_be_asked_is_an_error_and_not_an_answer(team: World) -> None:
    from interlock.adapters.git.errors import GitFailed

    (head,) = heads(team, {"one": {"src/one.py": "x"}})
    repo = team.repo()
    base = repo.refresh()
    merged = repo.merge(base.oid, [head], message="Land")
    assert isinstance(merged, Merged)
    team.remote.rename(team.root / "away")
    with pytest.raises(GitFailed):
        repo.land(base, merged.commit)
    (team.root / "away").rename(team.remote)
    assert repo.land(base, merged.commit).state == "landed"


def test_mq_07_without_a_remote_there_is_nothing_to_land_on(team: World) -> None:
    git(team.top, "remote", "remove", "origin")
    repo = team.repo()
    base = repo.refresh()
    with pytest.raises(Refused) as caught:
        repo.land(base, base.oid)
    assert caught.value.refusal.rule == "no-remote"


@pytest.mark.parametrize("stands_on", ["main", "wip"])
def test_mq_08_a_checkout_with_local_edits_stays_as_it_is(team: World, stands_on: str) -> None:
    (head,) = heads(team, {"one": {"src/a.py": "a = 2\n", "src/one.py": "x"}})
    git(team.top, "switch", "-q", "-C", stands_on)
    write(team.top, {"src/a.py": "my edit\n", "src/one.py": "in the way", "staged.txt": "x"})
    git(team.top, "add", "staged.txt")
    files, status = snapshot_of(team.top), git(team.top, "status", "--porcelain", "--branch")
    before = git(team.top, "rev-parse", "HEAD", "main")
    index = (team.top / ".git" / "index").read_bytes()
    repo = team.repo()
    base = repo.refresh()
    merged = repo.merge(base.oid, [head], message="Land")
    assert isinstance(merged, Merged)
    assert repo.land(base, merged.commit).state == "landed"
    assert team.tip() == merged.commit
    assert snapshot_of(team.top) == files
    assert git(team.top, "status", "--porcelain", "--branch") == status
    assert git(team.top, "rev-parse", "HEAD", "main") == before
    assert (team.top / ".git" / "index").read_bytes() == index


def test_mq_08_settings_of_the_user_that_push_more_are_not_followed(
    team: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = team.root / "gitconfig"
    settings.write_text("[push]\n\tfollowTags = true\n\tgpgSign = true\n\trecurseSubmodules = on-demand\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    (head,) = heads(team, {"one": {"src/one.py": "x"}})
    git(team.top, "tag", "-a", "-m", "private", "private", head)
    repo = team.repo()
    base = repo.refresh()
    merged = repo.merge(base.oid, [head], message="Land")
    assert isinstance(merged, Merged)
    assert repo.land(base, merged.commit).state == "landed"
    assert git(team.remote, "tag") == ""
    assert subprocess.run(["ls", str(team.remote / "refs/tags")], capture_output=True, check=True).stdout == b""
