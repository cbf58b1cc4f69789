"""What was typed, judged before a verb runs: a slug that no card can have, a text that has to say something and is blank."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, Final

import click

from interlock.cli.names import shown
from interlock.core.problems import Misuse

_LONG: Final = 100
_NAME: Final = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{_LONG - 1}}}")


def judge(context: click.Context, given: Mapping[str, Any]) -> None:
    """Refuse what cannot be meant, whatever the verb.  Raises Misuse.

    Slugs are known by their parameter, ``slug`` or ``slugs``; a verb that tells of a bad one as a problem calls it otherwise.
    """
    for name in (given.get("slug"), *(given.get("slugs") or ())):
        if name is not None:
            _refuse_no_slug(context.command_path, name)
    for option in context.command.params:
        value = given.get(option.name or "")
        if not isinstance(option, click.Option) or not isinstance(value, str) or value.strip():
            continue
        if option.required or option.name == "actor":
            raise Misuse(f"{option.opts[0]} is blank.", hint=f"Say it in words: {context.command_path} --help")


def _refuse_no_slug(call: str, name: str) -> None:
    """A path, a file's name or another odd text is a slip of the hand, not a card that is missing."""
    if _NAME.fullmatch(name) and not name.endswith(".yaml"):
        return
    slug = PurePath(name).name.removesuffix(".yaml")
    told = shown(name) if len(name) < _LONG else f"{shown(name[:_LONG])}…"
    raise Misuse(
        f"{told or 'An empty text'} is no slug of a card.",
        hint=f"{call} {slug if _NAME.fullmatch(slug) else 'SLUG'}",
    )
