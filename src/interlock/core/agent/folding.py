"""The fold of an agent's stream into one summary, by the rules that keep counts true; pure, and indifferent to the vendor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from interlock.core.agent.seen import (
    Answered,
    Asked,
    Began,
    Denied,
    Ended,
    Fault,
    Retried,
    Said,
    Seen,
    Summary,
    Tool,
    Unknown,
    Used,
    Warned,
)
from interlock.core.agent.usage import UNKNOWN, Usage, believed, dollars, total

_WARNINGS: Final = 20
_RAW: Final = 50


class Folding:
    """The state of one fold; hand in what was seen, line by line, and ask for the summary at any time.

    ``before`` and ``usd_before`` are the totals of the session ``resumed``; a run whose client came back with another
    one has them for itself.  Figures that cannot be, such as
    negative ones, are taken for unknown, whichever adapter hands them in: an agent's word never lifts a budget.
    """

    def __init__(self, *, before: Usage = UNKNOWN, usd_before: float | None = None, resumed: str = "") -> None:
        self._before, self._usd_before = believed(before), dollars(usd_before)
        self._resumed = resumed
        self._session = ""
        self._models: dict[str, None] = {}
        self._text = ""
        self._tools: dict[str, Tool] = {}
        self._asked: dict[str, Asked] = {}
        self._answered: set[str] = set()
        self._denied: dict[str, Denied] = {}
        self._calls: dict[str, Used] = {}
        self._turns: list[Used] = []
        self._total: Used | None = None
        self._raw: list[Used] = []
        self._retries = 0
        self._fault: Fault | None = None
        self._warnings: list[str] = []
        self._ended: Ended | None = None
        self._lines = 0
        self._unknown = 0

    def line(self, seen: Iterable[Seen]) -> None:
        """Take in what one line said."""
        self._lines += 1
        for each in seen:
            self._take(each)

    def _take(self, each: Seen) -> None:
        match each:
            case Began():
                self._session = each.session or self._session
                self._name(each.model)
            case Said():
                self._text = each.text or self._text
            case Tool():
                self._call(each)
            case Used():
                self._use(each)
            case Asked() | Answered() | Denied():
                self._permit(each)
            case _:
                self._go_on(each)

    def _go_on(self, each: Retried | Warned | Ended | Unknown) -> None:
        match each:
            case Retried():
                self._retries += 1
                self._fault = each.fault
            case Warned():
                self._warnings.append(each.text)
            case Ended():
                self._end(each)
            case Unknown():
                self._unknown += 1

    def _end(self, each: Ended) -> None:
        """The last word counts, but that a run which failed is not completed by what is written after it."""
        if self._ended is None or self._ended.how == "completed" or each.how != "completed":
            self._ended = each

    def _call(self, tool: Tool) -> None:
        known = self._tools.get(tool.id)
        if known is not None:
            kind = known.kind if tool.kind == "other" else tool.kind
            tool = replace(tool, kind=kind, what=tool.what or known.what)
        self._tools[tool.id] = tool

    def _permit(self, each: Asked | Answered | Denied) -> None:
        match each:
            case Asked():
                # Asked again under one id, it is what was read first that a person answers.
                self._asked.setdefault(each.id, each)
            case Answered():
                self._answered.add(each.id)
            case Denied():
                self._deny(each)

    def _deny(self, each: Denied) -> None:
        key = each.id or f"#{len(self._denied)}"
        known = self._denied.get(key, each)
        self._denied[key] = replace(each, what=each.what or known.what, why=each.why or known.why)

    def _name(self, model: str) -> None:
        if model:
            self._models[model] = None

    def _use(self, used: Used) -> None:
        used = replace(used, usage=believed(used.usage), usd=dollars(used.usd))
        self._name(used.model)
        if used.raw:
            self._raw.append(used)
        match used.scope:
            case "call":
                self._calls[used.key or f"#{len(self._calls)}"] = used
            case "turn":
                self._turns.append(used)
            case "session":
                self._total = used

    def summary(self) -> Summary:
        """What is known so far."""
        usage, usd = self._spent()
        return Summary(
            session=self._session,
            models=tuple(self._models),
            last_text=self._text,
            tools=Counter(tool.kind for tool in self._tools.values()),
            failed_tools=sum(tool.state == "failed" for tool in self._tools.values()),
            asked=tuple(each for name, each in self._asked.items() if name not in self._answered),
            denied=tuple(self._denied.values()),
            usage=usage,
            session_usage=self._total.usage if self._total else UNKNOWN,
            usd=usd,
            session_usd=self._total.usd if self._total else None,
            raw_usage=tuple(used.raw for used in self._raw[-_RAW:]),
            retries=self._retries,
            last_fault=self._fault,
            warnings=tuple(self._warnings[-_WARNINGS:]),
            ended=self._ended,
            lines=self._lines,
            unknown=self._unknown,
        )

    def _spent(self) -> tuple[Usage, float | None]:
        """A total of this run wins over the session's, and that over sums of calls; dollars come from whoever gives them."""
        parts = self._turns or list(self._calls.values())
        known = [part.usd for part in parts if part.usd is not None]
        usage = total(part.usage for part in parts)
        usd = sum(known) if known and len(known) == len(parts) else None
        if self._total is None:
            return usage, usd
        if usage.total is None or not self._turns:
            usage = self._total.usage - self._before if self._same else self._total.usage
        if usd is None or not self._turns:
            usd = self._total.usd
            if usd is not None and self._usd_before is not None and self._same:
                usd = max(0.0, usd - self._usd_before)
        return usage, usd

    @property
    def _same(self) -> bool:
        """Whether the totals are of the session that was resumed, as far as the client says which one it is."""
        return not (self._resumed and self._session) or self._session == self._resumed
