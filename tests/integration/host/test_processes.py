"""One long process under limits, in a pid namespace and below a subreaper: real processes, real signals."""

from __future__ import annotations

import os
import re
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.integration.watching import seen, wait_until

from interlock.host import namespace, processes, tree
from interlock.host.processes import MARKER, Cap, Ended, Limits

Run = Callable[..., Ended]


@pytest.fixture(params=["namespace", "subreaper"])
def contain(request: pytest.FixtureRequest) -> bool:
    if request.param == "namespace" and namespace.prefix() is None:
        pytest.skip("no pid namespace can be had here")
    return bool(request.param == "namespace")


@pytest.fixture
def token() -> str:
    return f"interlock-test-{secrets.token_hex(6)}"


@pytest.fixture
def run(tmp_path: Path, contain: bool) -> Run:
    def start(script: str, **more: object) -> Ended:
        more = {"env": {"PATH": os.environ["PATH"]}, **more}
        return processes.run(
            ("bash", "-c", script),
            cwd=tmp_path,
            log=tmp_path / "log",
            contain=contain,
            **more,  # type: ignore[arg-type]
        )

    return start


def output(tmp_path: Path) -> bytes:
    return (tmp_path / "log").read_bytes()


def test_its_exit_code_and_both_outputs_are_kept_in_order(run: Run, tmp_path: Path, contain: bool) -> None:
    ended = run("echo one; echo two >&2; echo three; exit 7")
    assert (ended.how, ended.exit_code, ended.leftovers, ended.namespace) == ("exited", 7, (), contain)
    assert output(tmp_path) == b"one\ntwo\nthree\n"
    assert ended.written == 14
    assert not ended.cut


def test_it_gets_exactly_the_environment_it_was_given(run: Run, tmp_path: Path) -> None:
    names = {"PATH": os.environ["PATH"], "ODD": "a=b\nc d\udc80", "EMPTY": ""}
    run("env -0", env=names)
    pairs = (part.partition(b"=") for part in output(tmp_path).split(b"\0") if part)
    got = {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}
    marker = got.pop(MARKER)
    assert re.fullmatch(r"[0-9a-f]{16}", marker)
    # bash itself adds these three to any environment.
    assert got == {**names, "PWD": str(tmp_path), "SHLVL": "0", "_": got["_"]}


def test_a_long_command_line_and_environment_arrive_whole(run: Run, tmp_path: Path) -> None:
    env = {"PATH": os.environ["PATH"], "ONE": "x" * 120_000, "TWO": "y" * 120_000}
    run(f"echo ${{#ONE}} ${{#TWO}} {'z' * 100_000} | wc -c", env=env)
    assert output(tmp_path) == b"100015\n"


def test_standard_input_is_the_given_bytes_and_otherwise_at_its_end(run: Run, tmp_path: Path) -> None:
    large = secrets.token_bytes(300_000)
    run("cat", stdin=large)
    assert output(tmp_path) == large
    assert run("cat; echo over").exit_code == 0
    assert output(tmp_path) == b"over\n"


def test_it_is_the_leader_of_a_session_of_its_own(run: Run, tmp_path: Path) -> None:
    run("ps -o sid=,pid= -p $$")
    session, pid = output(tmp_path).split()
    assert session == pid


def test_no_descriptor_of_ours_is_inherited(run: Run, tmp_path: Path) -> None:
    with (tmp_path / "other").open("w") as other:
        os.set_inheritable(other.fileno(), False)
        run('for f in /proc/$$/fd/*; do [ -e "$f" ] && echo "${f##*/}"; done; true')
    assert set(output(tmp_path).split()) <= {b"0", b"1", b"2", b"255"}


def test_a_program_that_is_not_there_did_not_start(tmp_path: Path, contain: bool) -> None:
    env = {"PATH": os.environ["PATH"]}
    ended = processes.run(("no-such-program",), env=env, cwd=tmp_path, log=tmp_path / "log", contain=contain)
    assert (ended.how, ended.exit_code) == ("failed-to-start", None)
    assert ended.message == "No such file or directory: no-such-program"


def test_a_folder_that_is_not_there_did_not_start(tmp_path: Path, contain: bool) -> None:
    ended = processes.run(("true",), env={}, cwd=tmp_path / "gone", log=tmp_path / "log", contain=contain)
    assert ended.how == "failed-to-start"
    assert str(tmp_path / "gone") in ended.message


def test_a_signal_is_no_exit_code(run: Run) -> None:
    ended = run("kill -SEGV $$")
    assert (ended.how, ended.exit_code, ended.message) == ("signalled", None, "It was ended by SIGSEGV.")


def test_the_wall_limit_ends_what_ignores_every_polite_signal(run: Run, token: str, tmp_path: Path) -> None:
    began = time.monotonic()
    ended = run(f"trap '' INT TERM; echo begun; exec -a {token} sleep 600", limits=Limits(wall=0.5))
    assert ended.how == "wall-limit"
    assert "0.5 s" in ended.message
    assert time.monotonic() - began < 0.5 + 2.0
    assert seen(token) == []
    assert output(tmp_path) == b"begun\n"


def test_the_first_signal_is_an_interrupt_that_it_may_answer(run: Run, tmp_path: Path) -> None:
    script = "trap 'echo asked to stop; exit 9' INT; echo up; while :; do sleep 0.05; done"
    ended = run(script, limits=Limits(wall=0.4, interrupt=5.0))
    assert (ended.how, ended.exit_code) == ("wall-limit", 9)
    assert output(tmp_path) == b"up\nasked to stop\n"


def test_silence_is_limited_and_output_breaks_it(run: Run) -> None:
    talkative = run("for i in 1 2 3 4 5 6; do echo $i; sleep 0.1; done", limits=Limits(idle=0.5))
    assert talkative.how == "exited"
    silent = run("echo one; sleep 600", limits=Limits(idle=0.4))
    assert silent.how == "idle-limit"
    assert "0.4 s" in silent.message


def test_a_word_ends_it_within_two_seconds_with_all_that_it_started(run: Run, token: str) -> None:
    """The goal: cancel to a dead process tree in two seconds, processes in other sessions included.

    The best of five counts: a machine that is busy with something else is slower at the moment.
    """
    took = next((each for _ in range(5) if (each := _seconds_to_end(run, token)) < 2.0), None)
    assert took is not None


def _seconds_to_end(run: Run, token: str) -> float:
    script = f"setsid bash -c 'exec -a {token} sleep 600' & (trap '' INT TERM; exec -a {token} sleep 600) & trap '' INT TERM; wait"
    asked: list[float] = []

    def ask() -> str | None:
        if len(seen(token)) < 2:
            return None
        asked.append(time.monotonic())
        return "cancelled"

    ended = run(script, ask=ask)
    took = time.monotonic() - asked[0]
    assert ended.how == "cancelled"
    assert seen(token) == []
    return took


def test_a_word_before_the_start_means_no_start(run: Run, tmp_path: Path) -> None:
    ended = run("touch started", ask=lambda: "cancelled")
    assert (ended.how, ended.seconds) == ("cancelled", 0.0)
    assert not (tmp_path / "started").exists()


def test_leftovers_are_named_and_ended(run: Run, token: str) -> None:
    ended = run(f"setsid bash -c 'exec -a {token} sleep 600' >/dev/null 2>&1 & exit 0")
    assert (ended.how, ended.exit_code) == ("exited", 0)
    assert len(ended.leftovers) == 1
    assert re.fullmatch(r"\d+ sleep", ended.leftovers[0])
    assert seen(token) == []
    assert ended.seconds < 2.0


def test_a_leftover_without_our_environment_is_ended_too(run: Run, token: str) -> None:
    ended = run(f"env -i setsid bash -c 'trap \"\" TERM HUP; exec -a {token} sleep 600' & exit 0")
    assert len(ended.leftovers) == 1
    assert seen(token) == []


def test_what_ends_by_itself_in_a_moment_is_no_leftover(run: Run) -> None:
    tries = (run("sleep 0.05 & exit 0") for _ in range(5))  # on a loaded machine it may sleep for longer
    assert any(ended.leftovers == () for ended in tries)


def test_who_runs_is_told_with_an_identity_of_this_machine(run: Run, token: str) -> None:
    told: list[processes.Started] = []
    alive: list[bool] = []

    def started(facts: processes.Started) -> None:
        told.append(facts)
        assert facts.process is not None
        alive.append(tree.alive(facts.process))

    run(f"exec -a {token} sleep 0.3", started=started)
    assert alive == [True]
    assert told[0].process is not None
    assert not tree.alive(told[0].process)


def test_a_large_log_keeps_its_head_its_tail_and_says_what_is_cut(run: Run, tmp_path: Path) -> None:
    ended = run("seq 1 200000", cap=Cap(head=1000, tail=500))
    whole = b"".join(b"%d\n" % number for number in range(1, 200_001))
    assert ended.written == len(whole)
    assert ended.cut
    kept = output(tmp_path)
    mark = f"\n[interlock: {len(whole) - 1500} bytes cut here]\n".encode()
    assert kept == whole[:1000] + mark + whole[-500:]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log"]


def test_a_log_just_below_the_cap_is_whole(run: Run, tmp_path: Path) -> None:
    ended = run("printf '%01500d' 7", cap=Cap(head=1000, tail=500))
    assert not ended.cut
    assert output(tmp_path) == b"7".rjust(1500, b"0")


def test_a_log_that_cannot_be_written_leaves_nothing_running(tmp_path: Path, contain: bool, token: str) -> None:
    class Full(Exception):
        pass

    def ask() -> str | None:
        if seen(token):
            raise Full
        return None

    argv = ("bash", "-c", f"exec -a {token} sleep 600")
    with pytest.raises(Full):
        processes.run(
            argv, env={"PATH": os.environ["PATH"]}, cwd=tmp_path, log=tmp_path / "log", ask=ask, contain=contain
        )
    assert seen(token) == []
    with pytest.raises(OSError, match="No such file"):
        processes.run(argv, env={}, cwd=tmp_path, log=tmp_path / "gone" / "log", contain=contain)


STARTER = """
import os, sys
from pathlib import Path
from interlock.host import processes
folder = Path(sys.argv[1])
processes.run(("bash", "-c", sys.argv[2]), env={"PATH": os.environ["PATH"]}, cwd=folder, log=folder / "log",
              contain=sys.argv[3] == "True")
"""


def test_a_killed_starter_leaves_nothing(tmp_path: Path, contain: bool, token: str) -> None:
    script = f"setsid bash -c 'exec -a {token} sleep 600' & exec -a {token} sleep 600"
    starter = subprocess.Popen([sys.executable, "-c", STARTER, str(tmp_path), script, str(contain)])
    wait_until(lambda: len(seen(token)) == 2)
    starter.send_signal(signal.SIGKILL)
    starter.wait()
    wait_until(lambda: seen(token) == [])


def test_a_killed_keeper_is_an_interruption_and_leaves_nothing(tmp_path: Path, contain: bool, token: str) -> None:
    def ask() -> str | None:
        found = seen(token)
        if len(found) == 2:
            below = next(who for who in tree.descendants(os.getpid()) if _is_keeper(who))
            tree.send(below, signal.SIGKILL)
        return None

    script = f"setsid bash -c 'exec -a {token} sleep 600' & exec -a {token} sleep 600"
    env = {"PATH": os.environ["PATH"]}
    ended = processes.run(("bash", "-c", script), env=env, cwd=tmp_path, log=tmp_path / "log", ask=ask, contain=contain)
    assert ended.how == "interrupted"
    assert seen(token) == []


def _is_keeper(who: tree.Identity) -> bool:
    return b"interlock.host.keeper" in Path(f"/proc/{who.pid}/cmdline").read_bytes()


def test_runs_at_the_same_time_in_one_process_do_not_meet(tmp_path: Path, contain: bool) -> None:
    ended: dict[int, Ended] = {}

    def one(number: int) -> None:
        folder = tmp_path / str(number)
        folder.mkdir()
        # Odd runs leave something behind, even ones are still at work when those are swept.
        script = "setsid sleep 600 & exit 1" if number % 2 else "sleep 0.8; echo done"
        env = {"PATH": os.environ["PATH"]}
        ended[number] = processes.run(("bash", "-c", script), env=env, cwd=folder, log=folder / "log", contain=contain)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [ended[number].exit_code for number in range(6)] == [0, 1, 0, 1, 0, 1]
    assert [len(ended[number].leftovers) for number in range(6)] == [0, 1, 0, 1, 0, 1]


def test_the_null_byte_never_reaches_a_command(run: Run) -> None:
    with pytest.raises(ValueError, match="null byte"):
        run("echo a\0b")
