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
    scope or answers for a person.
    """
    del face
    if importlib.util.find_spec("mcp") is None:
        raise Misuse("The Model Context Protocol is not installed.", hint="pip install 'interlock[mcp]'")
    from interlock.mcp.server import serve

    serve()
    return 0
