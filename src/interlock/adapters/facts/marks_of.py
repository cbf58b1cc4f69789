"""Makes marks of what calls and texts of any language mean: flags, routes, environment, registrations; finding them is the readers'."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from interlock.core.merge.facts import Mark

_FLAG: Final = re.compile(r"--[A-Za-z][\w-]*")
_NAME: Final = re.compile(r"[A-Za-z_][\w.:/-]*")
_ENV: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PARAMETER: Final = re.compile(r"\{[^}/]*\}|:[A-Za-z_]\w*\??|\[[^\]/]*\]|\*\w*|<[^>/]*>|\$\{[^}]*\}|%[sdv]")
_HOST: Final = re.compile(r"^[a-z]+://[^/]*", re.IGNORECASE)
_KEY: Final = re.compile(r"[A-Za-z][\w-]*(?:\.[\w-]+)*")
METHODS: Final = frozenset({"get", "post", "put", "patch", "delete", "head", "options", "all", "any"})


def env(name: str, line: int, role: str = "uses") -> Iterator[Mark]:
    if _ENV.fullmatch(name):
        yield Mark(kind="env", name=name, line=line, role="defines" if role == "defines" else "uses")


def flag_defined(name: str, line: int) -> Iterator[Mark]:
    """A flag by its name with or without dashes."""
    if _NAME.fullmatch(name.lstrip("-")) and len(name.lstrip("-")) > 1:
        yield Mark(kind="flag", name=f"--{name.lstrip('-')}", line=line, role="defines")


def flags_in_spec(spec: str, line: int) -> Iterator[Mark]:
    """The long flags of a specification such as ``-n, --dry-run <when>``."""
    for found in _FLAG.findall(spec):
        yield Mark(kind="flag", name=found, line=line, role="defines")


def flag_used(text: str, line: int) -> Iterator[Mark]:
    """A text that is one flag, maybe with a value, is its use."""
    name = text.split("=", 1)[0]
    if _FLAG.fullmatch(name) and len(text) < 80:
        yield Mark(kind="flag", name=name, line=line, role="uses")


def route(method: str, path: str, line: int, role: str = "defines") -> Iterator[Mark]:
    """A route by method (empty: any) and path; names of parameters are no part of it."""
    if " " in path.strip():
        first, _, rest = path.strip().partition(" ")
        method, path = (first, rest.strip()) if first.isupper() else (method, path)
    path = _HOST.sub("", path).split("?")[0]
    if not path.startswith("/") or len(path) > 200 or any(sign in path for sign in "\n "):
        return
    plain = _PARAMETER.sub("{}", path)
    plain = plain.rstrip("/") or "/"
    way = "" if method.lower() in {"all", "any", "use", "handle"} else method.upper()
    if plain == "/" and role == "uses":
        return
    yield Mark(kind="route", name=f"{way} {plain}".strip(), line=line, role="defines" if role == "defines" else "uses")


def said(name: str, callee: str, line: int) -> Iterator[Mark]:
    """A text that a call is given first, where it has the form of a key."""
    if _KEY.fullmatch(name) and len(name) < 100:
        yield Mark(kind="key", name=name, line=line, role="uses", scope="text", detail=callee)


def registration(name: str, scope: str, line: int) -> Iterator[Mark]:
    if _NAME.fullmatch(name):
        yield Mark(kind="registration", name=name, line=line, role="defines", scope=scope)
