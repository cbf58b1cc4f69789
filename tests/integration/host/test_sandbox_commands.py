"""Commands of the harness in a task's room, and a person's shell there."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.integration.host.boxes import Box, a_box
from tests.integration.watching import seen, wait_until

from interlock.adapters.commands import HostCommands
from interlock.core.problems import Refused
from interlock.core.sandbox import Relay, to_json
from interlock.host import processes
from interlock.ports.isolation import Room


@pytest.fixture
def box() -> Iterator[Box]:
    with a_box() as made:
        yield made


def room_of(box: Box) -> Room:
    return Room(path=box.root / "tree", written=box.root / "tree", sandbox=box.sandbox)


@pytest.mark.skipif(os.geteuid() != 0, reason="Only root is refused.")
def test_without_a_sandbox_root_runs_no_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("INTERLOCK_ROOT_AGENTS", raising=False)
    room = Room(path=tmp_path, written=tmp_path)
    with pytest.raises(Refused):
        HostCommands().run("touch ran", room, {}, tmp_path / "log", seconds=5)
    with pytest.raises(Refused):
        HostCommands().shell(["touch", "ran"], room, {})
    assert not (tmp_path / "ran").exists()


def test_a_command_runs_in_the_room_and_says_how_it_ended(box: Box) -> None:
    done = HostCommands().run("pwd; id -u; false | true; echo on", room_of(box), {"A": "b"}, box.log, seconds=10)
    uid = box.user if box.user is not None else os.geteuid()
    assert (done.code, done.tail, done.timed_out) == (1, f"/ws\n{uid}", False)
    done = HostCommands().run("sleep 600", room_of(box), {}, box.log, seconds=0.3)
    assert (done.code, done.timed_out) == (None, True)


def test_a_command_at_level_worktree_runs_in_the_tree(tmp_path: Path) -> None:
    done = HostCommands().run("pwd", Room(path=tmp_path, written=tmp_path), {}, tmp_path / "log", seconds=10)
    assert (done.code, done.tail) == (0, str(tmp_path))


SHELL = """
import json, os, sys
from pathlib import Path
from interlock.adapters.commands import HostCommands
from interlock.core import sandbox
from interlock.ports.isolation import Room
shape, tree, argv = json.loads(sys.argv[1])
os.environ["INTERLOCK_ROOT_AGENTS"] = "allow"
room = Room(path=Path(tree), written=Path(tree), sandbox=sandbox.from_json(shape) if shape else None)
code = HostCommands().shell(argv, room, {"A": "from-the-task"})
print("ended", code)
"""


class Terminal:
    """A terminal with a shell of a room in it, as a person has it."""

    def __init__(self, box: Box, argv: list[str], *, walls: bool = True) -> None:
        import json

        order = json.dumps([to_json(box.sandbox) if walls else None, str(box.root / "tree"), argv])
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.execv(sys.executable, [sys.executable, "-c", SHELL, order])
        self.shown = ""

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def until(self, text: str, seconds: float = 15) -> None:
        deadline = time.monotonic() + seconds
        while text not in self.shown:
            assert time.monotonic() < deadline, self.shown
            if select.select([self.master], [], [], 0.1)[0]:
                try:
                    self.shown += os.read(self.master, 65536).decode(errors="replace")
                except OSError:
                    break
        assert text in self.shown, self.shown

    def close(self) -> None:
        os.close(self.master)
        os.waitpid(self.pid, 0)


@pytest.mark.parametrize("walls", [True, False])
def test_a_shell_has_the_terminal_with_job_control_and_gives_its_exit_code(box: Box, walls: bool) -> None:
    shell = Terminal(box, ["bash", "--norc", "-i"], walls=walls)
    try:
        shell.type("echo a$((20+3))b; pwd; echo $A; tty\n")
        shell.until("a23b")
        shell.until("/ws" if walls else str(box.root / "tree"))
        shell.until("from-the-task")
        shell.until("/dev/pts/" if not walls else "/dev/")
        shell.type("exec -a il-fore sleep 600\n" if False else "bash -c 'exec -a il-fore sleep 600'\n")
        wait_until(lambda: seen("il-fore"))
        shell.type("\x03")
        wait_until(lambda: not seen("il-fore"))
        shell.type("echo still-$((1+1))\n")
        shell.until("still-2")
        shell.type("exit 7\n")
        shell.until("ended 7")
        assert "no job control" not in shell.shown
    finally:
        shell.close()


def test_a_shell_leaves_nothing_behind(box: Box) -> None:
    shell = Terminal(box, ["bash", "--norc", "-c", "(exec -a il-behind sleep 600) & sleep 1; exit 3"])
    try:
        wait_until(lambda: seen("il-behind"))
        shell.until("ended 3")
    finally:
        shell.close()
    wait_until(lambda: not seen("il-behind"))


def test_a_shell_whose_starter_is_shot_ends_too(box: Box) -> None:
    shell = Terminal(box, ["bash", "--norc", "-c", "trap '' HUP TERM; exec -a il-shell sleep 600"])
    wait_until(lambda: seen("il-shell"))
    os.kill(shell.pid, 9)
    shell.close()
    wait_until(lambda: not seen("il-shell"))


def test_a_shell_cannot_type_into_the_terminal_it_was_given(box: Box) -> None:
    program = "import fcntl,termios\ntry:\n    fcntl.ioctl(0, termios.TIOCSTI, b'x')\nexcept OSError as e: print('refused', e.errno)\nelse: print('typed')"
    shell = Terminal(box, ["python3", "-c", program])
    try:
        shell.until("refused 1")
    finally:
        shell.close()


@pytest.mark.parametrize("walls", [True, False])
def test_a_program_that_is_not_there_or_is_none_is_told_in_a_line(
    box: Box, walls: bool, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERLOCK_ROOT_AGENTS", "allow")
    room = room_of(box) if walls else replace(room_of(box), sandbox=None)
    (box.root / "tree" / "plain").write_text("no program\n")
    (box.root / "tree" / "plain").chmod(0o644)
    told = {}
    for name in ("nothing-of-that-name", "./plain"):
        code = HostCommands().shell([name], room, {"PATH": "/usr/bin:/bin"})
        told[name] = code, capfd.readouterr().err
    code, said = told["nothing-of-that-name"]
    assert (code, said.count("\n")) == (127, 1), said
    assert said.startswith("interlock: nothing-of-that-name was not found")
    assert ("sandbox.tools" in said) == walls
    code, said = told["./plain"]
    assert (code, said.count("\n")) == (126, 1), said
    assert said.startswith("interlock: ./plain cannot be run: Permission denied.")


def test_a_folder_that_is_not_there_is_not_taken_for_a_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERLOCK_ROOT_AGENTS", "allow")
    with pytest.raises(FileNotFoundError, match="gone"):
        HostCommands().shell(["true"], Room(path=tmp_path / "gone", written=tmp_path), {})


def test_relays_run_inside_from_the_start_and_are_no_leftovers(box: Box) -> None:
    relay = Relay(listen="tcp:127.0.0.1:4001", connect="unix:/ws/s")
    sandbox = replace(box.sandbox, inward=(relay,))
    script = """python3 -c "
import socket, threading
here = socket.socket(socket.AF_UNIX); here.bind('/ws/s'); here.listen()
def answer():
    there, _ = here.accept(); there.sendall(b'hello'); there.close()
threading.Thread(target=answer).start()
print(socket.create_connection(('127.0.0.1', 4001)).recv(10))
"
"""
    began = time.monotonic()
    ended, log = box.run(script, sandbox)
    assert (ended.exit_code, log, ended.leftovers) == (0, "b'hello'\n", ())
    assert time.monotonic() - began < 5
    ended, _ = box.run("sleep 600 & exit 0", sandbox)
    assert [label.split()[1] for label in ended.leftovers] == ["sleep"]


def test_a_relay_outlives_the_polite_end_of_a_command(box: Box) -> None:
    relay = Relay(listen="tcp:127.0.0.1:4002", connect="tcp:127.0.0.1:4003")
    script = 'trap \'python3 -c "import socket; socket.create_connection((\\"127.0.0.1\\", 4002)); print(1)"; exit 0\' TERM INT; echo on; while :; do sleep 0.05; done'
    limits = processes.Limits(wall=0.6, interrupt=3.0, terminate=3.0)
    ended, log = box.run(script, replace(box.sandbox, inward=(relay,)), limits=limits)
    assert ended.how == "wall-limit"
    assert "1" in log.splitlines()
    assert subprocess.run(["true"]).returncode == 0
