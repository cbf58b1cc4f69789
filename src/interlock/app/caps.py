"""Caps for people: what is held now, pausing and draining a class, and a proposed change to tasks/caps.txt; rules are core's."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interlock.app.base import CAPS_FILE, POLICY_FILE, fresh_view
from interlock.app.dispatch import foreign_branches
from interlock.core.contract.caps import judge_caps
from interlock.core.gate import caps as views
from interlock.core.gate.caps_text import decision, with_cap
from interlock.core.problems import BadInput, Refused
from interlock.ports.bundle import Ports


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A changed tasks/caps.txt that is not written yet; ``before`` is the cap in the file at hand (None: no line)."""

    path: Path
    text: str
    class_name: str
    before: int | None
    cap: int
    note: str


def show(ports: Ports) -> dict[str, Any]:
    """Fetch, and give the shape of ``caps show --json``: each class with its cap and who holds its slots."""
    view = fresh_view(ports)
    return views.show(ports.store.lanes(), ports.store.ceiling(), foreign_branches(ports, view))


def pause(ports: Ports, class_name: str, actor: str, why: str) -> dict[str, Any]:
    """Let nothing of the class start from now on, and tell what of it is still in flight.

    Immediate: the network is asked only when the class is not known here yet.  Raises Refused (class).
    """
    _even_if_new(ports, lambda: ports.store.pause(class_name, actor, why))
    return row(ports, class_name)


def resume(ports: Ports, class_name: str, actor: str) -> dict[str, Any]:
    """Let the class start again, at the cap in tasks/caps.txt.  Raises Refused (class)."""
    _even_if_new(ports, lambda: ports.store.resume(class_name, actor))
    return row(ports, class_name)


def row(ports: Ports, class_name: str) -> dict[str, Any]:
    """One class as ``caps show`` has it, and whether it is drained."""
    lanes = [lane for lane in ports.store.lanes() if lane.name == class_name]
    shown: dict[str, Any] = views.show(lanes, None)["classes"][0]
    return shown | {"drained": lanes[0].drained}


def propose(ports: Ports, class_name: str, cap: int, actor: str, why: str) -> Proposal:
    """The changed tasks/caps.txt of the folder at hand, judged by the interlock.yaml beside it.

    Raises BadInput with every problem that the changed file would have.
    """
    path = ports.repo.at_hand / CAPS_FILE
    old = _bytes(path)
    caps, _ = ports.files.caps(old, CAPS_FILE)
    before = next((known.cap for known in caps if known.class_name == class_name), None)
    on = time.strftime("%Y-%m-%d", time.gmtime(ports.clock.now()))
    note = decision(class_name, before, by=actor, on=on, why=why)
    text = with_cap(old.decode("utf-8", "surrogateescape"), class_name, cap, note)
    new, problems = ports.files.caps(text.encode("utf-8", "surrogateescape"), CAPS_FILE)
    policy, faults = ports.files.policy(_bytes(ports.repo.at_hand / POLICY_FILE), POLICY_FILE)
    found = (*faults, *problems, *judge_caps(new, policy, file=CAPS_FILE))
    if found:
        raise BadInput(found)
    return Proposal(path=path, text=text, class_name=class_name, before=before, cap=cap, note=note)


def _even_if_new(ports: Ports, act: Callable[[], None]) -> None:
    """Act on a class; where the store does not know it yet, fetch and try again."""
    try:
        act()
    except Refused:
        fresh_view(ports)
        act()


def _bytes(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""
