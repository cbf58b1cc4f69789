"""A task's room with all that its card may have: network, gate, database, services, browsers, secrets; trees are workspaces' work."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from interlock.app.base import View
from interlock.app.beside import relays_of
from interlock.app.database import branch_of_job, connected, password_of
from interlock.app.isolate import environment_of, place_of
from interlock.core.contract.card import Card
from interlock.core.contract.policy import Policy
from interlock.core.gate.approvals import hosts_allowed, rules_of
from interlock.core.job.lifecycle import Job
from interlock.core.problems import Refusal, Refused
from interlock.core.sandbox import HOME, RUN, Bind, Host
from interlock.ports import Guarded, Ports, Room

SOCKETS = f"{RUN}/sockets"
"""Inside: the folder that all rooms of one task share for the sockets of its services."""


class Furnished(NamedTuple):
    """A room, the exact values for a command in it, and the texts that no log may show."""

    room: Room
    env: dict[str, str]
    redact: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """For whom a room is furnished: the job, its card, the policy, and where decisions are written down."""

    job: Job
    card: Card
    policy: Policy
    record: Path


def room_of(ports: Ports, job: Job, card: Card, view: View, *, record: Path) -> Furnished:
    """The job's own room for its agent, its services or a person.  Raises Refused (workspace-missing, secret, sandbox)."""
    wanted = Wanted(job=job, card=card, policy=view.policy, record=record)
    rules = rules_of(view.policy)
    shared = (ports.repo.top, ports.repo.common_dir, place_of(job).path.parent)
    guarded = Guarded(rules=rules, approved=tuple(job.approved), shared=tuple(map(str, shared)))
    done = furnish(ports, wanted, replace(ports.workspaces.room(place_of(job)), guarded=guarded))
    sandbox = done.room.sandbox
    if sandbox is None:
        return done
    gate = ports.repo.gate(place_of(job), owned=card.owned_paths, protected=view.policy.protected_paths)
    return done._replace(room=replace(done.room, sandbox=replace(sandbox, gate=gate)))


def furnish(ports: Ports, wanted: Wanted, room: Room) -> Furnished:
    """Any room of the job, such as a fresh tree for checks, with everything but the way to push."""
    job, card = wanted.job, wanted.card
    values = environment_of(ports, job)
    secrets = _secrets(ports, wanted)
    redact = tuple(secrets.values())
    values |= secrets
    if (branch := branch_of_job(ports, job, card, wanted.policy)) is not None:
        redact = (*redact, *password_of(branch.url))
        room, named = connected(ports, job.id, room, branch)
        values |= named
    if room.sandbox is None:
        return Furnished(room, values, redact)
    wanted.record.mkdir(parents=True, exist_ok=True)
    sandbox = replace(
        room.sandbox,
        hosts=hosts_of(card, wanted.policy, job.approved),
        record=str(wanted.record),
        tools=(*room.sandbox.tools, *present(wanted.policy.sandbox.tools)),
        binds=_distinct((*room.sandbox.binds, *_binds(ports, wanted))),
        inward=(*room.sandbox.inward, *relays_of(ports, job, wanted.policy)),
    )
    return Furnished(replace(room, sandbox=sandbox), values, redact)


def hosts_of(card: Card, policy: Policy, approved: Collection[str]) -> tuple[Host, ...]:
    """The hosts that a card's tasks may reach: those it names, as the policy spells them, without what waits for approval."""
    known = {host.name: host for host in policy.network or ()}
    named = tuple(known.get(name) or Host(name=name) for name in card.needs.network)
    return hosts_allowed(rules_of(policy), approved, named)


def redactions(ports: Ports, card: Card, policy: Policy) -> tuple[str, ...]:
    """The texts of the job's secrets, as far as they can be had now; what a task says is recorded without them."""
    found = []
    for name in card.needs.secrets:
        secret = policy.secret(name)
        with suppress(Refused):
            found += [ports.secrets.read(secret)] if secret else []
    return tuple(found)


def _secrets(ports: Ports, wanted: Wanted) -> dict[str, str]:
    """The values of the card's secrets, each from its one source.  Raises Refused (secret, approval)."""
    found = {}
    for name in wanted.card.needs.secrets:
        secret = wanted.policy.secret(name)
        if secret is None:
            raise Refused(
                Refusal(
                    rule="secret",
                    what=f"The secret {name} of {wanted.job.slug} is not in the policy.",
                    why="A secret comes from the one source that the policy approves.",
                    would_change=f"Add {name} under secrets in interlock.yaml, or take it off the card.",
                )
            )
        if secret.approval and secret.approval not in wanted.job.approved:
            raise Refused(
                Refusal(
                    rule="approval",
                    what=f"The secret {name} of {wanted.job.slug} waits for the approval {secret.approval}.",
                    why="The policy hands it out only when a person has approved that for this job.",
                    would_change=f"interlock decide {wanted.job.slug} --approve {secret.approval}.",
                )
            )
        found[name] = ports.secrets.read(secret)
    return found


def _binds(ports: Ports, wanted: Wanted) -> list[Bind]:
    """Sockets of this machine that the policy names, those of the task's services, and its browser profiles."""
    job = wanted.job
    found = [Bind(source=str(ports.records.shared(job.id, "sockets")), target=SOCKETS, writable=True)]
    found += [Bind(source=path, target=path, writable=True) for path in present(wanted.policy.sandbox.sockets)]
    for role in wanted.card.needs.browser:
        profile = ports.records.shared(job.id, "browser") / role
        if profile.is_dir():
            found.append(Bind(source=str(profile), target=f"{HOME}/browser/{role}", writable=True))
    return found


def _distinct(binds: tuple[Bind, ...]) -> tuple[Bind, ...]:
    """Each target once; the first stays."""
    return tuple({bind.target: bind for bind in reversed(binds)}.values())[::-1]


def present(paths: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the paths that are there on this machine, ``~`` expanded; the rest is another machine's."""
    expanded = (str(Path(path).expanduser()) for path in paths)
    return tuple(path for path in expanded if Path(path).exists())
