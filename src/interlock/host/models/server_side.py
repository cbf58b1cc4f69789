"""What a request makes its vendor do beside answering: tools run there, addresses fetched there, state kept there; pure.

The gateway sees none of that, and a task without a network could reach the world through it; so tools are let through
by a list of those that the client runs, and texts are shown in the request itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from interlock.core.agent.dialect import Dialect
from interlock.core.agent.usage import whole

_CLIENTS: Final = re.compile(
    r"function|custom|namespace|local_shell|apply_patch|computer|computer_use_preview|tool_search"
    r"|(?:bash|text_editor|computer|memory|tool_search_tool_regex|tool_search_tool_bm25)(?:_20[0-9]{6})?"
)
"""Kinds of tools that the client runs, or that only search in what the request names."""

_VENDORS: Final = ("mcp_servers", "web_search_options", "search_parameters", "plugins", "enable_search")
_SEARCHING: Final = re.compile(r"(?:-search-preview|-search-api)(?:-[0-9-]+)?$|:online$|deep-research")
_KEPT: Final = ("previous_response_id", "conversation", "prompt")
_CONVERSATION: Final = ("messages", "input", "system", "instructions")
_FREE: Final = frozenset(("arguments", "action", "parameters", "input_schema", "tools"))
_ADDRESS: Final = re.compile(r"(?:image|file|video|audio|input)_url")
_LIMITS: Final = ("max_tokens", "max_output_tokens", "max_completion_tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """``run`` names the first thing that a vendor would do by itself, ``kept`` the first state that it keeps; both may be empty.

    ``output`` is the most tokens that may come back, None where the request does not say.
    """

    run: str = ""
    kept: str = ""
    output: int | None = None


def wanted(said: Mapping[str, Any], model: str, dialect: Dialect) -> Wanted:
    """What a request, with its outermost keys in lower case, wants of a vendor."""
    limits = [found for name in _LIMITS if (found := whole(said.get(name))) is not None]
    choices = whole(said.get("n")) or 1
    return Wanted(
        run=next(_run(said, model, dialect), ""),
        kept=next(_kept(said, dialect), ""),
        output=max(limits) * max(1, choices) if limits else None,
    )


def _run(said: Mapping[str, Any], model: str, dialect: Dialect) -> Iterator[str]:
    yield from (name for name in _VENDORS if said.get(name))
    if _SEARCHING.search(model):
        yield f"the model {model}, which searches"
    if dialect == "responses" and said.get("prompt"):
        yield "a stored prompt"
    yield from _tools(said.get("tools"), dialect)
    for item in _list(said.get("input")):
        if isinstance(item, dict):
            yield from _tools(item.get("tools"), dialect)
    for key, value in _parts(said):
        if (_ADDRESS.fullmatch(key) or key == "source") and (address := _fetched(key, value)):
            yield f"{key} with an address to fetch ({_word(address[:20])})"


def _kept(said: Mapping[str, Any], dialect: Dialect) -> Iterator[str]:
    if dialect == "responses":
        yield from (name for name in _KEPT if said.get(name))
    for key, value in _parts(said):
        if key == "file_id" and isinstance(value, str) and value:
            yield "file_id"
        if key == "type" and value == "item_reference":
            yield "item_reference"


def _tools(tools: object, dialect: Dialect) -> Iterator[str]:
    """The first of them that the vendor runs."""
    if isinstance(tools, dict):
        yield "tools that are no list"
    for tool in _list(tools):
        named = {str(key).lower(): value for key, value in tool.items()} if isinstance(tool, dict) else {}
        kind = named.get("type")
        if isinstance(tool, dict) and len(named) != len(tool):
            yield "a tool with a key twice"
        if kind is None and dialect == "anthropic" and "name" in named:
            continue
        local = kind == "shell" and named.get("environment") == {"type": "local"}
        if not local and not (isinstance(kind, str) and _CLIENTS.fullmatch(kind)):
            yield f"a tool of type {_word(kind)}"
        yield from _tools(named.get("tools"), dialect)


def _parts(said: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every key and value of the conversation, without what a tool was given or is described by."""
    waiting = [said.get(name) for name in _CONVERSATION]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += value
        elif isinstance(value, dict):
            use = str(value.get("type")).endswith("tool_use")
            for key, part in value.items():
                name = key.lower()
                yield name, part
                if name not in _FREE and not (use and name == "input"):
                    waiting.append(part)


def _fetched(key: str, value: object) -> str:
    """The address that the vendor would fetch, or empty: data in the request itself is none."""
    if isinstance(value, dict):
        value = value.get("url")
    elif key == "source":  # of a search result, a text to be shown
        return ""
    return value if isinstance(value, str) and value[:5].lower() != "data:" else ""


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _word(kind: object) -> str:
    return "".join(letter for letter in str(kind)[:60] if letter.isprintable())
