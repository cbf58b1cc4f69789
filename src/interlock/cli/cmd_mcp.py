"""``interlock mcp``: the queue for a manager agent, on standard input and output; the tools are interlock.mcp's."""

from __future__ import annotations

import importlib.util

import click

from interlock.cli.render import Face, verb
from interlock.core.problems import Misuse


@click.command("mcp")
@verb
def command(face: Face) -> int:
    """Serve the Model Context Protocol for a manager agent: list, show, check, dispatch, follow, stop; never merge.

    Speaks on standard input and output; a client starts it in the repository. No tool merges, raises a cap, grants
    scope or answers for a person. Refuses to start outside of a repository, and --json: it speaks the protocol alone.
    """
    if face.json:
        raise Misuse("What interlock mcp prints is the protocol, and no answer of its own.", hint="interlock mcp")
    if importlib.util.find_spec("mcp") is None:
        raise Misuse("The Model Context Protocol is not installed.", hint="pip install 'interlock[mcp]'")
    from interlock.mcp.server import serve
    from interlock.wiring import open_repo

    open_repo()  # a client that is started elsewhere hears it now, and not with every call
    serve()
    return 0
