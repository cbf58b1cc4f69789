"""Secrets from their one approved source, a variable, a file or a command; which task gets which is app.approvals' work."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from interlock.core.contract.around import Secret
from interlock.core.problems import Refused, refused
from interlock.host import commands

_MOST: Final = 64 * 1024
_SECONDS: Final = 30.0
LEAST: Final = 4
"""Characters of the shortest secret: leaving out a shorter one wherever it stands would make every record unreadable."""


class ApprovedSecrets:
    """Secrets of this machine (ports.Secrets).

    ``repository`` are folders that agents can write or commit from: no secret is read out of them.  ``env`` is
    the harness's own environment (default: this process's).
    """

    def __init__(
        self, *, repository: tuple[Path, ...] = (), env: Mapping[str, str] | None = None, seconds: float = _SECONDS
    ) -> None:
        self._repository = repository
        self._env = os.environ if env is None else env
        self._seconds = seconds

    def read(self, secret: Secret) -> str:
        """The value, without the newline at its end.  Raises Refused (secret), whose texts never hold the value."""
        if secret.variable is not None:
            value = self._variable(secret, secret.variable)
        elif secret.file is not None:
            value = _text(secret, self._file(secret, secret.file))
        elif secret.command is not None:
            value = _text(secret, self._command(secret, secret.command))
        else:
            raise _refused(secret, "is not named", "Give it one source in interlock.yaml: variable, file or command.")
        if "\0" in value:
            raise _refused(secret, "gives a NUL byte, which no variable can hold", "Store the secret as text.")
        if len(value) < LEAST:
            why = f"gives fewer than {LEAST} characters, which would have to be left out of every word of the record"
            raise _refused(
                secret, why, "Use a longer secret; what is none belongs into the environment of the card or the check."
            )
        return value

    def check(self, secret: Secret) -> None:
        """Look whether the source is there, and may be read; its value is not read, and a command is not run.

        Raises Refused (secret) as read does.
        """
        if secret.variable is not None:
            self._variable(secret, secret.variable)
        elif secret.file is not None:
            with self._opened(secret, secret.file):
                pass

    def _variable(self, secret: Secret, name: str) -> str:
        value = self._env.get(name, "")
        if not value:
            raise _refused(secret, "is not set", f"Set {name} where interlock is started.")
        return value

    def _file(self, secret: Secret, name: str) -> bytes:
        with self._opened(secret, name) as descriptor:
            return _all(descriptor)

    @contextmanager
    def _opened(self, secret: Secret, name: str) -> Iterator[int]:
        path = self._expanded(name)
        if not path.is_absolute():
            raise _refused(secret, "is a relative path", f"Write the whole path, or begin it with ~/: ~/{name}.")
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as fault:
            why = f"cannot be read ({fault.strerror})"
            raise _refused(secret, why, f"Put the secret into {path}, for its owner alone.") from None
        try:
            self._judge(secret, path, os.fstat(descriptor))
            yield descriptor
        finally:
            os.close(descriptor)

    def _expanded(self, name: str) -> Path:
        """The path with ``~`` taken from the harness's environment."""
        home = self._env.get("HOME")
        if home and (name == "~" or name.startswith("~/")):
            return Path(home) / name[2:]
        return Path(os.path.expanduser(name))  # noqa: PTH111 - Path.expanduser raises where a user is not known

    def _judge(self, secret: Secret, path: Path, facts: os.stat_result) -> None:
        """Refuse what others can read, or an agent can write: the open file, not what its name may mean later."""
        if not stat.S_ISREG(facts.st_mode):
            raise _refused(secret, "is no plain file", "Name a file that holds nothing but the secret.")
        if facts.st_mode & 0o077:
            mode = stat.S_IMODE(facts.st_mode)
            raise _refused(secret, f"can be read by others (mode {mode:04o})", f"chmod 600 {path}")
        if facts.st_uid not in (0, os.geteuid()):
            raise _refused(secret, "belongs to another user", f"chown it to the user that runs interlock: {path}.")
        real = path.resolve()
        for folder in self._repository:
            if real.is_relative_to(folder.resolve()):
                raise _refused(
                    secret, f"lies inside {folder}", "Move it out of the repository, for example to ~/.config."
                )

    def _command(self, secret: Secret, command: str) -> bytes:
        home = self._env.get("HOME")
        try:
            done = commands.run(
                ("sh", "-c", command),
                env=self._env,
                cwd=Path(home) if home and Path(home).is_dir() else Path("/"),
                seconds=self._seconds,
            )
        except commands.TimedOut:
            why = f"did not end within {self._seconds:g} s"
            raise _refused(secret, why, "Unlock the store beforehand; nothing can be asked here.") from None
        if done.code != 0:
            # What it wrote stays out of the record: it may hold the value.
            raise _refused(secret, f"ended with {done.code}", f"Run it by hand and mend it: {command}")
        return done.out


def _all(descriptor: int) -> bytes:
    parts = []
    size = 0
    while size <= _MOST and (part := os.read(descriptor, _MOST + 1 - size)):
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _text(secret: Secret, data: bytes) -> str:
    if len(data) > _MOST:
        raise _refused(secret, f"gives more than {_MOST} bytes", "Name a source that gives the secret alone.")
    try:
        value = data.decode("utf-8")
    except UnicodeDecodeError:
        raise _refused(secret, "gives no UTF-8 text", "Store the secret as text, for example as Base64.") from None
    value = value.removesuffix("\n").removesuffix("\r")
    if not value:
        raise _refused(secret, "gives nothing", "Put the secret there.")
    return value


def _refused(secret: Secret, why: str, fix: str) -> Refused:
    source = next(
        (f"{kind} {name}" for kind in ("variable", "file", "command") if (name := getattr(secret, kind)) is not None),
        "source",
    )
    return refused(
        rule="secret",
        what=f"The secret {secret.name} cannot be handed out: its {source} {why}.",
        why="A secret comes from its one approved source, or the task does not get it.",
        would_change=fix if fix.endswith(".") else f"{fix}.",
    )
