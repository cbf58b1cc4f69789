"""Facts as bytes and back: rows of JSON in the order of the fields, so that a kept file is small and quick to read."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

from interlock.core.merge.facts import Call, FileFacts, Import, Mark, Signature, Symbol, Use


def pack(facts: FileFacts) -> bytes:
    """The facts as bytes."""
    return json.dumps(_row(facts), separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")


def _row(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_row(each) for each in value]
    if hasattr(value, "__dataclass_fields__"):
        return [_row(getattr(value, each.name)) for each in fields(value)]
    return value


def unpack(data: bytes) -> FileFacts:
    """The facts again.  Raises ValueError, TypeError, KeyError or IndexError for bytes that are none."""
    row = json.loads(data.decode("utf-8", "surrogatepass"))
    given = _named(FileFacts, row)
    given["symbols"] = tuple(_symbol(each) for each in given["symbols"])
    given["uses"] = tuple(_use(each) for each in given["uses"])
    given["imports"] = tuple(Import(**_named(Import, each)) for each in given["imports"])
    given["marks"] = tuple(Mark(**_named(Mark, each)) for each in given["marks"])
    return FileFacts(**given)


_NAMES: dict[type, tuple[str, ...]] = {
    kind: tuple(each.name for each in fields(kind)) for kind in (FileFacts, Symbol, Use, Import, Mark, Call, Signature)
}


def _named(kind: type, row: list[Any]) -> dict[str, Any]:
    return dict(zip(_NAMES[kind], row, strict=True))


def _signature(row: list[Any] | None) -> Signature | None:
    if row is None:
        return None
    given = _named(Signature, row)
    return Signature(**{**given, "names": tuple(given["names"]), "must": tuple(given["must"])})


def _symbol(row: list[Any]) -> Symbol:
    given = _named(Symbol, row)
    given["signature"] = _signature(given["signature"])
    given["bases"] = tuple(given["bases"])
    given["raises"] = tuple(given["raises"])
    return Symbol(**given)


def _use(row: list[Any]) -> Use:
    given = _named(Use, row)
    if given["call"] is not None:
        call = _named(Call, given["call"])
        given["call"] = Call(**{**call, "names": tuple(call["names"])})
    given["then"] = tuple(given["then"])
    given["caught"] = tuple(given["caught"])
    return Use(**given)
