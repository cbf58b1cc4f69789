"""Killed between evidence, event and checkpoint, whenever that is: the same command goes on, lands once, and the audit finds nothing."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from interlock.app.audit import audit
from interlock.app.dispatch import dispatch
from interlock.core.job.lifecycle import State
from interlock.ports.bundle import Ports
from interlock.testing.world import World
from interlock.wiring import open_ports

DYING = Path(__file__).with_name("dying_evidence.py")
_MOST = 8


@pytest.mark.long
@pytest.mark.parametrize("name", ["row", "event", "committed", "blob", "kept"])
def test_the_same_command_heals_and_the_audit_is_clean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    world = World.make(tmp_path / "w", policy="train: {checks: ['true'], sign_off: none}\n")
    for key, value in world.env.items():
        monkeypatch.setenv(key, value)
    world.card("a", command="mkdir -p a && echo a > a/x")
    world.push()
    ports = open_ports(world.repo)
    dispatch(ports, ("a",), "ana")
    killed = 0
    for number in range(1, _MOST):
        words = [sys.executable, str(DYING), str(world.repo), name, str(number)]
        done = subprocess.run(words, env=world.env, capture_output=True, text=True, check=False)
        killed += done.returncode == -signal.SIGKILL
        assert done.returncode in (0, -signal.SIGKILL), done.stderr
        assert audit(ports).findings == () or _only_no_checkpoint(ports), f"after kill {number}"
        if done.returncode == 0:
            break
    assert killed >= 2, "It was killed at several such places."
    job = ports.store.find("a")
    assert job is not None
    assert job.state is State.LANDED
    assert [row.slug for row in ports.store.landings()] == ["a"]
    assert audit(ports).findings == ()
    ports.store.close()


def _only_no_checkpoint(ports: Ports) -> bool:
    """Before the first one was kept, that there is none is told, and that is all."""
    found = audit(ports).findings
    return [(each.state, each.where) for each in found] == [("missing", "checkpoint")]
