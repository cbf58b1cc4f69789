"""OpenAPI documents in JSON or YAML: bytes to the facts of gate.api_contract; what breaks whom is decided there."""

from __future__ import annotations

from typing import Any, Final

from interlock.adapters.checks.faults import BadReport, check_size, json_of
from interlock.core.gate.api_contract import BadContract, Contract, contract

_MOST_BYTES: Final = 16 << 20
_MOST_EVENTS: Final = 1_000_000
_DEEPEST: Final = 64


def parse(data: bytes) -> Contract:
    """The facts of a document.  Raises BadReport."""
    check_size(data, _MOST_BYTES)
    document = json_of(data) if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{" else _yaml(data)
    try:
        return contract(document)
    except BadContract as fault:
        raise BadReport(str(fault)) from fault
    except RecursionError as fault:
        raise BadReport("The document is nested too deep.") from fault


def _yaml(data: bytes) -> Any:
    """YAML without aliases, which could multiply; depth and size are counted before anything is built."""
    import yaml

    try:
        depth = 0
        for number, event in enumerate(yaml.parse(data, Loader=yaml.CSafeLoader)):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            elif isinstance(event, yaml.AliasEvent):
                raise BadReport("The document uses an alias, which is not read: write the part out, or use $ref.")
            if depth > _DEEPEST or number > _MOST_EVENTS:
                raise BadReport("The document is nested too deep, or too large.")
        return yaml.load(data, Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, ValueError, UnicodeError) as fault:
        raise BadReport(f"The document is not YAML: {' '.join(str(fault).split())[:200]}.") from fault
