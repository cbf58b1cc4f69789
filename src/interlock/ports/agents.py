"""What is known of agents: how each kind is started and read, what it said, and what that cost."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypedDict

from interlock.core.contract.card import AgentChoice, Card
from interlock.ports.isolation import Room
from interlock.ports.processes import End, Launch

if TYPE_CHECKING:  # every verb imports the ports, and few need what these are of
    from interlock.core.agent.adapter import Capabilities
    from interlock.core.agent.gateway import ModelGateway
    from interlock.core.agent.outcome import AgentOutcome
    from interlock.core.agent.seen import Seen, Summary
    from interlock.core.agent.usage import Price, Usage
    from interlock.core.contract.agents import Login


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """One run to be prepared for an agent: its card, the choice that routing made, prompt, room and values.

    ``folder`` is the attempt's record.  ``gateway`` is what its models are reached through; ``resume`` names a
    session and ``resume_home`` the HOME that it was left in.  ``usd_left`` is what is left of the job's money.
    """

    card: Card
    choice: AgentChoice
    prompt: str
    room: Room
    env: Mapping[str, str]
    folder: Path
    writable: bool = True
    gateway: ModelGateway | None = None
    login: Login | None = None
    resume: str = ""
    resume_home: Path | None = None
    usd_left: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What the record of a run says: its stream folded, how it came out, and the usage that was found."""

    seen: Summary
    outcome: AgentOutcome


class Agents(Protocol):
    """Agents by name: how each is started, and what its stream said."""

    def names(self) -> tuple[str, ...]: ...
    def dialects(self, use: str | None) -> tuple[str, ...]:
        """Dialects of models that an agent's client speaks (core.agent.gateway); none where it reaches no gateway."""
        ...

    def capabilities(self, choice: AgentChoice) -> Capabilities:
        """What the client that would be started can do.  Raises Refused (no-agent) when there is none."""
        ...

    def launch(self, given: Assignment) -> Launch:
        """How to start the run; writes prompt, HOME and tools into the attempt's folder.  Raises Refused (no-agent, login)."""
        ...

    def read(
        self, use: str, folder: Path, end: End, *, before: Usage, usd_before: float | None, resumed: str = ""
    ) -> Reading:
        """What the run of a folder said, from its record; the totals before are of the session ``resumed``."""
        ...

    def has_session(self, use: str, folder: Path) -> bool:
        """Whether the HOME of a run's folder still holds a session of its client, for another run to go on with."""
        ...

    def watch(self, use: str, folder: Path) -> Summary:
        """What a run has said until now."""
        ...

    def told(self, use: str, data: bytes) -> tuple[Seen, ...]:
        """What whole lines of a stream say, for a person who follows it."""
        ...

    def answer(self, folder: Path, asked: str, choice: str, by: str) -> None:
        """Answer a permission that a run waits for, once.  Raises Misuse when it does not wait for that."""
        ...

    def tidy(self, folder: Path, tree: Path) -> tuple[str, ...]:
        """Take away the empty folders that the client's own sandbox left in a tree; gives their names."""
        ...

    def forget(self, folder: Path) -> tuple[str, ...]:
        """Take away the credentials of a subscription that a run had, which has ended; gives what could not be removed.

        Idempotent; does nothing for a run that had none.
        """
        ...

    def tools(self, room: Room, env: Mapping[str, str], folder: Path) -> tuple[Room, dict[str, str]]:
        """The room and values with which a person has what an agent has there: interlock-task and the guards."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call that went through a gateway: when, which model, its tokens, seconds, HTTP status, and why it was refused.

    ``estimated``: the vendor's last word on the tokens never came, so they are told from the size of the call.
    """

    at: float
    upstream: str
    model: str
    usage: Usage
    seconds: float
    status: int
    refused: str = ""
    estimated: bool = False


class Prices(Protocol):
    """Dollars by model."""

    def of(self, model: str, usage: Usage) -> float | None:
        """What a call cost; None when the model or its tokens are not known."""
        ...

    def table(self) -> Mapping[str, Price]:
        """The price of every model that is known, for limits that are kept live."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What an agent said through interlock-task; ``at`` in seconds since the epoch, by the agent's own clock."""

    number: int
    verb: Literal["stop", "scope-request", "attach", "note", "pack"]
    text: str
    data: Mapping[str, Any]
    at: float


class Ledger(TypedDict):
    """What a gateway summed up for one attempt: tokens, dollars, calls, and how many of them had no price."""

    tokens: int
    usd: float
    calls: int
    unpriced: int


class Records(Protocol):
    """The files of the job records."""

    def job(self, job: str) -> Path: ...
    def names(self, prefix: str) -> tuple[str, ...]:
        """What has a record, by the beginning of its name, in order."""
        ...

    def attempt(self, job: str, number: int) -> Path: ...
    def spool(self, job: str) -> Path: ...
    def shared(self, job: str, name: str) -> Path:
        """A folder of a job's record that what runs in the task may write."""
        ...

    def granted(self, folder: Path) -> Path:
        """Let what runs in a task write to a folder of ours, also when that is another user's process."""
        ...

    def messages(self, job: str, attempt: int) -> tuple[Message, ...]: ...
    def calls(self, job: str, attempt: int) -> tuple[Call, ...]:
        """Calls of an attempt that went through its gateway, oldest first."""
        ...

    def ledgers(self) -> Path:
        """The folder in which the running totals of all attempts of this repository are."""
        ...

    def ledger(self, job: str, attempt: int) -> Ledger | None:
        """What the gateway of an attempt summed up; holds calls too that ``calls`` has no room for."""
        ...

    def decisions(self, job: str) -> tuple[Mapping[str, Any], ...]:
        """The last refusals of network and gate in a job's attempts, oldest first: kind, at, what, why."""
        ...

    def lock(self, name: str, *, wait: float | None) -> AbstractContextManager[None]: ...
