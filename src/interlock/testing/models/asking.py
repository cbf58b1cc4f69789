"""A request to a model, and the answer that it is to get, as values that hold for every dialect; none is read or written here."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol

from interlock.testing.models.steps import Fault, Tokens

Form = Literal["function", "custom"]

_FOLDER: Final = re.compile(r"(?:working directory: |<cwd>)(/[^\s<\"\\]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """A tool that the client offers: ``properties`` of its arguments as it describes them, ``space`` its namespace if any."""

    name: str
    form: Form = "function"
    space: str = ""
    properties: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """What a request asks for; ``place`` is how many steps the conversation in it holds already."""

    model: str
    stream: bool
    tools: Mapping[str, Offered]
    place: int
    folder: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """A tool call to answer with: arguments as an object, or as plain text for a tool of form ``custom``."""

    tool: Offered
    arguments: Mapping[str, Any] | str


Reply = str | Use
"""A text, or a tool call."""

Event = tuple[str, Mapping[str, Any] | str]
"""One event of a stream: its name, or empty, and its data."""


class Dialect(Protocol):
    """One wire form of models."""

    name: str

    def read(self, body: Mapping[str, Any]) -> Asking: ...
    def plain(self, asking: Asking, reply: Reply, tokens: Tokens) -> Mapping[str, Any]: ...
    def events(self, asking: Asking, reply: Reply, tokens: Tokens) -> Iterator[Event]: ...
    def error(self, fault: Fault) -> Mapping[str, Any]: ...
    def failing(self, asking: Asking, fault: Fault) -> Iterator[Event]: ...


def unique(prefix: str) -> str:
    """An id that no other answer has: clients mistake a repeated one for a call that they know."""
    return f"{prefix}_{uuid.uuid4().hex[:20]}"


def folder_in(text: str) -> str:
    """The folder that the client says it works in, or empty."""
    found = _FOLDER.search(text)
    return found.group(1) if found else ""


def items(value: object) -> list[Mapping[str, Any]]:
    """The objects of a list from outside; nothing for anything else."""
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def properties_of(schema: object) -> Mapping[str, Any]:
    """The properties that a JSON schema names."""
    found = schema.get("properties") if isinstance(schema, Mapping) else None
    return found if isinstance(found, Mapping) else {}


_CODES: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def code_of(fault: Fault) -> str:
    """The vendor's word for a fault."""
    return fault.code or _CODES.get(fault.status, "api_error" if fault.status >= 500 else "invalid_request_error")
