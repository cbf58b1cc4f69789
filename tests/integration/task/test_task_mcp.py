"""The verbs of interlock-task over the Model Context Protocol: with a real client, and line by line."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from interlock.host import spool
from interlock.task import mcp
from interlock.task.inside import Inside

TOOLS = {"card", "may_i", "stop", "scope_request", "attach", "note", "pack"}


@pytest.fixture
def inside(tmp_path: Path) -> Inside:
    (tmp_path / "spool").mkdir()
    (tmp_path / "tree").mkdir()
    card = {"card": {"slug": "a"}, "owned_paths": ["a/**"], "protected_paths": ["tasks/**"]}
    (tmp_path / "spool" / "card.json").write_text(json.dumps(card))
    return Inside(spool=tmp_path / "spool", attempt=3, tree=tmp_path / "tree")


def said(inside: Inside) -> list[tuple[str, str]]:
    return [(each["verb"], each["text"]) for each in spool.read(inside.spool, inside.attempt)]


def answers(inside: Inside, *lines: bytes) -> list[dict[str, Any]]:
    out = io.BytesIO()
    assert mcp.serve(inside, io.BytesIO(b"".join(line + b"\n" for line in lines)), out) == 0
    return [json.loads(line) for line in out.getvalue().splitlines()]


def asked(method: str, number: int | None = 1, **params: object) -> bytes:
    shape = {"jsonrpc": "2.0", "method": method, "params": params}
    return json.dumps(shape if number is None else {**shape, "id": number}).encode()


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{", -32700),
        (b"[1]", -32600),
        (b"5", -32600),
        (b'{"id": 1, "params": []}', -32600),
        (asked("resources/list"), -32601),
        (asked("server/discover"), -32601),
        (asked("tools/call", name="land", arguments={}), -32602),
        (asked("tools/call", name="note", arguments={}), -32602),
        (asked("tools/call", name="note", arguments={"text": 5}), -32602),
        (asked("tools/call", name="note", arguments={"text": "a", "as": "ana"}), -32602),
        (asked("tools/call", name="may_i", arguments={"paths": "a"}), -32602),
    ],
)
def test_what_is_no_call_is_refused_and_the_server_goes_on(inside: Inside, line: bytes, code: int) -> None:
    bad, good = answers(inside, line, asked("ping", 2))
    assert bad["error"]["code"] == code
    assert good == {"jsonrpc": "2.0", "id": 2, "result": {}}
    assert said(inside) == []


def test_what_a_verb_refuses_is_an_answer(inside: Inside) -> None:
    found = answers(
        inside,
        asked("notifications/initialized", None),
        asked("tools/call", 1, name="note", arguments={"text": "  "}),
        asked("tools/call", 2, name="attach", arguments={"file": "../../etc/passwd"}),
        asked("tools/call", 3, name="pack", arguments={"text": "x" * (spool.PACK_MOST + 1)}),
        asked("initialize", 4, protocolVersion="1999-01-01"),
    )
    assert [each["id"] for each in found] == [1, 2, 3, 4]
    assert all(each["result"]["isError"] for each in found[:3])
    assert found[3]["result"]["protocolVersion"] == "2025-11-25"
    assert said(inside) == []


def test_a_real_client_finds_every_tool_and_each_does_what_its_verb_does(inside: Inside) -> None:
    from mcp import Client, StdioServerParameters  # here: it takes a second, and every worker collects this file

    (inside.tree / "shot.txt").write_text("work")
    env = {
        "PATH": os.environ["PATH"],
        "INTERLOCK_SPOOL": str(inside.spool),
        "INTERLOCK_ATTEMPT_NUMBER": "3",
        "INTERLOCK_TREE": str(inside.tree),
    }
    start = StdioServerParameters(
        command=sys.executable, args=["-m", "interlock.task", "mcp"], env=env, cwd=str(inside.tree)
    )

    async def work() -> None:
        async with Client(start) as client:

            async def ask(name: str, **arguments: object) -> tuple[bool, str]:
                result = await client.call_tool(name, arguments)
                return bool(result.is_error), str(getattr(result.content[0], "text", ""))

            assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS
            assert json.loads((await ask("card"))[1])["card"] == {"slug": "a"}
            wrong, text = await ask("may_i", paths=["a/b.py", "tasks/a.yaml"])
            assert (wrong, [each["right"] for each in json.loads(text)]) == (True, ["owned", "protected"])
            assert not (await ask("may_i", paths=["a/b.py"]))[0]
            for name, arguments in (
                ("note", {"text": "a remark"}),
                ("attach", {"file": "shot.txt"}),
                ("scope_request", {"paths": ["b/c.py"], "reason": "needed"}),
                ("pack", {"text": "for the next phase"}),
                ("stop", {"reason": "unclear", "question": "Which?", "options": ["x", "y"]}),
            ):
                wrong, text = await ask(name, **arguments)
                assert (wrong, text.startswith("Recorded")) == (False, True), text

    anyio.run(work)
    assert said(inside) == [
        ("note", "a remark"),
        ("attach", "shot.txt"),
        ("scope-request", "needed"),
        ("pack", "for the next phase"),
        ("stop", "unclear"),
    ]
    assert spool.has_stop(inside.spool, 3)
