"""Errors of the gateway itself, in the form that a vendor's own client understands; when there is one is others' decision.

A refusal that will not change by itself has the status at which the vendor's client gives up at once: driven here,
Codex 0.163 tries again for seven seconds at 402 and 403 and not at 400, Claude Code 2.1 six times at 400 and not at 402.
"""

from __future__ import annotations

import json
from typing import Any, Final

from interlock.core.agent.dialect import Dialect

REFUSED: Final[dict[Dialect, int]] = {"anthropic": 402, "responses": 400, "chat": 400}
"""The status of a refusal for a spent budget."""

_TYPES: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    502: "api_error",
    503: "overloaded_error",
}


def body(dialect: Dialect, status: int, text: str, *, code: str | None = None) -> bytes:
    """The JSON of an error; ``code`` is a word of ours for programs."""
    kind = _TYPES.get(status, "api_error")
    shape: dict[str, Any]
    if dialect == "anthropic":
        shape = {"type": "error", "error": {"type": kind, "message": text}}
    else:
        shape = {"error": {"message": text, "type": kind, "param": None, "code": code}}
    return json.dumps(shape).encode()
