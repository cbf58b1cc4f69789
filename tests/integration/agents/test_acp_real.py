"""A real ACP agent through our bridge and model gateway, where one is named: ``INTERLOCK_REAL_ACP=codex-acp``, with its folder on PATH.

``INTERLOCK_TOOLS`` names the folder that a sandbox has to show for it.  Models are scripted, on loopback.
"""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress
from pathlib import Path

import pytest
from tests.integration.agents.test_acp import Place, place  # noqa: F401 - a fixture
from tests.integration.watching import wait_until

from interlock.core.agent.dialect import Dialect
from interlock.core.agent.gateway import ModelGateway, Upstream
from interlock.core.contract.card import Budget
from interlock.core.problems import Misuse
from interlock.host.attempts import HostRuns
from interlock.testing.models import Run, Say, ScriptedModels, Write

COMMAND = os.environ.get("INTERLOCK_REAL_ACP", "")
pytestmark = pytest.mark.skipif(not COMMAND, reason="INTERLOCK_REAL_ACP names no agent")

BUDGET = Budget(wall=90.0, idle=60.0)
KEY = "sk-real-key-of-the-team"


def gateway(place: Place, url: str, name: str) -> ModelGateway:  # noqa: F811
    dialect: Dialect = "anthropic" if "claude" in COMMAND else "responses"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return ModelGateway(
        upstreams=(Upstream(name="models", dialects=(dialect,), url=url, key=KEY),),
        token="word",
        listen="unix" if place.room.sandbox is not None else f"tcp:127.0.0.1:{port}",
        record=str(place.root / f"{name}.calls"),
        ledgers=str(place.root / "ledgers"),
        ledger=f"{name}.json",
    )


def allow_all(place: Place, folder: Path) -> None:  # noqa: F811
    """A person who allows whatever is asked, until the run has ended."""
    while not (folder / "exit.json").exists():
        for asked in place.agents().watch("acp", folder).asked:
            once = next(each.id for each in asked.choices if each.allows and "always" not in each.id)
            with suppress(Misuse):
                place.agents().answer(folder, asked.id, once, "ana")
        time.sleep(0.3)


def test_it_edits_and_tells_its_usage_and_no_key_is_with_it(place: Place) -> None:  # noqa: F811
    with ScriptedModels() as models:
        dump = Run("env > env.txt; cat ~/.codex/config.toml >> env.txt 2>/dev/null; true")
        url = models.play("edit", Write("hello.txt", "hi\n"), dump, Say("All done."), key=KEY)
        end, found = place.run(
            "1",
            {},
            lambda folder: allow_all(place, folder),
            line=COMMAND,
            budget=BUDGET,
            gateway=gateway(place, url, "1"),
        )
        assert (end.how, found.outcome.kind) == ("exited", "completed"), (end, found)
        assert (place.tree / "hello.txt").read_text() == "hi\n"
        assert KEY not in (place.tree / "env.txt").read_text()
        assert found.seen.usage.total
        assert end.leftovers == ()


def test_a_stop_in_the_middle_of_a_command_leaves_nothing(place: Place) -> None:  # noqa: F811
    def stop(folder: Path) -> None:
        wait_until(lambda: place.agents().watch("acp", folder).tools.get("command"), seconds=60)
        HostRuns().cancel(folder)

    with ScriptedModels() as models:
        url = models.play("long", Run("sleep 311"), Say("All done."))
        end, found = place.run("1", {}, stop, line=COMMAND, budget=BUDGET, gateway=gateway(place, url, "1"))
        assert (end.how, found.outcome.kind, end.leftovers) == ("cancelled", "cancelled", ())


def test_a_model_that_refuses_is_told_as_its_fault(place: Place) -> None:  # noqa: F811
    with ScriptedModels() as models:
        url = models.play("key", Say("never"), key="another key")
        _, found = place.run("1", {}, line=COMMAND, budget=BUDGET, gateway=gateway(place, url, "1"))
        assert (found.outcome.kind, found.outcome.fault) == ("api-error", "auth"), found
