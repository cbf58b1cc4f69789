r"""Scripted models on loopback, to test an agent's client or an adapter of one without a vendor, a key or the network.

    with ScriptedModels() as models:
        base = models.play("edit", Write("notes.md", "hello\n"), Say("Done."))
        ...  # start a client with its base URL at f"{base}/v1" and any key
        assert [each.step for each in models.journal.of("edit")] == ["write", "say"]

One server speaks OpenAI Responses, OpenAI Chat Completions and Anthropic Messages, streamed or whole, at
``URL/SCENARIO/v1/responses``, ``…/chat/completions`` and ``…/messages``.  The scenario stands in the path, so one
server is enough for many tests at once.

A scenario is a list of steps: ``Say``, ``Write``, ``Run``, ``Call``, ``Big``, ``Loop``, and what goes wrong, ``Fault``,
``Cut``, ``Hang``, ``Once``.  A step is carried out by whichever tool the client offers for it.  Which step is due is
read from the conversation in each request: as many as it holds results of tools and texts of the model.  So a
retry asks for the same step again, a resumed session goes on where it was, and requests for a title do
not count (those that offer no tools get a text of their own).  After the last step the model says ``Done.``.

Ids are never used twice.  What each answer says that it used is ``Tokens``.  ``HEAD``, ``GET …/models``, ``count_tokens``
and OpenTelemetry posts are answered as well.  A body that is compressed by anything but gzip or deflate is refused.
"""

from interlock.testing.models.journal import Journal, Request
from interlock.testing.models.server import ScriptedModels
from interlock.testing.models.steps import (
    Big,
    Call,
    Cut,
    Fault,
    Hang,
    Loop,
    Once,
    Run,
    Say,
    Scenario,
    Step,
    Tokens,
    Write,
)

__all__ = [
    "Big",
    "Call",
    "Cut",
    "Fault",
    "Hang",
    "Journal",
    "Loop",
    "Once",
    "Request",
    "Run",
    "Say",
    "Scenario",
    "ScriptedModels",
    "Step",
    "Tokens",
    "Write",
]
