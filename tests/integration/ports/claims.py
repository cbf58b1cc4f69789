"""One of many processes that claim blocks and give them back, with a judge of their own for collisions."""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

from interlock.adapters.ports_on_host import HostBlocks

FAMILIES = {"APP_PORT": 3000, "DEBUG_PORT": 9229}


def take(judge: Path, ports: list[int]) -> None:
    """Each port belongs to one process at a time; a second one finds the file."""
    for port in ports:
        os.close(os.open(judge / str(port), os.O_CREAT | os.O_EXCL | os.O_WRONLY))


def main() -> None:
    folder, name, rounds = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    blocks = HostBlocks(store=f"sqlite:///{folder}/store", registry=folder / "registry")
    judge = folder / "judge"
    rng = random.Random(name)
    mine: dict[str, list[int]] = {}
    for number in range(rounds):
        owner = f"{name}-{number}"
        block, given = blocks.claim(owner, FAMILIES)
        ports = list(given.values())
        take(judge, ports)
        assert block >= 1
        mine[owner] = ports
        while mine and (len(mine) > 4 or rng.random() < 0.4):
            gone = rng.choice(sorted(mine))
            for port in mine.pop(gone):
                (judge / str(port)).unlink()
            blocks.release(gone)
    for owner, ports in mine.items():
        for port in ports:
            (judge / str(port)).unlink()
        blocks.release(owner)


if __name__ == "__main__":
    main()
