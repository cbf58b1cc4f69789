"""A forge and its runner as far as one machine can be both: git over HTTP behind a token, pull refs, and the jobs of a workflow file.

Of an action it does what its version does for the inputs that are given here; whatever it does not know is an error, never a guess.
"""

from __future__ import annotations

import base64
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml

from interlock.testing.world import World

TOKEN = "ghs_" + "hidden" * 6
BASIC = base64.b64encode(f"x-access-token:{TOKEN}".encode()).decode()
_EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}")
# Of every git command its words, and whether the token is among them or in its environment.
_SPY = """\
#!/bin/sh
{{ printf '%s\\n' "$*"; tr '\\0' '\\n' < /proc/$$/environ | grep -c {basic}; }} >> {log}
exec {git} "$@"
"""


@contextmanager
def serving(root: Path) -> Iterator[tuple[str, list[str]]]:
    """The bare repositories below a folder over HTTP, for whoever shows the token; gives the address and the paths that were refused."""
    refused: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *words: object) -> None:
            pass

        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            if self.headers.get("Authorization") != f"basic {BASIC}":
                refused.append(self.path)
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="forge"')
                self.end_headers()
                return
            body = self._body()
            env = {
                "PATH": os.environ["PATH"],
                "GIT_PROJECT_ROOT": str(root),
                "GIT_HTTP_EXPORT_ALL": "1",
                "GIT_CONFIG_COUNT": "1",
                "GIT_CONFIG_KEY_0": "safe.directory",
                "GIT_CONFIG_VALUE_0": "*",
                "REQUEST_METHOD": self.command,
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
                "REMOTE_USER": "runner",
                "CONTENT_LENGTH": str(len(body)),
            }
            done = subprocess.run(["git", "http-backend"], input=body, env=env, capture_output=True, check=False)
            head, _, rest = done.stdout.partition(b"\r\n\r\n")
            lines = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
            self.send_response(int(lines.pop("Status", "200").split()[0]))
            for name, value in lines.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(rest)

        def do_POST(self) -> None:
            self.do_GET()

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding") != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length", 0)))
            found = b""
            while size := int(self.rfile.readline(), 16):
                found += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return found

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", refused
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@dataclass(frozen=True, slots=True)
class Job:
    """How a job of a workflow ended: the code of the step that failed (0: none), and all that its steps printed."""

    code: int
    said: str


@dataclass(slots=True)
class Forge:
    """The remote of a world with changes at their pull refs, and a runner with a machine of its own for each event."""

    world: World
    root: Path
    address: str
    programs: Path
    installs: Mapping[str, str] = field(default_factory=dict)
    installed: bool = False
    runs: int = 0

    def change(self, number: int, files: Mapping[str, str | None], *, message: str = "Work", base: str = "main") -> str:
        """Commit files (None: delete) on top of a branch, and let the forge show it at the pull ref; gives the commit.

        Nothing of it is on a branch of the remote: so it is with the changes of a fork.
        """
        clone = self.root / f"author-{number}"
        if not clone.exists():
            self.world.git("clone", "-q", "-b", base, f"file://{self.world.remote}", str(clone), at=self.root)
        for path, text in files.items():
            (clone / path).parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                (clone / path).unlink()
            else:
                (clone / path).write_text(text)
        self.world.git("add", "-A", at=clone)
        self.world.git("commit", "-q", "-m", message, at=clone)
        self.world.git("push", "-q", "origin", f"+HEAD:refs/pull/{number}/head", at=clone)
        self.world.git("push", "-q", "origin", f"+HEAD:refs/pull/{number}/merge", at=clone)
        return self.world.git("rev-parse", "HEAD", at=clone).strip()

    @contextmanager
    def branch(self, name: str, commit: str) -> Iterator[None]:
        """Have a branch on the remote itself at a commit that it has, for as long as the block lasts."""
        self.world.git("update-ref", f"refs/heads/{name}", commit, "", at=self.world.remote)
        yield
        self.world.git("update-ref", "-d", f"refs/heads/{name}", at=self.world.remote)

    def pull_request(self, number: int, head: str, *, ref: str, into: str = "main") -> Job:
        """The event of a change that was opened or pushed to, and the job that it starts."""
        change = {"number": number, "head": {"sha": head, "ref": ref}, "base": {"ref": into}}
        event = {"pull_request": change, "repository": {"default_branch": "main"}}
        return self.run("pull_request_target", {"event": event, "head_ref": ref, "token": TOKEN})

    def merge_group(self, number: int, commit: str) -> Job:
        """The event of a merge group whose last member is this change, and the job that it starts."""
        ref = f"refs/heads/gh-readonly-queue/main/pr-{number}-{commit}"
        event = {"merge_group": {"head_ref": ref, "head_sha": commit}, "repository": {"default_branch": "main"}}
        return self.run("merge_group", {"event": event, "head_ref": "", "token": TOKEN})

    def run(self, event: str, github: dict[str, Any]) -> Job:
        """Every job that the default branch's workflow starts on an event; its steps one after the other until one fails."""
        text = self.world.git("show", "main:.github/workflows/interlock-scope.yml", at=self.world.remote)
        shape = yaml.safe_load(text)
        assert event in shape[True], "YAML 1.1 reads on as true"
        (job,) = shape["jobs"].values()
        self.runs += 1
        machine = Machine(self, self.root / f"machine-{self.runs}", {"github": github, "steps": {}})
        said = ""
        for step in job["steps"]:
            done = machine.step(step)
            said += done.stdout + done.stderr
            if done.returncode:
                return Job(done.returncode, said)
        return Job(0, said)

    @property
    def machine(self) -> Path:
        """The folder of the last runner's machine: ``home``, ``temp`` and ``work``, the checkout, are in it."""
        return self.root / f"machine-{self.runs}"


class Machine:
    """One runner: a home, a folder for the checkout, and what its steps hand on."""

    def __init__(self, forge: Forge, root: Path, context: dict[str, Any]) -> None:
        self.forge, self.root, self.context = forge, root, context
        for name in ("home", "temp", "work", "bin"):
            (root / name).mkdir(parents=True)
        git = subprocess.run(["which", "git"], capture_output=True, text=True, check=True).stdout.strip()
        spy = root / "bin" / "git"
        spy.write_text(_SPY.format(basic=BASIC, log=root / "git.log", git=git))
        spy.chmod(0o755)
        self.env = {
            "PATH": f"{root / 'bin'}:{forge.programs}:{os.environ['PATH']}",
            "HOME": str(root / "home"),
            "RUNNER_TEMP": str(root / "temp"),
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_SERVER_URL": forge.address,
            "GITHUB_WORKSPACE": str(root / "work"),
            **forge.installs,
        }

    def step(self, step: Mapping[str, Any]) -> subprocess.CompletedProcess[str]:
        """Do one step as the runner does it."""
        assert not set(step) - {"name", "uses", "with", "run", "env", "shell", "id"}, step
        uses = step.get("uses", "").partition("@")[0]
        if uses == "actions/checkout":
            return self._checkout({name: self._value(value) for name, value in step["with"].items()})
        if uses == "actions/setup-python":
            return subprocess.CompletedProcess([], 0, "", "")
        assert not uses, uses
        if " -m pip install " in step["run"]:
            if self.forge.installed:  # the machines share one Python, so that it is installed once and not each time
                return subprocess.CompletedProcess([], 0, "", "")
            self.forge.installed = True
        output = self.root / "output"
        output.write_text("")
        env = {name: self._value(value) for name, value in step.get("env", {}).items()}
        script = self.root / "temp" / "script.sh"
        script.write_text(step["run"])
        words = ["bash", "--noprofile", "--norc", "-eo", "pipefail"] if step.get("shell") == "bash" else ["bash", "-e"]
        done = self._start([*words, str(script)], {**env, "GITHUB_OUTPUT": str(output)})
        pairs = (line.split("=", 1) for line in output.read_text().splitlines())
        self.context["steps"][step.get("id", "")] = {"outputs": dict(pairs)}
        return done

    def _checkout(self, given: Mapping[str, Any]) -> subprocess.CompletedProcess[str]:
        """The git commands of actions/checkout v7 for a branch with its whole history; its token is gone when it ends."""
        assert given == {"ref": "main", "fetch-depth": 0, "persist-credentials": False}, given
        token = {
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": f"http.{self.forge.address}/.extraheader",
            "GIT_CONFIG_VALUE_0": f"AUTHORIZATION: basic {BASIC}",
        }
        refs = ["+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*"]
        commands = (
            ["git", "init", "-q", "."],
            ["git", "remote", "add", "origin", f"{self.forge.address}/remote.git"],
            ["git", "config", "--local", "gc.auto", "0"],
            ["git", "fetch", "-q", "--no-tags", "--prune", "--no-recurse-submodules", "origin", *refs],
            ["git", "checkout", "-q", "--force", "-B", "main", "refs/remotes/origin/main"],
        )
        for words in commands:
            done = self._start(words, token)
            if done.returncode:
                break
        (self.root / "git.log").write_text("")  # the action's own
        return done

    def _start(self, words: list[str], env: Mapping[str, Any]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words,
            cwd=self.root / "work",
            env={**self.env, **env},
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=100,
            check=False,
        )

    def _value(self, text: Any) -> Any:
        """A value with its expressions filled in from the event; an absent one is the empty text."""
        return _EXPRESSION.sub(lambda found: self._look(found[1]), text) if isinstance(text, str) else text

    def _look(self, expression: str) -> str:
        for path in expression.split("||"):
            value: Any = self.context
            for name in path.strip().split("."):
                value = value.get(name) if isinstance(value, dict) else None
            if value not in (None, ""):
                return str(value)
        return ""


def environment(folder: Path) -> tuple[Path, dict[str, str]]:
    """A clean Python whose index holds nothing but a wheel of this tree: its bin folder, and how pip is told so.

    What the wheel depends on is there already, as it is from the index.  Raises CalledProcessError.
    """
    root = Path(__file__).resolve().parents[2]
    wheels, venv, needs = folder / "wheels", folder / "venv", folder / "needs"
    words = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(wheels), str(root)]
    subprocess.run(words, check=True, capture_output=True, timeout=100)
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True, capture_output=True, timeout=100)
    needs.mkdir()
    for place in map(Path, sys.path):
        if place.name != "site-packages":
            continue
        for each in sorted(place.iterdir()):
            known = (needs / each.name).exists() or each.suffix == ".pth"
            if not known and not each.name.startswith(("interlock", "__editable__", "_editable", "pip")):
                (needs / each.name).symlink_to(each)
    (site,) = (venv / "lib").glob("python3*/site-packages")
    (site / "needs.pth").write_text(f"{needs}\n")
    return venv / "bin", {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "PIP_NO_CACHE_DIR": "1"}
