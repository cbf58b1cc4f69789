"""What a Compose file fixes that two tasks would then share (case PT-05); containers themselves are a service's command."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import yaml

from interlock.ports.bundle import Ports

NAMES: Final = ("compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml")
"""The files that Compose reads by itself, in its own order."""


def compose_gaps(files: Mapping[str, bytes]) -> tuple[str, ...]:
    """What keeps the stacks of two tasks apart no longer, a sentence for each; ``files`` are Compose files by name.

    COMPOSE_PROJECT_NAME differs for each task, so all that Compose names by itself does as well.
    """
    return tuple(gap for name, data in files.items() for gap in _gaps(name, data))


def gaps_at(ports: Ports, commit: str) -> tuple[str, ...]:
    """The gaps of the Compose file that stands at a commit, for the doctor; none where there is no such file."""
    found = ((name, ports.repo.read(commit, name)) for name in NAMES)
    return compose_gaps({name: data for name, data in found if data is not None})


def _gaps(file: str, data: bytes) -> list[str]:
    try:
        shape = yaml.load(data, Loader=yaml.BaseLoader)  # noqa: S506 - texts alone: 22:22 is no number
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as fault:
        return [f"{file} cannot be read, so its gaps are not known: {str(fault).splitlines()[0]}."]
    if not isinstance(shape, dict):
        return []
    found = []
    for name, service in _named(shape, "services"):
        if container := service.get("container_name"):
            found.append(f"{file}: {name} has the fixed container_name {container}; leave it to the project's name.")
        found += [
            f"{file}: {name} publishes the fixed port {port} of this machine; publish a variable of the task's block."
            for port in map(_published, _list(service.get("ports")))
            if port is not None
        ]
    for kind in ("networks", "volumes"):
        found += [
            f"{file}: the {kind[:-1]} {name} is one for all tasks; leave out its name and external."
            for name, each in _named(shape, kind)
            if each.get("external") == "true" or (each.get("name") and "$" not in each["name"])
        ]
    return found


def _named(shape: Mapping[Any, Any], key: str) -> list[tuple[str, Mapping[Any, Any]]]:
    entries = shape.get(key)
    if not isinstance(entries, dict):
        return []
    return [(str(name), each) for name, each in entries.items() if isinstance(each, dict)]


def _list(entries: Any) -> list[Any]:
    return entries if isinstance(entries, list) else []


def _published(port: Any) -> str | None:
    """The port of this machine that an entry takes, None when it takes none or one that a variable says."""
    if isinstance(port, dict):
        given = str(port.get("published") or "0")
    else:
        given = (["0", *re.sub(r"\[.*\]", "", str(port)).split(":")])[-2]
    return None if given in ("", "0") or "$" in str(port) else given
