"""No git call of ours forces anything away: every argument in the source is looked at."""

from __future__ import annotations

import ast
from pathlib import Path

import interlock

FORCING = {"-f", "-ff", "-D", "-M", "-C", "--hard", "--delete", "prune", "--expire", "gc", "clean"}


def strings() -> list[tuple[Path, int, str]]:
    root = Path(interlock.__file__).parent
    found = []
    for file in [*root.glob("adapters/git/*.py"), *root.glob("host/*.py"), *root.glob("app/*.py")]:
        tree = ast.parse(file.read_text())
        docs = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef))
            and node.body
            and isinstance(node.body[0], ast.Expr)
        }
        found += [
            (file, node.lineno, node.value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs
        ]
    return found


def test_force_stands_only_in_the_lease_of_a_push() -> None:
    forced = [(file.name, text) for file, _, text in strings() if "--force" in text]
    ours = [each for each in forced if each[0] != "branches.py"]  # which tells a person how to put a branch back
    assert ours == [("landing.py", "--force-with-lease=")]
    assert all(text.count("--force") == text.count("--force-with-lease=") for _, text in forced)


def test_no_argument_of_a_git_call_throws_work_away() -> None:
    every = [(file, line, text) for file, line, text in strings() if file.parent.name == "git"]
    assert len(every) > 300, "the scan sees the source"
    every = [
        each for each in every if each[0].name != "vector_world.py"
    ]  # an attacked world of its own, in a temp folder
    bad = [(file.name, line, text) for file, line, text in every if text in FORCING or text.startswith("+refs/heads")]
    assert bad == []


def test_trees_are_never_removed_by_git() -> None:
    calls = [text for file, _, text in strings() if file.parent.name == "git"]
    assert "worktree" in calls
    assert "remove" not in calls
    assert "branch" not in calls, "branches are deleted by update-ref with an expected value alone"
