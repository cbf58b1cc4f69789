"""Fresh sealed trees for checks: exactly the commit, with nobody else's work, put back between checks, gone afterwards."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.integration.git.build import git, work, world
from tests.integration.git.sealed.rooms import Yard, by_command, run, yard
from tests.needs import needs_sandbox

from interlock.adapters.git.sealed import bases
from interlock.core.problems import Refused

pytest_plugins = ("tests.integration.git.fixtures",)
pytestmark = [needs_sandbox, pytest.mark.usefixtures("no_user_settings")]
FILES: dict[str, str | bytes | None] = {
    "src/a.py": "a = 1\n",
    "src/b.py": "b = 2\n",
    "src/deep/c.py": "c = 3\n",
    "src/deep/d.py": "d = 4\n",
    "link": "x",
    ".gitignore": "*.log\n",
}
STATE = "git status --porcelain --ignored; git diff-files"


@pytest.fixture(params=["copy", "overlay"])
def here(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Yard:
    if request.param == "overlay":
        monkeypatch.setattr(bases, "SMALL_FILES", 0)
    return yard(world(tmp_path, FILES))


def landed(here: Yard) -> tuple[str, str]:
    """The work of one task and that of another, as commits."""
    one, other = here.make("one"), here.make("other")
    here.run(one, "echo mine > src/a.py; rm -r src/deep; echo new > new.txt")
    here.run(other, "echo other > src/b.py")
    return work(here.repo, one).commit, work(here.repo, other, keep="refs/interlock/kept/other/1").commit


def test_what_is_in_the_way_is_refused_and_stays(here: Yard, tmp_path: Path) -> None:
    folder = tmp_path / "fresh"
    folder.mkdir()
    (folder / "mine.txt").touch()
    with pytest.raises(Refused) as caught, here.spaces.fresh(here.repo.last_base().oid, folder, "sealed"):
        pass
    assert caught.value.refusal.rule == "name-taken"
    assert os.listdir(folder) == ["mine.txt"]


def test_a_fresh_tree_is_the_commit_and_no_other_tasks_work(here: Yard, tmp_path: Path) -> None:
    commit, other = landed(here)
    with here.spaces.fresh(commit, tmp_path / "fresh", "sealed") as room:
        assert run(room, f"pwd; git rev-parse HEAD; {STATE}; find src -type f | sort; cat src/a.py new.txt") == (
            f"/ws\n{commit}\nsrc/a.py\nsrc/b.py\nmine\nnew"
        )
        assert run(room, "git log --format=%s; git fsck --strict --no-dangling") == "work\nfirst"
        run(room, f"git cat-file -e {other}", code=1)
        run(room, "echo x > made.log; git commit -q --allow-empty -m x", code=None)
    assert not (tmp_path / "fresh").exists()
    assert here.repo.mirror.git.run("fsck", "--strict", "--no-dangling", "--no-progress").out == b""


def test_a_fresh_tree_has_the_dependencies(tmp_path: Path) -> None:
    here = yard(world(tmp_path, FILES), wanted=by_command("echo there > installed.log", "src/b.py"))
    commit = here.repo.last_base().oid
    with here.spaces.fresh(commit, tmp_path / "fresh", "sealed") as room:
        assert run(room, f"cat installed.log; {STATE}") == "there\n!! installed.log"


def test_what_a_killed_call_left_is_replaced(here: Yard, tmp_path: Path) -> None:
    commit = here.repo.last_base().oid
    call = here.spaces.fresh(commit, tmp_path / "fresh", "sealed")
    with call as room:
        run(room, "echo x > left.txt; chmod 0 src")
        os.rename(tmp_path / "fresh", tmp_path / "kept")
    os.rename(tmp_path / "kept", tmp_path / "fresh")
    with here.spaces.fresh(commit, tmp_path / "fresh", "sealed") as room:
        assert run(room, f"{STATE}; ls") == "link\nsrc"
    assert not (tmp_path / "fresh").exists()


def test_a_tree_is_taken_away_when_the_check_fails(here: Yard, tmp_path: Path) -> None:
    def check() -> None:
        with here.spaces.fresh(here.repo.last_base().oid, tmp_path / "fresh", "sealed") as room:
            run(room, "mkdir locked; touch locked/x; chmod 0 locked")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        check()
    assert not (tmp_path / "fresh").exists()


CHANGES = {
    "a file is written": ("echo x > src/a.py", {"src/a.py"}),
    "a file is gone": ("rm src/a.py", {"src/a.py"}),
    "a mode is changed": ("chmod 755 src/a.py", {"src/a.py"}),
    "a folder is gone": ("rm -r src/deep", {"src/deep"}),
    "a folder is made anew": ("rm -r src/deep; mkdir src/deep; echo x > src/deep/c.py", {"src/deep"}),
    "a folder is a file": ("rm -r src/deep; echo x > src/deep", {"src/deep"}),
    "a folder is a link": ("rm -r src/deep; ln -s /etc src/deep", {"src/deep"}),
    "a file is a folder": ("rm src/a.py; mkdir src/a.py; echo x > src/a.py/y", {"src/a.py"}),
    "a file is a link": ("ln -sf b.py src/a.py", {"src/a.py"}),
    "a file is a copy of itself": ("cp src/a.py x; mv x src/a.py", set[str]()),
    "a file is only touched": ("touch src/a.py", set[str]()),
}


@pytest.mark.parametrize("change", CHANGES)
def test_tracked_files_are_put_back_and_others_stay(here: Yard, tmp_path: Path, change: str) -> None:
    commit, _ = landed_none(here)
    script, wanted = CHANGES[change]
    with here.spaces.fresh(commit, tmp_path / "fresh", "sealed") as room:
        run(room, f"{script}; mkdir -p build; echo x > build/out.o; echo x > made.log")
        told = here.spaces.put_back(room, commit)
        assert {path.rstrip("/").removesuffix("/c.py").removesuffix("/d.py") for path in told} == wanted
        assert run(room, "git status --porcelain --ignored; cat src/a.py src/deep/c.py") == (
            "?? build/\n!! made.log\na = 1\nc = 3"
        )
        assert here.spaces.put_back(room, commit) == ()


def landed_none(here: Yard) -> tuple[str, str]:
    base = here.repo.last_base().oid
    return base, base


def test_a_submodule_and_odd_names_are_as_in_the_commit(here: Yard, tmp_path: Path) -> None:
    names: dict[str, str | bytes | None] = {"a b/ü\n.txt": "1", "-x": "2", "[g]*": "3"}
    here.team.commit(names)
    commit = here.team.push()
    here.repo.refresh()
    with here.spaces.fresh(commit, tmp_path / "fresh", "sealed") as room:
        assert run(room, STATE) == ""
        run(room, "rm -r 'a b'; echo x > ./-x; rm '[g]*'")
        assert set(here.spaces.put_back(room, commit)) >= {"-x", "[g]*"}
        assert run(room, f"{STATE}; cat ./-x") == "2"
    assert git(here.team.top, "status", "--porcelain") == ""
