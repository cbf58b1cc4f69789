"""Work of sealed tasks becomes one commit: the same as at level worktree, refused as there, and never by the agent's settings."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.integration.git.build import AUTHOR, ENV, git, place
from tests.integration.git.sealed.agent import KEEP, KINDS, REF, Sealed, sealed
from tests.integration.git.sealed.edits import START, edits, script
from tests.needs import FULL

from interlock.adapters.git.levels import LevelWorkspaces
from interlock.adapters.git.repo import GitRepo
from interlock.adapters.git.sealed import changes, view
from interlock.adapters.git.sealed.layout import Kind
from interlock.core.problems import InterlockError, Refused
from interlock.ports.isolation import Place

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("no_user_settings")]

pytest_plugins = ("tests.integration.git.fixtures",)


def outcome(repo: GitRepo, where: Place, parent: str) -> tuple[str, str]:
    """The tree that a commit has, or what it was refused for; and the commit."""
    try:
        done = repo.commit_work(where, parent=parent, message="w", author=AUTHOR, sign=False, keep=KEEP + where.job)
    except Refused as refused:
        return refused.refusal.rule, parent
    except InterlockError as fault:
        return type(fault).__name__, parent
    return done.tree, done.commit


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", KINDS)
@settings(
    max_examples=40 if FULL else 8,
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=list(HealthCheck),
)
@given(first=st.lists(edits, max_size=6), second=st.lists(edits, max_size=6))
def test_random_edits_give_the_tree_that_level_worktree_commits(
    kind: Kind, monkeypatch: pytest.MonkeyPatch, first: list[str], second: list[str]
) -> None:
    root = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    try:
        made = sealed(root, kind, monkeypatch, START)
        plain = place(made.team, "plain", "job2", made.repo)
        parents = [made.place.base, plain.base]
        for lines in (first, second):
            made.run(script(lines))
            subprocess.run(["sh", "-ec", script(lines)], cwd=plain.path, env=ENV, check=True)
            expected, parents[1] = outcome(made.repo, plain, parents[1])
            found, parents[0] = outcome(made.repo, made.place, parents[0])
            if expected != "GitFailed":  # a name that git does not allow is refused by each in its words
                assert found == expected, (
                    git(made.team.top, "diff", "--stat", expected, found, code=None)
                    if expected not in ("submodule", "head-moved")
                    else ""
                )
    finally:
        shutil.rmtree(root)


@pytest.fixture(params=KINDS)
def made(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sealed:
    kind: Kind = request.param
    return sealed(tmp_path, kind, monkeypatch)


def test_head_elsewhere_is_refused_and_its_commits_are_kept(made: Sealed) -> None:
    made.run("git switch -qc other; echo 1 > new; git add new; git commit -qm own")
    own = made.run("git rev-parse HEAD").strip()
    with pytest.raises(Refused) as caught:
        made.work()
    assert caught.value.refusal.rule == "head-moved"
    assert f"{KEEP}-head" in caught.value.refusal.would_change
    assert git(made.team.top, "rev-parse", f"{KEEP}-head") == own
    made.run("git switch -q agent/t; git merge -q other")
    assert made.repo.files(made.work().commit).count("new") == 1


@pytest.mark.parametrize("odd", ["rm -rf .git", "echo x > .git/HEAD", "rm .git/HEAD; ln -s /etc/passwd .git/HEAD"])
def test_a_head_that_says_nothing_is_refused(made: Sealed, odd: str) -> None:
    made.run(f"echo 1 > new; {odd}")
    head = made.repo.head_of(made.place)
    assert (head.branch, head.oid) == (None, None)
    with pytest.raises(Refused) as caught:
        made.work()
    assert caught.value.refusal.rule == "head-moved"
    assert made.run("cat new") == "1\n"


def test_head_is_read_from_packed_refs_and_detached(made: Sealed) -> None:
    made.run("git commit -q --allow-empty -m own; git pack-refs --all")
    own = made.run("git rev-parse HEAD").strip()
    assert made.repo.head_of(made.place).oid == own
    made.run("git checkout -q --detach")
    assert (made.repo.head_of(made.place).branch, made.repo.head_of(made.place).oid) == (None, own)


def test_a_locked_index_is_refused_with_its_path(made: Sealed) -> None:
    made.run("echo 1 > new; : > .git/index.lock")
    with pytest.raises(Refused) as caught:
        made.work()
    assert caught.value.refusal.rule == "locked"
    assert str(made.git_dir / "index.lock") in caught.value.refusal.what
    assert (made.git_dir / "index.lock").exists()


def test_a_task_that_is_gone_is_refused(made: Sealed) -> None:
    made.place.path.rename(made.place.path.with_name("away"))
    for ask in (made.work, lambda: made.repo.head_of(made.place), lambda: made.repo.extra_files(made.place)):
        with pytest.raises(Refused) as caught:
            ask()
        assert caught.value.refusal.rule == "workspace-missing"


def test_the_agents_commits_become_one_and_stay_reachable(made: Sealed) -> None:
    made.run("for n in 1 2 3; do echo $n > f$n; git add -A; git commit -qm own$n; done; echo dirty > f4")
    own = made.run("git rev-parse HEAD").strip()
    done = made.work(message="all of it")
    user = made.team.top
    assert git(user, "rev-parse", "agent/t") == done.commit
    assert git(user, "rev-parse", KEEP) == own
    assert git(user, "log", "--format=%s", f"{made.place.base}..{KEEP}").splitlines() == ["own3", "own2", "own1"]
    assert git(user, "log", "--format=%s %an %ce", f"{made.place.base}..agent/t") == (
        "all of it agent (t) interlock@localhost"
    )
    assert made.run("git status --porcelain; git log --format=%s -1; git fsck --strict 2>&1") == "all of it\n"
    git(made.repo.mirror.path, "fsck", "--connectivity-only")


def test_nothing_changed_is_empty(made: Sealed) -> None:
    made.run("touch src/a.py; chmod 644 README.md")
    done = made.work()
    assert done.empty
    assert done.commit == made.place.base


def test_what_was_pushed_through_the_gate_follows(made: Sealed) -> None:
    made.run("echo 1 > new; git add new; git commit -qm own")
    own = made.run("git rev-parse HEAD").strip()
    mirror = made.repo.mirror.git
    from interlock.adapters.git.sealed import objects_of

    assert objects_of.take(made.repo.mirror, made.layout, made.task, [own]) == [own]
    mirror.move("refs/heads/agent/t", own, None, why="pushed")
    done = made.work()
    assert mirror.refs("refs/heads/agent/t") == {"refs/heads/agent/t": done.commit}
    assert mirror.refs(f"{KEEP}-pushed") == {f"{KEEP}-pushed": own}
    gate = made.repo.gate(made.place, owned=("src/**",), protected=())
    assert (gate.branch, gate.default, gate.base) == ("agent/t", "main", made.place.base)
    assert gate.repository == str(made.repo.mirror.path)
    onto = made.team.outsider({"README.md": "new readme\n"})
    made.repo.refresh()
    made.repo.rebase_place(made.place, head=done.commit, onto=onto, keep=f"{KEEP}-b")
    assert mirror.refs("refs/heads/agent/t") == {"refs/heads/agent/t": onto}
    LevelWorkspaces(made.repo).snapshot(made.place, REF)
    LevelWorkspaces(made.repo).remove(made.place, REF)
    assert mirror.refs("refs/heads/agent/t") == {}, "the next task of the slug begins anew"


def test_objects_under_wrong_names_do_not_get_into_the_mirror(made: Sealed) -> None:
    made.run(
        "echo good > new; git add new; git commit -qm own; echo else > new; b=$(git rev-parse HEAD:new);"
        "f=.git/objects/$(echo $b | cut -c1-2)/$(echo $b | cut -c3-); chmod u+w $f;"
        'python3 -c \'import sys,zlib; open(sys.argv[1],"wb").write(zlib.compress(b"blob 5\\0evil\\n"))\' $f'
    )
    own = made.run("git rev-parse HEAD").strip()
    done = made.work()
    assert made.repo.read(done.commit, "new") == b"else\n"
    assert git(made.repo.mirror.path, "for-each-ref", "--contains", own, code=None) == ""


def test_alternates_of_the_agent_are_not_followed(made: Sealed, tmp_path: Path) -> None:
    """A commit that is only in a store that the agent may not read by itself is not brought over by us."""
    git(tmp_path, "init", "-q", "secret")
    (tmp_path / "secret" / "key").write_text("x")
    git(tmp_path / "secret", "add", "-A")
    git(tmp_path / "secret", "commit", "-qm", "secret")
    secret = git(tmp_path / "secret", "rev-parse", "HEAD")
    with (made.git_dir / "objects" / "info" / "alternates").open("a") as file:
        file.write(f"{tmp_path}/secret/.git/objects\n")
    (made.git_dir / "refs" / "heads" / "agent" / "t").write_text(f"{secret}\n")
    made.work()
    for where in (made.team.top, made.repo.mirror.path):
        git(where, "cat-file", "-e", secret, code=1)


def test_a_private_repository_of_links_is_not_written_through(made: Sealed, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    made.run("mv .git/objects .git/o; mv .git/refs .git/r; git pack-refs --all 2>/dev/null || true; rm -f .git/index")
    (made.git_dir / "objects").symlink_to(outside)
    (made.git_dir / "index").symlink_to(outside / "index")
    made.run("mv .git/r .git/refs; echo 1 > new")
    done = made.work()
    assert made.repo.read(done.commit, "new") == b"1\n"
    assert list(outside.iterdir()) == []


def test_a_new_base_is_put_under_the_work(made: Sealed) -> None:
    made.run("echo mine >> src/a.py; echo ign > x; rm src/b.py")
    first = made.work()
    onto = made.team.outsider({"README.md": "new readme\n", "lib/new.py": "n\n"})
    made.repo.refresh()
    clashes = made.repo.rebase_place(made.place, head=first.commit, onto=onto, keep=f"{KEEP}-before")
    assert clashes == ()
    assert made.run("cat README.md lib/new.py; tail -1 src/a.py; ls src") == "new readme\nn\nmine\na.py\n"
    assert made.run("git status --porcelain").splitlines() == ["M  src/a.py", "D  src/b.py", "A  x"]
    assert set(changed(made)) == {"src/a.py", "src/b.py", "x"}, "what came with the base is not the task's"
    assert made.repo.gate(made.place, owned=(), protected=()).base == onto
    made.run("echo more >> README.md; echo y > lib/mine.py")
    assert set(changed(made)) == {"src/a.py", "src/b.py", "x", "README.md", "lib/mine.py"}
    done = made.work(onto)
    assert git(made.team.top, "rev-parse", f"{done.commit}^") == onto
    paths = {each.path for each in made.repo.changes(onto, done.commit)}
    assert paths == {"src/a.py", "src/b.py", "x", "README.md", "lib/mine.py"}
    assert git(made.team.top, "rev-parse", f"{KEEP}-before") == first.commit


def changed(task: Sealed) -> tuple[str, ...]:
    return changes.changed(task.layout, task.task)


def test_a_new_base_that_clashes_leaves_its_marks(made: Sealed) -> None:
    made.run("echo mine > README.md")
    first = made.work()
    onto = made.team.outsider({"README.md": "theirs\n"})
    made.repo.refresh()
    assert made.repo.rebase_place(made.place, head=first.commit, onto=onto, keep=f"{KEEP}-b") == ("README.md",)
    assert "<<<<<<<" in made.run("cat README.md")
    assert made.run("git status --porcelain") == "UU README.md\n"
    made.run("echo both > README.md")
    assert made.repo.read(made.work(onto).commit, "README.md") == b"both\n"


def test_work_that_a_new_base_would_write_over_is_refused(made: Sealed) -> None:
    made.run("echo mine >> src/a.py")
    first = made.work()
    onto = made.team.outsider({"lib/new.py": "n\n"})
    made.repo.refresh()
    for spoil in ("mkdir lib; echo 1 > lib/new.py", "rm -rf lib; echo 1 > lib", "rm lib; echo late >> README.md"):
        made.run(spoil)
        with pytest.raises(Refused) as caught:
            made.repo.rebase_place(made.place, head=first.commit, onto=onto, keep=f"{KEEP}-b")
        assert caught.value.refusal.rule == "unsaved"
    assert made.run("tail -1 README.md") == "late\n"


def test_a_new_base_is_written_nowhere_but_into_the_tree(made: Sealed, tmp_path: Path) -> None:
    """A folder that is a link by now leads out of the tree; what the new base has there comes into the tree."""
    outside = tmp_path / "outside"
    outside.mkdir()
    made.run("git rm -qr src")
    (made.layout.tree(made.task) / "src").unlink(missing_ok=True)  # the whiteout
    (made.layout.tree(made.task) / "src").symlink_to(outside)
    first = made.work()
    assert made.repo.files(first.commit) == ("README.md", "src")
    onto = made.team.outsider({"src/new.py": "n\n", "README.md": "new\n"})
    made.repo.refresh()
    made.repo.rebase_place(made.place, head=first.commit, onto=onto, keep=f"{KEEP}-b")
    assert list(outside.iterdir()) == []
    assert made.run("cat README.md") == "new\n"


def test_a_view_to_write_in_can_write_nothing_else(made: Sealed, tmp_path: Path) -> None:
    scratch, outside = tmp_path / "scratch", tmp_path / "outside"
    for folder in (scratch, outside):
        folder.mkdir()
    seen = view.writable(made.layout, made.task, scratch)
    script = f"echo 1 > in; echo 1 > {scratch}/s; echo 1 > {outside}/o; echo 1 > {made.repo.mirror.path}/evil"
    subprocess.run([*seen.prefix, "sh", "-c", script], env={"PATH": "/usr/bin:/bin"}, capture_output=True, check=False)
    assert made.run("cat in") == "1\n"
    assert (scratch / "s").read_text() == "1\n"
    assert list(outside.iterdir()) == []
    assert not (made.repo.mirror.path / "evil").exists()
