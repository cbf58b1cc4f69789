"""The files of one attempt's folder, written whole and read with care; who starts and who waits is in attempts and the runner."""

from __future__ import annotations

import base64
import json
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from interlock.core import sandbox
from interlock.core.redact import redact_text
from interlock.core.sandbox import Sandbox
from interlock.host import files, tree
from interlock.host.processes import Started

_MOST = 16 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """What to run: the exact environment, limits in seconds, where a stop message would appear, and the walls.

    ``redact`` holds secrets, as ``env`` may: the file is for its owner alone.
    """

    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: str
    stdin: bytes | None
    wall: float
    idle: float
    spool: str | None
    attempt: int
    contain: bool
    sandbox: Sandbox | None = None
    redact: tuple[str, ...] = ()


class Folder:
    """The folder of one attempt."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock = path / "lock"
        self.turn = path / "turn.lock"
        self.cancel = path / "cancel"
        self.output = path / "output.log"
        self.runner_log = path / "runner.log"
        self._spec = path / "spec.json"
        self._started = path / "started.json"
        self._exit = path / "exit.json"

    def spec(self) -> Spec:
        """What write_spec wrote.  Raises OSError or ValueError."""
        data = json.loads(files.read_plain(self._spec, most=_MOST))
        stdin = data["stdin"]
        data |= {"argv": tuple(data["argv"]), "stdin": None if stdin is None else base64.b64decode(stdin)}
        if (walls := data.pop("sandbox", None)) is not None:
            data["sandbox"] = sandbox.from_json(walls)
        data["redact"] = tuple(data.get("redact", ()))
        return Spec(**data)

    def write_spec(self, spec: Spec) -> None:
        stdin = None if spec.stdin is None else base64.b64encode(spec.stdin).decode()
        self._write(self._spec, asdict(spec) | {"stdin": stdin})

    def was_started(self) -> bool:
        """Whether a runner has begun, or has ended, this attempt."""
        return self._started.exists() or self._exit.exists()

    def write_started(self, started: Started | None) -> None:
        """Say who runs this; the agent is unknown before it is started."""
        agent = started.process.as_json() if started and started.process else None
        namespace = started.namespace if started else None
        self._write(self._started, {"runner": tree.me().as_json(), "agent": agent, "namespace": namespace})

    def runner(self) -> tree.Identity | None:
        """The runner that began this attempt, if one did."""
        return tree.from_json((self._read(self._started) or {}).get("runner"))

    def agent(self) -> tree.Identity | None:
        """The agent's first process, where it was seen."""
        return tree.from_json((self._read(self._started) or {}).get("agent"))

    def write_exit(
        self,
        *,
        how: str,
        exit_code: int | None = None,
        seconds: float = 0.0,
        tail: str = "",
        leftovers: tuple[str, ...] = (),
        namespace: bool = False,
        message: str = "",
    ) -> None:
        """Say how it ended; the last thing that is written."""
        shape = {
            "how": how,
            "exit_code": exit_code,
            "seconds": round(seconds, 3),
            "tail": tail,
            "leftovers": list(leftovers),
            "namespace": namespace,
            "message": message,
        }
        self._write(self._exit, shape)
        self._forget_secrets()

    def _forget_secrets(self) -> None:
        """Take the secrets out of the order, which is only read for its marker from now on."""
        with suppress(OSError, ValueError, KeyError, TypeError):
            spec = self.spec()
            if spec.redact:
                env = {name: redact_text(value, spec.redact) for name, value in spec.env.items()}
                self.write_spec(replace(spec, env=env, redact=()))

    def exit(self) -> dict[str, Any] | None:
        """How it ended, or None while nothing readable says so."""
        return self._read(self._exit)

    def _write(self, path: Path, shape: dict[str, Any]) -> None:
        files.write_whole(path, json.dumps(shape, indent=1).encode())

    def _read(self, path: Path) -> dict[str, Any] | None:
        try:
            shape = json.loads(files.read_plain(path, most=_MOST))
        except (OSError, ValueError):
            return None
        return shape if isinstance(shape, dict) else None
