"""Services at level worktree over real processes: what keeps one from being ready, starting once, finding again, ending."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from tests.integration.services.serving import SERVER, free_port
from tests.integration.watching import seen, wait_until

from interlock.adapters.services import HostServices
from interlock.core.contract.around import Ready, Service
from interlock.core.problems import Refused
from interlock.host import sockets
from interlock.ports.isolation import Room
from interlock.ports.processes import Unit


@pytest.fixture
def beside(tmp_path: Path):
    """Services, and a way to make units; whatever is left is ended."""
    made = Beside(tmp_path)
    yield made
    for each in made.services.list(made.record):
        made.services.stop(made.record, each.name)


class Beside:
    def __init__(self, folder: Path) -> None:
        self.services = HostServices()
        self.record = folder / "record"
        self.tree = folder / "tree"
        self.tree.mkdir()
        self.record.mkdir()
        self.port = free_port()

    def unit(self, run: str, ready: Ready | None = None, *, name: str = "web", port: int | None = -1) -> Unit:
        number = self.port if port == -1 else port
        room = Room(path=self.tree, written=self.tree)
        service = Service(name=name, run=run, port="APP_PORT" if number else None, ready=ready)
        return Unit(service=service, room=room, env={"APP_PORT": str(number)}, inside=3000, outside=number)

    def start(self, run: str, ready: Ready | None = None, **more):
        return self.services.start(self.record, self.unit(run, ready, **more))

    def refused(self, run: str, ready: Ready | None = None, **more):
        with pytest.raises(Refused) as refused:
            self.start(run, ready, **more)
        assert refused.value.refusal.rule == "service"
        return refused.value.refusal

    def states(self) -> dict[str, str]:
        return {each.name: each.state for each in self.services.list(self.record)}


def test_one_that_dies_at_its_start_is_told_with_its_last_lines(beside: Beside) -> None:
    refusal = beside.refused("echo one; echo cannot open the ledger >&2; exit 3")
    assert "ended with 3" in refusal.what
    assert refusal.what.endswith("one\ncannot open the ledger")
    log = beside.record / "services" / "web" / "1" / "output.log"
    assert str(log) in refusal.why
    assert log.read_text() == "one\ncannot open the ledger\n"
    assert "interlock up again" in refusal.would_change


def test_one_that_is_not_ready_in_time_is_told_and_waited_for_again(beside: Beside) -> None:
    slow = f"echo warming up; sleep 1; {SERVER}"
    refusal = beside.refused(slow, Ready(http="/health", within=0.3))
    assert "not ready within 0.3 s" in refusal.what
    assert "warming up" in refusal.what
    assert f"GET /health on port {beside.port}" in refusal.why
    before = beside.services.list(beside.record)[0]
    assert before.state == "starting"
    after = beside.start(slow, Ready(http="/health", within=20))
    assert (after.state, after.pid) == ("ready", before.pid)


def test_a_server_that_answers_500_is_not_ready(beside: Beside) -> None:
    refusal = beside.refused(SERVER, Ready(http="/broken", within=1))
    assert "2xx or 3xx" in refusal.why
    assert beside.start(SERVER, Ready(http="/moved", within=20)).state == "ready"


def test_a_command_that_never_ends_with_0_keeps_it_from_being_ready(beside: Beside) -> None:
    refusal = beside.refused("exec sleep 60", Ready(command="test -e ready-now", within=0.5))
    assert "test -e ready-now never ended with 0" in refusal.why
    (beside.tree / "ready-now").touch()
    assert beside.start("exec sleep 60", Ready(command="test -e ready-now", within=20)).state == "ready"


def test_a_port_that_somebody_else_has_is_told_and_nothing_is_started(beside: Beside) -> None:
    with closing(socket.create_server(("127.0.0.1", beside.port))):
        refusal = beside.refused(SERVER)
    assert refusal.number == beside.port
    assert not (beside.record / "services").exists()


def test_the_one_that_dies_while_others_answer_on_its_port_is_not_ready(beside: Beside) -> None:
    """The port answers, and not by the service: what answers is the stranger that took it meanwhile."""
    stranger = f"(exec -a stranger {sys.executable} -m http.server {beside.port} --bind 127.0.0.1) & sleep 1; exit 4"
    refusal = beside.refused(stranger, Ready(command="sleep 2"))
    assert "ended with 4" in refusal.what


def test_one_without_port_or_probe_must_live_for_a_moment(beside: Beside) -> None:
    assert "ended with 0" in beside.refused("true", port=None).what
    assert beside.start("exec sleep 60", port=None).state == "ready"


def test_starting_twice_starts_nothing_twice(beside: Beside) -> None:
    first = beside.start(SERVER)
    assert first.state == "ready"
    assert first.port == beside.port
    assert beside.start(SERVER) == first
    assert HostServices().start(beside.record, beside.unit(SERVER)) == first
    assert len(list((beside.record / "services" / "web").iterdir())) == 1


def test_it_outlives_who_started_it_and_is_found_by_others(beside: Beside) -> None:
    script = (
        "import sys; from pathlib import Path; from interlock.adapters.services import HostServices;"
        "from interlock.core.contract.around import Service; from interlock.ports.isolation import Room; from interlock.ports.processes import Unit;"
        "t = Path(sys.argv[2]); s = Service(name='web', run=sys.argv[3], port='APP_PORT');"
        "n = int(sys.argv[4]); u = Unit(service=s, room=Room(path=t, written=t), env={'APP_PORT': str(n)}, inside=1, outside=n);"
        "print(HostServices().start(Path(sys.argv[1]), u).pid)"
    )
    words = [str(beside.record), str(beside.tree), SERVER, str(beside.port)]
    pid = int(subprocess.run([sys.executable, "-c", script, *words], capture_output=True, check=True).stdout)
    found = beside.services.list(beside.record)[0]
    assert (found.state, found.pid) == ("ready", pid)
    os.kill(pid, 0)


def test_one_that_dies_later_is_told_with_its_last_lines_and_started_anew(beside: Beside) -> None:
    first = beside.start(f"echo the first run; {SERVER}")
    assert first.pid is not None
    os.kill(first.pid, signal.SIGKILL)
    wait_until(lambda: beside.states() == {"web": "ended"})
    told = beside.services.list(beside.record)[0]
    assert "SIGKILL" in told.why
    assert "the first run" in told.why
    again = beside.start(SERVER)
    assert again.state == "ready"
    assert again.pid != first.pid
    assert first.log.read_text().startswith("the first run"), "the log of the first run stays"


def test_one_whose_runner_was_killed_leaves_nothing_and_is_told(beside: Beside) -> None:
    token = f"service-{os.getpid()}-{beside.port}"
    beside.start(f"(exec -a {token} sleep 300) & {SERVER}")
    wait_until(lambda: seen(token))
    runner = json.loads((beside.record / "services/web/1/started.json").read_text())["runner"]["pid"]
    os.kill(runner, signal.SIGKILL)
    wait_until(lambda: beside.states() == {"web": "ended"})
    wait_until(lambda: not seen(token))
    assert "runner was killed" in beside.services.list(beside.record)[0].why


def test_ending_takes_its_whole_tree_and_can_be_said_twice(beside: Beside) -> None:
    token = f"child-{os.getpid()}-{beside.port}"
    beside.start(f"(trap '' TERM INT; exec -a {token} sleep 300) & {SERVER}")
    wait_until(lambda: seen(token))
    beside.services.stop(beside.record, "web")
    assert seen(token) == []
    assert beside.services.list(beside.record) == ()
    assert sockets.is_free(beside.port)
    beside.services.stop(beside.record, "web")
    beside.services.stop(beside.record, "never-there")
    assert beside.start(SERVER).state == "ready"


def test_one_that_was_written_down_and_never_begun_is_started(beside: Beside) -> None:
    place = beside.record / "services" / "web" / "1"
    place.mkdir(parents=True)
    (place / "unit.json").write_text(json.dumps({"port": beside.port, "socket": None, "run": SERVER, "at": 0}))
    assert beside.states() == {"web": "ended"}
    assert beside.start(SERVER).state == "ready"


def test_a_runner_that_is_still_on_its_way_starts_nothing_once_another_took_over(beside: Beside) -> None:
    """Whoever began it was killed when its runner had not taken the lock yet."""
    token = f"late-{os.getpid()}-{beside.port}"
    run = f"(exec -a {token} sleep 300) & {SERVER}"
    place = beside.record / "services" / "web" / "1"
    place.mkdir(parents=True)
    (place / "unit.json").write_text(json.dumps({"port": beside.port, "socket": None, "run": run, "at": 0}))
    beside.start(run)
    spec = (beside.record / "services" / "web" / "2" / "spec.json").read_bytes()
    (place / "spec.json").write_bytes(spec)
    wait_until(lambda: seen(token))
    subprocess.run([sys.executable, "-m", "interlock.runner", str(place)], check=True)
    wait_until((place / "exit.json").exists)
    assert json.loads((place / "exit.json").read_text())["how"] == "cancelled"
    assert len(seen(token)) == 1


def test_one_that_had_ended_by_itself_is_not_told_any_more_once_it_was_stopped(beside: Beside) -> None:
    beside.refused("exit 3")
    assert beside.states() == {"web": "ended"}
    beside.services.stop(beside.record, "web")
    assert beside.states() == {}


def test_an_agents_stop_message_does_not_end_a_service(beside: Beside, tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    unit = beside.unit(SERVER)
    unit = Unit(
        service=unit.service,
        room=unit.room,
        env={**unit.env, "INTERLOCK_SPOOL": str(spool), "INTERLOCK_ATTEMPT_NUMBER": "1"},
        inside=None,
        outside=beside.port,
    )
    before = beside.services.start(beside.record, unit)
    env = {**os.environ, "INTERLOCK_SPOOL": str(spool), "INTERLOCK_ATTEMPT_NUMBER": "1"}
    subprocess.run([sys.executable, "-m", "interlock.task", "stop", "--reason", "done"], env=env, check=False)
    time.sleep(0.5)
    assert beside.services.list(beside.record) == (before,)
