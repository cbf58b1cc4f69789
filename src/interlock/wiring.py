"""The composition root: from a folder to the bundle of ports; the only place that names adapters."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from interlock.core.problems import Misuse
from interlock.ports import ContractFiles, Ports, Reader, Repo

if TYPE_CHECKING:
    from interlock.app.doctor import Report
    from interlock.ports import Engine

LEVEL = "worktree"
"""The isolation level in force; more come with the sandbox."""


class SystemClock:
    """The machine's clock, in seconds since the epoch."""

    def now(self) -> float:
        return time.time()


def contract_files() -> ContractFiles:
    """Readers of cards, caps and policy; needs no repository."""
    from interlock.adapters.files import ContractFilesReader

    return ContractFilesReader()


def open_repo(path: Path | None = None) -> Repo:
    """The repository around a folder.  Raises Misuse where there is none."""
    from interlock.adapters.git.repo import GitRepo

    return GitRepo.open(path or Path.cwd())


def open_reader(path: Path | None = None) -> Reader:
    """The repository around a folder, only read: any ref of it, no set-up, no network.  Raises Misuse."""
    from interlock.adapters.git.repo import open_reader as open_at

    return open_at(path or Path.cwd())


def store_url(repo: Repo) -> str:
    """Where the history lives: INTERLOCK_STORE, else a SQLite file under the common Git directory."""
    if url := os.environ.get("INTERLOCK_STORE"):
        return url
    from interlock.adapters.store import sqlite_url

    return sqlite_url(repo.common_dir / "interlock" / "store.sqlite3")


def open_ports(path: Path | None = None, *, narrate: Callable[[str], None] = lambda _: None) -> Ports:
    """Everything a use case may touch, for the repository around a folder."""
    from interlock.adapters.agents.command import CommandAgents
    from interlock.adapters.checks.runner import CheckRunner
    from interlock.adapters.databases.sqlite import SqliteDatabases
    from interlock.adapters.git.repo import GitRepo
    from interlock.adapters.git.worktrees import Worktrees
    from interlock.adapters.ports_on_host import HostBlocks
    from interlock.adapters.records import JobRecords
    from interlock.adapters.store import SqlStore
    from interlock.host.attempts import HostRuns

    repo = GitRepo.open(path or Path.cwd())
    folder = repo.common_dir / "interlock"
    url = store_url(repo)
    return Ports(
        repo=repo,
        files=contract_files(),
        store=SqlStore.open(url),
        blocks=HostBlocks(store=url),
        workspaces=Worktrees(repo),
        databases={"sqlite": SqliteDatabases()},
        runs=HostRuns(),
        agents=CommandAgents(),
        checks=CheckRunner(),
        records=JobRecords(folder),
        clock=SystemClock(),
        narrate=narrate,
        new_id=lambda: secrets.token_hex(4),
    )


def open_engine(ports: Ports) -> Engine:
    """The durable engine over the store's database."""
    from interlock.engine.start import DbosEngine

    return DbosEngine(ports, store_url(ports.repo), ports.repo.common_dir / "interlock")


def examine(path: Path | None = None) -> Report:
    """The doctor's report on this machine and, where there is one, the repository around a folder."""
    from interlock.adapters.git.probes import git_probes
    from interlock.app.doctor import examine as try_all
    from interlock.app.doctor import repository_probes
    from interlock.host.probes import machine_probes

    machine = (*machine_probes(), *git_probes())
    try:
        ports = open_ports(path)
    except Misuse as fault:
        outside = ("repository", True, partial(_raise, fault))
        return try_all((*machine, outside), LEVEL)
    return try_all((*machine, *repository_probes(ports)), ports.workspaces.level)


def _raise(fault: Misuse) -> str:
    raise fault
