"""What a call through the model gateway costs beside a direct one, how fast a stream passes, and what memory a served gateway takes.

Vendor and gateway are processes of their own, as in a run.  ``--quick`` takes fewer rounds.
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench._measure import Report, median, percentile, side_by_side

from interlock.core.agent.gateway import Ceiling, ModelGateway, Upstream, to_json
from interlock.core.agent.usage import Price

GOAL = 5.0  # milliseconds that a call may take more
MEMORY = 15.0  # MB that our part may take for each agent that is supervised
LIB = str(Path(__file__).resolve().parent.parent / "src")
EVENTS = 4000
VENDOR = f"""
import socket, threading
DELTA = b'event: content_block_delta\\ndata: {{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"some words of it"}}}}\\n\\n'
START = b'event: message_start\\ndata: {{"type":"message_start","message":{{"model":"m","usage":{{"input_tokens":9,"output_tokens":1}}}}}}\\n\\n'
END = b'event: message_delta\\ndata: {{"type":"message_delta","usage":{{"output_tokens":50}}}}\\n\\n'
PLAIN = b'{{"type":"message","model":"m","usage":{{"input_tokens":9,"output_tokens":5}}}}'
def chunk(data): return b"%x\\r\\n%s\\r\\n" % (len(data), data)
STREAM = [chunk(START), *[chunk(DELTA * 4) for _ in range({EVENTS} // 4)], chunk(END), b"0\\r\\n\\r\\n"]
HEAD = b"HTTP/1.1 200 OK\\r\\nContent-Type: text/event-stream\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n"
ANSWER = b"HTTP/1.1 200 OK\\r\\nContent-Type: application/json\\r\\nContent-Length: %d\\r\\n\\r\\n%s" % (len(PLAIN), PLAIN)
def talk(sock):
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with sock:
        while True:
            data = b""
            while b"\\r\\n\\r\\n" not in data:
                more = sock.recv(1 << 20)
                if not more: return
                data += more
            head, _, body = data.partition(b"\\r\\n\\r\\n")
            length = int(head.lower().partition(b"content-length:")[2].split(b"\\r\\n")[0])
            size = len(body)
            while size < length: size += len(sock.recv(1 << 20))
            if b"stream-please" in head:
                sock.sendall(HEAD)
                for part in STREAM: sock.sendall(part)
            else:
                sock.sendall(ANSWER)
server = socket.create_server(("127.0.0.1", 0), backlog=512)
print(server.getsockname()[1], flush=True)
while True:
    come, _ = server.accept()
    threading.Thread(target=talk, args=(come,), daemon=True).start()
"""
SERVED = """
import json, sys
from pathlib import Path
from interlock.core.agent.gateway import from_json
from interlock.host.models import serving
with serving(from_json(json.loads(sys.argv[1])), Path(sys.argv[2]), user=None):
    print("ready", flush=True)
    sys.stdin.read()
"""
RUNNER = """
import sys
from interlock.runner import main
PORTER
print("ready", flush=True)
sys.stdin.read()
"""


@contextmanager
def child(*argv: str) -> Iterator[tuple[str, int]]:
    """A process that says one line when it is ready, and its pid; ended with its block."""
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": LIB}
    with subprocess.Popen([sys.executable, *argv], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().decode().strip(), process.pid
        finally:
            process.kill()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def order(folder: Path, vendor: int, port: int) -> str:
    """A gateway with a limit to look at and the prices of two vendors' models, as an attempt has it."""
    upstream = Upstream(name="v", dialects=("anthropic",), url=f"http://127.0.0.1:{vendor}", key="sk-key")
    limit = Ceiling(scope="day", text="usd 1000 for the day", usd=1000.0, files=("day/*/*.json",))
    prices = {f"some-model-{number}": Price(input=1.0, output=10.0, cache_read=0.1) for number in range(150)}
    made = ModelGateway(
        upstreams=(upstream,),
        token="token",
        listen=f"tcp:127.0.0.1:{port}",
        record=str(folder / "record"),
        ledgers=str(folder / "ledgers"),
        ledger="day/class/j-1.json",
        prices={"m": Price(input=1.0, output=10.0), **prices},
        ceilings=(limit,),
    )
    return json.dumps(to_json(made))


BODY = json.dumps({"model": "m", "messages": ["x" * 1000] * 50}).encode()


def caller(port: int, path: str, *, stream: bool = False, fresh: bool = False) -> Callable[[], None]:
    """One call with a request of 50 KB and its whole answer; on an open connection unless ``fresh``."""
    kept = http.client.HTTPConnection("127.0.0.1", port)
    fields = {"x-api-key": "token", "x-kind": "stream-please" if stream else "plain"}

    def work() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port) if fresh else kept
        connection.connect() if connection.sock is None else None
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.request("POST", path, BODY, fields)
        answer = connection.getresponse()
        assert answer.status == 200
        answer.read()
        if fresh:
            connection.close()

    return work


def calls(report: Report, rounds: int, folder: Path) -> None:
    with ExitStack() as stack:
        vendor = int(stack.enter_context(child("-c", VENDOR))[0])
        port = free_port()
        stack.enter_context(child("-c", SERVED, order(folder, vendor, port), str(folder)))
        for what, more in (("a call on an open connection", {}), ("a call on a new one", {"fresh": True})):
            works = {
                "direct": caller(vendor, "/v1/messages", **more),
                "gateway": caller(port, "/v/v1/messages", **more),
            }
            for work in works.values():
                work()
            found = side_by_side(works, rounds)
            for name, samples in found.items():
                report.times(f"{what}, {name}", samples, floor=found["direct"])
            added = (median(found["gateway"]) - median(found["direct"])) * 1e3
            report.figure("  added at the median", round(added, 3), "ms", goal=f"<= {GOAL:g} ms", met=added <= GOAL)
            tail = (percentile(found["gateway"], 0.95) - percentile(found["direct"], 0.95)) * 1e3
            report.figure("  added at the 95th percentile", round(tail, 3), "ms")
        streams = {
            "direct": caller(vendor, "/v1/messages", stream=True),
            "gateway": caller(port, "/v/v1/messages", stream=True),
        }
        for work in streams.values():
            work()
        found = side_by_side(streams, max(5, rounds // 20))
        for name, samples in found.items():
            report.times(f"a stream of {EVENTS} events, {name}", samples, floor=found["direct"])
            report.figure("  events in a second", round(EVENTS / median(samples)), "/s")


def memory(report: Report, folder: Path) -> None:
    """What a process that serves a gateway holds more than a runner that serves none, at rest and after calls."""
    porter = "import interlock.host.network.porter"
    with ExitStack() as stack:
        vendor = int(stack.enter_context(child("-c", VENDOR))[0])
        bare = stack.enter_context(child("-c", RUNNER.replace("PORTER", "")))[1]
        proxied = stack.enter_context(child("-c", RUNNER.replace("PORTER", porter)))[1]
        port = free_port()
        script = RUNNER.replace("PORTER\nprint", f"{porter}\nprint").split("print")[0] + SERVED
        served = stack.enter_context(child("-c", script, order(folder, vendor, port), str(folder)))[1]
        for name, pid in (("a runner", bare), ("a runner with a network", proxied), ("and with a gateway", served)):
            report.figure(f"{name}: memory of its own", own(pid), "MB")
        report.figure("  added by the gateway", round(own(served) - own(proxied), 2), "MB")
        work = caller(port, "/v/v1/messages", stream=True)
        for _ in range(20):
            work()
        time.sleep(0.2)
        after = own(served)
        report.figure("and after 20 streams", after, "MB", goal=f"<= {MEMORY:g} MB", met=after <= MEMORY)


def own(pid: int) -> float:
    """Memory that no other process shares (private pages), in MB."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    found = {line.split(":")[0]: int(line.split()[1]) for line in lines[1:] if line.endswith("kB")}
    return round((found["Private_Dirty"] + found["Private_Clean"]) / 1024, 2)


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    report = Report("gateway: calls of models")
    folder = Path(tempfile.mkdtemp(prefix="il-bench-"))
    try:
        calls(report, 100 if quick else 600, folder)
        memory(report, folder)
    finally:
        shutil.rmtree(folder)
    report.end()


if __name__ == "__main__":
    main()
