"""Which requests a gateway passes on, and where to: paths of each dialect below ``/NAME/``; what they cost is the budget's work.

Whatever is not listed is refused, so nothing that cannot be metered is reached (batches, files, background jobs).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from interlock.core.agent.dialect import Dialect
from interlock.core.agent.gateway import Upstream

_POSTED: Final[dict[str, tuple[Dialect, bool]]] = {
    "/v1/messages": ("anthropic", True),
    "/v1/messages/count_tokens": ("anthropic", False),
    "/v1/responses": ("responses", True),
    "/v1/responses/compact": ("responses", True),
    "/v1/chat/completions": ("chat", True),
}
_MODELS: Final = re.compile(r"/v1/models(?:/[A-Za-z0-9_:@-][A-Za-z0-9._:@-]{0,127})?")
_TARGET: Final = re.compile(r"(/[^?#\\%]*)(\?[\x21\x24-\x7e]*)?")


class NotServed(Exception):
    """A request that no upstream takes; ``dialect`` is the one to tell it in, ``status`` the answer's."""

    def __init__(self, why: str, *, dialect: Dialect = "chat", status: int = 404) -> None:
        super().__init__(why)
        self.dialect = dialect
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A request's way: to ``upstream`` at ``path`` (with its query), in a dialect; ``metered`` when it costs tokens.

    Without an upstream the gateway answers by itself that it is there.
    """

    upstream: Upstream | None
    path: str = "/"
    dialect: Dialect = "chat"
    metered: bool = False


def find(upstreams: Sequence[Upstream], method: str, target: str) -> Route:
    """The way of one request.  Raises NotServed."""
    match = _TARGET.fullmatch(target)
    if match is None or method == "CONNECT":
        raise NotServed("Only paths of this gateway are served, in their plain form.", status=400)
    path, query = match[1], match[2] or ""
    _, name, *below = path.split("/", 2)
    rest = f"/{below[0]}" if below and below[0] else ""
    if not rest and method in ("HEAD", "GET"):
        return Route(upstream=None)
    upstream = next((each for each in upstreams if each.name == name), None)
    if upstream is None:
        known = ", ".join(each.name for each in upstreams)
        raise NotServed(f"{name or 'That'} is no upstream of this gateway; it has {known}.")
    return _below(upstream, method, rest, query)


def _below(upstream: Upstream, method: str, rest: str, query: str) -> Route:
    first = upstream.dialects[0] if upstream.dialects else "chat"
    if method == "GET" and _MODELS.fullmatch(rest):
        return Route(upstream=upstream, path=rest + query, dialect=first)
    dialect, metered = _POSTED.get(rest, (first, False))
    if method != "POST" or rest not in _POSTED or dialect not in upstream.dialects:
        spoken = ", ".join(upstream.dialects)
        raise NotServed(f"{method} {rest} is not among the calls that {upstream.name} takes ({spoken}).", dialect=first)
    return Route(upstream=upstream, path=rest + query, dialect=dialect, metered=metered)


def guessed(target: bytes) -> Dialect:
    """The dialect that a client seems to speak, for a refusal before its way is known."""
    if b"/messages" in target:
        return "anthropic"
    return "responses" if b"/responses" in target else "chat"
