"""What a request makes its vendor run, fetch or remember, and how one is read that is made to be slow or to be understood in two ways."""

from __future__ import annotations

import json
from typing import Any

import pytest

from interlock.core.agent.dialect import Dialect
from interlock.host.models import body
from interlock.host.models.hiding import Hiding
from interlock.host.models.scanning import BadBody, scan
from interlock.host.models.server_side import Wanted, wanted

FAR = "https://example.org/" + "x" * 2000


def want(dialect: Dialect, **said: Any) -> Wanted:
    known = body.read(json.dumps({"model": "m", **said}).encode())
    return wanted(known.said, known.model, dialect)


@pytest.mark.parametrize(
    ("dialect", "said"),
    [
        ("responses", {"tools": [{"type": "function", "name": "x"}, {"type": "web_search"}]}),
        ("responses", {"tools": [{"type": "mcp", "server_url": "https://example.org"}]}),
        ("responses", {"tools": [{"type": "code_interpreter"}]}),
        ("responses", {"tools": [{"type": "file_search"}]}),
        ("responses", {"tools": [{"type": "shell", "environment": {"type": "container_auto"}}]}),
        ("responses", {"tools": [{"type": "namespace", "tools": [{"type": "mcp"}]}]}),
        ("responses", {"tools": [{"type": "function", "Type": "mcp"}]}),
        ("responses", {"tools": {"type": "mcp"}}),
        ("responses", {"tools": ["mcp"]}),
        ("responses", {"input": [{"type": "additional_tools", "tools": [{"type": "web_search"}]}]}),
        ("responses", {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": FAR}]}]}),
        ("responses", {"input": [{"role": "user", "content": [{"type": "input_file", "file_url": "http://a"}]}]}),
        ("responses", {"prompt": {"id": "pmpt_1"}}),
        ("anthropic", {"mcp_servers": [{"type": "url", "url": "https://example.org"}]}),
        ("anthropic", {"tools": [{"type": "web_fetch_20250910", "name": "web_fetch"}]}),
        ("anthropic", {"tools": [{"type": "code_execution_20250825", "name": "x"}]}),
        ("anthropic", {"messages": [{"content": [{"type": "image", "source": {"type": "url", "url": "http://a"}}]}]}),
        ("chat", {"web_search_options": {"user_location": None}}),
        ("chat", {"messages": [{"content": [{"type": "image_url", "image_url": {"url": "HTTP://a"}}]}]}),
        ("chat", {"model": "gpt-4o-search-preview"}),
        ("chat", {"tools": [{"google_search": {}}]}),
    ],
)
def test_what_a_vendor_would_run_or_fetch_is_seen(dialect: Dialect, said: dict[str, Any]) -> None:
    assert want(dialect, **said).run


@pytest.mark.parametrize(
    ("dialect", "said"),
    [
        ("responses", {"previous_response_id": "r", "input": "go on"}),
        ("responses", {"conversation": {"id": "c"}}),
        ("responses", {"input": [{"type": "item_reference", "id": "i"}]}),
        ("responses", {"input": [{"content": [{"type": "input_file", "file_id": "f"}]}]}),
        ("anthropic", {"messages": [{"content": [{"type": "document", "source": {"type": "file", "file_id": "f"}}]}]}),
    ],
)
def test_what_a_vendor_remembers_is_seen(dialect: Dialect, said: dict[str, Any]) -> None:
    found = want(dialect, **said)
    assert (bool(found.kept), found.run) == (True, "")


def test_what_clients_send_is_neither() -> None:
    """Their own tools, data within the request, and whatever a tool was given or is described by."""
    used = {
        "type": "tool_use",
        "id": "t",
        "name": "fetch",
        "input": {"image_url": FAR, "file_id": "f", "source": {"url": FAR}},
    }
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 5000}}
    schema = {"type": "object", "properties": {"file_id": {"type": "string"}, "image_url": {"default": FAR}}}
    tools: list[Any] = [{"name": "x", "input_schema": schema}, {"type": "bash_20250124", "name": "bash"}]
    messages = [{"role": "assistant", "content": [used]}, {"role": "user", "content": [image]}]
    assert want("anthropic", tools=tools, messages=messages, mcp_servers=[], max_tokens=7) == Wanted(output=7)
    data = {"type": "input_image", "image_url": "data:image/png;base64," + "A" * 5000}
    call = {"type": "function_call", "name": "x", "arguments": json.dumps({"file_id": "f"})}
    tools = [{"type": kind, "name": "x"} for kind in ("function", "custom", "local_shell", "tool_search")]
    tools += [
        {"type": "namespace", "name": "n", "tools": [*tools]},
        {"type": "shell", "environment": {"type": "local"}},
    ]
    said = {"tools": tools, "input": [{"content": [data]}, call], "previous_response_id": None, "store": False}
    assert want("responses", **said) == Wanted()
    assert want("chat", messages=[], max_tokens=10, max_completion_tokens=20, n=3) == Wanted(output=60)


def test_a_request_that_is_slow_to_read_is_refused() -> None:
    for data in (
        b'{"a": ' + b"[" * 1000,
        b'{"a": [' + b"1," * 600_000 + b"1]}",
        b'{"a": [' + b" " * 100_000 + b"]}",
        b'{"a": [' + b'"' + b"x" * 1000 + b'",' * 1,
        b'{"a": "\xff"}',
        b'{"a": {"b": 1, "b": 2}}',
        b'{"a": ' + b"1" * 5000 + b"}",
        b'{"a": [' + (b'"' + b"x" * 1000 + b'",') * 20_000 + b"1]}",
    ):
        with pytest.raises(BadBody):
            body.read(data)


def test_long_texts_are_not_built_and_keep_their_begin() -> None:
    data = json.dumps({"Model": "m", "a": "data:" + "x" * 5000, "b": "\u00e9" * 2000, "c": [1]}).encode()
    spans, short = scan(data)
    assert len(short) < 200
    said = body.read(data).said
    assert (said["model"], said["b"], said["c"]) == ("m", "?", [1])
    assert said["a"].startswith("data:x")
    assert json.loads(data[spans["a"][0] : spans["a"][1]]) == "data:" + "x" * 5000


@pytest.mark.parametrize("size", [1, 3, 100])
def test_a_key_is_hidden_however_it_is_cut(size: int) -> None:
    key = "sk-sk-123456"
    data = b"sk-sk-sk-123456 and sk-sk-123456, not sk-sk-12345 sk-"
    hiding = Hiding(key)
    parts = [hiding.pass_on(data[at : at + size]) for at in range(0, len(data), size)]
    found = b"".join(parts) + hiding.pass_on(b"", last=True)
    assert found == data.replace(key.encode(), b"*" * len(key))
    assert len(found) == len(data)
    assert Hiding(key).pass_on(b"event\n\n") == b"event\n\n"  # nothing is held without need
    assert Hiding("").pass_on(b"x") == b"x"
