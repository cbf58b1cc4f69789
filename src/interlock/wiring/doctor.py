"""The doctor's questions, put together for this machine and the repository around a folder; what they find is app.doctor's to judge."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from interlock.core.contract.levels import LEVELS
from interlock.core.problems import InterlockError, Misuse, Refused
from interlock.wiring import open_ports, workspaces_of

if TYPE_CHECKING:
    from interlock.adapters.git.repo import GitRepo
    from interlock.app.doctor import Attack, Report
    from interlock.core.contract.card import Level
    from interlock.ports.bundle import Ports


def examine(path: Path | None = None) -> Report:
    """The doctor's report on this machine and, where there is one, the repository around a folder."""
    from interlock.adapters.git.probes import git_probes
    from interlock.adapters.git.repo import GitRepo
    from interlock.app.doctor import agent_probes, repository_probes
    from interlock.app.doctor import examine as try_all
    from interlock.host.probes import machine_probes

    machine = (*machine_probes(), *git_probes())
    try:
        ports = open_ports(path)
    except (Misuse, Refused) as fault:
        outside = ("repository", True, partial(_raise, fault))
        return try_all((*machine, outside), *_level_of_machine())
    databases = ("databases", False, partial(_exposed, ports))
    key = ("signing key", True, ports.signer.told)
    return try_all(
        (*machine, *repository_probes(ports), databases, key, *agent_probes(ports)),
        *_level_here(GitRepo.open(path or Path.cwd())),
    )


def _exposed(ports: Ports) -> str:
    """Databases of the team's servers that any role may enter, a task's too."""
    from interlock.adapters.databases.kinds import exposed
    from interlock.app.base import view_of

    wanted = view_of(ports, ports.repo.last_base()).policy.databases
    open_to_all = [
        name for each in wanted if each.use == "postgres" for name in exposed(ports.databases["postgres"], each)
    ]
    if open_to_all:
        raise InterlockError(
            f"Any role may connect to {', '.join(open_to_all)}, the role of a task too.",
            hint="REVOKE CONNECT ON DATABASE … FROM PUBLIC.",
        )
    return f"{len(wanted)} configured; none is open to every role."


def attacks(say: Callable[[str], None] = lambda _: None) -> tuple[Attack, ...]:
    """The ways out of a task, tried here and now at both levels; ``say`` is told what is being tried.

    A level that cannot be had here is left out, with its reason told.
    """
    from interlock.adapters.git.vectors import vectors
    from interlock.app.doctor import Attack
    from interlock.host.sandbox.attacks import attacks as escapes

    level, why = _level_of_machine()
    levels: tuple[Level, ...] = ("sealed", "worktree") if level == "sealed" else ("worktree",)
    if why:
        say(why)
    found = []
    for each in levels:
        say(f"{each}: ways out of the sandbox")
        found += [Attack(name=a.name, level=each, blocked=_judged(each, a.blocked), why=a.why) for a in escapes(each)]
        say(f"{each}: what git could be made to run")
        found += [Attack(name=name, level=each, blocked=blocked, why=why) for name, blocked, why in vectors(each)]
    return tuple(found)


def _judged(level: Level, blocked: bool | None) -> bool | None:
    """An attack that gets out is an escape only where the level promises walls; elsewhere it is not covered."""
    return blocked if level == "sealed" or blocked else None


def _level_of_machine() -> tuple[Level, str]:
    """The level outside of any repository: what the sandbox alone says."""
    from interlock.host.sandbox.identity import default_user
    from interlock.host.sandbox.probe import probe

    try:
        found = probe(default_user())
    except Refused as fault:
        return "worktree", f"Not sealed: {fault.refusal.what} {fault.refusal.would_change}"
    return ("sealed", "") if found.ok else ("worktree", f"Not sealed: {found.why} {found.fix}")


def _level_here(repo: GitRepo) -> tuple[Level, str]:
    """The level of new tasks of a repository, and why it is not a better one."""
    workspaces = workspaces_of(repo)
    level = workspaces.level_for(None)
    better = LEVELS[: LEVELS.index(level)]
    reasons = [
        f"Not {each}: {why}"
        if (why := workspaces.why(each))
        else f"{each} works, and INTERLOCK_ISOLATION keeps it lower"
        for each in better
    ]
    return level, " ".join(reason if reason.endswith(".") else f"{reason}." for reason in reasons)


def _raise(fault: InterlockError) -> str:
    raise fault
