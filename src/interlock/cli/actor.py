"""Who acts: the name given with --as, INTERLOCK_ACTOR, or the login name; nothing here proves an identity."""

from __future__ import annotations

import getpass
import os
from collections.abc import Callable, Container
from typing import Any

import click

from interlock.core.problems import refused


def actor_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--as NAME``; the function gets ``actor``."""
    return click.option(
        "--as", "actor", metavar="NAME", default=default_actor, help="Who decides this, for the record."
    )(function)


def default_actor() -> str:
    if name := os.environ.get("INTERLOCK_ACTOR"):
        return name
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid-{os.getuid()}"


def refuse_inside_a_task(name: str) -> None:
    """An agent decides nothing: refused where INTERLOCK_JOB says that this is one.  Raises Refused (approval)."""
    if job := os.environ.get("INTERLOCK_JOB"):
        raise refused(
            rule="approval",
            what=f"{name} cannot be decided from inside a task.",
            why=f"This command runs in the task {job}, and a person decides, not the agent that asks.",
            would_change="Say it in a shell of your own, outside the task. One that took over what interlock env prints"
            " counts as the task's: unset INTERLOCK_JOB there.",
            holders=(job,),
        )


def as_owner(name: str, owners: Container[str]) -> str:
    """The owner that a name means: cards write ``@ana`` where a login is ``ana``."""
    return f"@{name}" if name not in owners and f"@{name}" in owners else name
