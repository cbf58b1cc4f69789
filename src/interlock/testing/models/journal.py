"""What a scripted model server was asked, request by request, for tests to look at; who answers is server.py."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request.

    ``dialect`` is empty for what asks no model; ``place`` counts from 0, ``hit`` from 1 how often that place was asked
    for.  ``step`` names what was played (``write``, ``fault``), ``aside`` for a request without tools.  ``auth`` is
    the key that came, without the word before it.
    """

    at: float
    method: str
    path: str
    scenario: str = ""
    dialect: str = ""
    model: str = ""
    stream: bool = False
    size: int = 0
    tools: tuple[str, ...] = ()
    auth: str = ""
    agent: str = ""
    place: int = 0
    hit: int = 0
    step: str = ""
    body: Mapping[str, Any] = field(default_factory=dict, repr=False)


class Journal:
    """All requests so far, oldest first; safe between threads."""

    def __init__(self) -> None:
        self._news = threading.Condition()
        self._requests: list[Request] = []
        self._hits: dict[tuple[str, int], int] = {}

    def add(self, request: Request) -> None:
        with self._news:
            self._requests.append(request)
            self._news.notify_all()

    def hit(self, scenario: str, place: int) -> int:
        """How often this place of a scenario was asked for, with this time."""
        with self._news:
            self._hits[scenario, place] = self._hits.get((scenario, place), 0) + 1
            return self._hits[scenario, place]

    def of(self, scenario: str | None = None, *, model_calls: bool = True) -> tuple[Request, ...]:
        """The requests of one scenario, or of all; ``model_calls`` leaves out what asked no model."""
        with self._news:
            return tuple(
                each
                for each in self._requests
                if (scenario is None or each.scenario == scenario) and (each.dialect or not model_calls)
            )

    def wait(self, scenario: str, count: int = 1, *, seconds: float = 30.0) -> tuple[Request, ...]:
        """The requests of a scenario, as soon as there are so many.  Raises TimeoutError."""
        with self._news:
            if self._news.wait_for(lambda: len(self.of(scenario)) >= count, seconds):
                return self.of(scenario)
        raise TimeoutError(f"{scenario} was asked {len(self.of(scenario))} times in {seconds} s, not {count}.")
