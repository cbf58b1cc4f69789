"""Attempts of agents that speak in streams: two logs, a last word, a first byte, models behind a gateway, and what no log may show."""

from __future__ import annotations

import json
import os
import secrets
import socket
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.integration.host.boxes import Box, a_box
from tests.integration.runner.attempt import launch, runner_pid, tidy
from tests.integration.watching import seen, wait_until

from interlock.core.agent.gateway import MODEL_PORT, Ceiling, ModelGateway, Reached, Upstream
from interlock.core.agent.usage import Price
from interlock.host import environment
from interlock.host.attempts import HostRuns
from interlock.host.folder import Folder
from interlock.ports.processes import End, Launch

LAST = '{"subtype": "success", "type": "result"}'
KEY = "sk-live-0123456789abcdef"


@pytest.fixture(autouse=True)
def nothing_stays(tmp_path: Path) -> Iterator[None]:
    yield
    tidy(tmp_path)


@pytest.fixture
def token() -> str:
    return f"interlock-test-{secrets.token_hex(6)}"


@pytest.fixture
def box() -> Iterator[Box]:
    with a_box() as found:
        yield found


def test_the_two_streams_have_a_log_each_and_the_tail_tells_them_apart(tmp_path: Path) -> None:
    order = replace(launch("echo '{}'; printf 'a \\377 warning\\n' >&2; echo done", tmp_path), split=True)
    end = HostRuns().run(tmp_path / "1", order)
    assert (tmp_path / "1" / "output.log").read_bytes() == b"{}\ndone\n"
    assert (tmp_path / "1" / "errors.log").read_bytes() == b"a \xff warning\n"
    assert end.tail == "{}\ndone\nstderr: a \ufffd warning"
    merged = HostRuns().run(tmp_path / "2", launch("echo one; echo two >&2", tmp_path))
    assert merged.tail == "one\ntwo"
    assert not (tmp_path / "2" / "errors.log").exists()


def test_a_flood_on_either_stream_holds_nothing_up_and_the_last_word_stays(tmp_path: Path) -> None:
    script = f"head -c 3000000 /dev/zero | tr '\\0' e >&2 & head -c 60000000 /dev/zero | tr '\\0' o; wait; echo; echo '{LAST}'"
    end = HostRuns().run(tmp_path / "1", replace(launch(script, tmp_path), split=True, ends=("result",)))
    assert (end.how, end.exit_code) == ("exited", 0)
    assert (tmp_path / "1" / "errors.log").stat().st_size == 3_000_000
    lines = (tmp_path / "1" / "output.log").read_bytes().split(b"\n")
    marks = [line for line in lines if line.startswith(b"[interlock: ")]
    assert [line.endswith(b" bytes cut here]") for line in marks] == [True], "the mark is a line of its own"
    assert json.loads(lines[-2])["type"] == "result", "what stands at the end is whole"


def test_who_said_its_last_and_stays_is_ended_and_who_leaves_has_exited(tmp_path: Path, token: str) -> None:
    said = f"echo 'starting up'; echo '{LAST}';"
    stays = launch(f"{said} setsid bash -c 'exec -a {token} sleep 600' & exec -a {token} sleep 600", tmp_path)
    leaves = launch(f"{said} sleep 0.3; exit 4", tmp_path)
    silent = launch("sleep 0.8; exit 0", tmp_path)
    ends = [
        HostRuns().run(tmp_path / str(number), replace(order, ends=("result",), after_end=0.5))
        for number, order in enumerate((stays, leaves, silent))
    ]
    assert [(end.how, end.exit_code) for end in ends] == [("ended", None), ("exited", 4), ("exited", 0)]
    assert "did not leave" in ends[0].message
    assert seen(token) == []


def test_the_first_byte_is_waited_for_on_either_stream(tmp_path: Path) -> None:
    limits = {"startup": 0.6, "split": True}
    mute = HostRuns().run(tmp_path / "1", replace(launch("sleep 600", tmp_path), **limits))  # type: ignore[arg-type]
    spoke = HostRuns().run(tmp_path / "2", replace(launch("echo . >&2; sleep 1.2", tmp_path), **limits))  # type: ignore[arg-type]
    assert (mute.how, spoke.how) == ("startup-limit", "exited")


def test_a_waiting_agent_is_not_idle(tmp_path: Path) -> None:
    script = """for _ in 1 2 3 4 5 6 7 8; do echo '{"type": "interlock.waiting"}'; sleep 0.2; done"""
    end = HostRuns().run(tmp_path / "1", replace(launch(script, tmp_path), idle=0.9, split=True, ends=("result",)))
    assert (end.how, end.exit_code) == ("exited", 0)


def test_secrets_reach_neither_log_and_leave_the_order_once_it_is_carried_out(tmp_path: Path) -> None:
    folder = tmp_path / "1"
    script = f"echo ${{TOKEN}}; echo $TOKEN | base64 >&2; while [ ! -e {tmp_path}/go ]; do sleep 0.02; done"
    order = replace(launch(script, tmp_path, TOKEN=KEY), redact=(KEY,), split=True)
    thread = threading.Thread(target=HostRuns().run, args=(folder, order))
    thread.start()
    wait_until(Folder(folder).agent)
    assert KEY not in (folder / "spec.json").read_text(), "not even while it runs"
    (tmp_path / "go").touch()
    thread.join(30)
    for path in folder.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path
    assert (folder / "output.log").read_bytes() == b"[redacted]\n"
    assert b"[redacted]" in (folder / "errors.log").read_bytes()


# ---------------------------------------------------------------- models
ASK = """
import json, sys, time, urllib.request
print("asking", flush=True)
for _ in range(2):
    body = json.dumps({"model": "m1", "max_tokens": 9, "messages": []}).encode()
    ask = urllib.request.Request(sys.argv[1] + "/v1/messages", body, {"x-api-key": "t1", "content-type": "application/json"})
    try:
        urllib.request.urlopen(ask, timeout=10)
    except urllib.error.HTTPError as fault:
        print("answered", fault.code, flush=True)
time.sleep(float(sys.argv[2]))
"""


def gateway(tmp_path: Path, listen: str) -> ModelGateway:
    """One that has nothing left to spend."""
    return ModelGateway(
        upstreams=(Upstream(name="v", dialects=("anthropic",), url="http://127.0.0.1:9", key=KEY),),
        token="t1",
        listen=listen,
        record=str(tmp_path / "1"),
        ledgers=str(tmp_path),
        ledger=str(tmp_path / "ledger.json"),
        prices={"m1": Price(input=1.0, output=1.0)},
        ceilings=(Ceiling(scope="attempt", text="tokens 5 for the attempt", tokens=5, spent_tokens=5),),
    )


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def ask(tmp_path: Path, seconds: float) -> End:
    port = free_port()
    (tmp_path / "ask.py").write_text(ASK)
    order = Launch(
        argv=(sys.executable, str(tmp_path / "ask.py"), f"http://127.0.0.1:{port}/v", str(seconds)),
        env={"PATH": os.environ["PATH"]},
        cwd=tmp_path,
        split=True,
        gateway=gateway(tmp_path, f"tcp:127.0.0.1:{port}"),
    )
    return HostRuns().run(tmp_path / "1", order)


@pytest.mark.parametrize(("seconds", "how"), [(600.0, "budget"), (0.0, "exited")])
def test_a_refused_call_ends_the_agent_unless_it_ends_itself(tmp_path: Path, seconds: float, how: str) -> None:
    end = ask(tmp_path, seconds)
    assert end.how == how
    assert "tokens 5 for the attempt" in end.budget
    assert end.reached == Reached(scope="attempt", unit="tokens")
    assert (tmp_path / "1" / "output.log").read_text().startswith("asking\nanswered 4")
    assert KEY not in (tmp_path / "1" / "spec.json").read_text()
    if how == "budget":
        assert end.message == end.budget


def test_inside_a_sandbox_the_gateway_is_there_and_the_key_is_not(box: Box, tmp_path: Path) -> None:
    (box.root / "tree" / "ask.py").write_text(ASK)
    box.own()
    url = f"http://127.0.0.1:{MODEL_PORT}/v"
    look = f"env; cat /proc/*/environ; grep -rs {KEY[:12]} /run /home /ws /tmp && echo found"
    order = Launch(
        argv=("bash", "-c", f"python3 ask.py {url} 0; {look}; true"),
        env=environment.inside({}, box.sandbox),
        cwd=box.root / "tree",
        split=True,
        sandbox=box.sandbox,
        gateway=gateway(tmp_path, "unix"),
    )
    end = HostRuns().run(tmp_path / "1", order)
    assert (end.how, end.exit_code) == ("exited", 0), end
    assert "tokens 5 for the attempt" in end.budget
    output = (tmp_path / "1" / "output.log").read_text()
    assert "answered 4" in output
    assert "[redacted]" not in output
    assert "found" not in output


def test_a_gateway_that_cannot_stand_is_a_failure_to_start(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        listen = f"tcp:127.0.0.1:{taken.getsockname()[1]}"
        order = replace(launch(f"touch {tmp_path}/ran", tmp_path), gateway=gateway(tmp_path, listen))
        end = HostRuns().run(tmp_path / "1", order)
    assert end.how == "failed-to-start"
    assert "gateway cannot be served" in end.message
    assert not (tmp_path / "ran").exists()


def test_a_killed_runner_leaves_no_key_behind(tmp_path: Path) -> None:
    order = replace(
        launch("sleep 600", tmp_path), gateway=gateway(tmp_path, f"tcp:127.0.0.1:{free_port()}"), split=True
    )
    found: list[End] = []
    thread = threading.Thread(target=lambda: found.append(HostRuns().run(tmp_path / "1", order)))
    thread.start()
    wait_until(Folder(tmp_path / "1").agent)
    pid = runner_pid(tmp_path / "1")
    assert pid is not None
    os.kill(pid, 9)
    thread.join(30)
    assert found[0].how == "interrupted"
    assert KEY not in (tmp_path / "1" / "spec.json").read_text()


# ---------------------------------------------------------------- trees beside
def test_what_changes_beside_the_task_meanwhile_is_told(tmp_path: Path) -> None:
    from tests.integration.git.build import git

    main, own = tmp_path / "main", tmp_path / "own"
    for each in (main, own):
        each.mkdir()
    git(main, "init", "-q")
    quiet = HostRuns().run(tmp_path / "1", replace(launch("echo x > mine", own), watched=(main,)))
    loud = HostRuns().run(tmp_path / "2", replace(launch(f"echo x > {main}/x.py", own), watched=(main,)))
    assert (quiet.leaked, loud.leaked) == ((), (f"{main}/x.py",))
    assert not (tmp_path / "2" / "around").exists()
