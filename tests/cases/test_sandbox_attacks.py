"""Every way out of a task's sandbox is tried in a real one, as root's agent and as a plain user's, and none leads out (SB-04, SB-05)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import pytest
from tests.integration.host.boxes import needs_sandbox

from interlock.core.sandbox import Layers, Sandbox
from interlock.host.sandbox import attacks, identity
from interlock.host.sandbox.scene import Scene

_ROOT = Path(__file__).resolve().parents[2]
_PLAIN = """
import json, sys
sys.path.insert(0, sys.argv[1])
from interlock.host.sandbox import attacks
level, contain = sys.argv[2], sys.argv[3] == "contained"
print(json.dumps([[each.name, each.blocked, each.why] for each in attacks.attacks(level, contain=contain)]))
"""
Outcome = tuple[bool | None, str]


def layered(tree: Path, home: Path, user: int | None) -> Sandbox:
    """A task whose tree is layers, as most are."""
    both = tree.parent / "both"
    for name in ("up", "work"):
        (both / name).mkdir(parents=True, exist_ok=True)
    identity.own(both, user)
    return Sandbox(
        home=str(home), layers=Layers(lower=(str(tree),), upper=str(both / "up"), work=str(both / "work")), user=user
    )


@lru_cache(maxsize=1)
def as_we_are() -> dict[str, Outcome]:
    """As root: through both stages.  As anybody else: as that user."""
    return {each.name: (each.blocked, each.why) for each in attacks.attacks("sealed")}


@lru_cache(maxsize=1)
def in_layers() -> dict[str, Outcome]:
    return {each.name: (each.blocked, each.why) for each in attacks.attacks("sealed", layered)}


@lru_cache(maxsize=4)
def as_somebody(level: str, how: str = "contained") -> dict[str, Outcome]:
    """As a user without any right, which root becomes first."""
    words = ["setpriv", "--reuid", "60998", "--regid", "60998", "--clear-groups"] if os.geteuid() == 0 else []
    env = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    argv = [*words, sys.executable, "-c", _PLAIN, str(_ROOT / "src"), level, how]
    done = subprocess.run(argv, env=env, cwd="/", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {name: (blocked, why) for name, blocked, why in json.loads(done.stdout)}


@pytest.fixture(autouse=True)
def _there_is_one() -> None:
    needs_sandbox()
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        pytest.skip("No setpriv to become somebody with.")


@pytest.mark.parametrize("name", attacks.names())
def test_it_is_blocked_for_the_agents_of_this_user(name: str) -> None:
    blocked, why = as_we_are()[name]
    assert blocked is True, why


@pytest.mark.parametrize("name", attacks.names())
def test_it_is_blocked_where_the_tree_is_layers(name: str) -> None:
    blocked, why = in_layers()[name]
    assert blocked is True, why


@pytest.mark.parametrize("name", attacks.names())
def test_it_is_blocked_for_a_plain_user(name: str) -> None:
    blocked, why = as_somebody("sealed")[name]
    assert blocked is True, why


OF_THE_KERNEL = {
    "read /etc/shadow",  # closed to a plain user everywhere
    "open /proc/sys to write",  # to root in a sandbox it would be open
    "enter a namespace",
    "take hold of the keeper",  # there pid 1 is the machine's init
    "leave a link as artifact",  # of no level: the harness follows no link
    "use an inherited descriptor",  # of no level: nothing is handed down
    "read a secret variable",
    "open a VM socket",
    "use bpf",
    "use performance events",
    "use userfaultfd",
    "use io_uring",
    "open a file by its handle",
    "type into the terminal",
    "send a datagram to the network",
    "make a user namespace",
}
"""What may be closed on a machine without our doing; all the others must work without walls, or they prove nothing."""


@pytest.mark.parametrize("name", sorted(set(attacks.names()) - OF_THE_KERNEL))
def test_the_same_attack_works_where_there_are_no_walls(name: str) -> None:
    blocked, why = as_somebody("worktree", "open")[name]
    assert blocked is False, why


def test_the_level_worktree_promises_nothing_it_does_not_hold() -> None:
    found = as_somebody("worktree")
    assert set(found) == set(attacks.names())
    assert not any(blocked for blocked, _ in found.values())
    assert all(why.startswith("This level does not cover it") for _, why in found.values())


@pytest.mark.skipif(os.geteuid() != 0, reason="Only root would run it as root.")
def test_nothing_is_tried_as_root_without_walls() -> None:
    assert {each.blocked for each in attacks.attacks("worktree")} == {None}


def test_no_trace_of_the_scene_stays() -> None:
    with Scene(identity.default_user()).laid() as scene:
        places = [scene.root, scene.tmp, scene.shm]
        assert all(place.exists() for place in places)
        assert scene.victim.poll() is None
    assert not any(place.exists() for place in places)
    assert scene.victim.poll() is not None
    assert "SECRET_OF_THIS_MACHINE" not in os.environ


def test_a_sandbox_that_lets_something_through_is_told(tmp_path: Path) -> None:
    """The judgement is not blind: a room with a hole is found out."""

    def with_a_hole(tree: Path, home: Path, user: int | None) -> Sandbox:
        scene = str(tree.parent)
        return Sandbox(tree=str(tree), home=str(home), user=user).with_bind(scene, scene, writable=True)

    found = {each.name: each.blocked for each in attacks.attacks("sealed", with_a_hole)}
    assert found["write outside"] is False
    assert found["read a secret file"] is False
    assert found["connect to a socket file"] is False
    assert found["change another task's tree"] is False
    assert found["use the kernel's keys"] is True
