"""What claiming a block of ports costs beside its floor, and whether 40 processes ever collide (``--rounds N`` claims each)."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench._measure import Report, percentile, side_by_side

from interlock.adapters.ports_on_host import HostBlocks
from interlock.host import sockets

FAMILIES = {"APP_PORT": 3000, "DEBUG_PORT": 9229}
PROCESSES = 40
RACER = Path(__file__).resolve().parent.parent / "tests" / "integration" / "ports" / "claims.py"


def floor(folder: Path) -> None:
    """What a claim cannot do without."""
    bind_only(range(20_100, 20_120))
    sync_only(folder)


def bind_only(ports: range) -> None:
    """What any probe must do: one bind and listen for each port of a block."""
    for port in ports:
        with closing(socket.socket(socket.AF_INET6, socket.SOCK_STREAM)) as probe:
            probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("::", port))
            probe.listen(1)


def sync_only(folder: Path) -> None:
    """One small file, written and made durable with its folder."""
    with (folder / "one").open("wb") as file:
        file.write(b"x" * 300)
        file.flush()
        os.fsync(file.fileno())
    descriptor = os.open(folder, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def main() -> None:
    report = Report("ports")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        folder = Path(name)
        (folder / "store").touch()
        blocks = HostBlocks(store=f"sqlite:///{folder}/store", registry=folder / "registry")
        numbers = iter(range(1_000_000))
        works = {
            "20 binds and one durable file": lambda: floor(folder),
            "claim": lambda: blocks.claim(f"j{next(numbers)}", FAMILIES),
        }
        found = side_by_side(works, 100)
        for work, samples in found.items():
            report.times(work, samples, floor=found["20 binds and one durable file"])
        probes = side_by_side({"probe": lambda: sockets.is_free(20_200)}, 500)["probe"]
        report.figure("one port looked at, p50", round(percentile(probes, 0.5) * 1e6, 1), "us")
        race(report, folder)
    report.end()


def race(report: Report, folder: Path) -> None:
    """Claims of many processes at once; each port is claimed again from a judge of its own."""
    rounds = int(sys.argv[sys.argv.index("--rounds") + 1]) if "--rounds" in sys.argv else 25
    place = folder / "race"
    (place / "judge").mkdir(parents=True)
    (place / "store").touch()
    began = time.perf_counter()
    words = [sys.executable, str(RACER), str(place)]
    children = [subprocess.Popen([*words, f"p{number}", str(rounds)]) for number in range(PROCESSES)]
    failed = sum(child.wait() != 0 for child in children)
    took = time.perf_counter() - began
    report.figure(f"{PROCESSES * rounds} claims by {PROCESSES} processes", round(took, 1), "s")
    report.figure("processes that met a collision", failed, "", goal="0", met=failed == 0)


if __name__ == "__main__":
    main()
