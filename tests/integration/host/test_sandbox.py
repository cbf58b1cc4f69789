"""A run in a sandbox: what it sees, as whom it runs, what is left of it, and that limits and logs are those of every run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.integration.host.boxes import Box, a_box, below, needs_sandbox
from tests.integration.watching import seen, wait_until

from interlock.core.problems import Refused
from interlock.core.sandbox import Bind, Sandbox
from interlock.host import environment, processes, procfs
from interlock.host.attempts import HostRuns
from interlock.host.sandbox import command, identity, toolchains
from interlock.ports.processes import Launch

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="Only root has somebody to become.")


@pytest.fixture
def box() -> Iterator[Box]:
    with a_box() as made:
        yield made


# ---------------------------------------------------------------- refusals
@AS_ROOT
def test_root_is_never_who_a_sandbox_drops_to(box: Box) -> None:
    ended, _ = box.run("touch /ws/ran", replace(box.sandbox, user=0))
    assert ended.how == "failed-to-start"
    assert "root" in ended.message
    assert not (box.root / "tree" / "ran").exists()


@AS_ROOT
def test_without_a_sandbox_root_starts_no_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("INTERLOCK_ROOT_AGENTS", raising=False)
    with pytest.raises(Refused) as caught:
        HostRuns().run(
            tmp_path / "1", Launch(argv=("touch", f"{tmp_path}/ran"), env={"PATH": "/usr/bin"}, cwd=tmp_path)
        )
    assert caught.value.refusal.rule == "root"
    assert not (tmp_path / "ran").exists()
    assert not (tmp_path / "1" / "spec.json").exists()


def test_a_plain_user_is_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("INTERLOCK_ROOT_AGENTS", raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    identity.refuse_root()
    assert identity.default_user() is None


@AS_ROOT
@pytest.mark.parametrize("name", ["root", "0", "nobody-of-that-name"])
def test_the_agents_user_is_one_that_is_there_and_not_root(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(identity.USER, name)
    with pytest.raises(Refused) as caught:
        identity.default_user()
    assert caught.value.refusal.rule == "root"


@AS_ROOT
def test_the_agents_user_is_named_or_numbered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(identity.USER, raising=False)
    assert identity.default_user() == identity.DEFAULT_UID
    monkeypatch.setenv(identity.USER, "nobody")
    assert identity.default_user() == 65534
    monkeypatch.setenv(identity.USER, "4711")
    assert identity.default_user() == 4711


@pytest.mark.parametrize(
    "target",
    [
        "/",
        "/proc",
        "/proc/sys",
        "/ws",
        "/home/agent",
        "/etc",
        "/run/interlock",
        "/run/interlock/lib/x",
        "/a/../etc",
        "etc",
    ],
)
def test_nothing_is_put_over_a_wall(box: Box, target: str) -> None:
    ended, _ = box.run("true", box.sandbox.with_bind(str(box.root / "log"), target))
    assert ended.how == "failed-to-start"
    ended, _ = box.run("true", replace(box.sandbox, tools=(target,)))
    assert ended.how == "failed-to-start"


def test_a_source_that_is_not_there_is_told(box: Box) -> None:
    ended, log = box.run("true", box.sandbox.with_bind(f"{box.root}/nothing", "/mnt/x"))
    assert ended.how == "failed-to-start"
    assert "nothing" in log or "No such file" in log


# ---------------------------------------------------------------- what is seen
def test_the_tree_is_at_ws_and_what_is_written_there_is_ours_to_read(box: Box) -> None:
    (box.root / "tree" / "here.txt").write_text("hello")
    ended, log = box.run("pwd; cat here.txt; echo made > made.txt")
    assert (ended.how, ended.exit_code, ended.namespace) == ("exited", 0, True)
    assert log == "/ws\nhello"
    assert (box.root / "tree" / "made.txt").read_text() == "made\n"


def test_layers_take_every_change_in_the_upper_one(box: Box) -> None:
    ended, log = box.run("cat below.txt; echo more >> below.txt; echo new > new.txt; cat below.txt", box.layered)
    assert (ended.exit_code, log) == (0, "below\nbelow\nmore\n")
    assert (box.root / "lower" / "below.txt").read_text() == "below\n"
    assert (box.root / "both" / "up" / "below.txt").read_text() == "below\nmore\n"
    assert (box.root / "both" / "up" / "new.txt").read_text() == "new\n"


def test_of_several_layers_the_first_is_on_top(box: Box) -> None:
    assert box.layered.layers is not None
    (box.root / "upper-one").mkdir()
    (box.root / "upper-one" / "below.txt").write_text("above\n")
    lower = (str(box.root / "upper-one"), *box.layered.layers.lower)
    sandbox = replace(box.layered, layers=replace(box.layered.layers, lower=lower))
    assert box.run("cat below.txt", sandbox)[1] == "above\n"
    assert box.run("cat below.txt; echo x > y", replace(sandbox, writable=False))[1].startswith("above\n")
    assert not (box.root / "both" / "up" / "y").exists()


def test_a_tree_that_may_only_be_read_is_not_written(box: Box) -> None:
    ended, _ = box.run("echo x > x", replace(box.sandbox, writable=False))
    assert ended.exit_code != 0
    assert not (box.root / "tree" / "x").exists()


def test_only_the_listed_folders_are_there(box: Box) -> None:
    _, log = box.run("ls -A / /home /run /run/interlock /etc; ls -A /tmp /dev/shm")
    words = set(log.split())
    assert {"ws", "usr", "proc", "dev", "agent", "interlock", "passwd"} <= words
    shown = {Path(tool).parts[1] for tool in toolchains.tools()}  # where our own Python stands
    hidden = {"root", "work", "srv", "mnt", "sys", "var", "boot", "shadow", "ssh", "docker.sock"}
    assert not (hidden - shown) & words
    assert str(box.root) not in log


def test_only_what_is_the_tasks_can_be_written(box: Box) -> None:
    script = "for at in / /etc /usr /run /run/interlock /run/interlock/lib /proc/sys /home /ws /home/agent /tmp /dev/shm; do touch $at/t 2>/dev/null && echo $at; done"
    assert box.run(script)[1].split() == ["/ws", "/home/agent", "/tmp", "/dev/shm"]


def test_tools_are_at_their_own_path_and_cannot_be_changed(box: Box) -> None:
    tool = box.root / "tools" / "bin" / "hello"
    tool.parent.mkdir(parents=True)
    tool.write_text("#!/bin/sh\necho hello\n")
    tool.chmod(0o755)
    sandbox = replace(box.sandbox, tools=(str(tool.parent),))
    source = {"PATH": f"/nowhere:{tool.parent}:/usr/bin"}
    env = environment.inside({}, sandbox, source=source)
    ended, log = box.run(f"hello; echo x >> {tool}", sandbox, env=env)
    assert log.startswith("hello\n")
    assert "x" not in tool.read_text().splitlines()
    assert env["PATH"] == f"/run/interlock/bin:{tool.parent}:/usr/bin"
    assert ended.exit_code != 0


def test_binds_are_read_only_unless_they_say_so(box: Box) -> None:
    for name in ("read", "write"):
        (box.root / name).mkdir()
    identity.own(box.root / "write", box.user)
    binds = (
        Bind(source=str(box.root / "read"), target="/data/read"),
        Bind(source=str(box.root / "write"), target="/data/write", writable=True),
    )
    box.run("touch /data/read/x /data/write/x", replace(box.sandbox, binds=binds))
    assert not (box.root / "read" / "x").exists()
    assert (box.root / "write" / "x").exists()


# ---------------------------------------------------------------- as whom
def test_it_is_nobody_but_the_named_user_with_no_rights(box: Box) -> None:
    _, log = box.run("id -u; id -G; grep -E 'Cap|NoNewPrivs|Seccomp:' /proc/self/status; echo $HOME $USER")
    uid = box.user if box.user is not None else os.geteuid()
    assert log.startswith(f"{uid}\n{identity.group_of(uid) if box.user else os.getegid()}")
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert f"{name}:\t0000000000000000" in log
    assert "NoNewPrivs:\t1" in log
    assert "Seccomp:\t2" in log
    assert "/home/agent agent" in log


@AS_ROOT
def test_no_process_of_a_run_but_the_first_is_root_on_this_machine(box: Box) -> None:
    uids: list[tuple[str, int]] = []

    def look(started: processes.Started) -> None:
        for pid in below():
            facts = Path(f"/proc/{pid}/status").read_text()
            uid = next(line.split()[1] for line in facts.splitlines() if line.startswith("Uid:"))
            uids.append((Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].decode(), int(uid)))
        assert started.process is not None

    box.run("sleep 0.2", started=look)
    # The outer bubblewrap waits for the rest and runs nothing of the task; all else has changed its user.
    assert [uid for name, uid in uids if "bwrap" not in name] == [60999] * sum("bwrap" not in name for name, _ in uids)
    assert sorted(uid for name, uid in uids if "bwrap" in name) == [0, 60999]
    assert len(uids) >= 4


# ---------------------------------------------------------------- environment and descriptors
def test_the_environment_is_the_list_and_nothing_else(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2-hunter2")
    monkeypatch.setenv("WANTED", "yes")
    monkeypatch.setenv("LC_TIME", "C")
    monkeypatch.setenv("TMPDIR", str(box.root))
    monkeypatch.setenv("GIT_DIR", "/elsewhere")
    env = environment.inside({"APP_PORT": "3000", "INTERLOCK_PASS": "WANTED GIT_DIR PATH TMPDIR"}, box.sandbox)
    _, log = box.run("env", env=env)
    names = {line.partition("=")[0] for line in log.splitlines()}
    allowed = {"LANG", "TZ", "TERM", "HOME", "USER", "LOGNAME", "SHELL", "PATH", "APP_PORT", "WANTED", "INTERLOCK_RUN"}
    assert {name for name in names if not name.startswith("LC_")} - {"PWD", "SHLVL", "_"} <= allowed
    assert {"WANTED", "LC_TIME", "APP_PORT", "HOME"} <= names
    for process in ("/proc/1/environ", "/proc/self/environ"):
        assert "hunter2" not in box.run(f"cat {process} 2>&1", env=env)[1]


def test_secrets_of_the_environment_stand_on_no_command_line(box: Box) -> None:
    lines: list[bytes] = []

    def look(_: processes.Started) -> None:
        lines.extend(Path(f"/proc/{pid}/cmdline").read_bytes() for pid in below())

    box.run("sleep 0.1", env=environment.inside({"TOKEN": "hunter2-hunter2"}, box.sandbox), started=look)
    assert lines
    assert not any(b"hunter2" in line for line in lines)


def test_no_descriptor_goes_along(box: Box) -> None:
    secret = box.root / "secret"
    secret.write_text("hunter2")
    descriptor = os.open(secret, os.O_RDWR)
    os.set_inheritable(descriptor, True)
    try:
        _, log = box.run("ls -l /proc/self/fd; cat /proc/self/fd/*", stdin=b"")
    finally:
        os.close(descriptor)
    assert "hunter2" not in log
    assert {line.split()[8] for line in log.splitlines() if " -> " in line} <= {"0", "1", "2", "3"}


# ---------------------------------------------------------------- limits, leftovers, logs
def test_standard_input_exit_codes_and_signals_are_those_of_the_command(box: Box) -> None:
    ended, log = box.run("cat; exit 7", stdin=b"given")
    assert (ended.how, ended.exit_code, log) == ("exited", 7, "given")
    ended, _ = box.run("kill -TERM $$")
    assert (ended.how, ended.message) == ("signalled", "It was ended by SIGTERM.")
    ended, _ = box.run("exec /nowhere/at-all")
    assert ended.exit_code == 127


def test_a_command_that_is_not_there_fails_to_start(box: Box) -> None:
    env = environment.inside({}, box.sandbox)
    ended = processes.run(("nothing-of-that-name",), env=env, cwd=box.root, log=box.log, sandbox=box.sandbox)
    assert (ended.how, ended.message) == ("failed-to-start", "No such file or directory: nothing-of-that-name")


def test_leftovers_are_named_and_ended(box: Box) -> None:
    ended, _ = box.run("(exec -a il-left-over sleep 600) & setsid sleep 600 & exit 3")
    assert ended.exit_code == 3
    assert sorted(label.split()[1] for label in ended.leftovers) == ["sleep", "sleep"]
    assert seen("il-left-over") == []


def test_limits_end_it_with_all_that_it_started(box: Box) -> None:
    script = "trap '' INT TERM; (trap '' INT TERM; exec -a il-stubborn sleep 600) & echo on; wait; wait"
    ended, log = box.run(script, limits=processes.Limits(wall=0.5, interrupt=0.2, terminate=0.2))
    assert (ended.how, log) == ("wall-limit", "on\n")
    assert seen("il-stubborn") == []
    ended, _ = box.run("echo on; sleep 600", limits=processes.Limits(wall=30, idle=0.4, interrupt=0.2))
    assert ended.how == "idle-limit"


def test_secrets_do_not_reach_the_log_across_chunks_either(box: Box) -> None:
    script = "printf 'a hunt'; sleep 0.3; printf 'er2-hunter2 z'; printf 'and hunter2-hunt'"
    _, log = box.run(script, redact=("hunter2-hunter2",))
    assert log == "a [redacted] zand hunter2-hunt"


def test_redaction_is_there_without_a_sandbox_too(tmp_path: Path) -> None:
    env = {"PATH": "/usr/bin:/bin"}
    script = "printf 'a hunt'; sleep 0.3; printf 'er2-hunter2 z'"
    log = tmp_path / "log"
    processes.run(("bash", "-c", script), env=env, cwd=tmp_path, log=log, redact=("hunter2-hunter2",))
    assert log.read_text() == "a [redacted] z"


STARTER = """
import json, sys
from pathlib import Path
from interlock.core import sandbox
from interlock.host import environment, processes
shape, log = json.loads(sys.argv[1])
walls = sandbox.from_json(shape)
processes.run(("bash", "-c", "trap '' TERM INT; exec -a il-orphan sleep 600 & setsid bash -c 'exec -a il-orphan sleep 600' & wait"),
    env=environment.inside({}, walls), cwd=Path("/"), log=Path(log), sandbox=walls)
"""


@pytest.mark.parametrize("layered", [False, True])
def test_a_starter_that_is_shot_leaves_nothing(box: Box, layered: bool) -> None:
    import json

    from interlock.core.sandbox import to_json

    order = json.dumps([to_json(box.layered if layered else box.sandbox), str(box.log)])
    starter = subprocess.Popen([sys.executable, "-c", STARTER, order])
    try:
        wait_until(lambda: len(seen("il-orphan")) == 2)
        below = procfs.descendants(starter.pid)
        assert len(below) >= 4
    finally:
        starter.send_signal(signal.SIGKILL)
        starter.wait()
    wait_until(lambda: not seen("il-orphan"))
    wait_until(lambda: not [pid for pid in below if procfs.stat(pid) is not None])


@pytest.mark.parametrize("which", [0, 1])
def test_any_process_before_the_command_that_is_shot_takes_all_with_it(box: Box, which: int) -> None:
    def shoot(_: processes.Started) -> None:
        wait_until(lambda: seen("il-shot"))
        chain = below()
        os.kill(chain[min(which, 0 if box.user is None else 1)], signal.SIGKILL)

    began = time.monotonic()
    ended, _ = box.run("exec -a il-shot sleep 600 & wait", started=shoot)
    assert (ended.how, ended.exit_code) == ("interrupted", None)
    assert time.monotonic() - began < 10
    wait_until(lambda: not seen("il-shot"))


# ---------------------------------------------------------------- attempts
def test_an_attempt_takes_its_walls_and_secrets_along(box: Box) -> None:
    folder = box.root / "attempt"
    spool = box.root / "spool"
    spool.mkdir()
    identity.own(spool, box.user)
    sandbox = box.sandbox.with_bind(str(spool), "/run/interlock/spool", writable=True)
    env = environment.inside({"INTERLOCK_SPOOL": "/run/interlock/spool", "TOKEN": "hunter2-hunter2"}, sandbox)
    launch = Launch(
        argv=("bash", "-c", "pwd; id -u; echo $TOKEN; touch $INTERLOCK_SPOOL/x"),
        env=env,
        cwd=box.root / "tree",
        sandbox=sandbox,
        redact=("hunter2-hunter2",),
    )
    end = HostRuns().run(folder, launch)
    uid = box.user if box.user is not None else os.geteuid()
    assert (end.how, end.exit_code, end.tail) == ("exited", 0, f"/ws\n{uid}\n[redacted]")
    assert (spool / "x").exists()
    assert (folder / "spec.json").stat().st_mode & 0o777 == 0o600
    assert "hunter2" not in (folder / "output.log").read_text() + (folder / "exit.json").read_text()


def test_a_stop_message_from_inside_ends_the_attempt(box: Box) -> None:
    spool = box.root / "spool"
    (spool / "1").mkdir(parents=True)
    identity.own(spool, box.user)
    sandbox = box.sandbox.with_bind(str(spool), "/run/interlock/spool", writable=True)
    message = '{"verb":"stop","text":"t","data":{},"at":1.0}'
    env = environment.inside({"INTERLOCK_SPOOL": "/run/interlock/spool", "INTERLOCK_ATTEMPT_NUMBER": "1"}, sandbox)
    script = f"echo '{message}' > $INTERLOCK_SPOOL/1/000001-stop.json; sleep 600"
    launch = Launch(argv=("bash", "-c", script), env=env, cwd=box.root / "tree", sandbox=sandbox)
    assert HostRuns().run(box.root / "attempt", launch).how == "stopped"


# ---------------------------------------------------------------- owning
@AS_ROOT
def test_own_gives_links_themselves_and_never_what_they_point_at(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("x")
    mine = tmp_path / "mine"
    (mine / "below").mkdir(parents=True)
    (mine / "below" / "file").write_text("x")
    (mine / "link").symlink_to(outside)
    (mine / "file-link").symlink_to(outside / "file")
    os.link(outside / "file", mine / "hard")
    identity.own(mine, 60999)
    assert {path.lstat().st_uid for path in (mine, mine / "below" / "file", mine / "link")} == {60999}
    assert {path.stat().st_uid for path in (outside, outside / "file")} == {0}
    identity.own(tmp_path / "mine" / "link", 60998)
    assert outside.stat().st_uid == 0


def test_the_walls_can_be_had_without_a_keeper(box: Box) -> None:
    with command.walls(box.sandbox) as walls:
        done = subprocess.run([*walls.words, "/bin/pwd"], env={}, pass_fds=walls.descriptors, capture_output=True)
    assert done.stdout == b"/ws\n"


def test_the_value_survives_the_trip_through_json() -> None:
    from interlock.core.sandbox import Gate, Host, Layers, Relay, from_json, to_json

    sandbox = Sandbox(
        home="/h",
        layers=Layers(lower=("/a", "/b"), upper="/u", work="/w"),
        binds=(Bind(source="/s", target="/t", writable=True),),
        hosts=(Host(name="example.org", port=443),),
        gate=Gate(repository="/r", branch="agent/x", default="main", base="0" * 40, owned=("a/**",)),
        inward=(Relay(listen="tcp:127.0.0.1:1", connect="unix:/x"),),
        user=60999,
    )
    assert from_json(to_json(sandbox)) == sandbox


def test_needs_sandbox_is_honest() -> None:
    needs_sandbox()
    assert sys.platform == "linux"
