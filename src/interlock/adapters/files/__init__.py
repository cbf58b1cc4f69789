"""Reading cards, caps and policy: YAML and text to values, every problem with its place; judging them is core.contract."""

from __future__ import annotations

from interlock.adapters.files.caps import read_caps
from interlock.adapters.files.cards import read_card
from interlock.adapters.files.policy import read_policy
from interlock.core.contract.agents import AGENTS
from interlock.core.contract.policy import Cap, Policy
from interlock.core.problems import Problem
from interlock.ports.contract import CardFile


class ContractFilesReader:
    """Implements ports.ContractFiles; holds the names of the agents that can be started, and nothing else."""

    def __init__(self, agents: tuple[str, ...] = AGENTS) -> None:
        self._agents = agents

    def card(self, data: bytes, file: str, slug: str, oid: str = "") -> CardFile:
        return read_card(data, file, slug, oid)

    def caps(self, data: bytes, file: str) -> tuple[tuple[Cap, ...], tuple[Problem, ...]]:
        return read_caps(data, file)

    def policy(self, data: bytes, file: str) -> tuple[Policy, tuple[Problem, ...]]:
        return read_policy(data, file, self._agents)
