"""What has to be given to a sandbox for its network: relays and variables; what stands outside is the porter's."""

from __future__ import annotations

import os
import shlex
import sys
from typing import Final

from interlock.core.sandbox import PROXY_PORT, PROXY_SOCKET, RUN, Relay, Sandbox

LOOPBACK: Final = "127.0.0.1,localhost,::1"
_SSH: Final = f"import sys; sys.path.append({RUN + '/lib'!r}); from interlock.host.network.ssh import main; main()"


def relays_inside(sandbox: Sandbox) -> tuple[Relay, ...]:
    """The relays that have to run inside: those asked for, and the way to the proxy where there is one."""
    way = Relay(listen=f"tcp:127.0.0.1:{PROXY_PORT}", connect=f"unix:{PROXY_SOCKET}")
    return (*sandbox.inward, way) if sandbox.hosts else sandbox.inward


def environment(sandbox: Sandbox, *, python: str = "") -> dict[str, str]:
    """The variables that programs inside need to find the proxy and the gate.

    ``python`` is the interpreter as it is called inside; without it this one's real path.
    """
    values: dict[str, str] = {}
    if sandbox.hosts:
        url = f"http://127.0.0.1:{PROXY_PORT}"
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            values |= {name: url, name.lower(): url}
        values |= {"NO_PROXY": LOOPBACK, "no_proxy": LOOPBACK}
    if sandbox.gate:
        program = [python or os.path.realpath(sys.executable), "-I", "-S", "-c", _SSH]
        values |= {"GIT_SSH_COMMAND": shlex.join(program), "GIT_SSH_VARIANT": "simple"}
    return values
