"""The git processes of the gate: exact environment, own settings over the mirror's, ended as a group; what is said is server's work."""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from interlock.host import procfs
from interlock.host.network import pipes
from interlock.host.network.pipes import Reader, Writer

_LIMIT: Final = 1 << 16
_CPU_SECONDS: Final = 900
_TICK: Final = 0.005
_END_SECONDS: Final = 10.0
_GOODBYE_SECONDS: Final = 2.0
_OLD_SECONDS: Final = 86_400.0
_QUARANTINE: Final = "objects/tmp_objdir-*"


def settings(repository: str, hooks: str, shown: Sequence[str], most_bytes: int) -> dict[str, str]:
    """The settings of every call, which stand above those of the mirror; ``shown`` are the refs that a task may see."""
    values = [
        ("safe.directory", repository),
        ("core.hooksPath", hooks),
        ("core.fsmonitor", "false"),
        ("core.alternateRefsCommand", "false"),
        ("gc.auto", "0"),
        ("maintenance.auto", "false"),
        ("receive.autogc", "false"),
        ("receive.fsckObjects", "true"),
        ("transfer.fsckObjects", "true"),
        ("receive.denyDeletes", "true"),
        ("receive.denyNonFastForwards", "true"),
        ("receive.shallowUpdate", "false"),
        ("receive.advertisePushOptions", "false"),
        ("receive.advertiseAtomic", "true"),
        ("receive.maxInputSize", str(most_bytes)),
        ("receive.unpackLimit", "1"),  # a pack stays as small as it came
        ("receive.updateServerInfo", "false"),
        ("uploadpack.allowTipSHA1InWant", "false"),
        ("uploadpack.allowReachableSHA1InWant", "false"),
        ("uploadpack.allowAnySHA1InWant", "false"),
        ("uploadpack.allowFilter", "false"),
        ("uploadpack.allowRefInWant", "false"),
        ("pack.threads", "1"),
        ("transfer.advertiseSID", "false"),
        ("advice.graftFileDeprecated", "false"),
        ("transfer.hideRefs", "refs/"),
        *(("transfer.hideRefs", f"!{ref}") for ref in shown),
    ]
    env = {"GIT_CONFIG_COUNT": str(len(values))}
    for number, (key, value) in enumerate(values):
        env[f"GIT_CONFIG_KEY_{number}"] = key
        env[f"GIT_CONFIG_VALUE_{number}"] = value
    return env


def environment() -> dict[str, str]:
    """What a git of ours needs: where programs are, and no settings of users or of the system."""
    found = shutil.which("git")
    folders = [os.path.dirname(found)] if found else []  # noqa: PTH120 - a text of PATH
    return {
        "PATH": os.pathsep.join(dict.fromkeys([*folders, *os.defpath.split(os.pathsep)])),
        "HOME": "/nonexistent",
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_GRAFT_FILE": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_COMMITTER_NAME": "Interlock",  # for the log of the ref, where the system knows no name for us
        "GIT_COMMITTER_EMAIL": "interlock@localhost",
    }


class Child:
    """One running git with its three streams; ``end`` has to be called, and ends what git started too."""

    def __init__(self, process: subprocess.Popen[bytes], put: Writer, out: Reader, err: Reader) -> None:
        self.put = put
        self.out = out
        self.err = err
        self._process = process
        self._writers: list[Writer] = []

    @classmethod
    async def start(cls, arguments: Sequence[str], env: Mapping[str, str]) -> Child:
        """Start git.  Raises OSError."""
        pairs = [socket.socketpair() for _ in range(3)]
        try:
            process = subprocess.Popen(  # noqa: ASYNC220 - a few milliseconds, and no watcher of processes is needed
                ["git", *arguments],
                stdin=pairs[0][1].fileno(),
                stdout=pairs[1][1].fileno(),
                stderr=pairs[2][1].fileno(),
                env=dict(env),
                cwd="/",
                start_new_session=True,
            )
        except BaseException:
            for ours, _ in pairs:
                ours.close()
            raise
        finally:
            for _, theirs in pairs:
                theirs.close()
        with suppress(OSError):
            resource.prlimit(process.pid, resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS))
        streams = [await asyncio.open_connection(sock=ours, limit=_LIMIT) for ours, _ in pairs]
        child = cls(process, streams[0][1], streams[1][0], streams[2][0])
        child._writers = [writer for _, writer in streams]
        return child

    async def end(self, *, seconds: float = _END_SECONDS) -> int:
        """Wait a little for git to end by itself, then end it and all it started; gives its exit code, 255 for a signal."""
        try:
            if not await self._ended(seconds):
                await self._say_goodbye()
        finally:
            self._kill()
            for writer in self._writers:
                await pipes.close(writer)
        code = self._process.returncode
        return code if 0 <= code < 255 else 255

    async def _say_goodbye(self) -> None:
        """Close git's standard input and hear it out: a git that ends by itself takes its quarantine away."""
        with suppress(OSError, RuntimeError):
            self.put.write_eof()
        hearing = [asyncio.create_task(_discard(stream)) for stream in (self.out, self.err)]
        try:
            await self._ended(_GOODBYE_SECONDS)
        finally:
            for task in hearing:
                task.cancel()
            await asyncio.gather(*hearing, return_exceptions=True)

    async def _ended(self, seconds: float) -> bool:
        for _ in range(round(seconds / _TICK) + 1):
            if self._process.poll() is not None:
                return True
            await asyncio.sleep(_TICK)
        return False

    def _kill(self) -> None:
        if self._process.poll() is not None:
            return
        left = self._quarantines()
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for folder in left:
            shutil.rmtree(folder, ignore_errors=True)

    def _quarantines(self) -> set[Path]:
        """Where the programs that git started keep what is being pushed."""
        found = set()
        for pid in procfs.descendants(self._process.pid):
            for value in procfs.environ(pid).split(b"\0"):
                name, _, text = value.partition(b"=")
                if name == b"GIT_QUARANTINE_PATH":
                    found.add(Path(os.fsdecode(text)))
        return {path for path in found if path.is_absolute() and path.match(_QUARANTINE)}


async def _discard(stream: Reader) -> None:
    with suppress(OSError, RuntimeError):  # somebody else may be hearing it already
        while await stream.read(_LIMIT):
            pass


def sweep(repository: str) -> None:
    """Take away what was being pushed when a runner was killed; nothing is pushed for a day."""
    for left in Path(repository).glob(_QUARANTINE):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _OLD_SECONDS:
                shutil.rmtree(left)
