"""The model gateway beside a run: entered when there is one, its way added to the sandbox, its refusal remembered; serving is host.models'."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from interlock.core.agent.gateway import ModelGateway
    from interlock.core.sandbox import Sandbox
    from interlock.host.models import Served

_GRACE_SECONDS = 2.0
"""What an agent has to end by itself, with its own last words, once a call was refused."""


class Models:
    """The gateway of one run, or none."""

    class NotServed(Exception):
        """The gateway cannot stand where it has to; the text says why."""

    def __init__(self, gateway: ModelGateway | None) -> None:
        self._gateway = gateway
        self._served: Served | None = None
        self._since: float | None = None

    @contextmanager
    def served(self, folder: Path, sandbox: Sandbox | None) -> Iterator[Sandbox | None]:
        """Serve the models meanwhile; gives the sandbox with the way to them.  Raises NotServed."""
        if self._gateway is None:
            yield sandbox
            return
        from interlock.host import models

        with ExitStack() as stack:
            user = sandbox.user if sandbox is not None else None
            try:
                self._served = stack.enter_context(models.serving(self._gateway, folder, user=user))
            except (OSError, ValueError) as fault:
                raise self.NotServed(f"The model gateway cannot be served: {fault}.".replace("..", ".")) from fault
            if sandbox is not None:
                binds, relays = self._served.binds, self._served.relays
                sandbox = replace(sandbox, binds=(*sandbox.binds, *binds), inward=(*sandbox.inward, *relays))
            yield sandbox

    @property
    def refused(self) -> str:
        """The limit that a call was refused for, or nothing."""
        return self._served.refused() if self._served is not None else ""

    @property
    def reached(self) -> dict[str, Any] | None:
        """Which limit that is, as JSON."""
        found = self._served.reached() if self._served is not None else None
        return found.as_json() if found is not None else None

    @property
    def is_over(self) -> bool:
        """Whether a call was refused so long ago that the agent had its time to end by itself."""
        if self._since is None and self.refused:
            self._since = time.monotonic()
        return self._since is not None and time.monotonic() - self._since >= _GRACE_SECONDS
