"""What runs beside a task as others need it: how rooms reach its services, where people do, and which have ended."""

from __future__ import annotations

from collections.abc import Mapping
from string import Template

from interlock.core.contract.around import Service
from interlock.core.contract.policy import Policy
from interlock.core.job.lifecycle import Job
from interlock.core.sandbox import SOCKETS, Relay
from interlock.ports.bundle import Ports
from interlock.ports.processes import Running


def relays_of(ports: Ports, job: Job, policy: Policy, *, without: str | None = None) -> tuple[Relay, ...]:
    """What lets a room of the task reach its services that are up, each at the port that it has inside."""
    inside = dict(policy.ports)
    up = {each.name for each in ports.services.list(ports.records.job(job.id)) if each.state != "ended"}
    return tuple(
        Relay(listen=f"tcp:127.0.0.1:{inside[service.port]}", connect=socket_of(service.name))
        for service in policy.services
        if service.name in up and service.name != without and service.port in inside
    )


def socket_of(name: str) -> str:
    """The address inside where a service of the task is reached."""
    return f"unix:{SOCKETS}/{socket_name(name)}"


def socket_name(name: str) -> str:
    """The file of a service in the task's shared folder; no name of a service meets a socket of ours there."""
    return f"service-{name}.sock"


def ended(ports: Ports, job: Job) -> tuple[Running, ...]:
    """Services of the task that ended although nobody stopped them; ``why`` has their last lines."""
    return tuple(each for each in ports.services.list(ports.records.job(job.id)) if each.state == "ended")


def urls_of(policy: Policy, running: tuple[Running, ...], numbers: Mapping[str, int]) -> dict[str, str]:
    """Where a person reaches the services that are ready, by name; ``numbers`` are the ports on this machine."""
    known = {service.name: service for service in policy.services}
    found = ((each.name, url_of(known[each.name], each, numbers)) for each in running if each.name in known)
    return {name: url for name, url in found if url is not None}


def url_of(service: Service, running: Running, numbers: Mapping[str, int]) -> str | None:
    """The address of one service, None when it is not ready or cannot be reached from this machine.

    The policy's ``url`` is a path, or an address in which $NAME stands for the port of that name.
    """
    if running.state != "ready" or running.port is None:
        return None
    given = Template(service.url or "").safe_substitute({name: str(number) for name, number in numbers.items()})
    if given and not given.startswith("/"):
        return given
    return f"http://localhost:{running.port}{given or '/'}"
