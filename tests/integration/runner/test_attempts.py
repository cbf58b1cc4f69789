"""Attempts under their runner: started once, attached to, read, cancelled, and healed after kill -9 on either side."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.integration.runner.attempt import control, ended, launch, runner_pid, tidy
from tests.integration.watching import seen, wait_until

from interlock.host import namespace, spool, tree
from interlock.host.attempts import HostRuns
from interlock.host.folder import Folder, Spec
from interlock.host.processes import MARKER
from interlock.ports.processes import Launch


@pytest.fixture(autouse=True)
def nothing_stays(tmp_path: Path) -> Iterator[None]:
    yield
    tidy(tmp_path)


@pytest.fixture(params=["namespace", "subreaper"])
def contain(request: pytest.FixtureRequest) -> bool:
    if request.param == "namespace" and namespace.prefix() is None:
        pytest.skip("no pid namespace can be had here")
    return bool(request.param == "namespace")


@pytest.fixture
def token() -> str:
    return f"interlock-test-{secrets.token_hex(6)}"


def test_it_runs_once_and_is_read_afterwards(tmp_path: Path, contain: bool) -> None:
    folder = tmp_path / "1"
    runs = HostRuns(contain=contain)
    order = launch("echo ran >> ../count; echo hello; echo $VALUE; exit 3", tmp_path, VALUE="x y")
    order = Launch(argv=order.argv, env=order.env, cwd=tmp_path / "1")
    folder.mkdir()
    first = runs.run(folder, order)
    assert (first.how, first.exit_code, first.tail, first.namespace) == ("exited", 3, "hello\nx y", contain)
    assert runs.run(folder, order) == first
    assert (tmp_path / "count").read_text() == "ran\n"
    assert (folder / "output.log").read_bytes() == b"hello\nx y\n"
    assert not runs.alive(folder)


def test_the_prompt_arrives_on_standard_input(tmp_path: Path) -> None:
    prompt = os.urandom(200_000)
    order = Launch(argv=("sha256sum",), env={"PATH": os.environ["PATH"]}, cwd=tmp_path, stdin=prompt)
    import hashlib

    assert HostRuns().run(tmp_path / "1", order).tail.startswith(hashlib.sha256(prompt).hexdigest())


def test_limits_and_failures_have_their_names(tmp_path: Path, contain: bool) -> None:
    runs = HostRuns(contain=contain)
    env = {"PATH": os.environ["PATH"]}
    sleeping = ("sleep", "600")
    wall = runs.run(tmp_path / "wall", Launch(argv=sleeping, env=env, cwd=tmp_path, wall=0.3))
    idle = runs.run(tmp_path / "idle", Launch(argv=sleeping, env=env, cwd=tmp_path, idle=0.3))
    gone = runs.run(tmp_path / "gone", Launch(argv=("no-such-agent",), env=env, cwd=tmp_path))
    shot = runs.run(tmp_path / "shot", Launch(argv=("bash", "-c", "kill -9 $$"), env=env, cwd=tmp_path))
    assert [end.how for end in (wall, idle, gone, shot)] == ["wall-limit", "idle-limit", "failed-to-start", "signalled"]
    assert "no-such-agent" in gone.message


def test_a_runner_that_cannot_start_is_told_with_its_last_lines(tmp_path: Path) -> None:
    folder = tmp_path / "1"
    folder.mkdir()
    (folder / "lock").mkdir()
    end = HostRuns().run(folder, launch("true", tmp_path))
    assert end.how == "failed-to-start"
    assert "IsADirectoryError" in end.tail


def test_two_starts_at_once_are_one_run(tmp_path: Path, contain: bool) -> None:
    """Case JQ-04: several control planes, one agent, one result for all of them."""
    folder = tmp_path / "1"
    script = f"echo ran >> {tmp_path}/count; sleep 0.5; echo result $$"
    controls = [control(folder, script, contain=contain) for _ in range(6)]
    results = {each.communicate(timeout=60)[0] for each in controls}
    assert len(results) == 1
    assert json.loads(results.pop())[:2] == ["exited", 0]
    assert (tmp_path / "count").read_text() == "ran\n"


def test_a_killed_control_plane_does_not_end_the_agent(tmp_path: Path, contain: bool, token: str) -> None:
    """Case JQ-04: the agent lives on, is adopted again, and its output goes on."""
    folder = tmp_path / "1"
    script = f"echo before; while [ ! -e {tmp_path}/go ]; do sleep 0.02; done; echo after; exec -a {token} sleep 0.2"
    first = control(folder, script, contain=contain)
    wait_until(lambda: (folder / "output.log").exists() and (folder / "output.log").read_bytes())
    first.kill()
    first.communicate()
    assert HostRuns().alive(folder)
    second = control(folder, script, contain=contain)
    (tmp_path / "go").touch()
    assert json.loads(second.communicate(timeout=60)[0]) == ["exited", 0, "before\nafter"]
    assert not HostRuns().alive(folder)


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.05, 0.08, 0.12, 0.2])
def test_the_control_plane_killed_at_any_moment_and_called_again_runs_it_once(
    tmp_path: Path, contain: bool, delay: float
) -> None:
    folder = tmp_path / "1"
    script = f"echo ran >> {tmp_path}/count; sleep 0.1; exit 5"
    first = control(folder, script, contain=contain)
    wait_until(folder.exists)
    time.sleep(delay)
    first.kill()
    first.communicate()
    assert ended(folder, contain=contain, script=script) == ("exited", 5)
    assert (tmp_path / "count").read_text() == "ran\n"


@pytest.mark.parametrize("delay", [0.0, 0.01, 0.03, 0.06, 0.1, 0.3])
def test_the_runner_killed_at_any_moment_leaves_nothing_and_is_an_interruption(
    tmp_path: Path, contain: bool, token: str, delay: float
) -> None:
    folder = tmp_path / "1"
    script = f"echo ran >> {tmp_path}/count; setsid bash -c 'exec -a {token} sleep 600' & exec -a {token} sleep 600"
    caller = control(folder, script, contain=contain)
    wait_until(lambda: runner_pid(folder))
    time.sleep(delay)
    pid = runner_pid(folder)
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    how, code, _ = json.loads(caller.communicate(timeout=60)[0])
    assert (how, code) == ("interrupted", None)
    wait_until(lambda: seen(token) == [])
    assert ended(folder, contain=contain) == ("interrupted", None)
    if (tmp_path / "count").exists():
        # Empty when the agent was ended between opening the file and writing to it; never twice.
        assert (tmp_path / "count").read_text() in ("", "ran\n")


def test_runner_and_keeper_killed_together_leave_nothing_after_the_next_look(tmp_path: Path, token: str) -> None:
    """The worst case without a namespace: nobody is left to end the children, so the next look does."""
    folder = tmp_path / "1"
    script = f"setsid bash -c 'exec -a {token} sleep 600' & exec -a {token} sleep 600"
    caller = control(folder, script, contain=False)
    wait_until(lambda: len(seen(token)) == 2)
    caller.kill()
    caller.communicate()
    pid = runner_pid(folder)
    assert pid is not None
    keeper = tree.descendants(pid)[0]
    tree.send(keeper, signal.SIGSTOP)
    os.kill(pid, signal.SIGKILL)
    tree.send(keeper, signal.SIGKILL)
    wait_until(lambda: not tree.alive(keeper))
    assert len(seen(token)) == 2
    end = HostRuns(contain=False).run(folder, launch(script, tmp_path))
    assert end.how == "interrupted"
    assert len(end.leftovers) == 2
    assert seen(token) == []


def test_what_a_killed_runner_had_written_is_kept(tmp_path: Path) -> None:
    folder = tmp_path / "1"
    caller = control(folder, "echo precious; sleep 600", contain=True)
    wait_until(lambda: (folder / "output.log").exists() and (folder / "output.log").read_bytes() == b"precious\n")
    pid = runner_pid(folder)
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert json.loads(caller.communicate(timeout=60)[0]) == ["interrupted", None, "precious"]


def test_a_runner_that_is_asked_to_go_ends_its_agent_first(tmp_path: Path, contain: bool, token: str) -> None:
    folder = tmp_path / "1"
    caller = control(folder, f"exec -a {token} sleep 600", contain=contain)
    wait_until(lambda: seen(token))
    pid = runner_pid(folder)
    assert pid is not None
    os.kill(pid, signal.SIGTERM)
    assert json.loads(caller.communicate(timeout=60)[0])[0] == "interrupted"
    assert seen(token) == []


def test_cancel_ends_the_whole_tree(tmp_path: Path, contain: bool, token: str) -> None:
    folder = tmp_path / "1"
    script = f"trap '' INT TERM; setsid bash -c 'exec -a {token} sleep 600' & exec -a {token} sleep 600"
    caller = control(folder, script, contain=contain)
    wait_until(lambda: len(seen(token)) == 2)
    HostRuns().cancel(folder)
    wait_until(lambda: not seen(token), 60)
    assert json.loads(caller.communicate(timeout=60)[0])[:2] == ["cancelled", None]


def test_cancelled_before_its_start_it_never_starts(tmp_path: Path) -> None:
    folder = tmp_path / "1"
    HostRuns().cancel(folder)
    assert ended(folder, contain=True, script=f"touch {tmp_path}/ran") == ("cancelled", None)
    assert not (tmp_path / "ran").exists()


def test_cancelled_while_supervisor_and_runner_are_dead_it_was_a_person(tmp_path: Path, contain: bool) -> None:
    folder = tmp_path / "1"
    caller = control(folder, "sleep 600", contain=contain)
    wait_until(Folder(folder).agent)
    pid = runner_pid(folder)
    assert pid is not None
    caller.kill()
    caller.communicate()
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not HostRuns().alive(folder))
    HostRuns().cancel(folder)
    assert ended(folder, contain=contain, script=f"touch {tmp_path}/again") == ("cancelled", None)
    assert ended(folder, contain=contain) == ("cancelled", None)
    assert not (tmp_path / "again").exists()


def test_cancelled_after_its_runner_was_asked_to_go_it_was_a_person(tmp_path: Path, contain: bool) -> None:
    folder = tmp_path / "1"
    caller = control(folder, "sleep 600", contain=contain)
    wait_until(Folder(folder).agent)
    pid = runner_pid(folder)
    assert pid is not None
    caller.kill()
    caller.communicate()
    os.kill(pid, signal.SIGTERM)
    wait_until(Folder(folder).exit)
    assert ended(folder, contain=contain) == ("interrupted", None)
    HostRuns().cancel(folder)
    assert ended(folder, contain=contain) == ("cancelled", None)


def test_attaching_starts_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "1"
    assert HostRuns().attach(folder) is None
    folder.mkdir()
    assert HostRuns().attach(folder) is None
    assert not Folder(folder).was_started()


def test_attaching_waits_for_what_runs_and_reads_what_ended(tmp_path: Path, contain: bool) -> None:
    folder = tmp_path / "1"
    first = control(folder, f"while [ ! -e {tmp_path}/go ]; do sleep 0.02; done; exit 4", contain=contain)
    wait_until(Folder(folder).agent)
    first.kill()
    first.communicate()
    found: list[tuple[str, int | None] | None] = []

    def look() -> None:
        end = HostRuns(contain=contain).attach(folder)
        found.append((end.how, end.exit_code) if end else None)

    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(0.2)
    assert found == []
    (tmp_path / "go").touch()
    for thread in threads:
        thread.join(30)
    look()
    assert found == [("exited", 4)] * 4


def test_attaching_heals_what_a_killed_runner_left(tmp_path: Path) -> None:
    folder = tmp_path / "1"
    caller = control(folder, "sleep 600", contain=True)
    wait_until(Folder(folder).agent)
    pid = runner_pid(folder)
    assert pid is not None
    caller.kill()
    caller.communicate()
    os.kill(pid, signal.SIGKILL)
    end = HostRuns().attach(folder)
    assert end is not None
    assert end.how == "interrupted"


def test_an_order_on_record_is_what_runs_whatever_is_handed_in_later(tmp_path: Path) -> None:
    """The caller was killed between writing down what to run and starting it: that, and nothing newer, is started."""
    folder = tmp_path / "1"
    folder.mkdir()
    order = launch(f"touch {tmp_path}/ordered; exit 6", tmp_path)
    spec = Spec(
        argv=order.argv,
        env={**order.env, MARKER: secrets.token_hex(16)},
        cwd=str(order.cwd),
        stdin=None,
        wall=60.0,
        idle=60.0,
        spool=None,
        attempt=1,
        contain=True,
    )
    Folder(folder).write_spec(spec)
    end = HostRuns().attach(folder)
    assert end is not None
    assert (end.how, end.exit_code) == ("exited", 6)
    assert ended(folder, contain=True, script=f"touch {tmp_path}/newer") == ("exited", 6)
    assert (tmp_path / "ordered").exists()
    assert not (tmp_path / "newer").exists()


def test_a_damaged_order_that_was_never_started_is_written_anew(tmp_path: Path) -> None:
    folder = tmp_path / "1"
    folder.mkdir()
    (folder / "spec.json").write_text("{")
    assert HostRuns().attach(folder) is None
    assert ended(folder, contain=True, script="exit 2") == ("exited", 2)


@pytest.mark.parametrize("kind", ["missing", "file", "link"])
def test_without_its_folder_an_agent_is_not_started_elsewhere(tmp_path: Path, contain: bool, kind: str) -> None:
    """Case AI-02: a folder that vanished, or is another one behind a link, is no place to start an agent in."""
    tree_at, other = tmp_path / "tree", tmp_path / "other"
    other.mkdir()
    if kind == "file":
        tree_at.touch()
    if kind == "link":
        tree_at.symlink_to(other)
    end = HostRuns(contain=contain).run(tmp_path / "1", launch(f"touch {tmp_path}/ran ./ran", tree_at))
    assert (end.how, end.exit_code) == ("failed-to-start", None)
    assert str(tree_at) in end.message
    assert "not started" in end.message
    assert not (tmp_path / "ran").exists()
    assert not list(other.iterdir())


def test_a_stop_message_ends_the_agent_and_names_the_outcome(tmp_path: Path, contain: bool, token: str) -> None:
    folder, box = tmp_path / "1", tmp_path / "spool"
    order = launch(f"exec -a {token} sleep 600", tmp_path, INTERLOCK_SPOOL=str(box), INTERLOCK_ATTEMPT_NUMBER="4")
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(HostRuns(contain=contain).run(folder, order).how))
    thread.start()
    wait_until(lambda: seen(token))
    spool.write(box, 3, "stop", "another attempt's", {"reason": "x"})
    (box / "4").mkdir()
    (box / "4" / "000001-stop.json").write_text("no message")
    assert len(seen(token)) == 1
    spool.write(box, 4, "stop", "a decision is missing", {"reason": "a decision is missing"})
    thread.join(30)
    assert found == ["stopped"]
    assert seen(token) == []


def test_an_agent_that_stops_and_ends_by_itself_has_stopped(tmp_path: Path) -> None:
    message = '{"verb": "stop", "text": "x", "data": {}, "at": 1}'
    script = f"mkdir {tmp_path}/spool/1; echo '{message}' > {tmp_path}/spool/1/000001-stop.json; exit 0"
    (tmp_path / "spool").mkdir()
    order = launch(script, tmp_path, INTERLOCK_SPOOL=str(tmp_path / "spool"), INTERLOCK_ATTEMPT_NUMBER="1")
    end = HostRuns().run(tmp_path / "1", order)
    assert (end.how, end.exit_code in (0, None)) == ("stopped", True)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"how": "triumph"}', b'{"how": "exited", "exit_code": "0"}'])
def test_a_damaged_end_never_reads_as_success(tmp_path: Path, data: bytes) -> None:
    folder = tmp_path / "1"
    assert ended(folder, contain=True, script="exit 0") == ("exited", 0)
    (folder / "exit.json").write_bytes(data)
    how, code = ended(folder, contain=True)
    assert (how, code) != ("exited", 0)


def test_a_record_of_an_earlier_boot_is_an_interruption_and_nobody_gets_a_signal(tmp_path: Path) -> None:
    """Case JQ-05: across a reboot a pid, and even the marker of a run, say nothing."""
    folder = tmp_path / "1"
    assert ended(folder, contain=True) == ("exited", 0)
    (folder / "exit.json").unlink()
    marker = json.loads((folder / "spec.json").read_text())["env"][MARKER]
    started = json.loads((folder / "started.json").read_text())
    started["runner"]["boot"] = "an earlier one"
    (folder / "started.json").write_text(json.dumps(started))
    bystander = subprocess.Popen(["sleep", "600"], env={**os.environ, MARKER: marker})
    try:
        assert ended(folder, contain=True) == ("interrupted", None)
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_a_damaged_spec_of_a_killed_runner_is_an_interruption_all_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "1"
    assert ended(folder, contain=True) == ("exited", 0)
    (folder / "exit.json").unlink()
    (folder / "spec.json").write_text("{")
    assert ended(folder, contain=True) == ("interrupted", None)


def test_the_runner_is_a_child_of_nobody_and_holds_none_of_our_files(tmp_path: Path, token: str) -> None:
    folder = tmp_path / "1"
    caller = control(folder, f"exec -a {token} sleep 600", contain=True)
    try:
        wait_until(Folder(folder).agent)
        pid = runner_pid(folder)
        assert pid is not None
        assert pid not in {who.pid for who in tree.descendants(caller.pid)}
        own = {str(folder / name) for name in ("lock", "runner.log", "output.log")}
        wait_until(lambda: open_files(pid) == own)
    finally:
        HostRuns().cancel(folder)
        caller.communicate(timeout=60)


def open_files(pid: int) -> set[str]:
    """The files that a process holds open, devices and pipes left out."""
    names = set()
    for each in os.listdir(f"/proc/{pid}/fd"):
        with suppress(FileNotFoundError):
            names.add(os.readlink(f"/proc/{pid}/fd/{each}"))
    return {name for name in names if name.startswith("/") and not name.startswith("/dev/")}
