"""What works here, tried and not guessed: features of the machine and of this repository, with what the level does not cover."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from interlock.app.base import view_of
from interlock.app.compose import gaps_at
from interlock.app.leftover import found
from interlock.core.agent.adapter import Capabilities
from interlock.core.contract.agents import Login, Models
from interlock.core.contract.card import AgentChoice, Level
from interlock.core.contract.levels import COVERS, NOT_COVERED
from interlock.core.contract.policy import Policy
from interlock.core.problems import BadInput, InterlockError, Refused
from interlock.ports.bundle import Ports


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """One thing that was tried; ``needed`` features decide whether the doctor is content."""

    name: str
    ok: bool
    why: str
    needed: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """One way out that was tried at a level: ``blocked`` None says that the level does not cover it."""

    name: str
    level: str
    blocked: bool | None
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The features, the isolation level in force and why it is not a better one, and the attacks that were tried."""

    features: tuple[Feature, ...]
    level: Level
    why: str = ""
    attacks: tuple[Attack, ...] | None = None

    @property
    def uncovered(self) -> str:
        return NOT_COVERED[self.level]

    @property
    def ok(self) -> bool:
        works = all(feature.ok for feature in self.features if feature.needed)
        return works and all(attack.blocked is not False for attack in self.attacks or ())

    def as_json(self) -> dict[str, Any]:
        shape = {
            "ok": self.ok,
            "level": self.level,
            "level_why": self.why,
            "covers": COVERS[self.level],
            "not_covered": self.uncovered,
            "features": [asdict(feature) for feature in self.features],
        }
        return shape if self.attacks is None else shape | {"attacks": [asdict(attack) for attack in self.attacks]}


Probe = tuple[str, bool, Callable[[], str]]
"""Name, needed, and a function that says what works or raises."""


def examine(probes: tuple[Probe, ...], level: Level, why: str = "") -> Report:
    """Try every probe; one that raises is off, with what it said."""
    return Report(features=tuple(_try(*probe) for probe in probes), level=level, why=why)


def _try(name: str, needed: bool, probe: Callable[[], str]) -> Feature:
    try:
        return Feature(name=name, ok=True, why=probe(), needed=needed)
    except Refused as refused:
        refusal = refused.refusal
        return Feature(name=name, ok=False, why=f"{refusal.what} {refusal.would_change}", needed=needed)
    except InterlockError as fault:
        hint = f" {fault.hint}" if fault.hint else ""
        return Feature(name=name, ok=False, why=f"{fault.message}{hint}", needed=needed)
    except Exception as fault:  # noqa: BLE001  a probe that breaks is a feature that is off
        return Feature(name=name, ok=False, why=f"{type(fault).__name__}: {fault}", needed=needed)


def repository_probes(ports: Ports) -> tuple[Probe, ...]:
    """What can be asked of the repository and its policy."""
    return (
        ("remote", True, lambda: _remote(ports)),
        ("policy", True, lambda: _policy(ports)),
        ("full check", False, lambda: _full_check(ports)),
        ("ceiling", False, lambda: _ceiling(ports)),
        ("compose files", False, lambda: _compose(ports)),
        ("card splits", False, lambda: _splits(ports)),
        ("history", True, lambda: f"Jobs on the record: {len(ports.store.jobs(open_only=False))}."),
    )


def agent_probes(ports: Ports) -> tuple[Probe, ...]:
    """Each agent that is known: whether its client is here, what it can do, and what is weaker about it."""
    return tuple((f"agent {name}", False, partial(_agent, ports, name)) for name in ports.agents.names())


def _agent(ports: Ports, name: str) -> str:
    found = ports.agents.capabilities(AgentChoice(use=name, command="true"))
    words = [found.version or "no version of its own"]
    if not found.tested:
        words.append("untested: written from its documentation alone")
    elif not found.known_good:
        words.append("a version that was not driven in our tests")
    words.append(f"tells {', '.join(_tells(found)) or 'neither tokens nor cost'}")
    words += _reached(ports, name, found)
    return "; ".join(words) + f". {found.note}".rstrip()


def _reached(ports: Ports, name: str, found: Capabilities) -> list[str]:
    """How it comes to its models, and what is weaker about that; nothing where the gateway has the key.

    Raises InterlockError where the key or the login is named that it cannot do without, and is not there.
    """
    policy = _policy_of(ports)
    login = next((each for each in policy.logins if each.agent == name), None)
    if vendors := _vendors(ports, name, policy):
        unused = ["its login is not used, since models: serve it through the gateway"] if login else []
        return unused + _keys(ports, name, vendors, policy)
    if login is not None:
        _look_at(login)
        return ["logged in to a subscription: its credentials can be read in the task, weaker than a gateway key"]
    if not found.gateway:
        return []
    kept = "of its budget it keeps dollars alone, by itself" if found.own_budget else "nothing keeps its budget"
    return [f"no models: entry in interlock.yaml serves it, so it has no key of the policy, and {kept}"]


def _tells(found: Capabilities) -> list[str]:
    told = {"tokens": found.usage, "cost": found.cost, "approvals": found.approvals, "hooks": found.hooks}
    return [word for word, does in told.items() if does]


def _vendors(ports: Ports, name: str, policy: Policy) -> list[Models]:
    spoken = set(ports.agents.dialects(name))
    return [each for each in policy.models if spoken & set(each.dialects)]


def _keys(ports: Ports, name: str, vendors: list[Models], policy: Policy) -> list[str]:
    """The keys that are not there, which one that speaks several dialects may do without; no key is read for that.

    Raises Refused (secret) for the key of one that speaks a single dialect, which goes to the first vendor of it.
    """
    words = []
    for vendor in vendors:
        try:
            if vendor.key is not None and (secret := policy.secret(vendor.key)) is not None:
                ports.secrets.check(secret)
        except Refused as refused:
            if vendor == vendors[0] and len(ports.agents.dialects(name)) == 1:
                raise
            words.append(f"without the models {vendor.name}: {refused.refusal.what.rstrip('.')}")
    return words


def _look_at(login: Login) -> None:
    if not Path(login.file).expanduser().is_file():
        what = f"The login of {login.agent} in interlock.yaml is {login.file}, which is not there."
        raise InterlockError(
            what, hint=f"Log in with {login.agent} on this machine, or mend logins.{login.agent}.file."
        )


def _policy_of(ports: Ports) -> Policy:
    with suppress(BadInput):
        return view_of(ports, ports.repo.last_base()).policy
    return Policy()


def _remote(ports: Ports) -> str:
    base = ports.repo.refresh()
    if base.remote is None:
        raise InterlockError(
            "There is no remote to land on.", hint="Add one: git init --bare, git remote add, git push."
        )
    return f"{base.ref} is at {base.oid[:12]}."


def _policy(ports: Ports) -> str:
    try:
        view = view_of(ports, ports.repo.last_base())
    except BadInput as bad:
        raise InterlockError("; ".join(f"{p.where}: {p.what}" for p in bad.problems)) from bad
    return f"{len(view.policy.classes)} classes, {len(view.caps)} caps on {view.base.ref}."


def _splits(ports: Ports) -> str:
    if names := found(ports):
        raise InterlockError(
            f"The command of {', '.join(names)} was killed, and what it left is there yet.",
            hint="interlock run ends its agent and puts it away.",
        )
    return "No agent is left of a command that was killed."


def _compose(ports: Ports) -> str:
    gaps = gaps_at(ports, ports.repo.last_base().oid)
    if gaps:
        raise InterlockError(
            " ".join(gaps), hint="Containers of two tasks would meet: leave such names and ports to the environment."
        )
    return "No container name or port is fixed for all tasks."


def _full_check(ports: Ports) -> str:
    checks = view_of(ports, ports.repo.last_base()).policy.train.checks
    if not checks:
        raise InterlockError(
            "The train has no full check, so it will land nothing.", hint="Set train.checks in interlock.yaml."
        )
    return ", ".join(check.run for check in checks)


def _ceiling(ports: Ports) -> str:
    ceiling = view_of(ports, ports.repo.last_base()).policy.review_wip
    if ceiling is None:
        raise InterlockError("There is no ceiling over all classes.", hint="Set review_wip in interlock.yaml.")
    return f"Jobs in flight over all classes: at most {ceiling}."
