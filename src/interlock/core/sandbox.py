"""What one sandboxed run may see and reach, as a value of plain texts; making it real is host.sandbox's work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

AT: Final = "/ws"
"""Where the tree stands inside every sandbox: the same path for each task, so that paths in caches and shebangs agree."""

HOME: Final = "/home/agent"
RUN: Final = "/run/interlock"
"""Inside: ``bin`` (our tools), ``attempt`` (prompt), ``spool`` (messages), ``sockets`` (gate, proxy, services), ``report``."""

SOCKETS: Final = f"{RUN}/sockets"
"""Inside: the folder that all rooms of one task share for the sockets of its services."""

GIT_SOCKET: Final = f"{RUN}/git.sock"
PROXY_SOCKET: Final = f"{RUN}/proxy.sock"
PROXY_PORT: Final = 3128
"""The port on the sandbox's own loopback where its relay to the proxy listens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layers:
    """An overlay: ``lower`` folders with the topmost first, never changed while in use; ``upper`` takes every change.

    ``work`` is the kernel's own, beside ``upper`` on the same mount.
    """

    lower: tuple[str, ...]
    upper: str
    work: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bind:
    """A file or folder of this machine, ``source``, seen inside as ``target``."""

    source: str
    target: str
    writable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A host that may be reached through the proxy: a name, ``*.`` before it for all below it, else exactly that.

    ``port`` None: 80 and 443.  ``address`` pins what the name means, also to a private address; without it, an
    answer that is private, loopback or link-local is refused.
    """

    name: str
    port: int | None = None
    address: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """What a task may push: to ``branch`` of the mirror ``repository`` alone, forward only, its paths inside the card's."""

    repository: str
    branch: str
    default: str
    base: str
    owned: tuple[str, ...]
    protected: tuple[str, ...] = ()
    most_bytes: int = 100_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Relay:
    """Connections taken at ``listen`` go on to ``connect``; an address is ``tcp:HOST:PORT`` or ``unix:PATH``."""

    listen: str
    connect: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """One run's walls.

    The tree at ``AT`` is either the folder ``tree`` or an overlay of ``layers``.  ``home`` is a private folder of
    this machine, bound at ``HOME``.  ``tools`` are read-only at their own path.  Without ``hosts`` there is no
    network beyond the sandbox's own loopback.  ``inward`` relays run inside, ``outward`` ones outside.  ``record``
    is a folder outside, where proxy and gate write down each decision.  ``user`` is the uid to drop to when we
    are root; None otherwise.
    """

    home: str
    tree: str = ""
    layers: Layers | None = None
    writable: bool = True
    binds: tuple[Bind, ...] = ()
    tools: tuple[str, ...] = ()
    hosts: tuple[Host, ...] = ()
    gate: Gate | None = None
    inward: tuple[Relay, ...] = ()
    outward: tuple[Relay, ...] = ()
    record: str = ""
    user: int | None = None

    def with_bind(self, source: str, target: str, *, writable: bool = False) -> Sandbox:
        """The same with one more file or folder in it."""
        return replace(self, binds=(*self.binds, Bind(source=source, target=target, writable=writable)))

    def inside(self, path: str) -> str:
        """How a path of this machine is called inside.  Raises LookupError when it is not to be seen there."""
        roots = [(bind.source, bind.target) for bind in self.binds]
        roots += [(self.home, HOME), (self.tree or (self.layers.upper if self.layers else ""), AT)]
        roots += [(tool, tool) for tool in self.tools]
        for source, target in sorted(roots, key=lambda pair: -len(pair[0])):
            if source and (path == source or path.startswith(f"{source}/")):
                return target + path[len(source) :]
        raise LookupError(path)


def to_json(sandbox: Sandbox) -> dict[str, Any]:
    """The value as JSON; ``from_json`` reads it back."""
    return asdict(sandbox)


def from_json(shape: Mapping[str, Any]) -> Sandbox:
    """The value that ``to_json`` wrote.  Raises KeyError or TypeError for anything else."""
    known = dict(shape)
    layers, gate = known.pop("layers"), known.pop("gate")
    parts = {"binds": Bind, "hosts": Host, "inward": Relay, "outward": Relay}
    for name, kind in parts.items():
        known[name] = tuple(kind(**each) for each in known[name])
    return Sandbox(
        **{**known, "tools": tuple(known["tools"])},
        layers=Layers(**{**layers, "lower": tuple(layers["lower"])}) if layers else None,
        gate=Gate(**{**gate, "owned": tuple(gate["owned"]), "protected": tuple(gate["protected"])}) if gate else None,
    )
