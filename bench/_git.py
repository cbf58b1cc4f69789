"""Repositories for the git benchmarks, made quickly and in memory where that is possible; no figures of their own."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

SCRATCH = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
CARD = """\
slug: {slug}
class: vertical-slice
goal: Change a few files.
accepted_plan: docs/plans/p.md
owned_paths: [{owned}, tests/{slug}/**]
read_only_paths: []
prohibited_paths: [migrations/**]
depends_on: []
checks: ["true"]
done_when: [it is done]
stop_when: [a change outside owned_paths is needed]
integration_owner: "@ana"
"""
ENV = {
    **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}
os.environ |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


def git(where: Path, *args: str, stdin: bytes | None = None) -> str:
    """Run git in a folder; gives stdout.  Raises CalledProcessError."""
    done = subprocess.run(["git", *args], cwd=where, env=ENV, input=stdin, capture_output=True, check=True)
    return done.stdout.decode("utf-8", "surrogateescape").rstrip("\n")


def repository(folder: Path, files: int) -> Path:
    """A checkout of main with that many files of about 3 kB, and its bare remote beside it."""
    return branches(folder, files=files, count=0)


def branches(folder: Path, *, files: int, count: int, seed: int = 7) -> Path:
    """The same with agent branches, each with its card, four changed files, from one of thirty commits of main.

    Made as one stream, since a thousand commits by hand would take longer than what is measured.
    """
    dice = random.Random(seed)
    git(folder, "init", "-q", "--bare", "-b", "main", "remote.git")
    remote = folder / "remote.git"
    git(remote, "fast-import", "--quiet", stdin=_stream(dice, files, count))
    git(folder, "clone", "-q", str(remote), "repo")
    top = folder / "repo"
    git(top, "fetch", "-q", "origin", "+refs/heads/agent/*:refs/heads/agent/*")
    git(top, "pack-refs", "--all")
    return top


def _stream(dice: random.Random, files: int, count: int) -> bytes:
    lines: list[bytes] = []
    paths = [f"src/d{number % 97}/f{number}.py" for number in range(files)]

    def commit(ref: str, mark: int, start: str | None, content: dict[str, str]) -> None:
        lines.append(f"commit {ref}\nmark :{mark}\ncommitter A <a@b> {1_700_000_000 + mark} +0000\ndata 1\nx".encode())
        if start:
            lines.append(f"from {start}".encode())
        for path, text in content.items():
            data = text.encode()
            lines.append(b"M 100644 inline %s\ndata %d\n%s" % (path.encode(), len(data), data))

    cards = {f"tasks/s{n}.yaml": CARD.format(slug=f"s{n}", owned=f"src/d{n % 97}/**") for n in range(count)}
    text = "".join(f"line {number} of a file\n" for number in range(130))
    commit("refs/heads/main", 1, None, {**{path: f"{path}\n{text}" for path in paths}, **cards, "docs/plans/p.md": "p"})
    for number in range(2, 31):
        changed = {dice.choice(paths): f"{number}\n{text}" for _ in range(5)}
        commit("refs/heads/main", number, f":{number - 1}", changed)
    for number in range(count):
        own = [path for path in paths if path.startswith(f"src/d{number % 97}/")]
        changed = {dice.choice(own): f"branch {number}\n{text}" for _ in range(4)}
        commit(f"refs/heads/agent/s{number}", 100 + number, f":{dice.randrange(1, 31)}", changed)
    return b"\n".join(lines) + b"\n"
