"""The demo's scripted agents with plain git and pytest: each does, well or badly, what the demo says it does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from interlock.demo import agent, cards, repository

pytestmark = pytest.mark.long

GIT = ("git", "-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false")
ENV = {**{k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "PYTEST_"))}, "PYTHONDONTWRITEBYTECODE": "1"}
BY_SLUG = {part.slug: part for part in cards.PARTS}


def run(*argv: str, cwd: Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, cwd=cwd, env=ENV, input=stdin, capture_output=True, text=True, check=False)


def git(cwd: Path, *args: str) -> str:
    done = run(*GIT, *args, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


def suite(cwd: Path, *paths: str) -> subprocess.CompletedProcess[str]:
    return run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *paths, cwd=cwd)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """The demo's repository with its cards, committed."""
    folder = tmp_path / "shop"
    for path, text in {**repository.FILES, **cards.files(sys.executable)}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    git(folder.parent, "init", "-q", "-b", "main", str(folder))
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "base")
    return folder


def play(shop: Path, slug: str, *, stdin: str = "", base: str = "main") -> str:
    """Let a part do its work on a branch of its own; gives the changed paths."""
    git(shop, "checkout", "-q", "-b", f"agent/{slug}", base)
    done = run(sys.executable, str(cards.AGENT), slug, cwd=shop, stdin=stdin)
    assert done.returncode == 0, done.stderr
    git(shop, "add", "-A")
    git(shop, "commit", "-q", "--allow-empty", "-m", slug)
    return git(shop, "diff", "--name-status", "--no-renames", f"{base}...HEAD")


def test_the_base_is_green(shop: Path) -> None:
    done = suite(shop)
    assert done.returncode == 0
    assert f"{cards.WHOLE} passed" in done.stdout


@pytest.mark.parametrize("slug", ["gift-wrap", "net-price", "order-tax", "rounding"])
def test_a_good_part_is_green_alone_and_in_scope(shop: Path, slug: str) -> None:
    changed = play(shop, slug, stdin=agent.ANSWER)
    owned = tuple(pattern.removesuffix("**") for pattern in BY_SLUG[slug].owned)
    assert changed
    assert all(line.split("\t")[1].startswith(owned) for line in changed.splitlines())
    assert suite(shop).returncode == 0
    assert suite(shop, *filter(None, [BY_SLUG[slug].tests])).returncode == 0


def test_the_dependant_is_green_on_what_it_depends_on_and_red_without(shop: Path) -> None:
    play(shop, "gift-wrap")
    play(shop, "gift-greeting", base="agent/gift-wrap")
    assert suite(shop).returncode == 0
    git(shop, "checkout", "-q", "main")
    run(sys.executable, str(cards.AGENT), "gift-greeting", cwd=shop)
    assert suite(shop).returncode == 2


def test_the_pair_merges_without_a_conflict_and_is_red_together(shop: Path) -> None:
    play(shop, "net-price")
    play(shop, "order-tax")
    git(shop, "merge", "-q", "--no-edit", "agent/net-price")
    assert "has no attribute 'net'" in suite(shop).stdout


def test_the_question_is_asked_until_it_is_answered(shop: Path, tmp_path: Path) -> None:
    tool = tmp_path / "bin" / "interlock-task"
    tool.parent.mkdir()
    tool.write_text('#!/bin/sh\nprintf "%s|" "$@"\n', encoding="utf-8")
    tool.chmod(0o755)
    path = f"{tool.parent}:{ENV['PATH']}"
    argv = ("env", f"PATH={path}", sys.executable, str(cards.AGENT), "rounding")
    assert run(*argv, cwd=shop, stdin="no answer here").stdout.endswith(f"|--question|{agent.QUESTION}|")
    assert not git(shop, "status", "--porcelain")


def test_the_bad_parts_are_bad_as_they_are_said_to_be(shop: Path) -> None:
    assert "M\tshop/cart/__init__.py" in play(shop, "quick-search")
    assert "D\tshop/stock/units.py" in play(shop, "box-labels")
    assert suite(shop, "tests/labels").returncode == 0
    assert play(shop, "order-export") == ""
    play(shop, "low-stock")
    assert suite(shop, "tests/alerts").returncode == 5
    play(shop, "stock-tests")
    assert suite(shop, "tests/stock").returncode == 0
    assert "test_no_more_is_taken" not in (shop / "tests/stock/test_stock.py").read_text(encoding="utf-8")


def test_every_card_has_its_part_and_every_part_its_card() -> None:
    assert set(agent.PARTS) | {"loyalty"} == set(BY_SLUG)
