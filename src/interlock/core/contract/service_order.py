"""In which order services come up: what each comes after, infrastructure first, circles named; starting them is adapters' work."""

from __future__ import annotations

from collections.abc import Sequence

from interlock.core.contract.around import Service
from interlock.core.problems import Refused, refused


def in_order(services: Sequence[Service], wanted: Sequence[str] = ()) -> tuple[Service, ...]:
    """The wanted services (none named: all) with all that they come after, each behind what it needs.

    Infrastructure goes before the rest wherever that is open, then the policy's order.  Raises Refused (service)
    for a name that is no service and for a circle, which is told whole.
    """
    known = {service.name: service for service in services}
    for name in wanted:
        if name not in known:
            raise _unknown(name, "The card", known)
    roots = [known[name] for name in wanted] or list(services)
    done: dict[str, Service] = {}
    for root in sorted(roots, key=lambda service: not service.infrastructure):
        _visit(root, known, done, ())
    infrastructure = [each for each in done.values() if each.infrastructure]
    first: dict[str, Service] = {}
    for each in infrastructure:
        _visit(each, known, first, ())
    return (*first.values(), *(each for each in done.values() if each.name not in first))


def _visit(service: Service, known: dict[str, Service], done: dict[str, Service], way: tuple[str, ...]) -> None:
    """Put a service behind all that it comes after; ``way`` is how it was reached."""
    if service.name in done:
        return
    if service.name in way:
        raise _circle((*way[way.index(service.name) :], service.name))
    for name in service.after:
        if name not in known:
            raise _unknown(name, f"The service {service.name}", known)
        _visit(known[name], known, done, (*way, service.name))
    done[service.name] = service


def _unknown(name: str, who: str, known: dict[str, Service]) -> Refused:
    have = ", ".join(known) or "none"
    return refused(
        rule="service",
        what=f"{who} needs the service {name}, which is not in the policy.",
        why=f"interlock.yaml on the default branch has these services: {have}.",
        would_change=f"Add {name} under services in interlock.yaml, or name another one.",
    )


def _circle(names: tuple[str, ...]) -> Refused:
    return refused(
        rule="service",
        what=f"Services come after each other in a circle: {' → '.join(names)}.",
        why="None of them could be started first.",
        would_change="Take one name out of an after list in interlock.yaml.",
        holders=names[:-1],
    )
