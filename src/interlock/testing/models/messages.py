"""The dialect Anthropic Messages: what a request says, and the answers in its form, streamed or whole."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from interlock.testing.models.asking import (
    Asking,
    Event,
    Offered,
    Reply,
    code_of,
    folder_in,
    items,
    properties_of,
    unique,
)
from interlock.testing.models.steps import Fault, Tokens


class Messages:
    """Anthropic Messages."""

    name = "anthropic"

    def read(self, body: Mapping[str, Any]) -> Asking:
        told = items(body.get("messages"))
        done = sum(part.get("type") == "tool_result" for each in told for part in items(each.get("content")))
        said = sum(each.get("role") == "assistant" and not _calls_a_tool(each) for each in told)
        return Asking(
            model=str(body.get("model") or ""),
            stream=bool(body.get("stream")),
            tools={tool.name: tool for tool in _offered(body)},
            place=done + said,
            folder=folder_in(json.dumps([body.get("system"), body.get("messages")])),
        )

    def plain(self, asking: Asking, reply: Reply, tokens: Tokens) -> Mapping[str, Any]:
        return _message(asking, [_block(reply)], _stop(reply), _usage(tokens))

    def events(self, asking: Asking, reply: Reply, tokens: Tokens) -> Iterator[Event]:
        usage = _usage(tokens)
        yield _event("message_start", message=_message(asking, [], None, {**usage, "output_tokens": 1}))
        block = _block(reply)
        if isinstance(reply, str):
            start, delta = {**block, "text": ""}, {"type": "text_delta", "text": reply}
        else:
            start = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield _event("content_block_start", index=0, content_block=start)
        yield _event("content_block_delta", index=0, delta=delta)
        yield _event("content_block_stop", index=0)
        ending = {"stop_reason": _stop(reply), "stop_sequence": None}
        yield _event("message_delta", delta=ending, usage={"output_tokens": tokens.output})
        yield _event("message_stop")

    def error(self, fault: Fault) -> Mapping[str, Any]:
        return {"type": "error", "error": {"type": code_of(fault), "message": fault.message}}

    def failing(self, asking: Asking, fault: Fault) -> Iterator[Event]:
        usage = {"input_tokens": 1, "output_tokens": 1}
        yield _event("message_start", message=_message(asking, [], None, usage))
        yield "error", self.error(fault)


def _calls_a_tool(message: Mapping[str, Any]) -> bool:
    return any(part.get("type") == "tool_use" for part in items(message.get("content")))


def _offered(body: Mapping[str, Any]) -> Iterator[Offered]:
    for each in items(body.get("tools")):
        yield Offered(name=str(each.get("name")), properties=properties_of(each.get("input_schema")))


def _block(reply: Reply) -> dict[str, Any]:
    if isinstance(reply, str):
        return {"type": "text", "text": reply}
    given = reply.arguments if isinstance(reply.arguments, Mapping) else {"input": reply.arguments}
    return {"type": "tool_use", "id": unique("toolu"), "name": reply.tool.name, "input": dict(given)}


def _stop(reply: Reply) -> str:
    return "end_turn" if isinstance(reply, str) else "tool_use"


def _message(
    asking: Asking, content: list[dict[str, Any]], stop: str | None, usage: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "id": unique("msg"),
        "type": "message",
        "role": "assistant",
        "model": asking.model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage,
    }


def _usage(tokens: Tokens) -> dict[str, Any]:
    return {
        "input_tokens": tokens.input - tokens.cached - tokens.cache_write,
        "cache_read_input_tokens": tokens.cached,
        "cache_creation_input_tokens": tokens.cache_write,
        "output_tokens": tokens.output,
    }


def _event(name: str, **data: Any) -> Event:
    return name, {"type": name, **data}
