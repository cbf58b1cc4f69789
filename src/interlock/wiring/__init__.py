"""The composition root: from a folder to the bundle of ports; only this package names adapters, and the doctor's questions are beside it."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar, cast

from interlock.core.problems import BrokenRules, InterlockError, refused
from interlock.ports.bundle import Ports

if TYPE_CHECKING:
    from interlock.adapters.git.levels import LevelWorkspaces
    from interlock.adapters.git.repo import GitRepo
    from interlock.core.agent.usage import Price
    from interlock.core.contract.policy import Policy
    from interlock.ports.agents import Agents
    from interlock.ports.bundle import Engine
    from interlock.ports.checking import Checks, TestSyntax
    from interlock.ports.contract import ContractFiles
    from interlock.ports.history import Signer
    from interlock.ports.isolation import Room
    from interlock.ports.meeting import FactsReader
    from interlock.ports.processes import Commands, Runs, Services
    from interlock.ports.repository import Reader, Repo

POLICY_FILE = "interlock.yaml"

_INSTALL_SECONDS = 1800.0
_INSTALL_LINES = 1000  # npm tells its error first, and then two hundred lines of usage

_Port = TypeVar("_Port")


class SystemClock:
    """The machine's clock, in seconds since the epoch."""

    def now(self) -> float:
        return time.time()


class _Late:
    """An adapter that is loaded when it is first asked for something: loading all costs more than most verbs do."""

    def __init__(self, make: Callable[[], object]) -> None:
        self._make = make
        self._lock = Lock()
        self._made: object = None

    def __getattr__(self, name: str) -> Any:
        with self._lock:
            if self._made is None:
                self._made = self._make()
        return getattr(self._made, name)


def _late(make: Callable[[], _Port]) -> _Port:
    """What ``make`` gives, made when its first method or value is asked for."""
    return cast("_Port", _Late(make))


class _InMirror:
    """Checkpoints of the history in the mirror (ports.Anchor); one that cannot be kept is told, and the next brings its own."""

    def __init__(self, repo: GitRepo, narrate: Callable[[str], None]) -> None:
        self._repo = repo
        self._narrate = narrate

    def keep(self, history: str, checkpoint: str) -> None:
        try:
            self._repo.keep_checkpoint(history, checkpoint)
        except InterlockError as fault:
            self._narrate(f"The checkpoint of the history could not be kept: {fault.message}")

    def kept(self, history: str) -> str | None:
        return self._repo.checkpoint(history)


def contract_files() -> ContractFiles:
    """Readers of cards, caps and policy; needs no repository."""
    from interlock.adapters.agents.names import agent_names
    from interlock.adapters.files import ContractFilesReader

    return ContractFilesReader(agents=agent_names())


def known_agents() -> tuple[str, ...]:
    """Names that ``agent.use`` and ``--agent`` may have, told without loading an adapter."""
    from interlock.adapters.agents.names import agent_names

    return agent_names()


def open_repo(path: Path | None = None) -> Repo:
    """The repository around a folder.  Raises Misuse where there is none."""
    from interlock.adapters.git.repo import GitRepo

    return GitRepo.open(path or Path.cwd())


def found_in_tasks() -> Callable[[str], bool]:
    """Tells whether a sealed task, which sees less of this machine than we do, finds a program on its PATH."""
    from shutil import which

    from interlock.host.environment import visible
    from interlock.host.sandbox.toolchains import tools

    path = ":".join(visible(os.environ.get("PATH", ""), tools()))
    return lambda program: which(program, path=path) is not None


def facts_reader(folder: Path | None = None) -> FactsReader:
    """What reads facts of files; ``folder`` is where they are kept (None: not beyond this process)."""
    from interlock.adapters.facts import FactReaders

    return FactReaders(folder)


def open_reader(path: Path | None = None) -> Reader:
    """The repository around a folder, only read: any ref of it, no set-up, no network.  Raises Misuse."""
    from interlock.adapters.git.reader import open_reader as open_at

    return open_at(path or Path.cwd())


def has_record(repo: Repo) -> bool:
    """Whether there is a history to ask; opening one would make it."""
    return "INTERLOCK_STORE" in os.environ or (repo.common_dir / "interlock" / "store.sqlite3").exists()


def store_url(repo: Repo) -> str:
    """Where the history lives: INTERLOCK_STORE, else a SQLite file under the common Git directory."""
    if url := os.environ.get("INTERLOCK_STORE"):
        return url
    from interlock.adapters.store import sqlite_url

    return sqlite_url(repo.common_dir / "interlock" / "store.sqlite3")


def open_ports(path: Path | None = None, *, narrate: Callable[[str], None] = lambda _: None) -> Ports:
    """Everything a use case may touch, for the repository around a folder."""
    from interlock.adapters.browsers.chromium import ChromiumBrowsers
    from interlock.adapters.databases.kinds import kinds
    from interlock.adapters.diagnostics import CheckerOutput
    from interlock.adapters.git.repo import GitRepo
    from interlock.adapters.ports_on_host import HostBlocks
    from interlock.adapters.prices import KnownPrices
    from interlock.adapters.records import JobRecords
    from interlock.adapters.secrets import ApprovedSecrets
    from interlock.adapters.signing import KeySigner
    from interlock.adapters.store import SqlStore
    from interlock.host.sandbox.identity import default_user
    from interlock.host.state import keys_folder

    repo = GitRepo.open(path or Path.cwd())
    folder = repo.common_dir / "interlock"
    url = store_url(repo)
    workspaces: LevelWorkspaces = _late(partial(workspaces_of, repo))
    signer = KeySigner(keys_folder(), listed=partial(_listed_keys, repo))

    return Ports(
        repo=repo,
        files=_late(contract_files),
        store=SqlStore.open(url, signer=signer, anchor=_InMirror(repo, narrate)),
        blocks=HostBlocks(store=url),
        workspaces=workspaces,
        databases=kinds(default_user()),
        runs=_late(_runs),
        agents=_late(_agents),
        prices=KnownPrices(partial(_own_prices, repo)),
        checks=_late(_checks),
        syntax=_late(_syntax),
        commands=_late(_commands),
        services=_late(_services),
        browsers=ChromiumBrowsers(),
        secrets=_late(lambda: ApprovedSecrets(repository=(repo.top, workspaces.path_for("x", "x", "worktree").parent))),
        records=JobRecords(folder),
        signer=signer,
        clock=SystemClock(),
        narrate=narrate,
        new_id=lambda: secrets.token_hex(4),
        facts=_late(partial(facts_reader, folder / "facts")),
        diagnosing=CheckerOutput(),
    )


def _agents() -> Agents:
    from interlock.adapters.agents.known import KnownAgents
    from interlock.host.logins import locks_folder

    return KnownAgents(locks_folder())


def _checks() -> Checks:
    from interlock.adapters.checks.runner import CheckRunner

    return CheckRunner()


def _commands() -> Commands:
    from interlock.adapters.commands import HostCommands

    return HostCommands()


def _runs() -> Runs:
    from interlock.host.attempts import HostRuns

    return HostRuns()


def _services() -> Services:
    from interlock.adapters.services import HostServices

    return HostServices()


def _syntax() -> TestSyntax:
    from interlock.adapters.tests_syntax.reader import SyntaxReader

    return SyntaxReader()


def _own_prices(repo: GitRepo) -> Mapping[str, Price]:
    """The team's own prices, by the default branch as last fetched."""
    data = repo.read(repo.last_base().oid, POLICY_FILE)
    policy, _ = contract_files().policy(data or b"", POLICY_FILE)
    return {each.model: each.price for each in policy.prices}


def _listed_keys(repo: GitRepo) -> tuple[str, ...]:
    """The keys that may sign evidence, by the default branch as last fetched.  Raises BrokenRules, UnknownBase."""
    data = repo.read(repo.last_base().oid, POLICY_FILE) or b""
    if b"evidence" not in data and b"\\" not in data:  # most policies name no key, and reading one takes a while
        return ()
    policy, problems = contract_files().policy(data, POLICY_FILE)
    if problems:
        raise BrokenRules(problems)
    return policy.evidence.keys


def workspaces_of(repo: GitRepo) -> LevelWorkspaces:
    """Trees at every level, which ask for the policy of a commit and have dependencies installed behind walls."""
    from interlock.adapters.git.levels import LevelWorkspaces

    @cache
    def policy(commit: str) -> Policy:
        data = repo.read(commit, POLICY_FILE)
        return contract_files().policy(data or b"", POLICY_FILE)[0]

    def install(room: Room, command: str, log: Path) -> None:
        from interlock.host.text import last_lines, telling_lines

        done = _commands().run(command, room, {}, log, seconds=_INSTALL_SECONDS)
        if done.code != 0:
            told = telling_lines(last_lines(log, _INSTALL_LINES)).splitlines()
            last = "\n".join((*told, *(line for line in done.tail.splitlines()[-1:] if line not in told)))
            raise refused(
                rule="sandbox",
                what=f"it {'ran into its limit' if done.timed_out else f'ended with {done.code}'}.\n{last}",
                why="A base is made whole or not at all.",
                would_change="What it needs of this machine is named under sandbox.tools, hosts under network.",
            )

    return LevelWorkspaces(repo, policy=policy, install=install)


def verifier() -> Signer:
    """Who opens what others signed, without a repository."""
    from interlock.adapters.signing import KeySigner
    from interlock.host.state import keys_folder

    return KeySigner(keys_folder())


def public_keys(file: Path) -> tuple[str, ...]:
    """The public keys in a file, as PEM.  Raises Misuse."""
    from interlock.adapters.signing import read_keys

    return read_keys(file)


def open_engine(ports: Ports) -> Engine:
    """The durable engine over the store's database."""
    from threading import Thread

    from interlock.engine.start import DbosEngine

    Thread(target=_preload, name="load what runs need", daemon=True).start()
    return DbosEngine(ports, store_url(ports.repo), ports.repo.common_dir / "interlock")


def _preload() -> None:
    """Load what signs and what reads reports, which takes a while, before it is waited for."""
    from interlock.adapters.checks import results  # noqa: F401
    from interlock.adapters.signing import preload

    preload()
