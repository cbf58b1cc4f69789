"""The files of one attempt's folder, written whole and read with care; who starts and who waits is in attempts and the runner."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from interlock.core import sandbox
from interlock.core.agent import gateway
from interlock.core.agent.gateway import ModelGateway
from interlock.core.redact import redact_text
from interlock.core.sandbox import Sandbox
from interlock.host import files, fingerprint, tree
from interlock.host.processes import Started
from interlock.host.text import last_lines

_MOST = 16 << 20
_LINES = 20
_MARK = "stderr: "


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """What to run: the exact environment, limits in seconds, where a stop message would appear, and the walls.

    ``split``, ``ends``, ``watched``, ``tied`` and ``gateway`` are those of ports.Launch.  ``redact`` holds secrets, as ``env`` and ``gateway``
    may: the file is for its owner alone, and they are taken out of it once the runner has read them.
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
    startup: float | None = None
    ends: tuple[str, ...] = ()
    after_end: float = 10.0
    split: bool = False
    watched: tuple[str, ...] = ()
    tied: bool = False
    gateway: ModelGateway | None = None

    @property
    def hidden(self) -> tuple[str, ...]:
        """The texts that no log may show."""
        upstreams = self.gateway.upstreams if self.gateway is not None else ()
        return (*self.redact, *(each.key for each in upstreams if each.key))


class Folder:
    """The folder of one attempt."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock = path / "lock"
        self.turn = path / "turn.lock"
        self.starter = path / "starter.lock"
        self.cancel = path / "cancel"
        self.output = path / "output.log"
        self.errors = path / "errors.log"
        self.runner_log = path / "runner.log"
        self.around = path / "around"
        self._wish = str(self.cancel)
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
        if (models := data.pop("gateway", None)) is not None:
            data["gateway"] = gateway.from_json(models)
        data |= {"redact": tuple(data.get("redact", ())), "ends": tuple(data.get("ends", ()))}
        data["watched"] = tuple(data.get("watched", ()))
        return Spec(**data)

    def write_spec(self, spec: Spec) -> None:
        stdin = None if spec.stdin is None else base64.b64encode(spec.stdin).decode()
        self._write(self._spec, asdict(spec) | {"stdin": stdin})

    def was_started(self) -> bool:
        """Whether a runner has begun, or has ended, this attempt."""
        return self._started.exists() or self._exit.exists()

    def exit_is_due(self) -> bool:
        """Whether it has been begun and nothing says yet how it ended."""
        return os.path.exists(self._started) and not os.path.exists(self._exit)  # noqa: PTH110 - asked all the time

    def is_cancelled(self) -> bool:
        """Whether a person wishes its end."""
        return os.path.exists(self._wish)  # noqa: PTH110 - asked all the time

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
        budget: str = "",
        reached: Mapping[str, Any] | None = None,
        leaked: tuple[str, ...] = (),
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
            "budget": budget,
            "reached": reached,
            "leaked": list(leaked),
        }
        self._write(self._exit, shape)
        self.around.unlink(missing_ok=True)
        self.forget_secrets()

    def forget_secrets(self) -> None:
        """Take the secrets out of the order: once it is carried out, it is only read for its marker."""
        with suppress(OSError, ValueError, KeyError, TypeError):
            spec = self.spec()
            if spec.hidden:
                env = {name: redact_text(value, spec.hidden) for name, value in spec.env.items()}
                self.write_spec(replace(spec, env=env, redact=(), gateway=_without_keys(spec.gateway)))

    def look_around(self, trees: tuple[str, ...]) -> None:
        """Write down how the trees stand that the run must leave alone."""
        if trees:
            fingerprint.take([Path(tree) for tree in trees], self.around)

    def leaked(self) -> tuple[str, ...]:
        """The paths of those trees that stand otherwise now; write_exit takes leave of how they stood."""
        return fingerprint.changed(self.around) if self.around.exists() else ()

    def last_lines(self) -> str:
        """The last lines of what was written, those of standard error marked where it has a log of its own."""
        if not self.errors.exists():
            return last_lines(self.output)
        marked = (f"{_MARK}{line}" for line in last_lines(self.errors, _LINES).splitlines())
        return "\n".join((*last_lines(self.output, _LINES).splitlines(), *marked))

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


def _without_keys(models: ModelGateway | None) -> ModelGateway | None:
    if models is None:
        return None
    return replace(models, token="", upstreams=tuple(replace(each, key="") for each in models.upstreams))
