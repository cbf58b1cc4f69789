"""Templates over real commands, in a plain tree and behind walls: what cannot be rendered, what leaves the tree, the rest."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from interlock.adapters.commands import HostCommands
from interlock.app.templates import Staging, render
from interlock.core.contract.around import Template
from interlock.core.problems import Refused
from interlock.core.sandbox import Sandbox
from interlock.host.sandbox import bwrap, identity
from interlock.ports.isolation import Room

VALUES = {"APP_PORT": "3010", "DATABASE_URL": "postgres://here/b1"}


@pytest.fixture(params=["worktree", "sealed"])
def tree(request: pytest.FixtureRequest, tmp_path: Path):
    for name in ("tree", "home", "staging"):
        (tmp_path / name).mkdir()
    sandbox = None
    if request.param == "sealed":
        if sys.platform != "linux" or not bwrap.find(overlay=False):
            if os.environ.get("CI") == "true":
                pytest.fail("no bubblewrap on this machine, and CI must run this")
            pytest.skip("no bubblewrap on this machine")
        user = identity.default_user()
        for name in ("tree", "home", "staging"):
            identity.own(tmp_path / name, user)
        sandbox = Sandbox(home=str(tmp_path / "home"), tree=str(tmp_path / "tree"), user=user)
    return Tree(tmp_path, Room(path=tmp_path / "tree", written=tmp_path / "tree", sandbox=sandbox))


class Tree:
    def __init__(self, root: Path, room: Room) -> None:
        self.root = root
        self.path = room.path
        self.staging = Staging(commands=HostCommands(), room=room, folder=root / "staging", log=root / "tree.log")

    def write(self, path: str, text: str) -> None:
        target = self.path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        identity.own(self.path, identity.default_user() if self.staging.room.sandbox else None)

    def render(self, *pairs: tuple[str, str]) -> tuple[str, ...]:
        templates = [Template(source=source, target=target) for source, target in pairs]
        return render(self.staging, templates, VALUES)

    def refused(self, *pairs: tuple[str, str]):
        with pytest.raises(Refused) as refused:
            self.render(*pairs)
        assert refused.value.refusal.rule == "template"
        return refused.value.refusal


def test_a_missing_variable_is_named_with_file_and_line_and_nothing_is_written(tree: Tree) -> None:
    tree.write("good.j2", "port={{ APP_PORT }}\n")
    tree.write("conf/bad.j2", "port={{ APP_PORT }}\n\nkey={{ API_KEY }}\n")
    tree.write("conf/worse.j2", "{% if %}\n")
    refusal = tree.refused(("good.j2", "good"), ("conf/bad.j2", "bad"), ("conf/worse.j2", "worse"))
    told = [(str(problem.where), problem.what) for problem in refusal.problems]
    assert told[0] == ("conf/bad.j2:3", "'API_KEY' is undefined.")
    assert told[1][0] == "conf/worse.j2:1"
    assert not (tree.path / "good").exists()
    assert list((tree.root / "staging").iterdir()) == []


@pytest.mark.parametrize("path", ["../out", "/etc/out", "a/../../out", ".git/config", ".GIT/hooks/x"])
def test_a_path_that_leaves_the_tree_is_refused(tree: Tree, path: str) -> None:
    tree.write("good.j2", "x")
    assert path in tree.refused(("good.j2", path)).what
    assert path in tree.refused((path, "good")).what
    assert not (tree.root / "out").exists()


def test_a_folder_that_is_a_link_is_not_followed(tree: Tree) -> None:
    outside = tree.root / "outside"
    outside.mkdir()
    tree.write("good.j2", "x")
    (tree.path / "conf").symlink_to(outside)
    assert "link conf" in tree.refused(("good.j2", "conf/app.env")).what
    assert list(outside.iterdir()) == []
    (outside / "source.j2").write_text("secret")
    tree.refused(("conf/source.j2", "copy"))
    assert not (tree.path / "copy").exists()


def test_a_target_that_is_a_link_is_replaced_and_what_it_led_to_stays(tree: Tree) -> None:
    secret = tree.root / "precious"
    secret.write_text("precious")
    tree.write("good.j2", "port={{ APP_PORT }}")
    (tree.path / "app.env").symlink_to(secret)
    (tree.path / ".app.env.interlock").symlink_to(secret)
    assert tree.render(("good.j2", "app.env")) == ("app.env",)
    assert secret.read_text() == "precious"
    assert not (tree.path / "app.env").is_symlink()
    assert (tree.path / "app.env").read_text() == "port=3010"


def test_a_target_that_is_a_link_to_a_folder_is_replaced_and_the_folder_stays_empty(tree: Tree) -> None:
    outside = tree.root / "outside"
    outside.mkdir()
    tree.write("good.j2", "x")
    (tree.path / "app.env").symlink_to(outside)
    tree.render(("good.j2", "app.env"))
    assert (tree.path / "app.env").read_text() == "x"
    assert list(outside.iterdir()) == []


def test_a_template_that_is_not_a_plain_file_is_told(tree: Tree) -> None:
    secret = tree.root / "secret"
    secret.write_text("secret")
    (tree.path / "link.j2").symlink_to(secret)
    os.mkfifo(tree.path / "pipe.j2")
    for source in ("link.j2", "pipe.j2", "absent.j2", "absent/folder.j2"):
        assert "not a plain file" in tree.refused((source, "out")).what
    assert not (tree.path / "absent").exists()
    (tree.path / "folder").mkdir()
    tree.write("good.j2", "x")
    assert "is a folder" in tree.refused(("good.j2", "folder")).what


@pytest.mark.parametrize(
    "text",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ 'a' * 10000000000 }}",
        "{{ 9 ** 9 ** 9 }}",
        "{% include 'good.j2' %}",
        "{% for i in range(10000000) %}x{% endfor %}",
        "{{ 1 / 0 }}",
        "{{ APP_PORT + 1 }}",
    ],
)
def test_what_reaches_for_more_than_text_is_refused_at_its_line(tree: Tree, text: str) -> None:
    tree.write("good.j2", "x")
    tree.write("evil.j2", f"first line\n{text}")
    refusal = tree.refused(("evil.j2", "out"))
    assert str(refusal.problems[0].where) == "evil.j2:2", refusal.problems[0]


def test_what_is_no_text_or_too_large_is_refused(tree: Tree) -> None:
    tree.write("x.j2", "")
    (tree.path / "x.j2").write_bytes(b"\xff\xfe")
    assert "UTF-8" in tree.refused(("x.j2", "x")).what
    (tree.path / "x.j2").write_bytes(b"x" * (1 << 21))
    assert "larger than" in tree.refused(("x.j2", "x")).what


def test_it_is_rendered_as_it_stands_with_folders_made_and_said_again_without_a_change(tree: Tree) -> None:
    tree.write("conf/a b.j2", "port={{ APP_PORT }}\nurl={{ DATABASE_URL }}\n{# told #}<&>'\"\n")
    pairs = (("conf/a b.j2", "made here/it's/app.env"), ("conf/a b.j2", "top.env"))
    for _ in range(2):
        assert tree.render(*pairs) == ("made here/it's/app.env", "top.env")
    expected = "port=3010\nurl=postgres://here/b1\n<&>'\"\n"
    assert (tree.path / "made here" / "it's" / "app.env").read_text() == expected
    assert (tree.path / "top.env").read_text() == expected
    left = {each.name for each in tree.path.rglob("*")}
    assert left == {"conf", "a b.j2", "made here", "it's", "app.env", "top.env"}
    assert list((tree.root / "staging").iterdir()) == []


def test_no_templates_touch_nothing(tree: Tree) -> None:
    assert tree.render() == ()
    assert not (tree.root / "tree.log").exists()
