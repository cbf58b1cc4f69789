"""What agents do wrong (facts/agents §8), under the real runner: the right outcome, nothing left alive, a whole record."""

from __future__ import annotations

import os
import secrets
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.cases.misbehaving import CASES, PRELUDE, Case
from tests.integration.runner.attempt import runner_pid, tidy
from tests.integration.watching import seen, wait_until

from interlock.adapters.agents.known import KnownAgents
from interlock.host.attempts import HostRuns
from interlock.ports.agents import Reading
from interlock.ports.processes import End, Launch

SECRET = "sk-live-abcdefghijklmnop"
ENDS = {"claude": ("result",), "codex": ("turn.completed", "turn.failed")}
RECORD = {"spec.json", "started.json", "exit.json", "output.log", "errors.log", "lock"}


@pytest.fixture(autouse=True)
def nothing_stays(tmp_path: Path) -> Iterator[None]:
    yield
    tidy(tmp_path)


@pytest.fixture
def token() -> str:
    return f"interlock-test-{secrets.token_hex(6)}"


def order(folder: Path, script: str, token: str, *, use: str = "claude", **limits: float) -> Launch:
    """A scripted agent as the launch of an attempt, with a HOME of its own."""
    folder.mkdir(parents=True)
    (folder / "agent.py").write_text(PRELUDE + script)
    (folder / "home").mkdir()
    return Launch(
        argv=(sys.executable, "-I", "-S", str(folder / "agent.py"), token),
        env={"PATH": os.environ["PATH"], "HOME": str(folder / "home")},
        cwd=folder,
        split=True,
        ends=ENDS[use],
        **{"wall": 60.0, **limits},  # type: ignore[arg-type]
    )


def agents(folder: Path) -> KnownAgents:
    return KnownAgents(folder / "locks")


def read(folder: Path, use: str, end: End, case: Case | None = None) -> Reading:
    before = case.before if case else CASES["has no price"].before
    return agents(folder).read(use, folder, end, before=before, usd_before=None)


def faults(folder: Path, case: Case, token: str) -> list[str]:
    """What is not as it must be with one misbehaving agent, after it has run."""
    end = HostRuns().run(folder, order(folder, case.script, token, use=case.use, **case.limits))
    reading = read(folder, case.use, end, case)
    told = f"{reading.outcome.message} {end.message}"
    found = []
    if (end.how, reading.outcome.kind) != (case.how, case.kind):
        found.append(f"it is {end.how}, {reading.outcome}: {end.tail[-300:]}")
    if case.says not in told:
        found.append(f"nobody says {case.says!r}: {told}")
    if len(end.leftovers) != case.left:
        found.append(f"left behind: {end.leftovers}")
    if not case.also(end, reading.seen):
        found.append(f"something else is wrong: {str(reading.seen)[:500]}")
    if alive := seen(token):
        found.append(f"still alive: {alive}")
    if missing := RECORD - {path.name for path in folder.iterdir()}:
        found.append(f"the record lacks {missing}")
    if HostRuns().attach(folder) != end:
        found.append("the record says something else on a second look")
    return found


def test_every_misbehaviour_comes_out_right_and_leaves_nothing(tmp_path: Path, token: str) -> None:
    with ThreadPoolExecutor(6) as pool:
        names = {name: tmp_path / str(number) for number, name in enumerate(CASES)}
        results = pool.map(lambda name: (name, faults(names[name], CASES[name], f"{token}-{names[name].name}")), names)
        wrong = {name: found for name, found in results if found}
    assert wrong == {}


def test_a_secret_that_is_printed_reaches_no_log_whichever_the_stream(tmp_path: Path) -> None:
    script = f"begin(); text({SECRET!r}); sys.stderr.write({SECRET!r}[:9]); sys.stderr.flush(); time.sleep(0.2); sys.stderr.write({SECRET!r}[9:]); result(result={SECRET!r})"
    launch = order(tmp_path / "1", script, "t")
    (tmp_path / "1" / "agent.py").rename(tmp_path / "agent.py")
    argv = tuple(word.replace("/1/agent.py", "/agent.py") for word in launch.argv)
    end = HostRuns().run(
        tmp_path / "1", Launch(argv=argv, env=launch.env, cwd=launch.cwd, split=True, redact=(SECRET,))
    )
    for path in (tmp_path / "1").rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path
    reading = read(tmp_path / "1", "claude", end)
    assert (reading.outcome.kind, reading.seen.last_text) == ("completed", "[redacted]")
    assert "stderr: [redacted]" in end.tail


def test_a_control_plane_that_is_killed_finds_its_agent_and_the_whole_stream_again(tmp_path: Path, token: str) -> None:
    folder = tmp_path / "1"
    script = "begin(); open('begun', 'w').close()\nwhile not os.path.exists('go'): time.sleep(0.02)\nresult(); stay()"
    launch = order(folder, script, token, after_end=0.3)
    controller = os.fork()
    if controller == 0:
        try:
            HostRuns().run(folder, launch)
        finally:
            os._exit(0)
    wait_until((folder / "begun").exists)
    os.kill(controller, signal.SIGKILL)
    os.waitpid(controller, 0)
    assert HostRuns().alive(folder)
    (folder / "go").touch()
    end = HostRuns().attach(folder)
    assert end is not None
    reading = read(folder, "claude", end)
    assert (end.how, reading.outcome.kind, reading.seen.session) == ("ended", "completed", "s1")
    assert seen(token) == []


def test_a_runner_that_is_killed_is_an_interruption_whatever_the_stream_said(tmp_path: Path, token: str) -> None:
    folder = tmp_path / "1"
    launch = order(folder, "begin(); result(); stay()", token, after_end=60.0)
    found: list[End] = []
    thread = threading.Thread(target=lambda: found.append(HostRuns().run(folder, launch)))
    thread.start()
    wait_until(lambda: seen(token))
    pid = runner_pid(folder)
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    thread.join(30)
    assert (found[0].how, read(folder, "claude", found[0]).outcome.kind) == ("interrupted", "interrupted")
    wait_until(lambda: not seen(token))


def test_a_cancelled_agent_has_time_for_its_last_word_and_its_cost(tmp_path: Path, token: str) -> None:
    """Claude Code gives its result, with what it cost, 0.3 s after SIGINT (facts/agents §1.3)."""
    folder = tmp_path / "1"
    script = """
def last(*_):
    time.sleep(0.3); result(subtype="error_during_execution", terminal_reason="aborted_tools", total_cost_usd=0.5); sys.exit(0)
signal.signal(signal.SIGINT, last); begin(); sleeper(start_new_session=True)
while True: time.sleep(1)
"""
    launch = order(folder, script, token)
    found: list[End] = []
    thread = threading.Thread(target=lambda: found.append(HostRuns().run(folder, launch)))
    thread.start()
    wait_until(lambda: seen(token))
    HostRuns().cancel(folder)
    thread.join(30)
    reading = read(folder, "claude", found[0])
    assert (found[0].how, reading.outcome.kind, reading.seen.usd) == ("cancelled", "cancelled", 0.5)
    assert seen(token) == []


def test_two_runs_of_a_client_in_one_home_at_once_are_refused(tmp_path: Path, token: str) -> None:
    first = order(tmp_path / "1", "begin(); stay()", token)
    second = order(tmp_path / "2", "begin(); result()", token)
    shared = Launch(argv=second.argv, env={**second.env, "HOME": first.env["HOME"]}, cwd=second.cwd, split=True)
    thread = threading.Thread(target=HostRuns().run, args=(tmp_path / "1", first))
    thread.start()
    wait_until(lambda: seen(token))
    refused = HostRuns().run(tmp_path / "2", shared)
    assert refused.how == "failed-to-start"
    assert str(runner_pid(tmp_path / "1")) in refused.message
    assert first.env["HOME"] in refused.message
    HostRuns().cancel(tmp_path / "1")
    thread.join(30)
    assert {path.name for path in (tmp_path / "2").iterdir()} >= {"spec.json", "started.json", "exit.json"}
    (tmp_path / "3").mkdir()
    assert HostRuns().run(tmp_path / "3", shared).how == "exited", "afterwards it is free"
