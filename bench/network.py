"""What the way out of a sandbox costs beside a direct connection, and a push through the gate beside a push to a plain folder.

The proxy, the relay and the server are processes of their own, as in a run.  ``--quick`` takes fewer rounds.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import _git
from bench._measure import Report, median, percentile, side_by_side

from interlock.core.sandbox import Gate, Host, Sandbox
from interlock.host.network.porter import serving

GOAL = 3.0  # milliseconds that a new connection may take more
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
NAMED = ("-c", "user.name=bench", "-c", "user.email=bench@example.org")
LIB = str(Path(__file__).resolve().parent.parent / "src")
SERVER = f"""
import socket
server = socket.create_server(("127.0.0.1", 0), backlog=512)
print(server.getsockname()[1], flush=True)
while True:
    come, _ = server.accept()
    with come:
        while data := come.recv(65536):
            if data == b"ping": come.sendall(b"pong"); continue
            come.sendall({ANSWER!r}); break
"""
PORTER = """
import json, sys
from pathlib import Path
from interlock.core.sandbox import from_json
from interlock.host.network.porter import serving
with serving(from_json(json.loads(sys.argv[1])), Path(sys.argv[2])) as binds:
    print(binds[0].source, flush=True)
    sys.stdin.read()
"""
INSIDE = "import sys; sys.path.append(sys.argv.pop(1)); from interlock.host.network.inside import main; main()"


@contextmanager
def child(*argv: str) -> Iterator[str]:
    """A process that says one line when it is ready; ended with its block."""
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": LIB}
    with subprocess.Popen([sys.executable, *argv], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().decode().strip()
        finally:
            process.kill()


@contextmanager
def relay(listen: str, connect: str) -> Iterator[None]:
    read, write = os.pipe()
    order = json.dumps([{"listen": listen, "connect": connect}])
    argv = [sys.executable, "-I", "-S", "-c", INSIDE, LIB, order, str(write)]
    with subprocess.Popen(argv, pass_fds=[write]) as process:
        os.close(write)
        try:
            os.read(read, 1)
            yield
        finally:
            os.close(read)
            process.kill()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def ask(port: int, data: bytes, *, then: bytes = b"") -> Callable[[], None]:
    """A new connection, one request, its answer; ``then`` goes out once a tunnel is open."""

    def work() -> None:
        with socket.create_connection(("127.0.0.1", port)) as sock:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.sendall(data)
            heard = b""
            sent = not then
            while more := sock.recv(65536):
                heard += more
                if not sent and heard.endswith(b"\r\n\r\n"):
                    sock.sendall(then)
                    sent = True
            assert heard.endswith(b"ok"), heard

    return work


def rally(sock: socket.socket) -> Callable[[], None]:
    def work() -> None:
        sock.sendall(b"ping")
        assert sock.recv(4) == b"pong"

    return work


def network(report: Report, rounds: int, folder: Path) -> None:
    with ExitStack() as stack:
        port = int(stack.enter_context(child("-c", SERVER)))
        host = Host(name="api.example.org", port=port, address="127.0.0.1")
        (folder / "record").mkdir()
        order = json.dumps(_shape(Sandbox(home=str(folder), hosts=(host,), record=str(folder / "record"))))
        proxy = stack.enter_context(child("-c", PORTER, order, str(folder)))
        near, bare = free_port(), free_port()
        stack.enter_context(relay(f"tcp:127.0.0.1:{near}", f"unix:{proxy}"))
        stack.enter_context(relay(f"tcp:127.0.0.1:{bare}", f"tcp:127.0.0.1:{port}"))
        get = b"GET / HTTP/1.1\r\nHost: api.example.org\r\n\r\n"
        connect = b"CONNECT api.example.org:%d HTTP/1.1\r\n\r\n" % port
        works = {
            "direct": ask(port, get),
            "relay alone": ask(bare, get),
            "proxy, CONNECT": ask(near, connect, then=get),
            "proxy, plain GET": ask(near, b"GET http://api.example.org:%d/ HTTP/1.1\r\n\r\n" % port),
        }
        for work in works.values():
            work()
        _tell(report, "a new connection", side_by_side(works, rounds), goal=GOAL)


def rallies(report: Report, rounds: int, folder: Path) -> None:
    """Round trips on a connection that stands: what each message of a stream costs."""
    with ExitStack() as stack:
        server = [int(stack.enter_context(child("-c", SERVER))) for _ in range(2)]
        host = Host(name="api.example.org", port=server[1], address="127.0.0.1")
        proxy = stack.enter_context(
            child("-c", PORTER, json.dumps(_shape(Sandbox(home="/", hosts=(host,)))), str(folder))
        )
        near = free_port()
        stack.enter_context(relay(f"tcp:127.0.0.1:{near}", f"unix:{proxy}"))
        direct = stack.enter_context(socket.create_connection(("127.0.0.1", server[0])))
        tunnel = stack.enter_context(socket.create_connection(("127.0.0.1", near)))
        for sock in (direct, tunnel):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        tunnel.sendall(b"CONNECT api.example.org:%d HTTP/1.1\r\n\r\n" % server[1])
        tunnel.recv(4096)
        found = side_by_side({"direct": rally(direct), "relay and proxy": rally(tunnel)}, rounds)
        _tell(report, "a round trip on an open one", found, goal=GOAL)


def _tell(report: Report, what: str, found: dict[str, list[float]], *, goal: float) -> None:
    floor = found["direct"]
    for name, samples in found.items():
        report.times(f"{what}, {name}", samples, floor=floor)
        if name != "direct":
            added = (median(samples) - median(floor)) * 1e3
            report.figure("  added at the median", round(added, 3), "ms", goal=f"<= {goal:g} ms", met=added <= goal)
            tail = (percentile(samples, 0.95) - percentile(floor, 0.95)) * 1e3
            report.figure("  added at the 95th percentile", round(tail, 3), "ms")


def _shape(sandbox: Sandbox) -> dict[str, object]:
    from interlock.core.sandbox import to_json

    return to_json(sandbox)


def crowd(report: Report, folder: Path) -> None:
    """Two hundred connections at once through the proxy, all answered."""
    with ExitStack() as stack:
        port = int(stack.enter_context(child("-c", SERVER)))
        host = Host(name="api.example.org", port=port, address="127.0.0.1")
        proxy = stack.enter_context(
            child("-c", PORTER, json.dumps(_shape(Sandbox(home="/", hosts=(host,)))), str(folder))
        )
        near = free_port()
        stack.enter_context(relay(f"tcp:127.0.0.1:{near}", f"unix:{proxy}"))
        work = ask(near, b"GET http://api.example.org:%d/ HTTP/1.1\r\n\r\n" % port)

        def all_at_once() -> None:
            threads = [threading.Thread(target=work) for _ in range(200)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        taken = side_by_side({"200": all_at_once}, 5)["200"]
        report.figure("200 requests at once, all answered", round(median(taken) * 1e3, 1), "ms")


def pushes(report: Report, rounds: int, folder: Path, files: int) -> None:
    """One small commit each round, pushed to a plain bare folder and through the gate."""
    tree = _git.repository(folder, files)
    base = _git.git(tree, "rev-parse", "HEAD")
    for name in ("plain.git", "mirror.git"):
        _git.git(folder, "init", "-q", "--bare", name)
        _git.git(tree, "push", "-q", str(folder / name), f"{base}:refs/remotes/origin/main")
    own = ("bench.txt",)
    gate = Gate(repository=str(folder / "mirror.git"), branch="agent/one", default="main", base=base, owned=own)
    _git.git(tree, "checkout", "-q", "-b", "agent/one")
    with serving(Sandbox(home=str(folder), gate=gate, record=str(folder)), folder) as binds:
        code = f"import sys; sys.path.append({LIB!r}); from interlock.host.network.ssh import main; main({binds[0].source!r})"
        _git.git(tree, "config", "core.sshCommand", f"'{os.path.realpath(sys.executable)}' -I -S -c \"{code}\"")
        _git.git(tree, "config", "ssh.variant", "simple")
        found: dict[str, list[float]] = {"plain folder": [], "gate": []}
        for number in range(rounds):
            (tree / "bench.txt").write_text(f"{number}\n")
            _git.git(tree, "add", "bench.txt")
            _git.git(tree, *NAMED, "commit", "-q", "-m", f"{number}")
            works: dict[str, Callable[[], object]] = {
                "plain folder": lambda: _git.git(tree, "push", "-q", str(folder / "plain.git"), "agent/one"),
                "gate": lambda: _git.git(tree, "push", "-q", "ssh://gate/repo", "agent/one"),
            }
            for name, samples in side_by_side(works, 1).items():
                found[name] += samples
        for name, samples in found.items():
            report.times(f"push of one commit, {files} files, {name}", samples, floor=found["plain folder"])
        fetch: dict[str, Callable[[], object]] = {
            "plain folder": lambda: _git.git(tree, "fetch", "-q", str(folder / "plain.git"), "agent/one"),
            "gate": lambda: _git.git(tree, "fetch", "-q", "ssh://gate/repo", "agent/one"),
        }
        found = side_by_side(fetch, rounds)
        for name, samples in found.items():
            report.times(f"fetch with nothing new, {name}", samples, floor=found["plain folder"])


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    report = Report("network: proxy, relay and git gate")
    folder = Path(tempfile.mkdtemp(prefix="il-bench-", dir=_git.SCRATCH))
    try:
        network(report, 50 if quick else 400, folder)
        rallies(report, 200 if quick else 2000, folder)
        crowd(report, folder)
        pushes(report, 5 if quick else 20, folder, 2_000 if quick else 20_000)
    finally:
        shutil.rmtree(folder)
    report.end()


if __name__ == "__main__":
    main()
