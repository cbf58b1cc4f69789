"""The scripted model server, asked with plain HTTP in each dialect."""

from __future__ import annotations

import gzip
import http.client
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from tests.leftovers import no_thread_left

from interlock.testing.models import (
    Big,
    Call,
    Cut,
    Fault,
    Hang,
    Loop,
    Once,
    Run,
    Say,
    ScriptedModels,
    Tokens,
    Write,
)

STRING = {"type": "string"}


@pytest.fixture(scope="module")
def models() -> Iterator[ScriptedModels]:
    with ScriptedModels() as server:
        yield server


def send(
    url: str, body: Mapping[str, Any] | bytes, *, method: str = "POST", **headers: str
) -> tuple[int, dict[str, str], bytes]:
    _, _, rest = url.partition("//")
    host, _, path = rest.partition("/")
    connection = http.client.HTTPConnection(host, timeout=20)
    try:
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request(method, f"/{path}", sent, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


def ask(url: str, body: Mapping[str, Any], **headers: str) -> dict[str, Any]:
    status, _, sent = send(url, body, **headers)
    assert status == 200, sent
    answer: dict[str, Any] = json.loads(sent)
    return answer


def events(url: str, body: Mapping[str, Any]) -> list[dict[str, Any]]:
    status, headers, sent = send(url, {**body, "stream": True})
    assert (status, headers["content-type"]) == (200, "text/event-stream")
    data = [line[6:] for line in sent.decode().splitlines() if line.startswith("data: ")]
    return [json.loads(each) for each in data if each != "[DONE]"]


def function(name: str, *properties: str, **typed: Any) -> dict[str, Any]:
    return {"name": name, "schema": {"properties": {**dict.fromkeys(properties, STRING), **typed}}}


def responses(*tools: Mapping[str, Any], done: int = 0, said: int = 0, text: str = "go") -> dict[str, Any]:
    told: list[dict[str, Any]] = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
    ]
    told += [{"type": "function_call_output", "call_id": "c", "output": "x"}] * done
    told += [{"type": "message", "role": "assistant", "content": []}] * said
    offered = [
        each if "schema" not in each else {"type": "function", "name": each["name"], "parameters": each["schema"]}
        for each in tools
    ]
    return {"model": "m1", "input": told, "tools": offered}


def chat(*tools: Mapping[str, Any], done: int = 0) -> dict[str, Any]:
    told: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    told += [{"role": "assistant", "tool_calls": [{}]}, {"role": "tool", "content": "x"}] * done
    offered = [{"type": "function", "function": {"name": each["name"], "parameters": each["schema"]}} for each in tools]
    return {"model": "m1", "messages": told, "tools": offered}


def anthropic(*tools: Mapping[str, Any], done: int = 0, system: str = "") -> dict[str, Any]:
    told: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    pair = [
        {"role": "assistant", "content": [{"type": "tool_use"}]},
        {"role": "user", "content": [{"type": "tool_result"}]},
    ]
    offered = [{"name": each["name"], "input_schema": each["schema"]} for each in tools]
    return {"model": "m1", "messages": told + pair * done, "tools": offered, "system": system}


SHELL = function("shell_command", "command")
WRITER = function("Write", "file_path", "content")


def test_one_script_is_played_in_each_dialect_streamed_and_whole(models: ScriptedModels) -> None:
    base = models.play("all", Run("make"), Say("Well done."), tokens=Tokens(input=10, cached=4, output=3, reasoning=1))

    first, second = (ask(f"{base}/v1/responses", responses(SHELL, done=done)) for done in (0, 1))
    assert json.loads(first["output"][0]["arguments"]) == {"command": "make"}
    assert second["output"][0]["content"][0]["text"] == "Well done."
    assert second["usage"]["input_tokens_details"] == {"cached_tokens": 4}
    streamed = events(f"{base}/v1/responses", responses(SHELL, done=1))
    assert [each["type"] for each in streamed][-2:] == ["response.output_item.done", "response.completed"]
    assert [each["delta"] for each in streamed if each["type"].endswith("delta")] == ["Well done."]
    assert streamed[-1]["response"]["usage"] == second["usage"]

    first, second = (ask(f"{base}/v1/chat/completions", chat(SHELL, done=done)) for done in (0, 1))
    assert json.loads(first["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"]) == {"command": "make"}
    assert second["choices"][0]["message"]["content"] == "Well done."
    streamed = events(f"{base}/v1/chat/completions", chat(SHELL))
    assert streamed[1]["choices"][0]["delta"]["tool_calls"][0]["function"]["name"] == "shell_command"
    assert [each["choices"][0]["finish_reason"] for each in streamed if each["choices"]] == [None, None, "tool_calls"]
    assert streamed[-1]["usage"] == second["usage"]

    first, second = (ask(f"{base}/v1/messages", anthropic(SHELL, done=done)) for done in (0, 1))
    assert (first["content"][0]["input"], first["stop_reason"]) == ({"command": "make"}, "tool_use")
    assert second["content"] == [{"type": "text", "text": "Well done."}]
    assert (second["usage"]["input_tokens"], second["usage"]["cache_read_input_tokens"]) == (6, 4)
    streamed = events(f"{base}/v1/messages", anthropic(SHELL))
    assert json.loads(streamed[2]["delta"]["partial_json"]) == {"command": "make"}
    assert [each["type"] for each in streamed][-2:] == ["message_delta", "message_stop"]

    seen = models.journal.of("all")
    assert [each.dialect for each in seen] == ["responses"] * 3 + ["chat"] * 3 + ["anthropic"] * 3
    assert [(each.place, each.step) for each in seen[:3]] == [(0, "run"), (1, "say"), (1, "say")]
    assert seen[0].tools == ("shell_command",)
    assert seen[0].size == len(json.dumps(responses(SHELL)))


def test_no_id_comes_twice(models: ScriptedModels) -> None:
    base = models.play("ids", Run("make"))
    calls = [ask(f"{base}/v1/messages", anthropic(SHELL)) for _ in range(20)]
    assert len({each["id"] for each in calls} | {each["content"][0]["id"] for each in calls}) == 40


def test_a_retry_gets_the_same_step_and_a_resumed_session_goes_on(models: ScriptedModels) -> None:
    base = models.play("again", Run("one"), Say("first turn"), Say("second turn"))
    for _ in range(2):
        assert "one" in ask(f"{base}/v1/responses", responses(SHELL))["output"][0]["arguments"]
    later = ask(f"{base}/v1/responses", responses(SHELL, done=1, said=1))
    assert later["output"][0]["content"][0]["text"] == "second turn"
    after = ask(f"{base}/v1/responses", responses(SHELL, done=4, said=2))
    assert after["output"][0]["content"][0]["text"] == "Done."


def test_a_request_without_tools_is_answered_apart_and_does_not_count(models: ScriptedModels) -> None:
    base = models.play("aside", Run("one"), aside="My title")
    assert ask(f"{base}/v1/chat/completions", chat())["choices"][0]["message"]["content"] == "My title"
    assert ask(f"{base}/v1/chat/completions", chat(SHELL))["choices"][0]["finish_reason"] == "tool_calls"
    assert [each.step for each in models.journal.of("aside")] == ["aside", "run"]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        (WRITER, {"file_path": "/tree/a/b.txt", "content": "hi\n"}),
        (function("write_file", "path", "content"), {"path": "/tree/a/b.txt", "content": "hi\n"}),
        (function("write", "filePath", "content"), {"filePath": "/tree/a/b.txt", "content": "hi\n"}),
        (function("Bash", "command", "description"), {"command": "printf %s 'hi\n' > a/b.txt"}),
        (function("exec_command", "cmd"), {"cmd": "printf %s 'hi\n' > a/b.txt"}),
    ],
)
def test_a_file_is_written_with_what_is_offered(
    models: ScriptedModels, tool: dict[str, Any], arguments: dict[str, str]
) -> None:
    base = models.play("write", Write("a/b.txt", "hi\n"))
    answer = ask(f"{base}/v1/messages", anthropic(tool, system="Working directory: /tree\nPlatform: linux"))
    assert answer["content"][0]["name"] == tool["name"]
    assert answer["content"][0]["input"].items() >= arguments.items()


def test_the_tools_of_codex_are_known(models: ScriptedModels) -> None:
    base = models.play("codex", Write("a.txt", "1\n2\n"), Run("make"), Run("make"))
    patch = ask(f"{base}/v1/responses", responses({"type": "custom", "name": "apply_patch"}, SHELL))["output"][0]
    assert (patch["type"], patch["name"]) == ("custom_tool_call", "apply_patch")
    assert patch["input"] == "*** Begin Patch\n*** Add File: a.txt\n+1\n+2\n*** End Patch\n"
    listed = function("shell", command={"type": "array"})
    words = ask(f"{base}/v1/responses", responses(listed, done=1))["output"][0]
    assert json.loads(words["arguments"]) == {"command": ["bash", "-lc", "make"]}
    code = ask(f"{base}/v1/responses", responses({"type": "custom", "name": "exec"}, done=2))["output"][0]
    assert 'exec_command({"cmd": "make"})' in code["input"]


def test_tools_that_stand_before_the_conversation_are_found(models: ScriptedModels) -> None:
    """Where Codex puts them for its newest models, in a namespace that every tool of it has."""
    base = models.play("before", Run("make"))
    spaced = {"type": "namespace", "name": "functions", "tools": [{"type": "custom", "name": "exec"}]}
    body = responses()
    body["input"] = [{"type": "additional_tools", "tools": [spaced]}, *body["input"]]
    call = ask(f"{base}/v1/responses", body)["output"][0]
    assert (call["type"], call["namespace"], call["name"]) == ("custom_tool_call", "functions", "exec")


def test_a_tool_is_called_by_name_or_by_its_end(models: ScriptedModels) -> None:
    base = models.play("call", Call("report_stop", {"reason": "x"}), Call("report_stop", {"reason": "y"}))
    named = ask(f"{base}/v1/messages", anthropic(function("mcp__harness__report_stop", "reason")))["content"][0]
    assert (named["name"], named["input"]) == ("mcp__harness__report_stop", {"reason": "x"})
    spaced = {"type": "namespace", "name": "harness", "tools": [{"name": "report_stop"}]}
    found = ask(f"{base}/v1/responses", responses(spaced, done=1))["output"][0]
    assert (found["namespace"], found["name"]) == ("harness", "report_stop")


def test_what_no_tool_can_do_is_said(models: ScriptedModels) -> None:
    base = models.play("none", Run("make"))
    answer = ask(f"{base}/v1/messages", anthropic(function("Read", "path")))
    assert answer["content"][0]["text"] == "No tool for a command was offered, only Read."


@pytest.mark.parametrize(
    ("end", "body", "code"),
    [
        ("responses", responses(SHELL), "rate_limit_error"),
        ("chat/completions", chat(SHELL), "rate_limit_error"),
        ("messages", anthropic(SHELL), "rate_limit_error"),
    ],
)
def test_a_fault_stays_and_one_that_comes_once_goes(
    models: ScriptedModels, end: str, body: dict[str, Any], code: str
) -> None:
    base = models.play(f"fault-{end[0]}", Fault(429, retry_after=3))
    for _ in range(2):
        status, headers, sent = send(f"{base}/v1/{end}", body)
        assert (status, headers["retry-after"]) == (429, "3")
        assert code in sent.decode()
    base = models.play(f"once-{end[0]}", Once(Fault(500), Say("ok"), times=2))
    assert [send(f"{base}/v1/{end}", body)[0] for _ in range(3)] == [500, 500, 200]


def test_a_fault_inside_of_a_stream(models: ScriptedModels) -> None:
    base = models.play("inside", Fault(400, code="context_length_exceeded", inside=True))
    last = events(f"{base}/v1/responses", responses(SHELL))[-1]
    assert (last["type"], last["response"]["error"]["code"]) == ("response.failed", "context_length_exceeded")
    assert events(f"{base}/v1/messages", anthropic(SHELL))[-1]["type"] == "error"
    assert events(f"{base}/v1/chat/completions", chat(SHELL))[-1]["error"]["code"] == "context_length_exceeded"


def test_a_stream_is_cut_after_so_many_bytes(models: ScriptedModels) -> None:
    base = models.play("cut", Cut(100))
    with pytest.raises(http.client.IncompleteRead) as caught:
        events(f"{base}/v1/responses", responses(SHELL))
    assert len(caught.value.partial) == 100


def test_who_hangs_answers_nothing(models: ScriptedModels) -> None:
    base = models.play("hang", Hang(0.05))
    with pytest.raises(http.client.RemoteDisconnected):
        send(f"{base}/v1/messages", anthropic(SHELL))


def test_a_server_that_closes_leaves_nobody_hanging() -> None:
    with no_thread_left(), ScriptedModels() as own:
        base = own.play("hang", Hang(600))
        with socket.create_connection(("127.0.0.1", int(own.url.rpartition(":")[2]))) as idle:
            asking = threading.Thread(
                target=pytest.raises, args=(OSError, send, f"{base}/v1/messages", anthropic(SHELL))
            )
            asking.start()
            own.journal.wait("hang", 1)
            own.close()
            assert idle.recv(1) == b""
            asking.join(10)


def test_a_loop_never_ends_and_a_big_line_is_made_by_a_command(models: ScriptedModels) -> None:
    base = models.play("loop", Big(300_000), Loop(Run("true")))
    commands = [
        json.loads(ask(f"{base}/v1/responses", responses(SHELL, done=done))["output"][0]["arguments"])["command"]
        for done in (0, 1, 2, 50)
    ]
    assert commands == ["head -c 300000 /dev/zero | tr '\\0' x; echo", "true", "true", "true"]


def test_the_key_is_seen_and_another_one_refused(models: ScriptedModels) -> None:
    base = models.play("key", Say("ok"), key="right")
    assert send(f"{base}/v1/messages", anthropic(SHELL), x_api_key="wrong")[0] == 401
    assert send(f"{base}/v1/messages", anthropic(SHELL), x_api_key="right")[0] == 200
    assert send(f"{base}/v1/responses", responses(SHELL), authorization="Bearer right")[0] == 200
    assert [each.auth for each in models.journal.of("key")] == ["wrong", "right", "right"]


def test_what_clients_ask_beside_models_is_answered(models: ScriptedModels) -> None:
    base = models.play("beside", Say("ok"))
    assert send(f"{base}/", b"", method="HEAD")[0] == 200
    assert json.loads(send(f"{base}/v1/models", b"", method="GET")[2])["object"] == "list"
    assert ask(f"{base}/v1/messages/count_tokens", anthropic(SHELL)) == {"input_tokens": 1000}
    assert send(f"{base}/v1/logs", {})[0] == 200
    assert send(f"{base}/v1/elsewhere", {})[0] == 404
    assert send(f"{models.url}/nowhere/v1/messages", anthropic(SHELL))[0] == 404
    assert send(f"{base}/v1/messages", b"\xff{")[0] == 400
    assert models.journal.of("beside") == ()
    assert len(models.journal.of("beside", model_calls=False)) == 6


def test_a_body_that_is_packed_or_in_pieces_is_read(models: ScriptedModels) -> None:
    base = models.play("packed", Say("ok"))
    packed = gzip.compress(json.dumps(anthropic(SHELL)).encode())
    assert send(f"{base}/v1/messages", packed, content_encoding="gzip")[0] == 200
    connection = http.client.HTTPConnection(models.url.removeprefix("http://"), timeout=20)
    pieces = iter([b'{"messages": [', b'], "tools": []}'])
    connection.request("POST", "/packed/v1/messages", pieces, encode_chunked=True)
    assert connection.getresponse().status == 200
    connection.close()


def test_many_are_answered_at_once(models: ScriptedModels) -> None:
    bases = [models.play(f"many-{number}", Say(f"I am {number}")) for number in range(12)]
    found: dict[int, str] = {}

    def one(number: int) -> None:
        found[number] = ask(f"{bases[number]}/v1/messages", anthropic(SHELL))["content"][0]["text"]

    threads = [threading.Thread(target=one, args=(number,)) for number in range(12)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(20)
    assert found == {number: f"I am {number}" for number in range(12)}


def test_waiting_for_a_request_that_does_not_come_ends(models: ScriptedModels) -> None:
    with pytest.raises(TimeoutError, match="was asked 0 times"):
        models.journal.wait("never", 1, seconds=0.01)
