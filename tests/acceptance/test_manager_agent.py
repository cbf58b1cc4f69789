"""A manager agent with a real client of the protocol on a real repository: what it can do, and what is not there for it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from interlock.mcp import tools
from interlock.testing.world import World

if TYPE_CHECKING:
    from mcp.types import CallToolResult

FORBIDDEN = [
    "merge",
    "land",
    "train",
    "integrate",
    "sign",
    "decide",
    "answer",
    "approve",
    "accept",
    "permit",
    "raise",
    "cap",
    "caps",
    "pause",
    "resume",
    "retry",
    "scope",
    "grant",
    "waive",
    "budget",
    "policy",
    "abandon",
    "clean",
    "split",
    "hold",
    "push",
    "secret",
]


def test_there_is_no_tool_for_what_only_a_person_decides() -> None:
    assert set(tools.TOOLS) == {
        "list",
        "show",
        "card_check",
        "dispatch",
        "status",
        "evidence",
        "inbox",
        "cancel",
        "usage",
    }
    words = {word for name in tools.TOOLS for word in name.split("_")}
    assert not words & set(FORBIDDEN)
    assert {name for name, tool in tools.TOOLS.items() if tool.writes} == {"dispatch", "cancel"}
    arguments = {name for tool in tools.TOOLS.values() for name in tool.arguments}
    assert arguments == {"slug", "slugs", "all", "reason", "by", "days"}, "no argument turns a tool into another verb"


@pytest.mark.parametrize("name", [*FORBIDDEN, "interlock decide", "../decide", "", "__class__"])
def test_what_is_no_tool_is_refused_without_a_repository(name: str) -> None:
    shape, wrong = tools.call(name, {}, "boss")
    assert (shape["code"], wrong) == ("misuse", True)
    assert "for people" in shape["hint"]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("show", {}),
        ("show", {"slug": 5}),
        ("status", {"all": "yes"}),
        ("dispatch", {"slugs": "a"}),
        ("dispatch", {"slugs": [1]}),
        ("dispatch", {"slugs": ["a"], "adopt": "agent/a"}),
        ("cancel", {"slug": "a"}),
        ("usage", {"days": True}),
    ],
)
def test_arguments_of_another_shape_are_refused(name: str, arguments: dict[str, Any]) -> None:
    shape, wrong = tools.call(name, arguments, "boss")
    assert (shape["code"], wrong) == ("misuse", True)


@pytest.mark.parametrize(
    ("client", "actor"), [("boss", "mcp:boss"), ("", "mcp:unnamed"), ("a\n@ana\x1b[1m", "mcp:a@ana1m")]
)
def test_a_client_is_never_a_person_on_the_record(client: str, actor: str) -> None:
    assert tools.actor_of(client) == actor


def text_of(result: CallToolResult) -> dict[str, Any]:
    """The JSON of an answer, which both forms carry."""
    shape: dict[str, Any] = json.loads(getattr(result.content[0], "text", ""))
    assert result.structured_content == shape
    return shape


def ageless(shape: dict[str, Any]) -> dict[str, Any]:
    """The same without what is another at each look."""
    waiting = [{name: value for name, value in item.items() if name != "age"} for item in shape["needs_a_person"]]
    return {**shape, "needs_a_person": waiting}


def test_a_manager_checks_dispatches_follows_and_stops_and_cannot_do_more(tmp_path: Path) -> None:
    world = World.make(tmp_path / "world", caps="vertical-slice 1\ntests 5\nbug-fix 5\nmigration 1\ncross-cutting 1\n")
    from mcp import Client, StdioServerParameters  # here: it takes a second, and every worker collects this file
    from mcp.types import Implementation

    world.card("a")
    world.card("b")
    world.push()

    async def manage() -> None:
        start = StdioServerParameters(
            command=sys.executable, args=["-m", "interlock", "mcp"], env=world.env, cwd=str(world.repo)
        )
        async with Client(start, client_info=Implementation(name="boss", version="1"), mode="legacy") as boss:

            async def ask(name: str, **arguments: Any) -> dict[str, Any]:
                return text_of(await boss.call_tool(name, arguments))

            listed = await boss.list_tools()
            assert {tool.name for tool in listed.tools} == set(tools.TOOLS)
            assert (await ask("list"))["cards"] == ["a", "b"]
            assert (await ask("card_check"))["ready"] is True
            admitted = await ask("dispatch", slugs=["a"])
            assert (admitted["slug"], admitted["admitted"]) == ("a", True)
            refused = await ask("dispatch", slugs=["b"])
            assert (refused["admitted"], refused["refusal"]["rule"]) == (False, "cap")
            assert "a" in str(refused["refusal"]["holders"])
            unknown = await boss.call_tool("decide", {"slug": "a", "accept": True})
            assert unknown.is_error
            assert text_of(unknown)["code"] == "misuse"
            assert (await ask("show", slug="nothing"))["code"] == "misuse"
            stopped = await ask("cancel", slug="a", reason="wrong plan")
            assert (stopped["slug"], stopped["state"]) == ("a", "waiting")
            again = await ask("cancel", slug="a", reason="and that is all")
            assert (again["refusal"]["rule"], again["refusal"]["holders"]) == (
                "approval",
                [world.ask("inbox", code=1)["needs_a_person"][0]["owner"]],
            )
            assert ageless(await ask("status")) == ageless(world.ask("status"))
            shown = await ask("show", slug="a")
            assert shown == world.ask("show", "a")
            assert {event["actor"] for event in shown["history"] if event["kind"] == "job.admitted"} == {"mcp:boss"}
            assert ageless(await ask("inbox")) == ageless(world.ask("inbox", code=1))
            assert (await ask("evidence", slug="a"))["evidence"] == []
            usage = await ask("usage", by="agent")
            assert {**usage, "since": 0} == {**world.ask("usage", "--by", "agent"), "since": 0}
            assert (await ask("usage", by="moon"))["code"] == "misuse"

    anyio.run(manage)
    assert world.ask("caps", "show")  # the record is whole, and the queue goes on without a manager
