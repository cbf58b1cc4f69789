"""The allow-list: what a target's text means and whether a task may reach it; speaking HTTP is the proxy's work."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

from interlock.core.contract.spelling import visible
from interlock.core.sandbox import Host

USUAL: Final = (80, 443)
RULE: Final = "network"
_AUTHORITY: Final = re.compile(
    r"(?:\[(?P<six>[0-9A-Fa-f:.]{2,45})\]|(?P<name>[A-Za-z0-9._-]{1,254}))(?::(?P<port>[0-9]{1,5}))?"
)
_LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_SHOWN: Final = 253


class BadTarget(Exception):
    """A target that is no host and port, or not in the plain form; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where a request wants to go: ``name`` in lower case without a last dot, or an address in its usual form."""

    name: str
    port: int
    literal: bool = False

    @property
    def authority(self) -> str:
        """As it stands in a Host header."""
        name = f"[{self.name}]" if ":" in self.name else self.name
        return name if self.port == USUAL[0] else f"{name}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Denied:
    """A no: ``why`` it is and what would ``change`` it, each a sentence; ``rule`` is an id of core.rules."""

    why: str
    change: str
    rule: str = RULE

    @property
    def line(self) -> str:
        return f"{self.rule}: {self.why} {self.change}"


def read_target(authority: str, *, port: int | None = None) -> Target:
    """What ``HOST:PORT`` means; ``port`` is taken where none is written.  Raises BadTarget.

    User names, spaces, escapes and anything else that two readers could take for different hosts are refused.
    """
    match = _AUTHORITY.fullmatch(authority)
    if match is None:
        raise BadTarget(f"{_cut(authority)} is no host and port in plain form.")
    number = int(match["port"]) if match["port"] else port
    if number is None or not 0 < number < 65536:
        raise BadTarget(f"{_cut(authority)} names no port between 1 and 65535.")
    if match["six"]:
        return Target(name=_address(match["six"]), port=number, literal=True)
    name = match["name"].lower().removesuffix(".")
    labels = name.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return Target(name=_address(name), port=number, literal=True)
    if len(name) > _SHOWN or not all(map(_LABEL.fullmatch, labels)):
        raise BadTarget(f"{_cut(authority)} is no host's name.")
    return Target(name=name, port=number)


def judge(hosts: Sequence[Host], target: Target) -> Host | Denied:
    """The entry of the list that lets the target through (a pinned or exact one before a wildcard), or the no."""
    named = [host for host in hosts if _names(host, target)]
    fits = [host for host in named if target.port == host.port or (host.port is None and target.port in USUAL)]
    if fits:
        return min(fits, key=lambda host: (host.name.startswith("*."), host.address is None, host.port is None))
    if named:
        return Denied(
            why=f"{target.name} may be reached, but not on port {target.port}.",
            change=f"Add {{host: {named[0].name}, port: {target.port}}} to needs.network of the card.",
        )
    if target.literal:
        return Denied(
            why=f"{target.name} is an address, and this task may reach hosts by name alone.",
            change="Use the host's name, and have it in needs.network of the card.",
        )
    return Denied(
        why=f"{target.name} is not among the hosts that this task may reach.",
        change="Add it to needs.network of the card, where the policy lists it.",
    )


def _names(host: Host, target: Target) -> bool:
    if host.name.startswith("*."):
        below = _plain(host.name[2:])
        return not target.literal and target.name.endswith(f".{below}")
    return _plain(host.name) == target.name


def _plain(name: str) -> str:
    """A listed name as targets are written: lower case, no last dot, IDNA, an address in its usual form."""
    name = name.lower().removesuffix(".")
    try:
        return str(ip_address(name.strip("[]")))
    except ValueError:
        pass
    try:
        return name.encode("idna").decode("ascii") if not name.isascii() else name
    except UnicodeError:
        return name


def _address(text: str) -> str:
    try:
        return str(ip_address(text))
    except ValueError:
        raise BadTarget(f"{_cut(text)} is no address in its usual form.") from None


def _cut(text: str) -> str:
    return visible(text[:_SHOWN])
