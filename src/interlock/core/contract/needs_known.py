"""Does the policy have what a card needs by name: secrets, services, browser roles and hosts; databases are readiness' own rule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from interlock.core.contract.card import Card
from interlock.core.contract.ground import Ground
from interlock.core.contract.hosts import HOST_NAME, NO_HOST, host_in, is_local
from interlock.core.contract.places import Places
from interlock.core.contract.suggest import nearest
from interlock.core.problems import Problem, Where


def needs_known(card: Card, ground: Ground, places: Places) -> Iterator[Problem]:
    """One problem for each name under ``needs`` that the policy does not configure, or keeps outside of tasks."""
    policy, needs = ground.policy, card.needs
    yield from _unknown(
        "secrets", "secret", needs.secrets, [each.name for each in policy.secrets], "{variable: NAME}", places
    )
    yield from _keys(card, [each.key for each in policy.models], places)
    yield from _unknown(
        "services", "service", needs.services, [each.name for each in policy.services], '{run: "…"}', places
    )
    yield from _unknown("browser", "browser role", needs.browser, [each.role for each in policy.browsers], "{}", places)
    hosts = None if policy.network is None else [each.name for each in policy.network]
    for number, name in enumerate(needs.network):
        yield from _host(name, hosts, places.where(f"needs.network[{number}]"))


def _unknown(
    key: str, kind: str, asked: Sequence[str], known: Sequence[str], form: str, places: Places
) -> Iterator[Problem]:
    under = "browsers" if key == "browser" else key
    for number, name in enumerate(asked):
        if name in known:
            continue
        guess = nearest(name, known)
        yield Problem(
            kind="missing",
            what=f"The policy has no {kind} named {name}.",
            why=f"interlock.yaml configures: {', '.join(known) or 'none'}.",
            fix=f"Write {guess}." if guess else f"Add it under {under} in interlock.yaml: {name}: {form}.",
            where=places.where(f"needs.{key}[{number}]"),
        )


def _keys(card: Card, keys: Sequence[str | None], places: Places) -> Iterator[Problem]:
    """The key of a vendor of models is never handed to a task: its gateway adds it outside."""
    for number, name in enumerate(card.needs.secrets):
        if name in keys:
            yield Problem(
                kind="secret",
                what=f"{name} is the key of a vendor of models, and is handed to no task.",
                why="The gateway adds it outside of the sandbox; inside, it could be read and used past every budget.",
                fix="Take it off the card, or give the task a secret of its own.",
                where=places.where(f"needs.secrets[{number}]"),
            )


def _host(name: str, allowed: Sequence[str] | None, where: Where) -> Iterator[Problem]:
    """What keeps a host from being reached: it is none, it is the task itself, or the policy's list does not hold it."""
    if not HOST_NAME.fullmatch(name):
        meant = host_in(name)
        fix = f"Write {meant}." if meant else "Write its name alone, such as pypi.org."
        yield Problem(kind="network", what=f"{name} is no host.", why=NO_HOST, fix=fix, where=where)
    elif is_local(name):
        yield Problem(
            kind="network",
            what=f"{name} cannot be reached from a task.",
            why="Inside, localhost is the task's own: its services and its database are there without being named.",
            fix="Leave it out; a server of this machine gets a name under network in interlock.yaml: "
            "{host: db.internal, address: 127.0.0.1, port: 5432}.",
            where=where,
        )
    elif allowed is not None and not any(_within(name, each) for each in allowed):
        guess = nearest(name, allowed)
        yield Problem(
            kind="network",
            what=f"The policy does not allow the host {name}.",
            why=f"interlock.yaml allows: {', '.join(allowed) or 'none'}.",
            fix=f"Write {guess}." if guess else f"Add it under network in interlock.yaml: {name}.",
            where=where,
        )


def _within(name: str, allowed: str) -> bool:
    """Whether a host, or all that a wildcard means, is allowed."""
    return name == allowed or (allowed.startswith("*.") and name.removeprefix("*").endswith(allowed[1:]))
