"""What a scripted model does, step by step: one vocabulary for every dialect; which tool carries a step out is choosing.py's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Say:
    """Answer with a text, which ends the turn of most clients."""

    text: str


@dataclass(frozen=True, slots=True)
class Write:
    """Write a whole file.

    A relative ``path`` is made absolute for tools that want it so, where the request says in which folder the client works.
    """

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Run:
    """Run a shell command."""

    command: str


@dataclass(frozen=True, slots=True)
class Call:
    """Call one tool by name, or by the end of its name (``report_stop`` finds ``mcp__harness__report_stop``)."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Big:
    """Run a command that prints one line of this many bytes."""

    size: int


@dataclass(frozen=True, slots=True)
class Fault:
    """Answer with an HTTP status, always, however often it is asked again.

    ``code`` is the vendor's word in the body (``context_length_exceeded``), by default the usual one of the status.
    ``inside`` tells it in the stream of an answer that began well.  ``retry_after`` goes into the header, in seconds.
    """

    status: int
    code: str = ""
    message: str = "This is a scripted fault."
    inside: bool = False
    retry_after: int | None = None


@dataclass(frozen=True, slots=True)
class Cut:
    """Send this many bytes of an answer and close the connection, always."""

    after: int = 0


@dataclass(frozen=True, slots=True)
class Hang:
    """Take the request, say nothing for this many seconds, and close the connection."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Once:
    """The fault for the first ``times`` requests that ask for this step, and ``then`` from there on."""

    fault: Fault | Cut | Hang
    then: Step
    times: int = 1


@dataclass(frozen=True, slots=True)
class Loop:
    """This step again and again: a model that never ends."""

    step: Write | Run | Call | Big = field(default_factory=lambda: Run("true"))


Step = Say | Write | Run | Call | Big | Fault | Cut | Hang | Once | Loop


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """What every answer says that it used; ``input`` holds the cached and the newly cached tokens as well."""

    input: int = 1000
    cached: int = 200
    cache_write: int = 0
    output: int = 50
    reasoning: int = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One script.  ``aside`` answers requests that offer no tools; with ``key``, any other key is answered with 401."""

    steps: tuple[Step, ...]
    tokens: Tokens = field(default_factory=Tokens)
    aside: str = "A scripted title"
    key: str = ""

    def at(self, index: int, hit: int) -> Step:
        """The step to play: by its place in the conversation, and how often that place was asked for, from 1."""
        last = self.steps[-1] if self.steps else Say("Done.")
        step = self.steps[index] if index < len(self.steps) else last if isinstance(last, Loop) else Say("Done.")
        while isinstance(step, Once):
            step = step.fault if hit <= step.times else step.then
        return step.step if isinstance(step, Loop) else step
