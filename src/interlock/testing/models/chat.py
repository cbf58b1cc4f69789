"""The dialect OpenAI Chat Completions: what a request says, and the answers in its form, streamed or whole."""

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


class Chat:
    """OpenAI Chat Completions."""

    name = "chat"

    def read(self, body: Mapping[str, Any]) -> Asking:
        told = items(body.get("messages"))
        done = sum(each.get("role") == "tool" for each in told)
        said = sum(each.get("role") == "assistant" and not each.get("tool_calls") for each in told)
        return Asking(
            model=str(body.get("model") or ""),
            stream=bool(body.get("stream")),
            tools={tool.name: tool for tool in _offered(body)},
            place=done + said,
            folder=folder_in(json.dumps(body.get("messages"))),
        )

    def plain(self, asking: Asking, reply: Reply, tokens: Tokens) -> Mapping[str, Any]:
        message = {"role": "assistant", "content": reply if isinstance(reply, str) else None, **_calls(reply)}
        choice = {"index": 0, "finish_reason": _finish(reply), "message": message}
        return {**_head(asking, "chat.completion"), "choices": [choice], "usage": _usage(tokens)}

    def events(self, asking: Asking, reply: Reply, tokens: Tokens) -> Iterator[Event]:
        head = _head(asking, "chat.completion.chunk")
        calls = [{"index": 0, **call} for call in _calls(reply).get("tool_calls", ())]
        first = {"role": "assistant", "content": reply if isinstance(reply, str) else ""}
        for delta, finish in ((first, None), *(({"tool_calls": [call]}, None) for call in calls), ({}, _finish(reply))):
            yield "", {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
        yield "", {**head, "choices": [], "usage": _usage(tokens)}
        yield "", "[DONE]"

    def error(self, fault: Fault) -> Mapping[str, Any]:
        return {"error": {"message": fault.message, "type": code_of(fault), "code": code_of(fault)}}

    def failing(self, asking: Asking, fault: Fault) -> Iterator[Event]:  # noqa: ARG002 - one form for all dialects
        yield "", self.error(fault)


def _offered(body: Mapping[str, Any]) -> Iterator[Offered]:
    for each in items(body.get("tools")):
        function = each.get("function")
        if isinstance(function, Mapping):
            yield Offered(name=str(function.get("name")), properties=properties_of(function.get("parameters")))


def _calls(reply: Reply) -> dict[str, Any]:
    if isinstance(reply, str):
        return {}
    function = {"name": reply.tool.name, "arguments": json.dumps(reply.arguments)}
    return {"tool_calls": [{"id": unique("call"), "type": "function", "function": function}]}


def _finish(reply: Reply) -> str:
    return "stop" if isinstance(reply, str) else "tool_calls"


def _head(asking: Asking, kind: str) -> dict[str, Any]:
    return {"id": unique("chatcmpl"), "object": kind, "created": 1, "model": asking.model}


def _usage(tokens: Tokens) -> dict[str, Any]:
    return {
        "prompt_tokens": tokens.input,
        "completion_tokens": tokens.output,
        "total_tokens": tokens.input + tokens.output,
        "prompt_tokens_details": {"cached_tokens": tokens.cached},
        "completion_tokens_details": {"reasoning_tokens": tokens.reasoning},
    }
