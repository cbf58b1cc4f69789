"""What the tests of a real Codex share: where it is, rooms for it at both levels, and its run through adapter, gateway and runner."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from tests.integration.host.boxes import Box, a_box
from tests.integration.runner.attempt import tidy

from interlock.adapters.agents.codex import CodexAgent
from interlock.adapters.agents.known import KnownAgents
from interlock.core.agent.gateway import ModelGateway, Upstream
from interlock.core.agent.usage import UNKNOWN, Usage
from interlock.core.contract.card import AgentChoice, Card, Check
from interlock.host import clients
from interlock.host.attempts import HostRuns
from interlock.host.sandbox import toolchains
from interlock.ports.agents import Assignment, Reading
from interlock.ports.isolation import Room
from interlock.ports.processes import End, Launch
from interlock.testing.models import ScriptedModels

MODEL = "gpt-5.5"
KEY = "sk-scripted-key-that-stays-outside"


def _missing_codex() -> str | None:
    if os.environ.get("CI") == "true" or clients.find("codex", CodexAgent.wheels["codex"]):
        return None
    return "There is no codex on PATH, and the package openai-codex-cli-bin is not installed."


needs_codex = pytest.mark.skipif(_missing_codex() is not None, reason=_missing_codex() or "")
"""A real Codex; what is missing fails in CI, and is a skip with its reason elsewhere."""


class Codex:
    """A place for one job of Codex: tree, spool and attempts; ``box`` when it is sealed."""

    def __init__(
        self, root: Path, models: ScriptedModels, scenario: str, box: Box | None = None, owns: str = "**"
    ) -> None:
        self.root, self.models, self.scenario, self.box = root, models, scenario, box
        self.agents = KnownAgents(root / "locks")
        self.runs = HostRuns()
        for name in ("tree", "spool"):
            (root / name).mkdir(exist_ok=True)
        (root / "spool" / "card.json").write_text(json.dumps({"owned_paths": [owns]}))

    @property
    def tree(self) -> Path:
        return self.root / "tree"

    def folder(self, number: int = 1) -> Path:
        return self.root / str(number)

    @property
    def room(self) -> Room:
        walls = replace(self.box.sandbox, tools=toolchains.tools()) if self.box else None
        return Room(path=self.tree, written=self.tree, sandbox=walls)

    def assignment(self, number: int = 1, **more: object) -> Assignment:
        env = {
            "INTERLOCK_JOB": "j1",
            "INTERLOCK_ATTEMPT_NUMBER": str(number),
            "INTERLOCK_SPOOL": str(self.root / "spool"),
        }
        given = Assignment(
            card=Card(
                slug="a",
                class_name="tests",
                owned_paths=("**",),
                checks=(Check(run="true"),),
                stop_when=("x",),
                integration_owner="@ana",
            ),
            choice=AgentChoice(use="codex", model=MODEL),
            prompt="Do what the script says.",
            room=self.room,
            env=env,
            folder=self.folder(number),
            gateway=self.gateway(number),
        )
        return replace(given, **more)  # type: ignore[arg-type]

    def gateway(self, number: int) -> ModelGateway:
        """The scripted models of our scenario as the one vendor, with a key that only the gateway knows."""
        listen = "unix" if self.box else f"tcp:127.0.0.1:{_free_port()}"
        own = f"{self.models.url}/{self.scenario}"
        return ModelGateway(
            upstreams=(Upstream(name="scripted", dialects=("responses",), url=own, key=KEY),),
            token=secrets.token_hex(16),
            listen=listen,
            record=str(self.folder(number) / "calls"),
            ledgers=str(self.root / "ledgers"),
            ledger=str(self.root / "ledgers" / f"{number}.json"),
        )

    def launch(self, number: int = 1, **more: object) -> Launch:
        return self.agents.launch(self.assignment(number, **more))

    def run(self, number: int = 1, **more: object) -> End:
        return self.runs.run(self.folder(number), self.launch(number, **more))

    def read(self, end: End, number: int = 1, *, before: Usage = UNKNOWN) -> Reading:
        return self.agents.read("codex", self.folder(number), end, before=before, usd_before=None)

    def output(self, number: int = 1) -> bytes:
        return (self.folder(number) / "output.log").read_bytes()


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@contextmanager
def a_bare(models: ScriptedModels, scenario: str, *, owns: str = "**") -> Iterator[Codex]:
    """A place at level worktree; outside of ``/tmp``, which is no place for a HOME of Codex (facts/agents §1.4)."""
    root = Path(tempfile.mkdtemp(prefix="il-codex-", dir="/var/tmp"))
    try:
        yield Codex(root, models, scenario, owns=owns)
    finally:
        tidy(root)
        shutil.rmtree(root, ignore_errors=True)


@contextmanager
def a_sealed(models: ScriptedModels, scenario: str) -> Iterator[Codex]:
    """A place at level sealed."""
    with a_box() as box:
        codex = Codex(box.root, models, scenario, box)
        try:
            yield codex
        finally:
            tidy(box.root)
