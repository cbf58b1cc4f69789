"""AI-08: token totals that come out 1.6 to 4 times too high, since each block of a message repeats its usage and the end repeats the sum."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from interlock.adapters.agents.claude import ClaudeAgent
from interlock.adapters.agents.known import KnownAgents
from interlock.core.agent.usage import UNKNOWN, Usage
from interlock.ports.agents import Reading
from interlock.ports.processes import End


def line(key: str, output: int, given: int) -> dict[str, Any]:
    usage = {"input_tokens": given, "cache_read_input_tokens": 100, "output_tokens": output}
    return {"type": "assistant", "message": {"id": key, "model": "m", "content": [], "usage": usage}}


STREAM = [line("m1", 1, 1000), line("m1", 1, 1000), line("m1", 180, 1000), line("m2", 3, 1200), line("m2", 40, 1200)]
RESULT = {
    "usage": {"input_tokens": 2200, "cache_read_input_tokens": 200, "output_tokens": 220},
    "total_cost_usd": 0.02,
    "subtype": "success",
    "is_error": False,
    "type": "result",
}


def read(folder: Path, *shapes: dict[str, Any], code: int = 0) -> Reading:
    """What the record of a run with this output says."""
    (folder / "output.log").write_text("".join(json.dumps(each) + "\n" for each in shapes))
    agents = KnownAgents(folder / "locks", {"claude": ClaudeAgent()})
    end = End(how="exited", exit_code=code, seconds=1.0, tail="")
    return agents.read("claude", folder, end, before=UNKNOWN, usd_before=None)


def test_ai_08_a_message_counts_once_and_the_totals_of_the_end_replace_the_parts(tmp_path: Path) -> None:
    summed = sum(each["message"]["usage"]["output_tokens"] for each in STREAM) + RESULT["usage"]["output_tokens"]  # type: ignore[index]
    assert summed == 445  # what two reporters' tools counted: 2.0 times what was used
    parts = read(tmp_path, *STREAM, code=1)
    assert parts.seen.usage == Usage(uncached_input=2200, cache_read=200, output=220)
    whole = read(tmp_path, *STREAM, RESULT)
    assert whole.seen.usage == Usage(uncached_input=2200, cache_read=200, output=220)
    assert (whole.outcome.kind, whole.seen.usd) == ("completed", 0.02)
    # A form that nobody knows is unknown, never nothing.
    news = read(
        tmp_path, {"type": "usage_v9", "tokens": 5}, {"subtype": "success", "is_error": False, "type": "result"}
    )
    assert (news.seen.usage, news.seen.usage.total, news.seen.usd) == (UNKNOWN, None, None)
