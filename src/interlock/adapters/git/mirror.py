"""The trusted mirror: a private bare copy of the remote, made whole or not at all; what is done in it is others' work."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from interlock.adapters.git import locks, objects, settings
from interlock.adapters.git.discover import BRANCHES, TASKS, Found, Remote, config, local_default, remote_of
from interlock.adapters.git.errors import GitFailed, UnknownBase
from interlock.adapters.git.plumbing import GitDir, config_value
from interlock.core.problems import refused
from interlock.host.commands import Finished
from interlock.ports.repository import Base

TRACKED: Final = "refs/remotes/origin/"
HEAD: Final = "refs/remotes/origin/HEAD"
_SEED: Final = "refs/seed/"
_PAUSES: Final = (0.2, 1.0)  # seconds between the tries of a fetch
_NET: Final = 600.0
_OLD: Final = 86400.0
_LOOSE, _PACKS = 27, 50  # git's own limits: gc.auto / 256 and gc.autoPackLimit
_PASSING: Final = (
    *("cannot lock ref", "unable to access", "Could not read from remote", "early EOF", "hung up", "timed out"),
    *("Connection", "Temporary failure", "unable to update local ref", "did not send all necessary objects"),
)


@dataclass(frozen=True, slots=True)
class Mirror:
    """The mirror of one repository.  All its writers are ours; agents never see its configuration."""

    found: Found

    @property
    def path(self) -> Path:
        return self.found.state / "mirror.git"

    @property
    def git(self) -> GitDir:
        return GitDir(path=self.path, safe=(self.found.top,))

    @property
    def raw(self) -> GitDir:
        """The same objects under settings that convert nothing: files and blobs are the same bytes."""
        return GitDir(path=self.path / "raw", objects=self.path / "objects", safe=(self.found.top,))

    def ensure(self) -> None:
        """Make the mirror if it is not there, in one step as others see it; leftovers of a killed try are removed."""
        if self.path.is_dir():
            return
        with locks.held(self.found.state / "mirror.lock", what="The mirror is being made"):
            if self.path.is_dir():
                return
            for old in self.found.state.glob("mirror-making-*"):
                shutil.rmtree(old)
            making = Path(tempfile.mkdtemp(prefix="mirror-making-", dir=self.found.state))
            making.chmod(self.found.common_dir.stat().st_mode)
            self._build(making)
            making.rename(self.path)

    def _build(self, folder: Path) -> None:
        git = GitDir(path=folder, safe=(self.found.top,))
        kind = f"--object-format={self.found.object_format}"
        git.run("init", "-q", "--bare", "--template=", kind, "--initial-branch=interlock", str(folder))
        remote = remote_of(self.found, config(self.found.git(), "--includes"))
        with (folder / "config").open("a", encoding="utf-8", errors="surrogateescape") as file:
            file.write(settings.as_text(settings.snapshot(self.found, remote)))
            file.write("[core]\n\tlogAllRefUpdates = always\n")
        settings.copy_info(self.found, folder)
        raw = folder / "raw"
        (raw / "refs").mkdir(parents=True)
        (raw / "info").mkdir()
        (raw / "HEAD").write_text("ref: refs/heads/interlock\n")
        (raw / "config").write_text(_raw_config(self.found.object_format))
        (raw / "info" / "attributes").write_text("* -text -eol -filter -ident -working-tree-encoding\n")
        shutil.copyfile(folder / "info" / "exclude", raw / "info" / "exclude")
        if remote.name:
            self._seed(git, remote)

    def _seed(self, git: GitDir, remote: Remote) -> None:
        """Take what is here already, so that the first fetch brings only what is not; best effort by design."""
        refs = self.found.git().refs(f"refs/remotes/{remote.name}/") or self.found.git().refs(BRANCHES)
        tips = list(dict.fromkeys(refs.values()))
        if not tips:
            return
        try:
            objects.fetch_local(git, self.found.common_dir / "objects", tips, ())
        except GitFailed:  # a shallow or partial clone: the remote has the rest
            return
        lines = "".join(f"create {_SEED}{number} {tip}\n" for number, tip in enumerate(tips))
        git.run("update-ref", "--stdin", stdin=lines.encode())

    def remote(self) -> Remote:
        """The remote as it was when the mirror was made.  Raises Refused when the user's repository names another now."""
        kept = config(self.git).get("remote.origin.url", (None,))[0]
        now = remote_of(self.found, config(self.found.git(), "--includes"))
        if kept == now.url:
            return now
        raise refused(
            "git",
            f"The remote was {kept or 'absent'} when Interlock first saw this repository and is {now.url or 'absent'} now.",
            "An agent could have changed it, and work would be fetched from and pushed to another place.",
            f"If you changed it: git config --file {self.path / 'config'} "
            + (f"remote.origin.url {now.url}" if now.url else "--unset remote.origin.url"),
        )

    def refresh(self) -> Base:
        """Fetch the remote and tell its default branch.  Raises GitFailed, UnknownBase, or Refused for the lock."""
        self.ensure()
        self._meet_first_remote()
        remote = self.remote()
        with locks.held(self.found.state / "mirror.lock", what="The mirror is being fetched") as lock:
            self._sweep()
            git = self.git.holding(lock)
            if remote.name:
                branch, refs = self._fetch(git)
            else:
                branch, refs = self._take_local(git), _refs(git)
            if refs.head != f"{TRACKED}{branch}":
                git.run("symbolic-ref", "-m", "interlock: default branch", HEAD, f"{TRACKED}{branch}")
            self._tidy(git)
        return self.base(remote, branch, refs.commits.get(f"{TRACKED}{branch}", ""))

    def _meet_first_remote(self) -> None:
        """Begin again with a remote that was added before any task was made: nothing was taken from elsewhere yet."""
        if any((self.found.state / "intents").glob("*")) or config(self.git).get("remote.origin.url"):
            return
        if remote_of(self.found, config(self.found.git(), "--includes")).url is None:
            return
        with locks.held(self.found.state / "mirror.lock", what="The mirror is being made"):
            self.path.rename(self.found.state / f"mirror-before-remote-{time.time_ns()}")
        self.ensure()

    def _sweep(self) -> None:
        """Take away what calls that were killed left in the folder for temporary files."""
        for left in (self.path / "tmp").glob("*"):
            with suppress(OSError):
                if time.time() - left.stat().st_mtime > _OLD:
                    shutil.rmtree(left)

    def _tidy(self, git: GitDir) -> None:
        """Pack what piled up.  Nothing is ever pruned, so that a tree that is being looked at loses no object."""
        objects_ = self.path / "objects"
        loose = len(list((objects_ / "17").glob("*")))  # one of 256 folders stands for all of them, as in git gc --auto
        packs = len(list((objects_ / "pack").glob("*.pack")))
        if loose > _LOOSE or packs > _PACKS:
            with suppress(GitFailed):
                git.run(
                    "maintenance", "run", "--quiet", "--task=loose-objects", "--task=incremental-repack", seconds=_NET
                )

    def last_base(self) -> Base:
        """The default branch as of the last refresh, without the network.  Raises UnknownBase before the first one."""
        words = ("for-each-ref", "--format=%(symref) %(objecttype) %(objectname)", HEAD)
        name, _, tip = (self.git.text(*words) if self.path.is_dir() else "").partition(" ")
        if not name:
            raise UnknownBase(
                "The repository was never fetched by Interlock.",
                "Push a first commit to the default branch, where it has none yet; then run interlock doctor, which fetches it.",
            )
        kind, _, oid = tip.partition(" ")
        return self.base(self.remote(), name.removeprefix(TRACKED), oid if kind == "commit" else "")

    def stands(self) -> bytes | None:
        """What is written where git keeps the default branch: as long as that is equal, ``last_base`` is.

        None where git keeps it otherwise.
        """
        try:
            head = (self.path / HEAD).read_bytes()
            name = os.fsdecode(head.removeprefix(b"ref:").strip())
            tip = (self.path / name).read_bytes() if name.startswith(TRACKED) else b"ref:"
            return None if tip.startswith(b"ref:") else head + tip
        except OSError:
            return None

    def base(self, remote: Remote, branch: str, oid: str = "") -> Base:
        """The default branch as a value; the commit is asked for where it is not given."""
        oid = oid or self.git.text("rev-parse", "--verify", "--quiet", f"{TRACKED}{branch}^{{commit}}")
        note = "" if remote.name else f"{remote.note} The local branch {branch} is the base."
        return Base(remote=remote.name, branch=branch, oid=oid, note=note)

    def _configured(self) -> str | None:
        return config(self.git).get("interlock.branch", (None,))[-1]

    def _fetch(self, git: GitDir) -> tuple[str, _Refs]:
        """Fetch all branches of the remote when any of them moved; gives the name of its default branch, and what is here."""
        listed = _patiently(git, "ls-remote", "--symref", "origin", "HEAD", f"{BRANCHES}*").text
        branches, head = _heads(listed)
        name = self._default(branches, head)
        refs = _refs(git)
        if moved := {f"{TRACKED}{branch}": oid for branch, oid in branches.items()} != refs.tracked:
            _patiently(
                git,
                *("fetch", "-q", "--prune", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"),
                *("--no-recurse-submodules", "origin", f"+{BRANCHES}*:{TRACKED}*"),
            )
        if refs.seeds:
            git.run("update-ref", "--stdin", stdin="".join(f"delete {ref}\n" for ref in refs.seeds).encode())
        refs = _refs(git) if moved else refs
        if f"{TRACKED}{name}" not in refs.tracked:
            raise UnknownBase(f"The remote's default branch {name} went away during the fetch.", "Run it again.")
        return name, refs

    def _default(self, branches: Mapping[str, str], head: str | None) -> str:
        name = self._configured() or head
        say = f"Say which: git config --file {self.path / 'config'} interlock.branch NAME"
        if not branches:
            raise UnknownBase(
                "The remote has no commit yet.", "Push the default branch first.", why="Tasks start from it."
            )
        if name is None or name not in branches:
            raise UnknownBase(
                f"The remote does not say which of its {len(branches)} branches is the default one.",
                f"Set it there (git symbolic-ref HEAD {BRANCHES}NAME in a bare repository). {say}",
            )
        if f"{BRANCHES}{name}".startswith(TASKS):
            raise UnknownBase(f"The remote's default branch is {name}, a branch of a task.", f"{say}")
        return name

    def _take_local(self, git: GitDir) -> str:
        """Without a remote the user's own branches are what the mirror follows."""
        heads = self.found.git().refs(BRANCHES)
        name = local_default(heads, self._configured(), config_value(git, "init.defaultBranch"))
        wanted = {f"{TRACKED}{ref.removeprefix(BRANCHES)}": oid for ref, oid in heads.items()}
        before = _refs(git).tracked
        if wanted != before:
            objects.fetch_local(git, self.found.common_dir / "objects", list(wanted.values()), before.values())
            lines = [f"delete {ref}\n" for ref in before.keys() - wanted.keys()]
            git.run("update-ref", "--stdin", stdin="".join(lines).encode())
            lines = [f"update {ref} {oid}\n" for ref, oid in wanted.items() if before.get(ref) != oid]
            git.run("update-ref", "--stdin", stdin="".join(lines).encode())
        return name


def _raw_config(object_format: str) -> str:
    version, extra = (
        ("0", "") if object_format == "sha1" else ("1", f"[extensions]\n\tobjectFormat = {object_format}\n")
    )
    return f"[core]\n\trepositoryFormatVersion = {version}\n\tbare = true\n\tautocrlf = false\n{extra}"


@dataclass(frozen=True, slots=True)
class _Refs:
    """What the mirror holds of the remote: its branches, those of them that are commits, what HEAD points at, and the seeds."""

    tracked: Mapping[str, str]
    commits: Mapping[str, str]
    head: str
    seeds: tuple[str, ...]


def _refs(git: GitDir) -> _Refs:
    form = "--format=%(refname) %(objecttype) %(objectname) %(*objectname) %(symref)"
    rows = [line.split(" ") for line in git.text("for-each-ref", form, TRACKED, _SEED).splitlines()]
    branches = [row for row in rows if row[0].startswith(TRACKED) and row[0] != HEAD]
    return _Refs(
        tracked={name: peeled or oid for name, _, oid, peeled, _ in branches},
        commits={name: oid for name, kind, oid, _, _ in branches if kind == "commit"},
        head=next((row[4] for row in rows if row[0] == HEAD), ""),
        seeds=tuple(row[0] for row in rows if row[0].startswith(_SEED)),
    )


def _heads(listed: str) -> tuple[dict[str, str], str | None]:
    """Branches and the target of HEAD as ls-remote lists them."""
    branches: dict[str, str] = {}
    head = None
    for line in listed.splitlines():
        value, _, name = line.partition("\t")
        if value.startswith("ref: ") and name == "HEAD":
            head = value.removeprefix("ref: ").removeprefix(BRANCHES)
        elif name.startswith(BRANCHES):
            branches[name.removeprefix(BRANCHES)] = value
    return branches, head


def _patiently(git: GitDir, *args: str) -> Finished:
    """Run a network command, trying again a few times when the failure is of a passing kind."""
    for pause in _PAUSES:
        try:
            return git.run(*args, seconds=_NET)
        except GitFailed as fault:
            if not any(sign in fault.text for sign in _PASSING):
                raise _unreachable(git, fault) from fault
        time.sleep(pause)
    try:
        return git.run(*args, seconds=_NET)
    except GitFailed as fault:
        raise _unreachable(git, fault) from fault


def _unreachable(git: GitDir, fault: GitFailed) -> GitFailed:
    """The failure with the remote it was about, and the command that shows the same outside of Interlock."""
    url = config(git).get("remote.origin.url", ("the remote",))[-1]
    hint = f"See whether {url} can be reached: git ls-remote {url}"
    return GitFailed(fault.argv, fault.returncode, f"{url}: {fault.text}", hint=hint)
