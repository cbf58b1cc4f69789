"""What a run is handed beside its card: rules of the policy and files that its client reads by itself, from the base; judging them is core's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from interlock.app.base import View
from interlock.core.agent import rules
from interlock.core.agent.rules import Handed
from interlock.core.contract.agents import Rules
from interlock.core.contract.card import AgentChoice
from interlock.core.contract.policy import Policy
from interlock.core.problems import Refusal, Refused
from interlock.ports.bundle import Ports
from interlock.ports.repository import Repo


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """What an agent would be handed on the default branch, and why that is too much, if it is."""

    agent: str | None
    files: tuple[Handed, ...]
    refusal: Refusal | None

    @property
    def loaded(self) -> int:
        """Bytes that every call of a run pays for."""
        return sum(each.loaded for each in self.files)

    def as_json(self) -> dict[str, Any]:
        """The shape of ``policy rules --json`` for one agent."""
        return {
            "agent": self.agent,
            "loaded": self.loaded,
            "refusal": self.refusal.as_json() if self.refusal else None,
            "files": [{**each.as_json(), "changed": each.changed, "stale": each.stale} for each in self.files],
        }


def handed(ports: Ports, view: View, choice: AgentChoice) -> tuple[Handed, ...]:
    """The files that a run with this choice is handed, as they are on the default branch.

    Raises Refused (rules-size) when they are more than the policy allows.
    """
    found = _read(ports.repo, view.policy.rules, view.base.oid, choice.use, ports.repo.files(view.base.oid))
    refusal = rules.too_large(found, view.policy.rules)
    if refusal is not None:
        raise Refused(refusal)
    return found


def overview(repo: Repo, policy: Policy, commit: str, use: str | None) -> Overview:
    """What an agent would be handed on a commit, each with its last change and what makes it stale."""
    files = repo.files(commit)
    known, now = frozenset(files), repo.last_change(commit) or 0.0
    found = []
    for each in _read(repo, policy.rules, commit, use, files):
        changed = repo.last_change(commit, each.path)
        text = (repo.read(commit, each.path) or b"").decode("utf-8", "replace")
        why = rules.stale(text, policy.rules, known, changed=changed, now=now)
        found.append(replace(each, changed=changed, stale=why))
    return Overview(agent=use, files=tuple(found), refusal=rules.too_large(found, policy.rules))


def _read(repo: Repo, wanted: Rules, commit: str, use: str | None, files: tuple[str, ...]) -> tuple[Handed, ...]:
    asked = rules.wanted(wanted, use, files)
    blobs = repo.read_many([(commit, path) for path, _ in asked])
    pairs = zip(asked, blobs, strict=True)
    return tuple(rules.handed(path, how, blob.data) for (path, how), blob in pairs if blob is not None)
