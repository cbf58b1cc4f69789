"""The one way in which git is called: exact environment, no prompts, no hooks, a deadline; what for is others' work."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from interlock.adapters.git.errors import GitFailed
from interlock.core.problems import Misuse
from interlock.host import commands
from interlock.host.commands import Finished

NAME: Final = "Interlock"
EMAIL: Final = "interlock@localhost"

# GIT_* of the user's environment that may stay: where configuration and credentials come from.  All others could
# redirect a call to another repository, index or object store, or write traces into its output.
_KEPT: Final = re.compile(
    r"GIT_(CONFIG_GLOBAL|CONFIG_SYSTEM|CONFIG_NOSYSTEM|ATTR_NOSYSTEM|ASKPASS|CEILING_DIRECTORIES"
    r"|DISCOVERY_ACROSS_FILESYSTEM|SSH|SSH_.*|SSL_.*|HTTP_.*|PROXY_.*)"
)
# Terminals that a signing program or ssh would ask on.
_DROPPED: Final = frozenset({"GPG_TTY"})

_OPTIONS: Final = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.ext.allow=never",
    "submodule.recurse=false",
    "color.ui=false",
    "i18n.commitEncoding=UTF-8",
    "log.showSignature=false",
    "advice.graftFileDeprecated=false",
)
_FLAGS: Final = tuple(part for option in _OPTIONS for part in ("-c", option))

_ALWAYS: Final = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": os.devnull,
    "GIT_MERGE_AUTOEDIT": "no",
    "GIT_EDITOR": "false",
    "LC_ALL": "C",
    "GIT_AUTHOR_NAME": NAME,
    "GIT_AUTHOR_EMAIL": EMAIL,
    "GIT_COMMITTER_NAME": NAME,
    "GIT_COMMITTER_EMAIL": EMAIL,
}


def environment(safe: Sequence[Path] = ()) -> dict[str, str]:
    """The environment of a git call: ours without what redirects, and trust in ``safe`` if another user owns it.

    Source: facts/isolation §1.5 (dubious ownership is answered in the environment, never in the user's file).
    """
    env = {
        name: value
        for name, value in os.environ.items()
        if name not in _DROPPED and (not name.startswith("GIT_") or _KEPT.fullmatch(name))
    }
    env.update(_ALWAYS)
    env["GIT_CONFIG_COUNT"] = str(len(safe))
    for number, path in enumerate(safe):
        env[f"GIT_CONFIG_KEY_{number}"] = "safe.directory"
        env[f"GIT_CONFIG_VALUE_{number}"] = str(path)
    return env


def call(
    args: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    stdin: bytes | None = None,
    seconds: float = 60.0,
    pass_fds: Sequence[int] = (),
    prefix: Sequence[str] = (),
) -> Finished:
    """Run one git command to its end, behind the words ``prefix``.

    Raises GitFailed only for the deadline; the exit code is the caller's.
    """
    words = [*prefix, "git", *_FLAGS, *args]
    try:
        return commands.run(words, env=env, cwd=cwd, stdin=stdin, seconds=seconds, pass_fds=pass_fds)
    except commands.TimedOut as late:
        raise GitFailed(_shown(args), None, f"it did not end within {late.seconds:g} s") from late
    except FileNotFoundError as absent:
        if not cwd.is_dir():
            raise Misuse(f"The folder {cwd} does not exist.") from absent
        raise Misuse("git was not found on PATH.", hint="Install git 2.38 or newer.") from absent


def _shown(args: Sequence[str]) -> list[str]:
    """The command as a person would type it, without settings."""
    rest = list(args)
    while rest[:1] == ["-c"]:
        del rest[:2]
    return ["git", *rest]


@dataclass(frozen=True, slots=True, kw_only=True)
class GitDir:
    """A git directory and the way calls use it: work tree, index and object stores are explicit, never discovered.

    ``objects`` is where new objects go (None: the directory's own), ``alternates`` further stores to read from,
    ``safe`` the folders to trust although another user owns them, ``inherit`` descriptors of held locks that a
    command keeps alive should we die, ``prefix`` words that calls run behind: those of a view of a sealed tree.
    """

    path: Path
    work_tree: Path | None = None
    index: Path | None = None
    objects: Path | None = None
    alternates: tuple[Path, ...] = ()
    safe: tuple[Path, ...] = ()
    inherit: tuple[int, ...] = ()
    options: tuple[str, ...] = ()
    prefix: tuple[str, ...] = ()

    def env(self) -> dict[str, str]:
        env = environment((self.path, *self.safe))
        env["GIT_DIR"] = str(self.path)
        if self.work_tree:
            env["GIT_WORK_TREE"] = str(self.work_tree)
        if self.index:
            env["GIT_INDEX_FILE"] = str(self.index)
        if self.objects:
            env["GIT_OBJECT_DIRECTORY"] = str(self.objects)
        if self.alternates:
            env["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = os.pathsep.join(map(str, self.alternates))
        return env

    def with_tree(self, work_tree: Path, index: Path) -> GitDir:
        return replace(self, work_tree=work_tree, index=index)

    def with_options(self, *options: str) -> GitDir:
        """The same directory with further ``name=value`` settings on its calls."""
        return replace(self, options=(*self.options, *options))

    def also_reading(self, *stores: Path) -> GitDir:
        """The same directory, reading the objects of further stores, but not what these say about histories."""
        return replace(self, alternates=(*self.alternates, *stores), options=(*self.options, "core.commitGraph=false"))

    def holding(self, *descriptors: int) -> GitDir:
        return replace(self, inherit=(*self.inherit, *descriptors))

    def run(
        self,
        *args: str,
        stdin: bytes | None = None,
        seconds: float = 60.0,
        ok: Sequence[int] = (0,),
        env: Mapping[str, str] | None = None,
    ) -> Finished:
        """Run a git command here.  Raises GitFailed unless it ends with one of the exit codes in ``ok``."""
        flags = [part for option in self.options for part in ("-c", option)]
        done = call(
            [*flags, *args],
            env={**self.env(), **(env or {})},
            cwd=self.work_tree or self.path,
            stdin=stdin,
            seconds=seconds,
            pass_fds=self.inherit,
            prefix=self.prefix,
        )
        if done.code not in ok:
            raise GitFailed(["git", *args], done.code, done.error)
        return done

    def text(self, *args: str, stdin: bytes | None = None, seconds: float = 60.0) -> str:
        """The output of a command that must succeed, without the final line break."""
        return self.run(*args, stdin=stdin, seconds=seconds).text.rstrip("\n")

    def refs(self, *patterns: str) -> dict[str, str]:
        """Full names of refs under the patterns and the commits they lead to (annotated tags are followed)."""
        lines = self.text("for-each-ref", "--format=%(objectname) %(*objectname) %(refname)", *patterns).splitlines()
        found: dict[str, str] = {}
        for line in lines:
            oid, peeled, name = line.split(" ", 2)
            found[name] = peeled or oid
        return found

    def move(self, ref: str, new: str, old: str | None, *, why: str) -> None:
        """Move a ref from ``old`` (None: it must not exist) to ``new``; raises GitFailed when it stands elsewhere."""
        self.run("update-ref", "--create-reflog", "-m", f"interlock: {why}", ref, new, old or "0" * len(new))


def names(data: bytes) -> list[str]:
    """NUL-terminated names as text that can be turned back into the same bytes."""
    return [os.fsdecode(name) for name in data.split(b"\0") if name]


def packed(paths: Sequence[str]) -> bytes:
    """Names as the NUL-terminated bytes that git reads with -z."""
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


def config_value(git: GitDir, name: str) -> str:
    """One setting as git sees it there, with the user's and the system's files; empty when it is not set."""
    return git.run("config", "--get", name, ok=(0, 1)).text.rstrip("\n")
