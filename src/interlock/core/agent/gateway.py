"""The model gateway of one attempt as a value: where it forwards to, with which key, and what it may spend; serving is host.models'.

The runner serves it outside of the sandbox, so that no key is inside (ADR 0009).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal, get_args

from interlock.core.agent.dialect import Dialect
from interlock.core.agent.usage import Price

Scope = Literal["attempt", "job", "class", "day"]
Unit = Literal["usd", "tokens"]

MODEL_SOCKET: Final = "/run/interlock/models.sock"
MODEL_PORT: Final = 3129
"""The port on the sandbox's own loopback whose relay leads to the gateway."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """One vendor behind the gateway: reached below ``/NAME/``; its key is added there, and is nowhere else.

    ``url`` is its base without version part.  ``key`` may be empty (a local model).  ``address`` pins what the host
    means, as for sandbox.Host.  ``closed`` says why no call may go there, such as a key that is not to be had.
    """

    name: str
    dialects: tuple[Dialect, ...]
    url: str
    key: str = field(default="", repr=False)
    address: str | None = None
    closed: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """Which limit kept an agent from going on: whose it is, and what it counts.

    ``priced`` is False when it could not be counted at all, since a model has no price; raising it does not help then.
    """

    scope: Scope
    unit: Unit
    priced: bool = True

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def reached_from(shape: object) -> Reached | None:
    """The value that ``Reached.as_json`` wrote; None for anything else."""
    if not isinstance(shape, Mapping):
        return None
    scope: Any = shape.get("scope")
    unit: Any = shape.get("unit")
    if scope not in get_args(Scope) or unit not in get_args(Unit):
        return None
    return Reached(scope=scope, unit=unit, priced=shape.get("priced") is not False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """A limit that is looked at before each call: tokens and dollars, None for none.

    ``text`` says it to a person (``usd 4 for the job``).
    ``spent_tokens`` and ``spent_usd`` were spent before and are in no ledger of ``files``; those are patterns below
    the ledger folder whose files count as well, this attempt's own among them.
    """

    scope: Scope
    text: str
    tokens: int | None = None
    usd: float | None = None
    spent_tokens: int = 0
    spent_usd: float = 0.0
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelGateway:
    """``listen`` is ``unix`` in a sandbox, else ``tcp:127.0.0.1:PORT``; every call must show ``token``.

    ``record`` is the folder in which each call becomes a line of ``models.jsonl``.  ``ledger`` is this attempt's own
    file below ``ledgers``, the folder that all attempts of this machine share: ``{"tokens", "usd", "calls",
    "unpriced"}``.  ``prices`` are by model; with a limit in dollars a model without one is refused, since unknown is
    not nothing.
    """

    upstreams: tuple[Upstream, ...]
    token: str = field(repr=False)
    listen: str
    record: str
    ledgers: str
    ledger: str
    prices: Mapping[str, Price] = field(default_factory=dict)
    ceilings: tuple[Ceiling, ...] = ()


def to_json(gateway: ModelGateway) -> dict[str, Any]:
    """The value as JSON; ``from_json`` reads it back."""
    return asdict(gateway)


def from_json(shape: Mapping[str, Any]) -> ModelGateway:
    """The value that ``to_json`` wrote.  Raises KeyError or TypeError for anything else."""
    known = dict(shape)
    upstreams = tuple(Upstream(**{**each, "dialects": tuple(each["dialects"])}) for each in known.pop("upstreams"))
    ceilings = tuple(Ceiling(**{**each, "files": tuple(each["files"])}) for each in known.pop("ceilings"))
    prices = {name: Price(**each) for name, each in known.pop("prices").items()}
    return ModelGateway(**known, upstreams=upstreams, ceilings=ceilings, prices=prices)
