"""The head of one HTTP/1 request, read strictly and written anew for the server; bodies and sockets are the proxy's work.

What two readers could understand differently is refused (RFC 9112 §11.2), so nothing can be smuggled past the list.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from interlock.host.network.allow import BadTarget, Target, read_target

MOST_BYTES: Final = 32_768
_MOST_FIELDS: Final = 100
_TOKEN: Final = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_LINE: Final = re.compile(rb"(" + _TOKEN + rb") ([\x21-\x7e]+) HTTP/1\.([01])")
_FIELD: Final = re.compile(
    rb"(" + _TOKEN + rb"):[ \t]*((?:[\x21-\x7e\x80-\xff](?:[ \t\x21-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?)[ \t]*"
)
_ABSOLUTE: Final = re.compile(r"(?i:http)://([^/?#\\]*)(/[^#\\]*)?(\?[^#\\]*)?")
_LENGTH: Final = re.compile(rb"[0-9]{1,15}")
# What concerns one connection alone, and what we write ourselves.
_DROPPED: Final = frozenset(
    (
        *(b"connection", b"proxy-connection", b"proxy-authorization", b"proxy-authenticate", b"keep-alive", b"te"),
        *(b"trailer", b"upgrade", b"transfer-encoding", b"content-length", b"host", b"forwarded", b"via"),
    )
)


class BadHead(Exception):
    """A request that is not taken; ``status`` is what it is answered with, the text says why."""

    def __init__(self, why: str, status: int = 400) -> None:
        super().__init__(why)
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """A request: ``path`` is empty for CONNECT; ``length`` of the body in bytes, None where it comes in chunks."""

    method: bytes
    target: Target
    path: str
    length: int | None
    fields: tuple[tuple[bytes, bytes], ...]

    @property
    def connect(self) -> bool:
        return self.method == b"CONNECT"

    def for_server(self) -> bytes:
        """The head as the server gets it: its own path and Host, one request for the connection, nothing of the proxy's."""
        lines = [b"%s %s HTTP/1.1" % (self.method, self.path.encode()), b"Host: " + self.target.authority.encode()]
        lines += [b"%s: %s" % field for field in without_hops(self.fields)]
        if self.length is None:
            lines.append(b"Transfer-Encoding: chunked")
        elif self.length or self.method in (b"POST", b"PUT", b"PATCH"):
            lines.append(b"Content-Length: %d" % self.length)
        lines.append(b"Connection: close")
        return b"\r\n".join((*lines, b"", b""))


def read(data: bytes) -> Head:
    """The request that the bytes up to the empty line are.  Raises BadHead."""
    first, *lines = data.removesuffix(b"\r\n\r\n").split(b"\r\n")
    match = _LINE.fullmatch(first)
    if match is None:
        raise BadHead("The first line is no request of HTTP/1.")
    if len(lines) > _MOST_FIELDS:
        raise BadHead(f"There are more than {_MOST_FIELDS} fields.", 431)
    fields = tuple(_field(line) for line in lines)
    method, asked = match[1], match[2].decode("ascii")
    try:
        target, path = (read_target(asked), "") if method == b"CONNECT" else _absolute(asked)
    except BadTarget as fault:
        raise BadHead(str(fault)) from fault
    length = _length(fields, newest=match[3] == b"1")
    return Head(method=method, target=target, path=path, length=length, fields=fields)


def without_hops(fields: tuple[tuple[bytes, bytes], ...]) -> list[tuple[bytes, bytes]]:
    """The fields without those that concern one connection alone, also as the Connection field names them."""
    named = {
        name.strip().lower() for key, value in fields if key.lower() == b"connection" for name in value.split(b",")
    }
    return [(key, value) for key, value in fields if key.lower() not in _DROPPED and key.lower() not in named]


def _field(line: bytes) -> tuple[bytes, bytes]:
    match = _FIELD.fullmatch(line)
    if match is None:
        raise BadHead("A field is malformed, folded over lines, or holds a control character.")
    return match[1], match[2]


def _absolute(asked: str) -> tuple[Target, str]:
    match = _ABSOLUTE.fullmatch(asked)
    if match is None:
        raise BadHead("The target is no http:// address; https:// goes through CONNECT.")
    return read_target(match[1], port=80), (match[2] or "/") + (match[3] or "")


def _length(fields: tuple[tuple[bytes, bytes], ...], *, newest: bool) -> int | None:
    lengths = [value for key, value in fields if key.lower() == b"content-length"]
    codings = [value for key, value in fields if key.lower() == b"transfer-encoding"]
    if codings:
        if lengths or not newest or len(codings) > 1 or codings[0].lower() != b"chunked":
            raise BadHead("The length of the body can be understood in two ways.")
        return None
    if not lengths:
        return 0
    if len(lengths) > 1 or not _LENGTH.fullmatch(lengths[0]):
        raise BadHead("The length of the body can be understood in two ways.")
    return int(lengths[0])
