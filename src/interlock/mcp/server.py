"""The Model Context Protocol on standard input and output over tools; what a tool does is not known here."""

from __future__ import annotations

import json
from typing import Any

import anyio
import anyio.to_thread
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    ToolAnnotations,
)
from mcp.types import Tool as WireTool

from interlock import __version__
from interlock.mcp.tools import TOOLS, call

_INSTRUCTIONS = (
    "The queue of Interlock: check cards, dispatch them, follow them, read their evidence, stop an agent. "
    "What is refused comes with its rule and what would change it; do not try to get around it. "
    "Merging, caps, scope, budgets, approvals, answers and sign-offs are for people: tell them what inbox shows."
)


def serve() -> None:
    """Serve one client on standard input and output until it closes them."""
    anyio.run(_serve)


async def _serve() -> None:
    server = build()
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())


def build() -> Server[dict[str, Any]]:
    """The server; calls are carried out one after the other, each in the repository around the working directory."""
    turn = anyio.Lock()

    async def listed(_context: ServerRequestContext[Any], _params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[_wire(name) for name in TOOLS])

    async def called(context: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
        known = context.session.client_params
        client = known.client_info.name if known else ""
        async with turn:
            shape, wrong = await anyio.to_thread.run_sync(call, params.name, params.arguments or {}, client)
        # Through text, so that it is JSON and nothing else: states and paths are more than texts to Python.
        text = json.dumps(shape, default=str)
        return CallToolResult(
            content=[TextContent(type="text", text=text)], structured_content=json.loads(text), is_error=wrong
        )

    return Server(
        "interlock", version=__version__, instructions=_INSTRUCTIONS, on_list_tools=listed, on_call_tool=called
    )


def _wire(name: str) -> WireTool:
    tool = TOOLS[name]
    hints = ToolAnnotations(read_only_hint=not tool.writes, destructive_hint=False, open_world_hint=False)
    return WireTool(name=name, description=tool.what, input_schema=tool.schema(), annotations=hints)
