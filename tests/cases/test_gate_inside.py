"""A hostile task inside a real sandbox: its pushes change nothing of the mirror, its own branch goes through, and nothing else shows."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.integration.host.boxes import Box, a_box

from interlock.core.sandbox import Gate, Sandbox
from interlock.host.sandbox import identity

OUTER = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "safe.directory",
    "GIT_CONFIG_VALUE_0": "*",
    **{f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}
PROLOGUE = """
set -u; cd /ws
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
try() { echo "== $1"; shift; "$@" 2>&1; echo "-- $?"; }
"""
PUSHES = """
echo 2 > src/a.py; git commit -qam honest
try own git push origin agent/one
try main git push origin agent/one:main
try other git push origin agent/one:agent/two
try tag git push origin agent/one:refs/tags/v1
try deletion git push origin :agent/one
git commit -q --amend -m amended; try force git push -f origin agent/one; git reset -q --hard origin/agent/one
echo 2 > docs/a.md; git commit -qam outside; try outside git push origin agent/one; git reset -q --hard origin/agent/one
git checkout -q --orphan other; git rm -rqf --cached .; git add src; git commit -qm orphan
try unrelated git push -f origin other:agent/one; git checkout -qf agent/one
head -c 400000 /dev/urandom > src/big; git add src/big; git commit -qm big; try large git push origin agent/one
git reset -q --hard origin/agent/one
"""


def git(folder: Path, *args: str) -> str:
    return subprocess.run(
        ["git", "-C", str(folder), *args], env=OUTER, check=True, capture_output=True, text=True
    ).stdout


class Scene:
    """The mirror, which only we may enter, and the task's private repository in the box's tree."""

    def __init__(self, box: Box) -> None:
        self.box = box
        self.mirror, self.tree, seed = box.root / "mirror.git", box.root / "tree", box.root / "seed"
        git(box.root, "init", "-q", "-b", "main", str(seed))
        for name in ("src/a.py", "docs/a.md"):
            (seed / name).parent.mkdir()
            (seed / name).write_text("1\n")
        git(seed, "add", ".")
        git(seed, "commit", "-qm", "base")
        self.base = git(seed, "rev-parse", "HEAD").strip()
        git(box.root, "init", "-q", "--bare", str(self.mirror))
        git(seed, "push", "-q", str(self.mirror), "main:refs/remotes/origin/main", "main:refs/heads/agent/two")
        git(box.root, "clone", "-q", "--no-local", str(seed), str(self.tree))
        git(self.tree, "checkout", "-qb", "agent/one")
        git(self.tree, "remote", "set-url", "origin", "ssh://gate/repo")
        box.own()
        (box.root / "record").mkdir()
        gate = Gate(
            repository=str(self.mirror),
            branch="agent/one",
            default="main",
            base=self.base,
            owned=("src/**",),
            most_bytes=200_000,
        )
        self.sandbox: Sandbox = replace(box.sandbox, gate=gate, record=str(box.root / "record"))

    def refs(self) -> dict[str, str]:
        lines = git(self.mirror, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        return dict(line.split(" ") for line in lines)

    def run(self, script: str) -> dict[str, tuple[int, str]]:
        """What came of each ``try``: its code and what it wrote."""
        ended, out = self.box.run(PROLOGUE + script, self.sandbox)
        assert ended.how == "exited", (ended, out)
        found = {}
        for part in out.split("== ")[1:]:
            name, _, rest = part.partition("\n")
            text, _, code = rest.rpartition("-- ")
            found[name] = (int(code.split()[0]), text)
        return found


@pytest.fixture
def scene() -> Iterator[Scene]:
    with a_box() as box:
        yield Scene(box)


@pytest.mark.long
def test_gate_a_hostile_tasks_pushes_change_nothing_and_its_honest_one_is_taken(scene: Scene) -> None:
    before = scene.refs()
    found = scene.run(PUSHES)
    own = found.pop("own")
    assert own[0] == 0, own[1]
    assert set(found) == {"main", "other", "tag", "deletion", "force", "outside", "unrelated", "large"}
    for name, (code, text) in found.items():
        assert code != 0, (name, text)
    after = scene.refs()
    tip = after.pop("refs/heads/agent/one")
    assert after == before
    assert git(scene.mirror, "log", "--format=%s", f"{scene.base}..{tip}") == "honest\n"
    told = [json.loads(line) for line in (scene.box.root / "record" / "gate.jsonl").read_text().splitlines()]
    assert [entry["allowed"] for entry in told] == [True] + [False] * 8
    assert "outside" in {entry["rule"] for entry in told}
    assert "maximum allowed size" in told[-1]["why"]
    assert not list(scene.box.root.glob("log/sockets-*")), "the sockets are gone with the run"


@pytest.mark.long
def test_gate_a_fetch_inside_works_as_from_any_remote(scene: Scene) -> None:
    seed = scene.box.root / "seed"
    (seed / "docs" / "a.md").write_text("2\n")
    git(seed, "commit", "-qam", "landed")
    git(seed, "push", "-q", str(scene.mirror), "main:refs/remotes/origin/main")
    found = scene.run(
        """
        try pull git pull -q --rebase origin main
        try log git log --format=%s
        try remote git ls-remote origin
        try clone git clone -q ssh://gate/repo /tmp/again
        try again git -C /tmp/again log --format=%s
        """
    )
    assert {name: code for name, (code, _) in found.items()} == dict.fromkeys(found, 0), found
    assert found["log"][1] == found["again"][1] == "landed\nbase\n"
    assert {line.split("\t")[1] for line in found["remote"][1].splitlines()} == {"HEAD", "refs/heads/main"}


@pytest.mark.long
def test_gate_without_a_gate_there_is_nothing_to_push_to(scene: Scene) -> None:
    scene.sandbox = replace(scene.sandbox, gate=None)
    found = scene.run("try push git push origin agent/one\ntry sockets ls /run/interlock/git.sock")
    assert found["push"][0] != 0
    assert found["sockets"][0] != 0


def test_gate_the_mirror_cannot_be_entered_from_inside(scene: Scene) -> None:
    found = scene.run(f"try read ls {scene.mirror}\ntry root ls {scene.box.root}")
    assert found["read"][0] != 0
    assert found["root"][0] != 0
    assert identity.default_user() != 0
