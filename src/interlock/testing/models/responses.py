"""The dialect OpenAI Responses: what a request says, and the answers in its form, streamed or whole."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from interlock.testing.models.asking import (
    Asking,
    Event,
    Form,
    Offered,
    Reply,
    code_of,
    folder_in,
    items,
    properties_of,
    unique,
)
from interlock.testing.models.steps import Fault, Tokens

_COMMON: Final = "functions"
"""The namespace whose tools are named without it."""

_RESULTS: Final = frozenset({"function_call_output", "custom_tool_call_output"})


class Responses:
    """OpenAI Responses."""

    name = "responses"

    def read(self, body: Mapping[str, Any]) -> Asking:
        told = items(body.get("input"))
        done = sum(each.get("type") in _RESULTS for each in told)
        said = sum(each.get("type") == "message" and each.get("role") == "assistant" for each in told)
        return Asking(
            model=str(body.get("model") or ""),
            stream=bool(body.get("stream")),
            tools=_tools(body),
            place=done + said,
            folder=folder_in(json.dumps(body.get("input"))),
        )

    def plain(self, asking: Asking, reply: Reply, tokens: Tokens) -> Mapping[str, Any]:
        return _response(asking, unique("resp"), [_item(reply)], tokens)

    def events(self, asking: Asking, reply: Reply, tokens: Tokens) -> Iterator[Event]:
        item, answer = _item(reply), unique("resp")
        at = {"output_index": 0}
        yield _event("response.created", response=_began(asking, answer))
        empty: dict[str, Any] = {"content": []} if isinstance(reply, str) else {}
        yield _event("response.output_item.added", item={**item, **empty, "status": "in_progress"}, **at)
        if isinstance(reply, str):
            part = {"item_id": item["id"], "content_index": 0, **at}
            yield _event("response.content_part.added", part={**_text(""), "annotations": []}, **part)
            yield _event("response.output_text.delta", delta=reply, **part)
        yield _event("response.output_item.done", item=item, **at)
        yield _event("response.completed", response=_response(asking, answer, [item], tokens))

    def error(self, fault: Fault) -> Mapping[str, Any]:
        return {"error": {"message": fault.message, "type": code_of(fault), "code": code_of(fault)}}

    def failing(self, asking: Asking, fault: Fault) -> Iterator[Event]:
        answer = unique("resp")
        yield _event("response.created", response=_began(asking, answer))
        error = {"code": code_of(fault), "message": fault.message}
        yield _event("response.failed", response={**_began(asking, answer), "status": "failed", "error": error})


def _tools(body: Mapping[str, Any]) -> dict[str, Offered]:
    """The tools of a request, by name; also those that newer clients of newer models put before the conversation."""
    before = [
        each for item in items(body.get("input")) if item.get("type") == "additional_tools" for each in _list(item)
    ]
    return {_name(tool): tool for each in (*_list(body), *before) for tool in _offered(each)}


def _list(holder: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return items(holder.get("tools"))


def _name(tool: Offered) -> str:
    return tool.name if tool.space in ("", _COMMON) else f"{tool.space}.{tool.name}"


def _offered(each: Mapping[str, Any], space: str = "") -> Iterator[Offered]:
    name, kind = str(each.get("name") or each.get("type")), each.get("type")
    if kind == "namespace":
        for part in _list(each):
            yield from _offered(part, name)
    else:
        form: Form = "custom" if kind == "custom" else "function"
        yield Offered(name=name, form=form, space=space, properties=properties_of(each.get("parameters")))


def _item(reply: Reply) -> dict[str, Any]:
    if isinstance(reply, str):
        content = [{**_text(reply), "annotations": []}]
        return {
            "type": "message",
            "id": unique("msg"),
            "role": "assistant",
            "status": "completed",
            "content": content,
        }
    tool = reply.tool
    common = {"call_id": unique("call"), "name": tool.name, "status": "completed"}
    if tool.space:
        common["namespace"] = tool.space
    if tool.form == "custom":
        return {"type": "custom_tool_call", "id": unique("ctc"), "input": reply.arguments, **common}
    return {"type": "function_call", "id": unique("fc"), "arguments": json.dumps(reply.arguments), **common}


def _text(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text}


def _began(asking: Asking, answer: str) -> dict[str, Any]:
    return {"id": answer, "object": "response", "status": "in_progress", "model": asking.model, "output": []}


def _response(asking: Asking, answer: str, output: list[dict[str, Any]], tokens: Tokens) -> dict[str, Any]:
    usage = {
        "input_tokens": tokens.input,
        "input_tokens_details": {"cached_tokens": tokens.cached},
        "output_tokens": tokens.output,
        "output_tokens_details": {"reasoning_tokens": tokens.reasoning},
        "total_tokens": tokens.input + tokens.output,
    }
    return {**_began(asking, answer), "created_at": 1, "status": "completed", "output": output, "usage": usage}


def _event(name: str, **data: Any) -> Event:
    return name, {"type": name, "sequence_number": 0, **data}
