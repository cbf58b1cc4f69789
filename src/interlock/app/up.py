"""``up``: configuration rendered, migrations run, services started in order, until all are ready; repeating it heals it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from interlock.app.base import View, last_view
from interlock.app.cardjson import from_json
from interlock.app.down import alone, note
from interlock.app.isolate import place_of
from interlock.app.migrations import migrate
from interlock.app.rooms import Furnished, room_of
from interlock.app.running_services import ended, relays_of, socket_name, socket_of, urls_of
from interlock.app.templates import Staging, render
from interlock.core.contract.around import Service
from interlock.core.contract.card import Card
from interlock.core.contract.defaults import with_defaults
from interlock.core.contract.service_order import in_order
from interlock.core.job.lifecycle import OPEN, Job, State
from interlock.core.problems import Misuse, refused
from interlock.core.sandbox import Relay
from interlock.ports.bundle import Ports
from interlock.ports.isolation import Room
from interlock.ports.processes import Running, Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Up:
    """What stands beside a task: its services with their addresses, and what was done for them this time."""

    job: Job
    services: tuple[Running, ...]
    urls: Mapping[str, str]
    rendered: tuple[str, ...] = ()
    migrated: bool = False

    def as_json(self) -> dict[str, Any]:
        return {
            "job": self.job.id,
            "slug": self.job.slug,
            "services": [
                {
                    "name": each.name,
                    "state": each.state,
                    "url": self.urls.get(each.name),
                    "port": each.port,
                    "log": str(each.log),
                    "why": each.why,
                }
                for each in self.services
            ],
            "urls": dict(self.urls),
        }


def up(ports: Ports, slug: str, actor: str, *, expose: bool = True) -> Up:
    """Bring up all that the job's card needs beside its agent, and return when it is ready.

    With ``expose``, what a sandbox holds is also reached from this machine, at the ports of the task's block.
    Raises Misuse without a task, Refused (template, database, service, locked); what came up before stays up, and
    the same call goes on from there.
    """
    job = standing(ports, slug)
    view = last_view(ports)
    card = with_defaults(from_json(job.card), view.policy)
    order = in_order(view.policy.services, card.needs.services)
    with alone(ports, job):
        _tell_ended(ports, job)
        work = _Work(ports=ports, job=job, card=card, view=view, expose=expose)
        done = work.furnished()
        rendered = render(work.staging(done), view.policy.templates, work.shown(done.env))
        migrated = migrate(ports, job, card, view.policy, work.staging(done), done)
        started = [each.name for service in order if (each := work.start(service)) is not None]
        if started or migrated:
            said = [f"services ready: {', '.join(started)}"] * bool(started) + ["migrated"] * migrated
            note(ports, job, actor, "up", f"Up: {'; '.join(said)}.")
        running = ports.services.list(ports.records.job(job.id))
    return Up(
        job=job,
        services=running,
        urls=urls_of(view.policy, running, job.ports),
        rendered=rendered,
        migrated=migrated,
    )


def standing(ports: Ports, slug: str, *, closed: bool = False) -> Job:
    """The job, open unless ``closed`` may do, which must have a tree.  Raises Misuse or Refused (workspace-missing)."""
    job = ports.store.find(slug)
    if job is not None and job.state is State.LANDED and not closed:
        raise Misuse(f"{slug} has landed, so nothing stands beside it any more.", hint=f"interlock show {slug}")
    if job is None or job.workspace is None or not (closed or job.state in OPEN):
        raise Misuse(f"{slug} has no task of its own now.", hint=f"interlock dispatch {slug}")
    if not ports.workspaces.exists(place_of(job)):
        raise refused(
            rule="workspace-missing",
            what=f"The tree of {slug} is gone: {job.workspace}.",
            why="Services and commands run in the task's own tree and nowhere else.",
            would_change=(
                f"interlock resume {slug} makes it again from its branch."
                if job.state in OPEN
                else f"interlock restore {slug} brings it back from its snapshot."
            ),
        )
    return job


def _tell_ended(ports: Ports, job: Job) -> None:
    for each in ended(ports, job):
        ports.narrate(f"{job.slug}: {each.name} had ended and is started again. {each.why}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """One call of up: the job and what it is brought up with."""

    ports: Ports
    job: Job
    card: Card
    view: View
    expose: bool

    def furnished(self, name: str = "up") -> Furnished:
        """The job's room as it is now: what is up already can be reached from it."""
        record = self.ports.records.job(self.job.id) / "services" / name
        record.mkdir(parents=True, exist_ok=True)
        return room_of(self.ports, self.job, self.card, self.view, record=record)

    def staging(self, done: Furnished) -> Staging:
        record = self.ports.records.job(self.job.id) / "services"
        folder = self.ports.records.shared(self.job.id, "staging")
        commands, log = self.ports.commands, record / "tree.log"
        return Staging(commands=commands, room=done.room, folder=folder, log=log)

    def shown(self, env: Mapping[str, str]) -> dict[str, str]:
        """What templates see: never a secret, which would stand in the tree then."""
        secrets = {secret.name for secret in self.view.policy.secrets}
        return {name: value for name, value in env.items() if name not in secrets}

    def start(self, service: Service) -> Running | None:
        """Have one service ready; None when it was ready before."""
        folder = self.ports.records.job(self.job.id)
        before = {each.name: each for each in self.ports.services.list(folder)}.get(service.name)
        if before is not None and before.state == "ready":
            return None
        self.ports.narrate(f"{self.job.slug}: starting {service.name}.")
        return self.ports.services.start(folder, self._unit(service))

    def _unit(self, service: Service) -> Unit:
        done = self.furnished(service.name)
        inside, outside = self._numbers(service)
        room, env = done.room, dict(done.env)
        if inside is not None and service.port is not None:
            env[service.port] = str(inside if room.sandbox else outside)
            room = self._opened(room, service, inside, outside)
        reached = outside if room.sandbox is None or self.expose else None
        return Unit(service=service, room=room, env=env, inside=inside, outside=reached, redact=done.redact)

    def _numbers(self, service: Service) -> tuple[int | None, int | None]:
        """The port of a service inside every sandbox, and on this machine.  Raises Refused (service)."""
        if service.port is None:
            return None, None
        inside = dict(self.view.policy.ports).get(service.port)
        outside = self.job.ports.get(service.port)
        if inside is not None and outside is not None:
            return inside, outside
        raise refused(
            rule="service",
            what=f"The service {service.name} serves {service.port}, and the task has no such port.",
            why=f"Its block has: {', '.join(self.job.ports) or 'none'}.",
            would_change=f"Add {service.port} under ports in interlock.yaml, then dispatch the card anew.",
        )

    def _opened(self, room: Room, service: Service, inside: int, outside: int | None) -> Room:
        """The service's own room: others come in through its socket, people through a port of the task's block."""
        if room.sandbox is None:
            return room
        own = relays_of(self.ports, self.job, self.view.policy, without=service.name)
        others = {socket_of(known.name) for known in self.view.policy.services}
        kept = [relay for relay in room.sandbox.inward if relay.connect not in others]
        way_in = Relay(listen=socket_of(service.name), connect=f"tcp:127.0.0.1:{inside}")
        outward = room.sandbox.outward
        if self.expose:
            file = self.ports.records.shared(self.job.id, "sockets") / socket_name(service.name)
            outward = (*outward, Relay(listen=f"tcp:127.0.0.1:{outside}", connect=f"unix:{file}"))
        return replace(room, sandbox=replace(room.sandbox, inward=(*kept, *own, way_in), outward=outward))
