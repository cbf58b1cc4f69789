"""What interlock.yaml puts around tasks: databases, services, templates, browsers, secrets, approvals, dependencies."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import Any, Final

from interlock.adapters.files import reading as read
from interlock.adapters.files import shared
from interlock.adapters.files.reading import Decoder, Reading
from interlock.adapters.files.yaml_tree import Keys, Node, Text
from interlock.core.contract.around import (
    ApprovalRule,
    Bases,
    Browser,
    Database,
    Dependency,
    Ready,
    SandboxRules,
    Secret,
    Service,
    Template,
)
from interlock.core.contract.hosts import HOST_NAME, NO_HOST, is_local
from interlock.core.gate.approvals import programs
from interlock.core.sandbox import Host

NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,30}")
VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NOT_SECRET: Final = re.compile(
    r"PATH|HOME|TMPDIR|USER|LOGNAME|SHELL|ENV|BASH_ENV|IFS|TERM|PYTHON(PATH|HOME|STARTUP)|(LD|DYLD|GIT|INTERLOCK)_.*"
)
"""Variables by which a task finds its programs, its folders and us: a value of theirs is no secret, and breaks them."""

_HOMES: Final = frozenset({"/home", "/Users"})

_DATABASE_FORMS: Final = {
    "sqlite": "{use: sqlite, baseline: dev.sqlite3}",
    "postgres": '{use: postgres, server: DATABASE_ADMIN_URL, migrate: "make migrate", files: [migrations/**]}',
    "postgres-server": '{use: postgres-server, migrate: "make migrate", files: [migrations/**]}',
}
_INSTALLERS: Final = {
    "uv": (("uv.lock",), "uv sync --locked"),
    "pnpm": (("pnpm-lock.yaml",), "pnpm install --frozen-lockfile"),
    "npm": (("package-lock.json",), "npm ci"),
}


def databases(reading: Reading, node: Node, key: str) -> tuple[Database, ...]:
    """Databases by name; a kind says what else it needs."""
    found = []
    for name, inner in reading.entries(node, key, f"{{app: {_DATABASE_FORMS['sqlite']}}}").items():
        values = _entry(reading, inner, f"{key}.{name}", _DATABASE, _DATABASE_FORMS["sqlite"], ("use",), NAME, name)
        if values is None:
            continue
        kind = values.get("use", "")
        if kind == "sqlite" and "baseline" not in values and "baseline" not in _keys(inner):
            _lacks(reading, inner, f"{key}.{name}", "baseline", f"{name}: {_DATABASE_FORMS['sqlite']}")
            continue
        if kind == "postgres" and "server" not in values and "server" not in _keys(inner):
            _lacks(reading, inner, f"{key}.{name}", "server", f"{name}: {_DATABASE_FORMS['postgres']}")
            continue
        found.append(Database(name=name, **values))
    return tuple(found)


def services(reading: Reading, node: Node, key: str) -> tuple[Service, ...]:
    form = '{run: "npm run dev", port: APP_PORT, ready: {http: /health}}'
    found = []
    for name, inner in reading.entries(node, key, f"{{web: {form}}}").items():
        values = _entry(reading, inner, f"{key}.{name}", _SERVICE, form, ("run",), NAME, name)
        if values is not None:
            found.append(Service(name=name, **values))
    for service in found:
        _port_of_readiness(reading, f"{key}.{service.name}", service)
    known = {service.name for service in found} | set(_keys(node))
    for service in found:
        for other in service.after:
            if other not in known:
                what = f"The service {service.name} starts after {other}, which is no service."
                _tell(reading, f"{key}.{service.name}", what, f"Name one of: {', '.join(sorted(known))}.")
    return tuple(found)


def _port_of_readiness(reading: Reading, key: str, service: Service) -> None:
    """A readiness by port asks the port that the service serves, so that one must be named, and the same one."""
    ready = service.ready
    if ready is None or (ready.tcp is None and ready.http is None):
        return
    if ready.tcp is not None and ready.tcp != service.port:
        what = f"{key} is ready by the port {ready.tcp} and serves {service.port or 'none'}."
        _tell(reading, key, what, f"Write port: {ready.tcp}.")
    elif ready.http is not None and service.port is None:
        _tell(reading, key, f"{key} is ready by http and serves no port.", "Write port: APP_PORT, or another one.")


def templates(reading: Reading, node: Node, key: str) -> tuple[Template, ...]:
    """Target → source, both paths of the tree."""
    found = []
    for target, inner in reading.entries(node, key, "{config/app.env: config/app.env.j2}").items():
        source = read.path(reading, inner, f"{key}.{target}")
        if source is not None:
            found.append(Template(source=source, target=target))
    return tuple(found)


def browsers(reading: Reading, node: Node, key: str) -> tuple[Browser, ...]:
    form = "{golden: ~/.local/share/shop/customer-profile}"
    found = []
    for name, inner in reading.entries(node, key, f"{{customer: {form}}}").items():
        values = _entry(reading, inner, f"{key}.{name}", {"golden": read.filled}, form, (), NAME, name)
        if values is not None:
            found.append(Browser(role=name, **values))
    return tuple(found)


def secrets(reading: Reading, node: Node, key: str) -> tuple[Secret, ...]:
    form = "{variable: NPM_TOKEN}"
    found = []
    for name, inner in reading.entries(node, key, f"{{NPM_TOKEN: {form}}}").items():
        values = _entry(reading, inner, f"{key}.{name}", _SECRET, form, (), VARIABLE, name)
        if values is None or not _may_be_secret(reading, f"{key}.{name}", name):
            continue
        sources = [each for each in ("variable", "file", "command") if each in values]
        if len(sources) != 1:
            what = f"The secret {name} has {len(sources) or 'no'} source{'s' if len(sources) > 1 else ''}."
            _tell(reading, f"{key}.{name}", what, f"Name exactly one: {form}, {{file: …}} or {{command: …}}.")
            continue
        found.append(Secret(name=name, **values))
    return tuple(found)


def approvals(reading: Reading, node: Node, key: str) -> tuple[ApprovalRule, ...]:
    form = '{commands: ["terraform apply*"], hosts: [api.cloudflare.com], paths: [infra/**]}'
    found = []
    for name, inner in reading.entries(node, key, f"{{deploy: {form}}}").items():
        told = len(reading.problems)
        values = _entry(reading, inner, f"{key}.{name}", _APPROVAL, form, (), NAME, name)
        if values is None or len(reading.problems) > told:
            continue
        if not any(values.values()):
            _tell(reading, f"{key}.{name}", f"The approval {name} covers nothing.", f"Write {name}: {form}.")
            continue
        found.append(ApprovalRule(name=name, **values))
    return tuple(found)


def _command(reading: Reading, node: Node, key: str) -> str | None:
    """A pattern of a command; a guard stands before one program, so the first word is the plain name of one."""
    value = read.filled(reading, node, key)
    if value is None or programs((ApprovalRule(name="x", commands=(value,)),)):
        return value
    what = f"The command {value} does not begin with the plain name of a program."
    _tell(reading, key, what, "Write the program first, without a folder and without *, such as terraform apply*.")
    return None


def dependencies(reading: Reading, node: Node, key: str) -> tuple[Dependency, ...]:
    return reading.items(node, key, _dependency, "[{use: uv}]")


def _dependency(reading: Reading, node: Node, key: str) -> Dependency | None:
    form = '{use: command, lock: [requirements.txt], install: "…"}'
    values = shared.decode(reading, node, key, _DEPENDENCY, form)
    kind = values.get("use")
    if kind is None:
        if "use" not in _keys(node):
            _lacks(reading, node, key, "use", form)
        return None
    lock, install = _INSTALLERS.get(kind, ((), ""))
    values.setdefault("lock", lock)
    values.setdefault("install", install)
    for name in ("lock", "install"):
        if not values[name]:
            _lacks(reading, node, key, name, form)
            return None
    return Dependency(**values)


def bases(reading: Reading, node: Node, key: str) -> Bases:
    values = shared.decode(reading, node, key, {"keep": read.duration, "disk": read.amount}, "{keep: 14d}")
    return Bases(**values)


def sandbox(reading: Reading, node: Node, key: str) -> SandboxRules:
    return SandboxRules(**shared.decode(reading, node, key, _SANDBOX, "{tools: [~/.cargo/bin]}"))


def network(reading: Reading, node: Node, key: str) -> tuple[Host, ...]:
    return reading.items(node, key, host, '[pypi.org, "*.example.com"]')


def host(reading: Reading, node: Node, key: str) -> Host | None:
    """A name, or a mapping with the name, a port, and the address that it is pinned to."""
    form = "{host: registry.corp, address: 10.1.2.3, port: 8443}"
    if isinstance(node, Text):
        name = read.filled(reading, node, key)
        return None if name is None or not _is_host(reading, node, key, name) else Host(name=name)
    values = shared.decode(reading, node, key, _HOST_KEYS, form)
    name = values.pop("host", None)
    if name is None:
        if "host" not in _keys(node):
            _lacks(reading, node, key, "host", form)
        return None
    address = values.get("address")
    if address is not None and not _is_address(address):
        _tell(reading, key, f"{address} is no address.", f"Write the number: {form}.")
        return None
    return Host(name=name, **values) if _is_host(reading, node, key, name) else None


def _is_host(reading: Reading, node: Node, key: str, name: str) -> bool:
    if not HOST_NAME.fullmatch(name):
        fix = "Write pypi.org, or {host: pypi.org, port: 8443}."
        reading.tell("shape", (node.line, node.column), key, what=f"{name} is no host.", why=NO_HOST, fix=fix)
        return False
    if is_local(name):
        why = "Inside, localhost is the task's own; of this machine only what is named reaches a task (case SB-05)."
        fix = "Name the service: {host: db.internal, address: 127.0.0.1, port: 5432}."
        reading.tell("network", (node.line, node.column), key, what=f"{name} cannot be allowed.", why=why, fix=fix)
        return False
    return True


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _may_be_secret(reading: Reading, key: str, name: str) -> bool:
    if _NOT_SECRET.fullmatch(name):
        what = f"A secret cannot be called {name}."
        _tell(reading, key, what, f"Give it a name of its own, such as SHOP_{name.strip('_')}: {{variable: {name}}}.")
        return False
    return True


def _tool(reading: Reading, node: Node, key: str) -> str | None:
    """A folder or program of this machine by its whole path, and nothing that holds a home."""
    value = _whole_path(reading, node, key, "~/.cargo/bin or /opt/jdk-21")
    if value is None:
        return None
    path = PurePosixPath(value)
    parts = path.parts
    home = (value.startswith("~") and len(parts) == 1) or str(path.parent) in _HOMES
    if len(parts) == 1 or home or str(path) in _HOMES | {"/root"}:
        what = f"The tool {value} {'is a home folder' if home or len(parts) > 1 else 'is the whole machine'}."
        _tell(reading, key, what, "Write the folder of the tool alone, such as ~/.cargo/bin.")
        return None
    return value


def _socket(reading: Reading, node: Node, key: str) -> str | None:
    return _whole_path(reading, node, key, "/var/run/docker.sock")


def _whole_path(reading: Reading, node: Node, key: str, such: str) -> str | None:
    """A path from the root or from a home, that leads down only."""
    value = read.filled(reading, node, key)
    if value is None or (value.startswith(("/", "~")) and ".." not in PurePosixPath(value).parts):
        return value
    _tell(reading, key, f"{value} is no whole path.", f"Write it from the root or from ~, such as {such}.")
    return None


def _list_of(decode: Decoder[str | None], form: str) -> Callable[[Reading, Node, str], tuple[str, ...]]:
    return lambda reading, node, key: reading.items(node, key, decode, form)


# ---------------------------------------------------------------- parts
def _entry(
    reading: Reading,
    node: Node,
    key: str,
    table: shared.Table,
    form: str,
    needed: tuple[str, ...],
    names: re.Pattern[str],
    name: str,
) -> dict[str, Any] | None:
    """The values of one named entry, or None when it lacks something or its name cannot be used."""
    if not names.fullmatch(name):
        what = f"The name {name} cannot be used under {key.rpartition('.')[0]}."
        _tell(reading, key, what, "Use letters, digits and dashes." if names is NAME else "Write a variable's name.")
        return None
    values = shared.decode(reading, node, key, table, form)
    lacking = [each for each in needed if each not in values]
    for each in lacking:
        if each not in _keys(node):
            _lacks(reading, node, key, each, f"{name}: {form}")
    return None if lacking or not isinstance(node, Keys) else values


def _keys(node: Node) -> Mapping[str, Node]:
    return node.values if isinstance(node, Keys) else {}


def _lacks(reading: Reading, node: Node, key: str, name: str, form: str) -> None:
    if isinstance(node, Keys):
        what, why = f"{key} has no {name}.", "Nothing else says it."
        reading.tell("missing", (node.line, node.column), key, what=what, why=why, fix=f"Write {form}.")


def _tell(reading: Reading, key: str, what: str, fix: str) -> None:
    at = reading.positions.get(key) or (1, 1)
    reading.tell("shape", at, key, what=what, why="It could not be carried out as it is written.", fix=fix)


def _variable(reading: Reading, node: Node, key: str) -> str | None:
    value = read.filled(reading, node, key)
    if value is not None and not VARIABLE.fullmatch(value):
        reading.wrong(node, key, due="the name of a variable", fix="Write its name alone, such as APP_PORT.")
        return None
    return value


def _names(reading: Reading, node: Node, key: str) -> tuple[str, ...]:
    return read.texts(reading, node, key)


def _ready(reading: Reading, node: Node, key: str) -> Ready | None:
    form = "{http: /health, within: 60s}"
    values = shared.decode(reading, node, key, _READY, form)
    if sum(each in values for each in ("tcp", "http", "command")) != 1:
        if isinstance(node, Keys):
            what = f"{key} says {'more than one way' if len(values) > 1 else 'no way'} to be ready."
            _tell(reading, key, what, f"Write {form}, {{tcp: APP_PORT}} or {{command: …}}.")
        return None
    return Ready(**values)


_READY: Final[Mapping[str, Decoder[Any]]] = {
    "tcp": _variable,
    "http": read.filled,
    "command": read.filled,
    "within": read.duration,
}
_DATABASE: Final[shared.Table] = {
    "use": read.choice("sqlite", "postgres", "postgres-server"),
    "baseline": read.filled,
    "migrate": read.filled,
    "seed": read.filled,
    "files": read.patterns,
    "server": _variable,
    "probe": read.filled,
    "on_clean": read.choice("archive", "drop"),
    "pool": read.whole(0, 32),
}
_SERVICE: Final[shared.Table] = {
    "run": read.filled,
    "port": _variable,
    "after": _names,
    "ready": _ready,
    "infrastructure": read.flag,
    "url": read.filled,
}
_SECRET: Final[shared.Table] = {
    "variable": _variable,
    "file": read.filled,
    "command": read.filled,
    "approval": read.filled,
}
_APPROVAL: Final[shared.Table] = {
    "commands": _list_of(_command, '["terraform apply*"]'),
    "hosts": read.texts,
    "paths": read.patterns,
}
_DEPENDENCY: Final[shared.Table] = {
    "use": read.choice("uv", "pnpm", "npm", "command"),
    "lock": read.texts,
    "install": read.filled,
    "folder": read.path,
}
_SANDBOX: Final[shared.Table] = {
    "tools": _list_of(_tool, "[~/.cargo/bin]"),
    "sockets": _list_of(_socket, "[/var/run/docker.sock]"),
}
_HOST_KEYS: Final[shared.Table] = {"host": read.filled, "address": read.filled, "port": read.whole(1, 65_535)}
