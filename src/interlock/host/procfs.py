"""Plain readers of /proc, light enough for the keeper's start; what a process is taken for is decided in tree."""

# ruff: noqa: PTH123, PTH208 - pathlib would double the keeper's start

from __future__ import annotations

import os

# Fields of /proc/PID/stat behind the name, counted from 0 (man 5 proc).
_STATE, _PARENT, _GROUP, _SESSION, _START = 0, 1, 2, 3, 19


def pids() -> list[int]:
    """The numbers of all processes that can be seen; empty where there is no /proc."""
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except FileNotFoundError:
        return []


def stat(pid: int) -> tuple[str, str, int, int] | None:
    """Name, state letter, parent and start time (clock ticks since boot) of a process, or None when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read()
    except OSError:
        return None
    head, _, rest = text.rpartition(b")")
    fields = rest.split()
    name = head.partition(b"(")[2].decode("utf-8", "replace")
    return name, fields[_STATE].decode(), int(fields[_PARENT]), int(fields[_START])


def descendants(pid: int) -> list[int]:
    """Children of a process, their children and so on, nearest first, zombies left out; the process itself is not in it."""
    children: dict[int, list[int]] = {}
    for each in pids():
        facts = stat(each)
        if facts is not None and facts[1] not in "ZX":
            children.setdefault(facts[2], []).append(each)
    found: list[int] = []
    level = [pid]
    while level:
        level = [child for parent in level for child in children.pop(parent, ())]
        found += level
    return found


def environ(pid: int) -> bytes:
    """The environment a process was started with, NUL-separated; empty where it may not be read."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read()
    except OSError:
        return b""


def boot_id() -> str:
    """The identity of this boot of the machine."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def inner_pid(pid: int) -> int | None:
    """The number that a process has in its own pid namespace; None when it is gone."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            line = next((line for line in file if line.startswith(b"NSpid:")), b"")
    except OSError:
        return None
    return int(line.split()[-1]) if line else None
