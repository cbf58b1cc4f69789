"""The classes of interlock.yaml, laid over the built-in ones; what a class may own is judged in the core."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Final

from interlock.adapters.files import agents, shared
from interlock.adapters.files import reading as read
from interlock.adapters.files.reading import Reading
from interlock.adapters.files.yaml_tree import Keys, Node
from interlock.core.contract.classes import DEFAULT_CLASSES
from interlock.core.contract.policy import TaskClass

CLASS_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,40}")
_FORM: Final = "{kind: parallel}"


def read_classes(reading: Reading, node: Node, key: str) -> tuple[TaskClass, ...]:
    """The built-in classes with the team's own laid over them, key by key; a new class says its kind.

    Names are unique ignoring case, since forges and CI systems fold it (case JQ-07).
    """
    known = {each.name: each for each in DEFAULT_CLASSES}
    folded = {name.casefold(): name for name in known}
    for name, inner in reading.entries(node, key, f"{{docs: {_FORM}}}").items():
        at = node.at[name] if isinstance(node, Keys) else (1, 1)
        if not CLASS_NAME.fullmatch(name):
            what, why = f"The class name {name} cannot be used.", "It becomes a label and a word in tasks/caps.txt."
            reading.tell("class", at, key, what=what, why=why, fix="Use letters, digits, - and _, 41 at most.")
            continue
        other = folded.setdefault(name.casefold(), name)
        if other != name:
            what = f"The class {name} differs from {other} in its case alone."
            why = "Class names are unique ignoring case: labels and CI groups take the two for one."
            reading.tell("class", at, key, what=what, why=why, fix=f"Write {other}, or another name.")
            continue
        values = _values(reading, inner, f"{key}.{name}")
        if name in known:
            known[name] = replace(known[name], **values)
        elif "kind" in values:
            known[name] = TaskClass(name=name, **values)
        elif isinstance(inner, Keys) and "kind" not in inner.values:
            what, why = f"The class {name} has no kind.", "Its kind says whether it may run beside others."
            fix = f"Write {name}: {_FORM}; a kind is parallel, serial or alone."
            reading.tell("missing", at, key, what=what, why=why, fix=fix)
    return tuple(known.values())


def _values(reading: Reading, node: Node, key: str) -> dict[str, Any]:
    return shared.decode(reading, node, key, CLASS, _FORM)


CLASS: Final[shared.Table] = {
    "kind": read.choice("parallel", "serial", "alone"),
    "paths": read.patterns,
    "checks": shared.checks,
    "agent": shared.agent,
    "budget": shared.budget,
    "isolation": read.choice("worktree", "snapshot", "sealed"),
    "sign_off": read.choice("owner", "none"),
    "phases": agents.phases,
    "per_day": agents.spend,
    "solo": read.flag,
}
