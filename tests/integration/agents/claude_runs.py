"""A real Claude Code, started as its adapter says, against scripted models on loopback: exact environment, HOME of its own, dummy key."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from interlock.adapters.agents.claude import ClaudeAgent
from interlock.core.agent.adapter import Endpoint, Order, Plan
from interlock.core.agent.folding import Folding
from interlock.core.agent.outcome import AgentOutcome, ProcessEnd
from interlock.core.agent.seen import Summary
from interlock.core.agent.usage import UNKNOWN, Usage
from interlock.core.contract.card import AgentChoice, Card, Check
from interlock.testing.models import ScriptedModels, Step

ENV = "INTERLOCK_REAL_CLAUDE"
HOWTO = (
    f"Set {ENV} to the program claude: pip install claude-agent-sdk==0.2.189 into a folder of its own, "
    "then …/site-packages/claude_agent_sdk/_bundled/claude."
)
TOKEN = "dummy-token-of-a-test"
ADAPTER = ClaudeAgent()
CARD = Card(
    slug="billing-retry",
    class_name="vertical-slice",
    owned_paths=("src/**",),
    checks=(Check(run="test -f src/new.txt"),),
    stop_when=("a change outside is needed",),
    integration_owner="@ana",
)
_ROOT = Path(__file__).resolve().parents[3] / "src"
_USER = 60999
_NOWHERE = "http://127.0.0.1:9"


@dataclass(frozen=True)
class Run:
    """One run that has ended: what its streams said, how it came out, and the raw lines."""

    seen: Summary
    outcome: AgentOutcome
    code: int
    out: bytes
    errors: bytes


@dataclass
class Claude:
    """``root`` is a folder outside of /tmp that holds tree, HOME and tools of one agent."""

    root: Path
    models: ScriptedModels
    tree: Path = field(init=False)
    home: Path = field(init=False)

    def __post_init__(self) -> None:
        self.tree, self.home = self.root / "tree", self.root / "home"
        for folder in (self.tree / "src", self.home, self.root / "bin", self.root / "spool", self.root / "tmp"):
            folder.mkdir(parents=True)
        (self.tree / "README.md").write_text("read me\n")
        tool = self.root / "bin" / "interlock-task"
        call = "import sys; sys.path.append(sys.argv.pop(1)); from interlock.task.main import main; sys.exit(main())"
        tool.write_text(f"#!/bin/sh\nexec {sys.executable} -I -S -c '{call}' {_ROOT} \"$@\"\n")
        tool.chmod(0o755)

    def order(self, name: str, *steps: Step, **more: Any) -> Order:
        """An order to play these steps; a scenario's name is used once."""
        url = self.models.play(name, *steps)
        order = Order(
            card=CARD,
            choice=AgentChoice(use="claude"),
            prompt="Do what the card says.",
            programs={"claude": os.environ[ENV]},
            home=str(self.home),
            tree=str(self.tree),
            walled=True,
            endpoints=(Endpoint(name="scripted", dialect="anthropic", url=url, token=TOKEN),),
        )
        return replace(order, **more)

    def start(self, plan: Plan) -> subprocess.Popen[bytes]:
        """Start it as the supervisor would: in a session of its own, and not as root, whom it refuses in this mode."""
        for name, data in plan.files.items():
            (self.home / name).parent.mkdir(parents=True, exist_ok=True)
            (self.home / name).write_bytes(data)
        given = {
            "HOME": str(self.home),
            "PATH": f"{self.root / 'bin'}:/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "TMPDIR": str(self.root / "tmp"),
            "HTTP_PROXY": _NOWHERE,
            "HTTPS_PROXY": _NOWHERE,
            "NO_PROXY": "127.0.0.1",
            "INTERLOCK_SPOOL": str(self.root / "spool"),
            "INTERLOCK_TREE": str(self.tree),
            **plan.env,
        }
        user: dict[str, Any] = {}
        if os.geteuid() == 0:
            subprocess.run(["chown", "-R", f"{_USER}:{_USER}", str(self.root)], check=True)
            user = {"user": _USER, "group": _USER, "extra_groups": []}
        process = subprocess.Popen(
            plan.argv,
            cwd=self.tree,
            env=given,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            **user,
        )
        assert process.stdin is not None
        process.stdin.write(plan.stdin or b"")
        process.stdin.close()
        process.stdin = None
        return process

    def run(
        self,
        order: Order,
        *,
        before: Usage = UNKNOWN,
        usd_before: float | None = None,
        stop: tuple[signal.Signals, threading.Event] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Run:
        """Start it, wait for its end (no longer than a minute), and read what it said; ``stop`` sends a signal when told."""
        process = self.start(_with(ADAPTER.launch(order), env or {}))
        if stop is not None:
            stop[1].wait(30)
            process.send_signal(stop[0])
        try:
            out, errors = process.communicate(timeout=60)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
        return settled(out, errors, process.returncode, before=before, usd_before=usd_before)

    def transcripts(self) -> list[bytes]:
        """The files that the adapter asks for."""
        found = [path for pattern in ADAPTER.transcripts() for path in self.home.glob(pattern)]
        return [path.read_bytes() for path in found]

    def clear(self) -> None:
        shutil.rmtree(self.root)


def _with(plan: Plan, env: Mapping[str, str]) -> Plan:
    """The plan with other variables, which the client takes from its settings first."""
    at = plan.argv.index("--settings") + 1
    settings = json.loads(plan.argv[at])
    settings["env"] |= env
    return replace(plan, argv=(*plan.argv[:at], json.dumps(settings), *plan.argv[at + 1 :]))


def settled(out: bytes, errors: bytes, code: int, *, before: Usage = UNKNOWN, usd_before: float | None = None) -> Run:
    """What the record would say of these streams and this exit code."""
    folding = Folding(before=before, usd_before=usd_before)
    for line in out.splitlines():
        folding.line(ADAPTER.decode(line))
    for line in errors.splitlines():
        folding.line(ADAPTER.complain(line))
    seen = folding.summary()
    how = "exited" if code >= 0 else "signalled"
    end = ProcessEnd(how=how, exit_code=code if code >= 0 else None)
    return Run(seen=seen, outcome=ADAPTER.settle(end, seen), code=code, out=out, errors=errors)
