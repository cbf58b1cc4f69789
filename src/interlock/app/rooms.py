"""A room with all that a card may have in it: network, gate, database, services, browsers, secrets; trees are workspaces' work."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from interlock.app.base import View
from interlock.app.database import baseline_of, branch_of_job, connected, password_of, throwaway
from interlock.app.isolate import environment_of, place_of
from interlock.app.keys import permitted
from interlock.app.running_services import relays_of
from interlock.core.contract.card import Card, Level, Needs
from interlock.core.contract.policy import Policy
from interlock.core.gate.approvals import hosts_allowed, rules_of
from interlock.core.job.lifecycle import Job
from interlock.core.sandbox import HOME, SOCKETS, Bind, Host
from interlock.ports.bundle import Ports
from interlock.ports.isolation import Branch, Guarded, Room


class Furnished(NamedTuple):
    """A room, the exact values for a command in it, and the texts that no log may show."""

    room: Room
    env: dict[str, str]
    redact: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a room is furnished with: a job's or a train's needs by the policy, its values, and where decisions are noted.

    ``name`` is of the job record that it belongs to, ``slug`` what a person calls the job, where it is one.
    """

    name: str
    slug: str = ""
    needs: Needs
    policy: Policy
    approved: Collection[str] = ()
    values: Mapping[str, str] = field(default_factory=dict)
    record: Path


def wanted_by(ports: Ports, job: Job, card: Card, policy: Policy, record: Path) -> Wanted:
    """What one job's rooms are furnished with."""
    return Wanted(
        name=job.id,
        slug=job.slug,
        needs=card.needs,
        policy=policy,
        approved=job.approved,
        values=environment_of(ports, job),
        record=record,
    )


def room_of(ports: Ports, job: Job, card: Card, view: View, *, record: Path) -> Furnished:
    """The job's own room for its agent, its services or a person.  Raises Refused (workspace-missing, secret, sandbox)."""
    place = place_of(job)
    wanted = wanted_by(ports, job, card, view.policy, record)
    shared = (ports.repo.top, ports.repo.common_dir, place.path.parent)
    rules = rules_of(view.policy)
    guarded = Guarded(rules=rules, approved=tuple(job.approved), shared=tuple(map(str, shared)))
    room = replace(ports.workspaces.room(place), guarded=guarded)
    done = furnish(ports, wanted, room, branch_of_job(ports, job, card, view.policy))
    sandbox = done.room.sandbox
    if sandbox is None:
        return done
    sandbox = replace(
        sandbox,
        gate=ports.repo.gate(place, owned=card.owned_paths, protected=view.policy.protected_paths),
        inward=(*sandbox.inward, *relays_of(ports, job, view.policy)),
        binds=_distinct((*sandbox.binds, *_own_binds(ports, job, card))),
    )
    return done._replace(room=replace(done.room, sandbox=sandbox))


@contextmanager
def checking(ports: Ports, wanted: Wanted, room: Room, commit: str, level: Level) -> Iterator[Furnished]:
    """A room for checks on one commit: nothing in it was in an agent's hands.

    It has a database of its own, branched anew from what ``commit`` prepares and dropped afterwards, and fresh
    browser profiles; the task's services and its own database are not to be reached.
    """
    database = wanted.policy.database(wanted.needs.database) if wanted.needs.database else None
    with ports.records.lock(f"checks-{wanted.name}", wait=None):
        profiles = _fresh_profiles(ports, wanted)
        if room.sandbox is not None:
            room = replace(room, sandbox=replace(room.sandbox, binds=(*room.sandbox.binds, *profiles.values())))
        named = {
            _variable(role): bind.target if room.sandbox is not None else bind.source for role, bind in profiles.items()
        }
        wanted = replace(wanted, values={**wanted.values, **named})
        if database is None:
            yield furnish(ports, wanted, room, None)
            return
        with throwaway(ports, database, commit, level, wanted.name) as branch:
            yield furnish(ports, wanted, room, branch)


def furnish(ports: Ports, wanted: Wanted, room: Room, branch: Branch | None) -> Furnished:
    """Any room with its secrets, database and network, and without a way to push.  Raises Refused (secret, approval)."""
    values = dict(wanted.values)
    secrets = _secrets(ports, wanted)
    redact = tuple(secrets.values())
    values |= secrets
    if branch is not None:
        redact = (*redact, *password_of(branch.url))
        room, named = connected(ports, wanted.name, room, branch)
        values |= named
    if room.sandbox is None:
        return Furnished(room, values, redact)
    wanted.record.mkdir(parents=True, exist_ok=True)
    rules = wanted.policy.sandbox
    sandbox = replace(
        room.sandbox,
        hosts=hosts_of(wanted),
        record=str(wanted.record),
        tools=(*room.sandbox.tools, *present(rules.tools)),
        binds=_distinct(
            (*room.sandbox.binds, *(Bind(source=p, target=p, writable=True) for p in present(rules.sockets)))
        ),
    )
    return Furnished(replace(room, sandbox=sandbox), values, redact)


def hosts_of(wanted: Wanted) -> tuple[Host, ...]:
    """The hosts that may be reached: those named, as the policy spells them, without what waits for approval."""
    known = {host.name: host for host in wanted.policy.network or ()}
    named = tuple(known.get(name) or Host(name=name) for name in wanted.needs.network)
    return hosts_allowed(rules_of(wanted.policy), wanted.approved, named)


def surroundings(ports: Ports, wanted: Wanted, commit: str, level: Level) -> str:
    """A digest of what a check finds around its tree; a run is taken over only where that is the same."""
    policy = wanted.policy
    database = policy.database(wanted.needs.database) if wanted.needs.database else None
    shape = [
        [asdict(host) for host in hosts_of(wanted)],
        sorted(wanted.needs.secrets),
        sorted(wanted.needs.browser),
        asdict(policy.sandbox),
        sorted(policy.environment),
        [asdict(database), baseline_of(ports, database, commit, level).digest] if database else None,
    ]
    return hashlib.sha256(json.dumps(shape, sort_keys=True).encode()).hexdigest()[:16]


def present(paths: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the paths that are there on this machine, ``~`` expanded; the rest is another machine's."""
    expanded = (str(Path(path).expanduser()) for path in paths)
    return tuple(path for path in expanded if Path(path).exists())


def _secrets(ports: Ports, wanted: Wanted) -> dict[str, str]:
    """The values of the secrets that are needed, each from its one source.  Raises Refused (secret, approval)."""
    found = {}
    for name in wanted.needs.secrets:
        missing = f"Add {name} under secrets in interlock.yaml, or take it off the card."
        what = f"The secret {name}"
        secret = permitted(
            wanted.policy, name, wanted.approved, what=what, slug=wanted.slug or wanted.name, missing=missing
        )
        found[name] = ports.secrets.read(secret)
    return found


def _own_binds(ports: Ports, job: Job, card: Card) -> list[Bind]:
    """What only the task's own rooms share: the sockets of its services and its browser profiles."""
    found = [Bind(source=str(ports.records.shared(job.id, "sockets")), target=SOCKETS, writable=True)]
    for role in card.needs.browser:
        profile = ports.records.shared(job.id, "browser") / role
        if profile.is_dir():
            found.append(Bind(source=str(profile), target=f"{HOME}/browser/{role}", writable=True))
    return found


def _fresh_profiles(ports: Ports, wanted: Wanted) -> dict[str, Bind]:
    """A profile for each role, as the golden one is now; where the policy lost the role there is none."""
    found = {}
    for role in wanted.needs.browser:
        browser = wanted.policy.browser(role)
        if browser is not None:
            folder = ports.records.shared(wanted.name, "check-browser") / f"{role}-{ports.new_id()}"
            profile = ports.records.granted(ports.browsers.profile(browser, folder))
            found[role] = Bind(source=str(profile), target=f"{HOME}/browser/{role}", writable=True)
    return found


def _variable(role: str) -> str:
    return f"BROWSER_PROFILE_{role.upper().replace('-', '_')}"


def _distinct(binds: tuple[Bind, ...]) -> tuple[Bind, ...]:
    """Each target once; the first stays."""
    return tuple({bind.target: bind for bind in reversed(binds)}.values())[::-1]
