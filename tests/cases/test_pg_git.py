"""Cases of odd names and missing history, through the real commands: scope and overlap in any repository."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.integration.git.build import ENV, World, git, world, write

from interlock.adapters.git.reader import open_reader
from interlock.core.gate.changes import SUBMODULE, SYMLINK
from interlock.core.problems import Refused

pytest_plugins = ("tests.integration.git.fixtures",)
pytestmark = pytest.mark.usefixtures("no_user_settings")

CARD = """\
slug: {slug}
class: vertical-slice
goal: try the scope gate
owned_paths: {owned}
checks: ["true"]
done_when: [it is done]
stop_when: [a change outside owned_paths is needed]
integration_owner: "@ana"
"""
ODD = {
    "src/näme.txt": "a",
    "src/with space.txt": "b",
    "src/tab\there.txt": "c",
    "src/new\nline.txt": "d",
    'src/quote".txt': "e",
    "src/back\\slash.txt": "f",
    os.fsdecode(b"src/latin-\xe9.txt"): "g",
    "src/-dash.txt": "h",
    "src/:colon.txt": "i",
    "src/ends with \r": "j",
}


def ilk(where: Path, *args: str) -> tuple[int, dict[str, Any]]:
    """Run the command line with --json; gives the exit code and the answer."""
    done = subprocess.run([sys.executable, "-m", "interlock", *args, "--json"], cwd=where, env=ENV, capture_output=True)
    assert done.stdout, done.stderr.decode()
    return done.returncode, json.loads(done.stdout.decode("utf-8"))


def with_card(root: Path, owned: str = "[src/**]") -> World:
    files = {"src/a.py": "a\n", "theirs/b.py": "b\n", "tasks/t.yaml": CARD.format(slug="t", owned=owned)}
    return world(root, {**files, "tasks/u.yaml": CARD.format(slug="u", owned=owned)})


def branch(team: World, slug: str, files: dict[str, str | bytes | None]) -> str:
    git(team.top, "switch", "-q", "-c", f"agent/{slug}", "main")
    oid = team.commit(files)
    git(team.top, "switch", "-q", "main")
    return oid


def test_pg_06_odd_names_inside_the_owned_folder_pass_and_outside_are_named_exactly(tmp_path: Path) -> None:
    team = with_card(tmp_path)
    branch(team, "t", dict(ODD))
    code, answer = ilk(team.top, "scope", "t", "--base", "origin/main")
    assert (code, answer["ok"], answer["changed"]) == (0, True, len(ODD))
    branch(team, "u", {name.replace("src/", "theirs/"): text for name, text in ODD.items()})
    code, answer = ilk(team.top, "scope", "u", "--base", "origin/main")
    assert (code, answer["ok"]) == (1, False)
    assert {each["path"] for each in answer["violations"]} == {name.replace("src/", "theirs/") for name in ODD}
    assert {each["rule"] for each in answer["violations"]} == {"outside"}
    paths = [os.fsencode(each["path"]) for each in answer["violations"]]
    assert all(os.path.lexists(team.top / os.fsdecode(path)) is False for path in paths)


def test_pg_06_overlap_prints_the_full_name_once(tmp_path: Path) -> None:
    team = with_card(tmp_path)
    branch(team, "t", dict(ODD))
    branch(team, "u", {**{name: f"{text}!" for name, text in ODD.items()}, "src/only-u.txt": "x"})
    code, answer = ilk(team.top, "overlap", "--base", "origin/main")
    assert code == 0
    assert answer["files"] == {name: ["agent/t", "agent/u"] for name in ODD}
    assert answer["cut"] is False
    code, answer = ilk(team.top, "overlap", "agent/t", "main", "--base", "origin/main")
    assert answer["files"] == {}


def test_pg_06_text_output_can_be_printed_whatever_the_name(tmp_path: Path) -> None:
    team = with_card(tmp_path)
    branch(team, "t", {name.replace("src/", "theirs/"): text for name, text in ODD.items()})
    done = subprocess.run(
        [sys.executable, "-m", "interlock", "scope", "t", "--base", "origin/main"],
        cwd=team.top,
        env={**ENV, "LC_ALL": "C.UTF-8"},
        capture_output=True,
    )
    lines = done.stdout.decode("utf-8").splitlines()
    assert len([line for line in lines if "[outside]" in line]) == len(ODD)
    assert any(r'"theirs/latin-\xe9.txt"' in line for line in lines)
    assert any(r'"theirs/new\nline.txt"' in line for line in lines)


def test_pg_06_both_names_of_a_rename_count_and_the_old_one_is_noted(tmp_path: Path) -> None:
    team = with_card(tmp_path)
    git(team.top, "switch", "-q", "-c", "agent/t")
    git(team.top, "mv", "theirs/b.py", "src/b.py")
    git(team.top, "commit", "-qm", "move")
    git(team.top, "config", "diff.renames", "copies")
    code, answer = ilk(team.top, "scope", "t", "--base", "origin/main", "--head", "HEAD")
    assert code == 1
    assert [(each["path"], each["rule"]) for each in answer["violations"]] == [("theirs/b.py", "outside")]
    (added,) = [c for c in open_reader(team.top).changes("origin/main", "HEAD") if c.status == "A"]
    assert (added.path, added.renamed_from) == ("src/b.py", "theirs/b.py")


def test_pg_06_the_card_comes_from_the_base(tmp_path: Path) -> None:
    team = with_card(tmp_path)
    branch(team, "t", {"tasks/t.yaml": CARD.format(slug="t", owned='["**"]'), "theirs/b.py": "q\n"})
    code, answer = ilk(team.top, "scope", "t", "--base", "main")
    assert code == 1
    assert {each["rule"] for each in answer["violations"]} == {"protected", "outside"}
    assert answer["card"]["oid"] == git(team.top, "rev-parse", "main:tasks/t.yaml")


def test_pg_06_links_and_submodules_are_told_apart(tmp_path: Path) -> None:
    team = with_card(tmp_path)
    git(team.top, "switch", "-q", "-c", "agent/t")
    (team.top / "src" / "out").symlink_to("../theirs/b.py")
    (team.top / "src" / "in").symlink_to("a.py")
    git(team.root, "clone", "-q", str(team.remote), str(team.top / "src" / "nested"))
    git(team.top, "add", "-A", code=None)
    git(team.top, "commit", "-qm", "odd things")
    changes = {c.path: c for c in open_reader(team.top).changes("main", "HEAD")}
    assert changes["src/out"].target == "../theirs/b.py"
    assert changes["src/out"].new_mode == SYMLINK
    assert changes["src/nested"].new_mode == SUBMODULE
    code, answer = ilk(team.top, "scope", "t", "--base", "origin/main", "--head", "HEAD")
    assert code == 1
    rules = {each["path"]: each["rule"] for each in answer["violations"]}
    assert rules == {"src/out": "symlink", "src/nested": "submodule"}


def test_pg_06_a_submodule_cannot_be_hidden_by_a_setting(tmp_path: Path) -> None:
    team = with_card(tmp_path)
    git(team.root, "clone", "-q", str(team.remote), str(team.top / "theirs" / "lib"))
    write(team.top, {".gitmodules": '[submodule "lib"]\n\tpath = theirs/lib\n\turl = x\n\tignore = all\n'})
    git(team.top, "add", "-A", code=None)
    git(team.top, "commit", "-qm", "a submodule")
    team.push()
    git(team.top, "config", "submodule.lib.ignore", "all")
    git(team.top, "config", "diff.ignoreSubmodules", "all")
    git(team.top, "switch", "-q", "-c", "agent/t")
    other = git(team.top / "theirs" / "lib", "commit", "-q", "--allow-empty", "-m", "y", code=None)
    new = git(team.top / "theirs" / "lib", "rev-parse", "HEAD")
    assert other == ""
    git(team.top, "update-index", "--cacheinfo", f"160000,{new},theirs/lib")
    git(team.top, "commit", "-q", "--allow-empty", "-m", "bump")
    code, answer = ilk(team.top, "scope", "t", "--base", "main", "--head", "HEAD")
    assert code == 1
    assert [each["path"] for each in answer["violations"]] == ["theirs/lib"]


def test_pg_06_attributes_and_settings_of_the_repository_do_not_change_the_answer(tmp_path: Path) -> None:
    team = with_card(tmp_path)
    branch(team, "t", {"src/a.py": "x\n", "theirs/b.py": "y\n", ".gitattributes": "*.py diff=evil -diff\n"})
    for name, value in {
        "diff.evil.textconv": f"touch {tmp_path}/ran; cat",
        "diff.external": f"touch {tmp_path}/ran",
        "diff.noprefix": "true",
        "core.quotePath": "true",
        "diff.orderFile": "/dev/null",
        "diff.relative": "true",
        "core.pager": "false",
    }.items():
        git(team.top, "config", name, value)
    code, answer = ilk(team.top / "src", "scope", "t", "--base", "main")
    assert code == 1
    assert {each["path"] for each in answer["violations"]} == {"theirs/b.py", ".gitattributes"}
    assert not (tmp_path / "ran").exists()


def test_pg_06_replace_refs_and_grafts_change_nothing(tmp_path: Path) -> None:
    team = with_card(tmp_path)
    bad = branch(team, "t", {"theirs/b.py": "y\n"})
    good = branch(team, "u", {"src/a.py": "y\n"})
    git(team.top, "replace", bad, good)
    (team.top / ".git" / "info").mkdir(exist_ok=True)
    (team.top / ".git" / "info" / "grafts").write_text(f"{bad}\n")
    code, answer = ilk(team.top, "scope", "t", "--base", "main")
    assert code == 1
    assert [each["path"] for each in answer["violations"]] == ["theirs/b.py"]


def shallow(team: World) -> Path:
    """A clone of depth 1 of a branch whose base moved on, as CI makes it."""
    branch(team, "t", {"src/a.py": "x\n"})
    git(team.top, "push", "-q", "origin", "agent/t")
    for number in range(3):
        team.outsider({f"theirs/n{number}.txt": "x"})
    clone = team.root / "clone"
    git(team.root, "clone", "-q", "--depth", "1", "--no-single-branch", f"file://{team.remote}", "clone")
    return clone


def test_pg_08_a_shallow_clone_gets_an_error_with_its_fix_and_no_verdict(tmp_path: Path) -> None:
    clone = shallow(with_card(tmp_path))
    code, answer = ilk(clone, "scope", "t", "--base", "origin/main", "--head", "origin/agent/t")
    assert code == 1
    assert answer["code"] == "shallow"
    assert "fetch-depth: 0" in answer["hint"]
    assert (answer["ok"], answer["violations"], "changed" in answer) == (False, [], False), "no verdict is a no"
    code, answer = ilk(clone, "overlap", "origin/agent/t", "--base", "origin/main")
    assert (code, answer["code"]) == (1, "shallow")
    git(clone, "fetch", "-q", "--unshallow")
    code, answer = ilk(clone, "scope", "t", "--base", "origin/main", "--head", "origin/agent/t")
    assert (code, answer["ok"], answer["changed"]) == (0, True, 1)


def test_pg_08_a_shallow_clone_does_not_hide_whose_a_change_is(tmp_path: Path) -> None:
    """The trailer stands in a commit below the head, which a clone of depth 1 does not have."""
    team = with_card(tmp_path)
    git(team.top, "switch", "-q", "-c", "feature", "main")
    (team.top / "theirs.txt").write_text("x\n")
    git(team.top, "add", "theirs.txt")
    git(team.top, "commit", "-q", "-m", "Work\n\nInterlock-Card: t@0123456789ab")
    team.commit({"src/a.py": "x\n"})
    git(team.top, "push", "-q", "origin", "feature")
    git(team.root, "clone", "-q", "--depth", "1", "--no-single-branch", f"file://{team.remote}", "clone")
    clone = team.root / "clone"
    asked = ("scope", "--change", "feature", "--base", "origin/main", "--head", "origin/feature")
    code, answer = ilk(clone, *asked)
    assert (code, answer["code"]) == (1, "shallow")
    assert "fetch-depth: 0" in answer["hint"]
    git(clone, "worktree", "add", "-q", "--detach", "../beside", "origin/feature")
    assert ilk(team.root / "beside", *asked)[1]["code"] == "shallow", "a linked work tree has the same history"
    git(clone, "fetch", "-q", "--unshallow")
    code, answer = ilk(clone, *asked)
    assert (code, [each["path"] for each in answer["violations"]]) == (1, ["theirs.txt"])


def test_pg_08_the_mirror_of_a_shallow_clone_is_whole(tmp_path: Path) -> None:
    clone = shallow(with_card(tmp_path))
    code, answer = ilk(clone, "scope", "t", "--head", "origin/agent/t")
    assert (code, answer["ok"], answer["changed"]) == (0, True, 1)
    assert not (clone / ".git" / "interlock" / "mirror.git" / "shallow").exists()


def test_pg_08_no_common_ancestor_is_an_error_and_never_two_trees_compared(tmp_path: Path) -> None:
    team = with_card(tmp_path)
    branch(team, "t", {"src/a.py": "x\n"})
    git(team.top, "switch", "-q", "--orphan", "fresh")
    team.commit({"src/a.py": "a\n", "tasks/t.yaml": CARD.format(slug="t", owned="[src/**]")})
    git(team.top, "branch", "-f", "main", "fresh")
    code, answer = ilk(team.top, "scope", "t", "--base", "main")
    assert (code, answer["code"]) == (1, "no-merge-base")
    assert (answer["ok"], answer["violations"], "changed" in answer) == (False, [], False), "no verdict is a no"
    with pytest.raises(Refused):
        open_reader(team.top).changes("main", "agent/t")


def test_pg_08_one_branch_without_a_verdict_does_not_hide_the_others(tmp_path: Path) -> None:
    team = with_card(tmp_path)
    branch(team, "u", {"src/a.py": "x\n"})
    git(team.top, "switch", "-q", "--orphan", "agent/t")
    team.commit({"src/a.py": "a\n"})
    code, answer = ilk(team.top, "scope", "--all", "--base", "main")
    assert code == 1
    verdicts = {each["slug"]: (each["ok"], each.get("error", {}).get("code")) for each in answer["results"]}
    assert verdicts == {"t": (False, "no-merge-base"), "u": (True, None)}


def test_pg_08_an_empty_difference_is_said_to_be_one(tmp_path: Path) -> None:
    team = with_card(tmp_path)
    branch(team, "t", {})
    code, answer = ilk(team.top, "scope", "t", "--base", "main")
    assert (code, answer["ok"], answer["changed"]) == (0, True, 0)


def test_pg_08_a_missing_card_and_an_unknown_ref_fail_closed(tmp_path: Path) -> None:
    team = with_card(tmp_path)
    branch(team, "ghost", {"src/a.py": "x\n"})
    code, answer = ilk(team.top, "scope", "ghost", "--base", "main")
    assert (code, answer["code"]) == (1, "unknown-card")
    code, answer = ilk(team.top, "scope", "t", "--base", "nowhere")
    assert (code, answer["code"]) == (2, "unknown-ref")
    code, answer = ilk(team.top, "scope", "t", "--base", "main")
    assert code == 2, "no branch of that slug"
