"""Python programs in processes of their own that start at once: forks of a process that has imported the product.

Environment, working directory, standard streams, exit code and signals are those of a process started afresh; only the
third of a second that the imports take is saved.  What shows the start itself starts afresh: the demo, the tutorial,
the wheel, the newcomer, and everything when ``INTERLOCK_TESTS=full`` is set.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MESSAGE = 1 << 17
ABSENT = ("interlock.adapters.store.migrations", "interlock.bridge", "interlock.mcp", "interlock.testing")
THEIRS = ("alembic.command", "alembic.config", "dbos", "jinja2", "psycopg")


def interlock(words: Sequence[str], where: Path, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """The interlock command, as ``World.start`` wants it."""
    return run("interlock", words, cwd=where, env=env)


def run(
    program: str, words: Sequence[str], *, cwd: Path, env: Mapping[str, str], timeout: float = 120
) -> subprocess.CompletedProcess[str]:
    """Run a program, the name of a module or the path of a file, to its end; gives code, output and errors as text.

    Raises subprocess.TimeoutExpired after ``timeout`` seconds, when the process has been killed.
    """
    with (
        open(os.devnull, "rb") as nothing,
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="surrogateescape") as out,
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="surrogateescape") as err,
    ):
        code = _ask([program, *words], cwd, env, (nothing.fileno(), out.fileno(), err.fileno()), timeout)
        for stream in (out, err):
            stream.seek(0)
        return subprocess.CompletedProcess([program, *words], code, out.read(), err.read())


def _ask(words: list[str], cwd: Path, env: Mapping[str, str], streams: tuple[int, int, int], timeout: float) -> int:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours:
        with theirs:
            order = json.dumps({"words": words, "cwd": str(cwd), "env": dict(env)}).encode()
            socket.send_fds(_server(os.getpid()), [order], [*streams, theirs.fileno()])
        ours.settimeout(120)
        pid = _number(ours)
        ours.settimeout(timeout)
        try:
            return _number(ours)
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            _number(ours)
            raise subprocess.TimeoutExpired(words, timeout) from None


def _number(answers: socket.socket) -> int:
    told = answers.recv(64)
    assert told, "the process that forks has ended"
    return int(told)


@cache
def _server(pid: int) -> socket.socket:
    """The way to the process that forks for this one (a fork of a worker has its own); it ends when this one does."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LANG": "C.UTF-8", "PYTHONPATH": f"{ROOT}"}
    with theirs:
        subprocess.Popen(
            [sys.executable, "-m", "tests.preloaded", str(theirs.fileno())],
            cwd=ROOT,
            env=env,
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        ).returncode = 0  # nobody waits for it: its end is the end of this process
    return ours


def _preload() -> None:
    """Import what commands import; not what is a program itself, nor what few need and takes long."""
    import interlock

    found = (module.name for module in pkgutil.walk_packages(interlock.__path__, "interlock."))
    ours = (name for name in found if not name.startswith(ABSENT) and not name.endswith("__main__"))
    for name in (*ours, *THEIRS):
        with contextlib.suppress(Exception):  # the command that needs it tells what is wrong with it
            importlib.import_module(name)


def _serve(orders: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Fork for each order until there is nobody left to give one; comes back, with the order, in the fork alone."""
    while True:
        order, streams, _, _ = socket.recv_fds(orders, MESSAGE, 4)
        if not order:
            os._exit(0)
        if os.fork() == 0:
            orders.close()
            _keep(streams.pop())
            return json.loads(order), streams
        for each in streams:
            os.close(each)
        _reap()


def _reap() -> None:
    """Take leave of the keepers that have ended."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _keep(answers: int) -> None:
    """Fork once more; stay to tell the fork's pid and how it ended, and go on in the fork alone."""
    if pid := os.fork():
        os.write(answers, str(pid).encode())
        os.write(answers, str(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])).encode())
        os._exit(0)
    os.close(answers)


def _become(order: dict[str, Any], streams: list[int]) -> None:
    """Be the program: everything that it can see of its process is as if it had been started by that name."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    program, *words = order["words"]
    sys.argv = [program, *words]
    if program.endswith(".py"):
        sys.path[0] = os.path.dirname(program)
        runpy.run_path(program, run_name="__main__")
    else:
        sys.path[0] = order["cwd"]
        runpy.run_module(program, run_name="__main__", alter_sys=True)


def main() -> None:
    _preload()
    gc.collect()
    gc.freeze()
    _become(*_serve(socket.socket(fileno=int(sys.argv[1]))))


if __name__ == "__main__":
    main()
