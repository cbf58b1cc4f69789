"""Services in real sandboxes: the same port inside each, a way in for rooms of the task, one for people, none for others."""

from __future__ import annotations

import contextlib
import http.client
import os
import shutil
import socket
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from tests.integration.services.serving import free_port, server
from tests.integration.watching import seen, wait_until

from interlock.adapters.commands import HostCommands
from interlock.adapters.services import HostServices
from interlock.app.running_services import socket_name, socket_of
from interlock.core.contract.around import Ready, Service
from interlock.core.problems import Refused
from interlock.core.sandbox import SOCKETS, Bind, Relay, Sandbox
from interlock.host import sockets
from interlock.host.sandbox import bwrap, identity
from interlock.ports.isolation import Room
from interlock.ports.processes import Unit

pytestmark = [pytest.mark.skipif(sys.platform != "linux", reason="sandboxes are Linux alone"), pytest.mark.long]
INSIDE = 3000
SERVER = server(python="/usr/bin/python3")
ASK = "/usr/bin/python3 -c 'import urllib.request as u; print(u.urlopen(\"http://127.0.0.1:3000/\", timeout=5).read().decode())'"


class Task:
    """A sealed task by hand: its folders, its rooms, and its services."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in ("home", "tree", "sockets", "record"):
            (root / name).mkdir(parents=True)
        self.user = identity.default_user()
        for name in ("home", "tree", "sockets"):
            identity.own(root / name, self.user)
        self.services = HostServices()
        self.port = free_port()

    def room(self, *inward: Relay, outward: tuple[Relay, ...] = ()) -> Room:
        shared = Bind(source=str(self.root / "sockets"), target=SOCKETS, writable=True)
        sandbox = Sandbox(
            home=str(self.root / "home"),
            tree=str(self.root / "tree"),
            binds=(shared,),
            inward=inward,
            outward=outward,
            user=self.user,
        )
        return Room(path=self.root / "tree", written=self.root / "tree", sandbox=sandbox)

    def unit(self, says: str, *, name: str = "web", run: str = SERVER, expose: bool = True, ready: Ready | None = None):
        file = self.root / "sockets" / socket_name(name)
        outward = (Relay(listen=f"tcp:127.0.0.1:{self.port}", connect=f"unix:{file}"),) if expose else ()
        way_in = Relay(listen=socket_of(name), connect=f"tcp:127.0.0.1:{INSIDE}")
        return Unit(
            service=Service(name=name, run=run, port="APP_PORT", ready=ready),
            room=self.room(way_in, outward=outward),
            env={"APP_PORT": str(INSIDE), "SAYS": says},
            inside=INSIDE,
            outside=self.port if expose else None,
        )

    def start(self, says: str, **more):
        return self.services.start(self.root / "record", self.unit(says, **more))

    def ask(self, *, name: str = "web", reach: bool = True) -> str:
        """What another room of the task hears at the port that the service has inside."""
        to = (Relay(listen=f"tcp:127.0.0.1:{INSIDE}", connect=socket_of(name)),) if reach else ()
        done = HostCommands().run(ASK, self.room(*to), {}, self.root / "ask.log", seconds=20)
        return done.tail if done.code == 0 else f"no answer: {done.tail[-200:]}"

    def outside(self) -> str:
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)) as connection:
            connection.request("GET", "/")
            return connection.getresponse().read().decode()

    def stop(self) -> None:
        for each in self.services.list(self.root / "record"):
            self.services.stop(self.root / "record", each.name)


@pytest.fixture
def task(tmp_path: Path):
    lacks = [] if bwrap.find(overlay=False) else ["no bubblewrap"]
    lacks += [] if shutil.which("python3", path="/usr/bin") else ["no /usr/bin/python3"]
    if lacks and os.environ.get("CI") == "true":
        pytest.fail(f"{', '.join(lacks)} on this machine, and CI must run this")
    if lacks:
        pytest.skip(f"{', '.join(lacks)} on this machine")
    made: list[Task] = []

    def make(name: str) -> Task:
        made.append(Task(tmp_path / name))
        return made[-1]

    yield make
    for each in made:
        each.stop()


def test_a_relay_that_listens_is_not_taken_for_the_service(task) -> None:
    one = task("one")
    with pytest.raises(Refused, match="not ready within 1 s") as refused:
        one.start("", run="echo still building; exec sleep 60", ready=Ready(tcp="APP_PORT", within=1))
    assert "still building" in refused.value.refusal.what
    assert f"port {INSIDE}" in refused.value.refusal.why


def test_one_that_dies_at_its_start_is_told_with_its_last_lines(task) -> None:
    with pytest.raises(Refused, match="ended with 7") as refused:
        task("one").start("", run="echo no ledger; exit 7")
    assert "no ledger" in refused.value.refusal.what


def test_two_tasks_have_the_same_port_inside_and_their_own_outside(task) -> None:
    one, two = task("one"), task("two")
    assert one.start("I am one", ready=Ready(http="/health")).state == "ready"
    assert two.start("I am two", ready=Ready(http="/health")).state == "ready"
    assert (one.outside(), two.outside()) == ("I am one", "I am two")
    assert (one.ask(), two.ask()) == ("I am one", "I am two")


def test_another_task_reaches_nothing_of_it(task) -> None:
    one, two = task("one"), task("two")
    one.start("secret of one")
    assert "no answer" in two.ask(), "the same address leads into its own folder"
    assert "no answer" in two.ask(reach=False)
    tries = (
        f"for at in 127.0.0.1 ::1; do (exec 3<>/dev/tcp/$at/{one.port}) 2>/dev/null && echo REACHED; done; "
        f"ls {SOCKETS}; ls {one.root} 2>&1 || true"
    )
    done = HostCommands().run(tries, two.room(), {}, two.root / "try.log", seconds=20)
    assert done.code == 0
    assert "REACHED" not in done.tail
    assert "service-web" not in done.tail
    assert "No such file" in done.tail


def test_without_being_exposed_it_is_reached_by_its_task_alone(task) -> None:
    one = task("one")
    running = one.start("for the task", expose=False)
    assert (running.state, running.port) == ("ready", None)
    assert one.ask() == "for the task"
    with pytest.raises(ConnectionRefusedError):
        one.outside()


def test_a_readiness_command_runs_in_another_room_of_the_task(task) -> None:
    one = task("one")
    ready = Ready(command=f"test \"$({ASK})\" = 'hello there' && touch asked-inside")
    assert one.start("hello there", ready=ready).state == "ready"
    assert (one.root / "tree" / "asked-inside").exists()
    with pytest.raises(Refused, match="not ready within"):
        one.start("hello", name="other", ready=Ready(command="test -e /nowhere", within=0.5), expose=False)


def test_ending_leaves_no_process_no_socket_and_no_port(task) -> None:
    one = task("one")
    token = f"sealed-{os.getpid()}-{one.port}"
    run = f"(trap '' TERM INT; exec -a {token} sleep 300) & {SERVER}"
    one.start("hello", run=run)
    wait_until(lambda: seen(token))
    one.stop()
    assert seen(token) == []
    assert list((one.root / "sockets").iterdir()) == []
    assert sockets.is_free(one.port)
    assert one.services.list(one.root / "record") == ()
    assert one.start("again", run=run).state == "ready"
    assert one.outside() == "again"


def test_secrets_do_not_reach_its_log(task) -> None:
    one = task("one")
    unit = replace(one.unit("hello", run=f"echo the token is hunter2-hunter2; {SERVER}"), redact=("hunter2-hunter2",))
    running = one.services.start(one.root / "record", unit)
    text = running.log.read_text()
    assert "the token is" in text
    assert "hunter2" not in text


def test_a_link_in_the_place_of_its_socket_is_not_followed(task) -> None:
    """A task can write where its sockets lie; the look at them from outside must not become its hands."""
    one = task("one")
    heard: list[bytes] = []
    with socket.socket(socket.AF_UNIX) as privileged:
        with contextlib.chdir(one.root):
            privileged.bind("docker.sock")
        privileged.listen()
        privileged.settimeout(0.2)
        name = socket_name("web")
        run = f"rm -f {SOCKETS}/{name}; ln -s {one.root}/docker.sock {SOCKETS}/{name}; exec sleep 60"
        with pytest.raises(Refused, match="not ready within"):
            one.start("", run=run, ready=Ready(http="/containers/json", within=2))
        with contextlib.suppress(TimeoutError):
            heard.append(privileged.accept()[0].recv(100))
    assert heard == []
    assert (one.root / "sockets" / name).is_symlink(), "it was put there, or this test tells nothing"


def test_a_folder_in_the_place_of_its_socket_keeps_it_down_and_breaks_nothing(task) -> None:
    one = task("one")
    (one.root / "sockets" / socket_name("web")).mkdir()
    with pytest.raises(Refused, match="service web"):
        one.start("", ready=Ready(within=1))
    one.stop()
