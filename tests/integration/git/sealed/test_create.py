"""Sealed tasks made: refused without a trace, healed, the same for both kinds, and with no way into what is not theirs."""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from tests.integration.git.build import World, git, snapshot_of, work, world
from tests.integration.git.sealed.rooms import Yard, owner, yard
from tests.needs import needs_sandbox

from interlock.adapters.git.sealed import bases
from interlock.core.problems import Refused

pytest_plugins = ("tests.integration.git.fixtures",)
pytestmark = [needs_sandbox, pytest.mark.usefixtures("no_user_settings")]
FILES: dict[str, str | bytes | None] = {
    "src/a.py": "a = 1\n",
    "src/b.py": "b = 2\n",
    "docs/deep/c.md": "c\n",
    "README.md": "hello\n",
    ".gitignore": "*.log\n",
}


@pytest.fixture(params=["copy", "overlay"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to hold a tree; an overlay of a small one is as good as one of a large one."""
    if request.param == "overlay":
        monkeypatch.setattr(bases, "SMALL_FILES", 0)
    return str(request.param)


@pytest.fixture
def here(tmp_path: Path, kind: str) -> Yard:
    return yard(world(tmp_path, FILES))


def refs(team: World) -> str:
    return git(team.top, "for-each-ref")


# ---------------------------------------------------------------- refused
@pytest.mark.parametrize("taken", ["branch", "namespace", "folder", "job"])
def test_a_taken_name_is_refused_and_nothing_is_left(here: Yard, taken: str) -> None:
    place = here.place()
    match taken:
        case "branch":
            git(here.team.top, "branch", "agent/t")
        case "namespace":
            git(here.team.top, "branch", "agent/t/x")
        case "folder":
            place.path.mkdir(parents=True)
        case _:
            here.make("t", "another")
    before = refs(here.team)
    with pytest.raises(Refused) as caught:
        here.spaces.create(place, "t")
    assert caught.value.refusal.rule == "name-taken"
    assert here.left("job-t") == []
    assert refs(here.team) == before
    assert here.layout.read("job-t") is None


def test_one_job_has_one_tree(here: Yard) -> None:
    made = here.make()
    with pytest.raises(Refused, match="has a tree at") as caught:
        here.spaces.create(replace(made, path=made.path.with_name("u"), branch="agent/u"), "u")
    assert caught.value.refusal.rule == "name-taken"


def test_a_required_filter_that_is_missing_is_named_and_nothing_is_left(tmp_path: Path, kind: str) -> None:
    team = world(tmp_path, {**FILES, ".gitattributes": "*.bin filter=lfs\n"})
    team.commit({"x.bin": "x"})
    team.push()
    for key, value in {"smudge": "no-such-lfs smudge", "clean": "cat", "required": "true"}.items():
        git(team.top, "config", f"filter.lfs.{key}", value)
    here = yard(team)
    before = refs(team)
    with pytest.raises(Refused, match="no-such-lfs") as caught:
        here.make()
    assert caught.value.refusal.rule == "isolation-failed"
    assert here.left("job-t") == []
    assert refs(team) == before
    assert not list(here.layout.bases.glob("*"))


# ---------------------------------------------------------------- made
def test_the_tree_is_the_base_on_a_branch_of_its_own(here: Yard, kind: str) -> None:
    made = here.make()
    assert here.run(made, "pwd; id -u; git status --porcelain --branch") == f"/ws\n{owner()}\n## agent/t"
    assert here.run(made, "git rev-parse HEAD origin/main; git diff-files; cat src/a.py; git log --format=%s") == (
        f"{made.base}\n{made.base}\na = 1\nfirst"
    )
    assert git(here.team.top, "rev-parse", "agent/t") == made.base
    assert here.repo.mirror.git.refs("refs/interlock/bases/") == {"refs/interlock/bases/job-t": made.base}
    here.run(made, "touch .agent-env x.log; echo new > new.txt; git add -A; git commit -qm mine; git fsck --strict")
    assert (
        here.run(made, "git show --stat --format=%an") == "agent (t)\n\n new.txt | 1 +\n 1 file changed, 1 insertion(+)"
    )
    assert git(here.team.top, "rev-parse", "agent/t") == made.base, "the user's branch moves with the harness alone"
    room = here.spaces.room(made)
    assert room.written == (made.path if kind == "copy" else here.layout.upper("job-t"))
    assert (room.written / "new.txt").read_text() == "new\n"
    assert here.spaces.exists(made)


def test_an_overlay_says_in_its_folder_how_to_look_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bases, "SMALL_FILES", 0)
    made = yard(world(tmp_path, FILES)).make()
    (note,) = made.path.iterdir()
    assert note.name == "SEALED.md"
    assert "interlock shell t" in note.read_text()
    assert "interlock open t" in note.read_text()


def test_the_files_belong_to_whom_the_agent_runs_as(here: Yard) -> None:
    made = here.make()
    written = here.spaces.room(made).written
    assert {path.lstat().st_uid for path in (written, *written.rglob("*"))} == {owner()}


def test_making_it_again_is_nothing(here: Yard) -> None:
    made = here.make()
    here.run(made, "echo mine > src/a.py")
    assert here.spaces.create(made, "t") == made
    assert here.run(made, "cat src/a.py") == "mine"


def test_a_lost_tree_is_made_again_from_its_branch(here: Yard) -> None:
    made = here.make()
    here.run(made, "echo mine > src/a.py; rm -r docs; rm src/b.py; mkdir src/b.py; echo in > src/b.py/x")
    tip = work(here.repo, made).commit
    shutil.rmtree(here.spaces.room(made).written)
    assert not here.spaces.exists(made)
    again = here.spaces.create(made, "t")
    assert here.run(
        again, "git rev-parse HEAD; git status --porcelain; git diff-files; ls; cat src/a.py src/b.py/x"
    ) == (f"{tip}\nREADME.md\nsrc\nmine\nin")


def test_a_lost_tree_without_a_branch_is_refused(here: Yard) -> None:
    made = here.make()
    shutil.rmtree(here.spaces.room(made).written)
    git(here.team.top, "update-ref", "-d", "refs/heads/agent/t")
    with pytest.raises(Refused) as caught:
        here.spaces.create(made, "t")
    assert caught.value.refusal.rule == "workspace-missing"


def test_a_lost_note_costs_no_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bases, "SMALL_FILES", 0)
    here = yard(world(tmp_path, FILES))
    made = here.make()
    here.run(made, "echo mine > src/a.py")
    shutil.rmtree(made.path)
    assert not here.spaces.exists(made)
    with pytest.raises(Refused, match="is gone"):
        here.spaces.room(made)
    here.spaces.create(made, "t")
    assert here.run(made, "cat src/a.py") == "mine"
    assert (made.path / "SEALED.md").is_file()


# ---------------------------------------------------------------- apart
def test_the_store_can_be_read_and_not_written(here: Yard) -> None:
    made = here.make()
    before = snapshot_of(here.layout.store)
    for attack in ("touch x", "mkdir zz", "rm -rf pack info", "mv pack q", "chmod 777 ."):
        told = here.run(made, f"cd /run/interlock/objects; {attack}", code=1)
        assert "Read-only file system" in told, attack
    here.run(made, "git repack -adq; git hash-object -w README.md; rm -rf /run/interlock/objects/* || true")
    assert snapshot_of(here.layout.store) == before


def test_pruning_inside_a_task_harms_itself_alone(here: Yard) -> None:
    one, other = here.make("one"), here.make("other")
    here.run(other, "echo x > x.txt; git add -A; git commit -qm x")
    here.run(
        one,
        "echo y > y.txt; git add -A; git commit -qm y; git reset -q --hard HEAD~; git reflog expire --expire=now --all; git gc -q --prune=now",
    )
    here.run(one, "rm -rf .git/objects; true")
    assert here.run(other, "git fsck --strict --no-dangling; git log --format=%s -1") == "x"
    assert here.repo.mirror.git.run("fsck", "--strict", "--no-dangling", "--no-progress").out == b""
    assert git(here.layout.store, "fsck", "--strict", "--no-dangling", "--full") == ""
    assert git(here.team.top, "fsck", "--strict", "--no-dangling", "--no-progress") == ""


def test_a_task_sees_the_base_and_no_other_tasks_work(here: Yard) -> None:
    one, other = here.make("one"), here.make("other")
    here.run(other, "echo secret > s.txt; git add -A; git commit -qm s")
    done = work(here.repo, other)
    assert here.repo.mirror.git.run("cat-file", "-e", done.commit).code == 0
    here.run(one, f"git cat-file -e {one.base}")
    assert "could not get object info" in here.run(one, f"git cat-file -t {done.commit}", code=128)


def test_an_overlay_does_not_rename_a_folder_of_the_base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel says EXDEV, as between two disks: mv copies then, and so does git mv not."""
    monkeypatch.setattr(bases, "SMALL_FILES", 0)
    here = yard(world(tmp_path, FILES))
    made = here.make()
    rename = 'python3 -c \'import os; os.rename("src", "source")\''
    assert "Invalid cross-device link" in here.run(made, rename, code=1)
    here.run(made, 'mv docs papers; mkdir own; touch own/x; python3 -c \'import os; os.rename("own", "mine")\'')
    assert (
        here.run(made, "ls; git status --porcelain")
        == "README.md\nmine\npapers\nsrc\n D docs/deep/c.md\n?? mine/\n?? papers/"
    )


# ---------------------------------------------------------------- at once
def test_twenty_at_once(here: Yard) -> None:
    base = here.repo.refresh().oid
    places = [here.place(f"s{number}", base=base) for number in range(20)]

    def make(number: int) -> str:
        yard(here.team).spaces.create(places[number], f"s{number}")
        return here.run(places[number], "git status --porcelain --branch")

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(make, range(20))) == [f"## agent/s{number}" for number in range(20)]
    assert git(here.layout.store, "fsck", "--strict", "--no-dangling") == ""
    assert git(here.team.top, "fsck", "--strict", "--no-dangling", "--no-progress") == ""
    names = {each.name for each in places[0].path.parent.iterdir()}
    assert names == {f"s{number}" for number in range(20)}, "nothing half-made is left beside them"
    assert os.listdir(here.layout.root / "uses") == [] if (here.layout.root / "uses").exists() else True
