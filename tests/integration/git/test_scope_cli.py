"""``interlock scope`` and ``interlock overlap`` as a person or a script meets them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.integration.git.build import ENV, World, git, place, work, world, write

pytest_plugins = ("tests.integration.git.fixtures",)
pytestmark = pytest.mark.usefixtures("no_user_settings")

CARD = """\
slug: {slug}
class: vertical-slice
goal: x
owned_paths: [src/{slug}/**]
checks: ["true"]
done_when: [done]
stop_when: [never]
integration_owner: "@ana"
"""


def ilk(where: Path, *words: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "interlock", *words], cwd=where, env=ENV, capture_output=True, text=True
    )
    return done.returncode, done.stdout, done.stderr


def answer(where: Path, *words: str) -> tuple[int, dict[str, Any]]:
    code, out, _ = ilk(where, *words, "--json")
    return code, json.loads(out)


@pytest.fixture
def carded(tmp_path: Path) -> World:
    cards = {f"tasks/{slug}.yaml": CARD.format(slug=slug) for slug in ("a", "b")}
    return world(tmp_path, {"src/a/x.py": "1\n", "src/b/y.py": "2\n", "shared.txt": "s\n", **cards})


def branch(team: World, slug: str, files: dict[str, str | bytes | None], *, push: bool = False) -> None:
    git(team.top, "switch", "-q", "-c", f"agent/{slug}", "main")
    team.commit(files)
    if push:
        team.push(f"agent/{slug}")
    git(team.top, "switch", "-q", "main")


def test_the_command_loads_nothing_heavy(carded: World) -> None:
    branch(carded, "a", {"src/a/new.py": "x"})
    code = (
        "import sys\n"
        "sys.argv = ['interlock', 'scope', 'a', '--base', 'main', '--json']\n"
        "from interlock.cli.main import main\n"
        "try:\n    main()\n"
        "except SystemExit:\n    pass\n"
        "heavy = {'sqlalchemy', 'dbos', 'rich', 'alembic', 'pydantic', 'psutil'} & set(sys.modules)\n"
        "print(sorted(heavy), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=carded.top, env=ENV, capture_output=True, text=True)
    assert json.loads(done.stdout)["ok"]
    assert done.stderr.strip() == "[]"


def test_with_a_base_nothing_is_fetched_and_nothing_is_made(carded: World) -> None:
    branch(carded, "a", {"src/a/new.py": "x"})
    carded.remote.rename(carded.root / "away")
    code, told = answer(carded.top, "scope", "a", "--base", "main")
    assert (code, told["ok"]) == (0, True)
    assert told["card"] == {"ref": "main:tasks/a.yaml", "oid": git(carded.top, "rev-parse", "main:tasks/a.yaml")}
    assert not (carded.top / ".git" / "interlock").exists()
    assert git(carded.top, "status", "--porcelain") == ""


def test_without_a_base_the_default_branch_is_fetched(carded: World) -> None:
    branch(carded, "a", {"src/a/new.py": "x", "shared.txt": "mine\n"})
    code, told = answer(carded.top, "scope", "a")
    assert (code, [each["path"] for each in told["violations"]]) == (1, ["shared.txt"])
    wider = CARD.format(slug="a").replace("src/a/**", "src/a/**, shared.txt")
    moved = carded.outsider({"tasks/a.yaml": wider})
    code, told = answer(carded.top, "scope", "a")
    assert (code, told["ok"], told["base"]) == (0, True, {"ref": "origin/main", "oid": moved})


def test_a_card_that_is_not_ready_is_enough_to_judge_by(carded: World) -> None:
    vague = (
        "slug: a\nclass: vertical-slice\nowned_paths: [src/a/**]\nchecks: []\nstop_when: []\nintegration_owner: TBD\n"
    )
    carded.commit({"tasks/a.yaml": vague})
    branch(carded, "a", {"src/a/new.py": "x", "src/b/y.py": "3\n"})
    code, told = answer(carded.top, "scope", "a", "--base", "main")
    assert (code, [each["path"] for each in told["violations"]]) == (1, ["src/b/y.py"])


def test_a_card_that_cannot_be_read_gives_no_verdict(carded: World) -> None:
    carded.commit({"tasks/a.yaml": "slug: a\nslug: a\nowned_paths: [src/**]\n"})
    branch(carded, "a", {"src/a/new.py": "x"})
    code, told = answer(carded.top, "scope", "a", "--base", "main")
    assert code == 1
    assert (told["ok"], told["violations"], "changed" in told) == (False, [], False), "no verdict is a no"
    assert told["problems"]


def test_a_policy_that_cannot_be_read_gives_no_verdict(carded: World) -> None:
    carded.commit({"interlock.yaml": "protected_paths: {a: b}\n"})
    branch(carded, "a", {"src/a/new.py": "x"})
    code, told = answer(carded.top, "scope", "a", "--base", "main")
    assert code == 1
    assert (told["ok"], told["violations"], "changed" in told) == (False, [], False), "no verdict is a no"


def test_protected_paths_come_from_the_base(carded: World) -> None:
    carded.commit({"interlock.yaml": "protected_paths: [src/a/locked/**]\n"})
    branch(carded, "a", {"src/a/locked/x": "x", "interlock.yaml": "protected_paths: []\n"})
    code, told = answer(carded.top, "scope", "a", "--base", "main")
    assert code == 1
    assert ("src/a/locked/x", "protected") in {(each["path"], each["rule"]) for each in told["violations"]}


def test_all_open_branches_at_once_local_before_remote_and_merged_ones_left_out(carded: World) -> None:
    branch(carded, "a", {"src/a/new.py": "x"}, push=True)
    branch(carded, "b", {"src/b/new.py": "x"}, push=True)
    git(carded.top, "branch", "-D", "agent/b")
    git(carded.top, "switch", "-q", "agent/a")
    carded.commit({"shared.txt": "only here\n"})
    git(carded.top, "switch", "-q", "main")
    git(carded.top, "branch", "agent/done", "main")
    for base in (["--base", "main"], []):
        code, told = answer(carded.top, "scope", "--all", *base)
        assert code == 1
        assert {each["head"]["ref"]: each["ok"] for each in told["results"]} == {
            "agent/a": False,
            "origin/agent/b": True,
        }


def test_overlap_of_open_branches(carded: World) -> None:
    branch(carded, "a", {"src/a/new.py": "x", "shared.txt": "a\n"}, push=True)
    branch(carded, "b", {"src/b/new.py": "x", "shared.txt": "b\n"})
    for words in (["--base", "main"], []):
        code, told = answer(carded.top, "overlap", *words)
        assert code == 0
        assert told["files"] == {"shared.txt": ["agent/a", "agent/b"]}, "a branch does not overlap with its own copy"
        assert told["cut"] is False
    code, told = answer(carded.top, "overlap", "agent/a", "origin/agent/a", "--base", "main")
    assert set(told["files"]) == {"shared.txt", "src/a/new.py"}, "named refs are taken as they are"
    code, out, _ = ilk(carded.top, "overlap", "--base", "main")
    assert out == "shared.txt: agent/a agent/b\n"


def test_work_of_a_task_is_judged_from_its_tree_too(carded: World) -> None:
    repo = carded.repo()
    made = place(carded, "a", "j", repo)
    write(made.path, {"src/a/new.py": "x", "src/b/y.py": "9\n"})
    work(repo, made)
    code, told = answer(made.path, "scope", "a")
    assert (code, [each["path"] for each in told["violations"]]) == (1, ["src/b/y.py"])


def test_misuse_says_what_to_type(carded: World) -> None:
    for words in (["scope"], ["scope", "a", "--all"], ["scope", "a", "b", "--head", "HEAD"]):
        code, _, err = ilk(carded.top, *words)
        assert code == 2, words
        assert "interlock scope" in err
    code, _, err = ilk(carded.root, "overlap", "--base", "main")
    assert code == 2
    assert "not inside a Git repository" in err


def test_the_text_says_why(carded: World) -> None:
    branch(carded, "a", {"src/b/y.py": "3\n"})
    code, out, _ = ilk(carded.top, "scope", "a", "--base", "main")
    assert code == 1
    assert out.splitlines() == [
        "agent/a: refused, 1 of 1 change is not allowed.",
        "  src/b/y.py [outside] The card owns src/a/**.",
    ]
    code, out, err = ilk(carded.top, "scope", "ghost", "--base", "main", "--head", "agent/a")
    assert (code, out) == (1, "")
    assert "refused (unknown-card)" in err
