"""Services beside a task: begun once, waited for until they answer, found again, ended; which and in what order is the app's.

A service keeps ``services/NAME/N/`` in the job's record for its Nth run: what was begun (``unit.json``), its log
(``output.log``), ``ready.json`` once it answered, ``exit.json`` when it ended, ``stopped`` when a person ended it.
"""

from __future__ import annotations

import json
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, Final
from urllib.parse import urlsplit

from interlock.core.contract.around import Ready
from interlock.core.problems import Refused, refused
from interlock.core.sandbox import Relay, Sandbox
from interlock.host import environment, files, processes, sockets
from interlock.host.services.answers import Target, accepts, status
from interlock.host.services.runs import FOREVER, ServiceRuns
from interlock.host.text import last_lines
from interlock.ports.processes import Launch, Running, Unit

_FOLDER: Final = "services"
_UNIX: Final = "unix:"
_SETTLED_SECONDS: Final = 1.0
"""How long a service must live that has neither a port nor a probe."""
_COMMAND_SECONDS: Final = 30.0
_FIRST_WAIT: Final = 0.02
_LONGEST_WAIT: Final = 0.25
_SHOWN: Final = 12
_MOST: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """One run of a service: its folder and what was begun."""

    folder: Path
    name: str
    port: int | None
    socket: str | None

    @property
    def log(self) -> Path:
        return self.folder / "output.log"

    @property
    def mark(self) -> Path:
        return self.folder / "ready.json"

    @property
    def stopped(self) -> Path:
        return self.folder / "stopped"


class HostServices:
    """Services under runners of their own (ports.Services)."""

    def __init__(self, *, contain: bool = True) -> None:
        self._contain = contain
        self._runs = ServiceRuns(contain=contain)

    def start(self, folder: Path, unit: Unit) -> Running:
        """Start a service, or find it running, and wait until it is ready.

        One that is not ready in time goes on, and the same call waits for it again.  Raises Refused (service).
        """
        run = _last(folder, unit.service.name)
        if run is None or self._state(run).state == "ended":
            if run is not None:
                self._runs.end(run.folder)  # its runner may be on its way: whoever began it was killed just now
            run = self._begin(folder, unit)
        if not run.mark.exists():
            self._wait(run, unit)
        return self._state(run)

    def stop(self, folder: Path, name: str) -> None:
        """End a service with its whole tree and take its socket away; nothing when it does not run."""
        run = _last(folder, name)
        if run is None:
            return
        self._runs.end(run.folder)
        run.stopped.touch()
        _clear(run)

    def list(self, folder: Path) -> tuple[Running, ...]:
        """The services that were started and not stopped by a person since; the ended ones say why."""
        home = folder / _FOLDER
        names = sorted(each.name for each in home.iterdir() if each.is_dir()) if home.is_dir() else []
        found = (run for name in names if (run := _last(folder, name)))
        return tuple(self._state(run) for run in found if not self._was_stopped(run))

    def _was_stopped(self, run: _Run) -> bool:
        if run.stopped.exists():
            return True
        ended = self._runs.ended(run.folder)
        return ended is not None and ended.how == "cancelled"

    def _state(self, run: _Run) -> Running:
        shape = Running(name=run.name, state="starting", pid=None, port=run.port, log=run.log)
        if self._runs.alive(run.folder):
            pid = self._runs.pid(run.folder)
            return replace(shape, state="ready" if run.mark.exists() else "starting", pid=pid)
        end = self._runs.ended(run.folder)
        if end is None:
            return replace(shape, state="ended", why="It was not started: the command that began it was ended.")
        word = f"It ended with {end.exit_code}." if end.how == "exited" else end.message or f"It was ended: {end.how}."
        return replace(shape, state="ended", why="\n".join(filter(None, (word, last_lines(run.log, _SHOWN)))))

    def _begin(self, folder: Path, unit: Unit) -> _Run:
        run = _new(folder, unit)
        if run.port is not None and not sockets.is_free(run.port):
            raise _taken(unit, run.port)
        _clear(run)
        run.folder.mkdir(parents=True)
        shape = {"port": run.port, "socket": run.socket, "run": unit.service.run, "at": time.time()}
        files.write_whole(run.folder / "unit.json", json.dumps(shape).encode())
        self._runs.begin(run.folder, _launch(unit))
        return run

    def _wait(self, run: _Run, unit: Unit) -> None:
        """Look again and again until it is ready.  Raises Refused when it ends first, or takes too long."""
        within = unit.service.ready.within if unit.service.ready else Ready().within
        began, wait = time.monotonic(), _FIRST_WAIT
        while True:
            lived = time.monotonic() - began
            ready = self._is_ready(run, unit, lived)
            state = self._state(run)
            if state.state == "ended":
                raise _ended(unit, state)
            if ready:
                files.write_whole(run.mark, json.dumps({"at": time.time(), "seconds": round(lived, 3)}).encode())
                return
            if lived >= within:
                raise _late(unit, run, within)
            time.sleep(wait)
            wait = min(wait * 1.3, _LONGEST_WAIT)

    def _is_ready(self, run: _Run, unit: Unit, lived: float) -> bool:
        ready = unit.service.ready
        target = Target(path=Path(run.socket)) if run.socket else Target(port=unit.outside)
        if ready is not None and ready.command is not None:
            return self._command(ready, run, unit)
        if ready is not None and ready.http is not None:
            code = status(target, _path(ready.http))
            return code is not None and 200 <= code < 400
        if target.path is None and target.port is None:
            return lived >= _SETTLED_SECONDS
        return accepts(target)

    def _command(self, ready: Ready, run: _Run, unit: Unit) -> bool:
        """Try the readiness command in a room beside the service's, which reaches it as every other room does."""
        launch = _launch(unit)
        ended = processes.run(
            ("bash", "-eo", "pipefail", "-c", ready.command or ""),
            env=launch.env,
            cwd=launch.cwd,
            log=run.folder / "ready.log",
            limits=processes.Limits(wall=min(ready.within, _COMMAND_SECONDS)),
            sandbox=_beside(unit, launch.sandbox) if launch.sandbox else None,
            redact=launch.redact,
            contain=self._contain,
        )
        return ended.how == "exited" and ended.exit_code == 0


def _launch(unit: Unit) -> Launch:
    return Launch(
        argv=("bash", "-eo", "pipefail", "-c", unit.service.run),
        env=environment.of_room(unit.env, unit.room),
        cwd=unit.room.path,
        wall=FOREVER,
        idle=FOREVER,
        sandbox=unit.room.sandbox,
        redact=unit.redact,
    )


def _way_in(unit: Unit) -> Relay | None:
    """The relay that lets others in: from a socket of the task's shared folder to the port that the service has inside."""
    inward = unit.room.sandbox.inward if unit.room.sandbox else ()
    port = f"tcp:127.0.0.1:{unit.inside}"
    return next((relay for relay in inward if relay.connect == port and relay.listen.startswith(_UNIX)), None)


def _beside(unit: Unit, sandbox: Sandbox) -> Sandbox:
    """The walls of another room of the same task, from which the service is reached as from every other."""
    way_in = _way_in(unit)
    inward = tuple(relay for relay in sandbox.inward if relay is not way_in)
    if way_in is not None:
        inward = (*inward, Relay(listen=way_in.connect, connect=way_in.listen))
    return replace(sandbox, inward=inward, outward=(), gate=None)


def _last(folder: Path, name: str) -> _Run | None:
    """The newest run of a service that was written down."""
    for number in sorted(_numbers(folder / _FOLDER / name), reverse=True):
        place = folder / _FOLDER / name / str(number)
        try:
            shape: dict[str, Any] = json.loads(files.read_plain(place / "unit.json", most=_MOST))
        except (OSError, ValueError):
            continue
        return _Run(folder=place, name=name, port=shape["port"], socket=shape["socket"])
    return None


def _clear(run: _Run) -> None:
    """Take a service's socket away; what the task put in its place may be anything, and stays when it is no file."""
    if run.socket:
        with suppress(OSError):
            Path(run.socket).unlink()


def _new(folder: Path, unit: Unit) -> _Run:
    home = folder / _FOLDER / unit.service.name
    number = max(_numbers(home), default=0) + 1
    socket = _socket(unit)
    return _Run(folder=home / str(number), name=unit.service.name, port=unit.outside, socket=socket)


def _numbers(home: Path) -> list[int]:
    return [int(each.name) for each in home.iterdir() if each.name.isdigit()] if home.is_dir() else []


def _socket(unit: Unit) -> str | None:
    """The file of this machine through which the service is reached: None where it listens on this machine itself."""
    way_in, sandbox = _way_in(unit), unit.room.sandbox
    if way_in is None or sandbox is None:
        return None
    path = PurePosixPath(way_in.listen.removeprefix(_UNIX))
    shared = next(bind.source for bind in sandbox.binds if bind.target == str(path.parent))
    return str(Path(shared) / path.name)


def _path(text: str) -> str:
    """The path to ask for, also of a whole address: who is asked is never taken from the text."""
    parts = urlsplit(text)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _taken(unit: Unit, port: int) -> Refused:
    return refused(
        rule="service",
        what=f"Port {port} of {unit.service.name} is in use by another process.",
        why="The service was not started: it would fail, or the other process would be taken for it.",
        would_change=f"End what listens on port {port} (ss -ltnp), then say interlock up again.",
        number=port,
    )


def _ended(unit: Unit, state: Running) -> Refused:
    return refused(
        rule="service",
        what=f"The service {unit.service.name} ended before it was ready. {state.why}",
        why=f"Its command is: {unit.service.run}. Its whole log is {state.log}.",
        would_change="Mend what the last lines say, then say interlock up again; what is up already stays up.",
        holders=(unit.service.name,),
    )


def _late(unit: Unit, run: _Run, within: float) -> Refused:
    tail = last_lines(run.log, _SHOWN)
    said = f" Its last lines:\n{tail}" if tail else " It wrote nothing."
    return refused(
        rule="service",
        what=f"The service {unit.service.name} was not ready within {within:g} s.{said}",
        why=f"{_probe(unit)} Its whole log is {run.log}.",
        would_change="It goes on: say interlock up again to wait once more, or raise ready.within in interlock.yaml.",
        holders=(unit.service.name,),
    )


def _probe(unit: Unit) -> str:
    """What was asked of it, as a sentence."""
    ready = unit.service.ready
    where = f"port {unit.inside if unit.room.sandbox else unit.outside}"
    if ready is not None and ready.command is not None:
        return f"{ready.command} never ended with 0."
    if ready is not None and ready.http is not None:
        return f"GET {_path(ready.http)} on {where} never gave 2xx or 3xx."
    return f"Nothing listened on {where}."
