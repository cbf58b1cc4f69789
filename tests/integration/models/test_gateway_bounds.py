"""What an agent cannot make a model gateway do: forget what was spent, count too little, stand still, hold too much, or tell the key."""

from __future__ import annotations

import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.integration.models.standing import (
    BEGUN,
    DONE,
    KEY,
    MESSAGE,
    STREAM,
    TOKEN,
    Talk,
    chunk,
    ledger,
    obedient,
    standing,
    told,
    whole,
)

from interlock.adapters.records import JobRecords
from interlock.core.agent.gateway import Ceiling
from interlock.core.agent.usage import Usage
from interlock.host.models import body, meter, passing
from interlock.host.models import call_record as lines
from interlock.host.models.meter import Meter
from interlock.testing.models import Say, ScriptedModels, Tokens

ASK: dict[str, Any] = {"model": "cheap", "messages": []}
LIMIT = Ceiling(scope="attempt", text="1000 tokens for the attempt", tokens=1000)


def leave(talk: Talk, path: str, said: dict[str, Any]) -> None:
    """A client that hangs up as soon as the answer begins."""
    data = json.dumps(said).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nx-api-key: {TOKEN}\r\ncontent-length: {len(data)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", talk.port)) as sock:
        sock.sendall(head.encode() + data)
        assert sock.recv(10)


def wait_for_line(root: Path) -> dict[str, Any]:
    while not told(root):
        time.sleep(0.01)
    return told(root)[0]


def test_calls_that_cost_nothing_push_no_paid_one_off_the_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "MOST_FREE", 20)
    records = JobRecords(tmp_path / "records")
    folders = {"record": str(records.attempt("j1", 1)), "ledgers": str(records.ledgers())}
    assert records.ledger("j1", 1) is None
    with ScriptedModels() as models, standing(tmp_path, models.play("s", Say("hi")), **folders) as (_, talk):
        assert [talk.say()[0] for _ in range(3)] == [200] * 3
        connection = talk.open()
        for _ in range(60):
            connection.request("GET", "/nobody/" + "x" * 3000)
            assert connection.getresponse().read()
        connection.close()
    assert len([call for call in records.calls("j1", 1) if not call.refused]) == 3
    written = (records.attempt("j1", 1) / "models.jsonl").read_text().splitlines()
    assert (len(written), json.loads(written[-1])["left_out"]) == (3 + 20 + 1, 40)
    assert max(map(len, written)) < 1500
    assert records.ledger("j1", 1) == {"tokens": 3150, "usd": 0.0045, "calls": 3, "unpriced": 0}


def test_a_client_that_hangs_up_is_charged_what_its_vendor_says(tmp_path: Path) -> None:
    gone = threading.Event()

    def serve(come: socket.socket, _: bytes) -> None:
        come.sendall(STREAM + chunk(BEGUN))
        gone.wait(10)
        time.sleep(0.1)
        come.sendall(chunk(DONE) + b"0\r\n\r\n")

    with obedient(serve) as vendor, standing(tmp_path, vendor.url) as (_, talk):
        leave(talk, "/vendor/v1/messages", ASK)
        gone.set()
        line = wait_for_line(tmp_path)
    assert (line["cut"], line["estimated"], Usage(**line["usage"]).total) == ("client", False, 1050)
    assert ledger(tmp_path) == {"tokens": 1050, "usd": 0.0015, "calls": 1, "unpriced": 0}


def test_without_a_word_of_its_vendor_it_is_charged_what_it_may_have_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was thought and never shown, and what the vendor remembers, are in no byte that passes here."""
    monkeypatch.setattr(passing, "READ_ON_SECONDS", 0.1)
    first = b'{"model": "cheap", "usage": {"input_tokens": 200000, "output_tokens": 10}}'
    done = threading.Event()

    def serve(come: socket.socket, request: bytes) -> None:
        if b"previous" not in request:
            come.sendall(whole(first))
            return
        come.sendall(STREAM + chunk(b'data: {"type": "response.output_text.delta", "delta": "x"}\n\n'))
        done.wait(10)

    asked = {"model": "cheap", "input": [], "previous_response_id": "r", "max_output_tokens": 5000}
    with obedient(serve) as vendor:
        with standing(tmp_path, vendor.url) as (_, talk):
            assert talk.say("responses")[0] == 200
            leave(talk, "/vendor/v1/responses", asked)
            while len(told(tmp_path)) < 2:
                time.sleep(0.01)
        done.set()
        with standing(tmp_path / "limited", vendor.url, ceilings=(LIMIT,)) as (served, talk):
            status, answer = talk.ask(path="/vendor/v1/responses", body=asked)
            assert (status, b"previous_response_id" in answer, served.refused()) == (400, True, "")
    assert ledger(tmp_path)["tokens"] == 200_010 + 205_000


def test_calls_at_once_have_room_or_wait(tmp_path: Path) -> None:
    """Sixty at once under a limit that the first one uses up: one is let through, and all others are refused."""
    dear = Tokens(input=208_000, cached=0)
    with (
        ScriptedModels() as models,
        standing(tmp_path, models.play("s", Say("hi"), tokens=dear), ceilings=(LIMIT,)) as (_, talk),
        ThreadPoolExecutor(60) as crowd,
    ):
        found = list(crowd.map(lambda _: talk.say()[0], range(60)))
    assert (found.count(200), found.count(402)) == (1, 59)
    assert ledger(tmp_path)["calls"] == 1


def test_a_request_that_is_slow_to_read_keeps_nobody_waiting(tmp_path: Path) -> None:
    with obedient(lambda come, _: come.sendall(whole(MESSAGE))) as vendor, standing(tmp_path, vendor.url) as (_, talk):
        status, answer = talk.ask(body=b'{"model": "cheap", "x": [' + b'{"y":1},' * 2_000_000 + b"1]}")
        assert (status, b"parts" in answer) == (400, True)
        status, answer = talk.ask("GET", "/vendor/v1/models", body=b"{}")
        assert (status, b"no body" in answer) == (400, True)
        status, answer = talk.ask(body={**ASK, "tools": [{"type": "web_fetch_20250910", "name": "w"}]})
        assert (status, b"web_fetch" in answer) == (400, True)
        assert vendor.heard == []
        assert talk.say()[0] == 200


def test_requests_that_are_held_together_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body, "MOST_HELD", 3 << 20)
    held = threading.Event()
    large = json.dumps({**ASK, "x": "y" * (2 << 20)}).encode()

    def serve(come: socket.socket, _: bytes) -> None:
        held.wait(10)
        come.sendall(whole(MESSAGE))

    with obedient(serve) as vendor, standing(tmp_path, vendor.url) as (_, talk), ThreadPoolExecutor(1) as other:
        first = other.submit(talk.ask, body=large)
        while not vendor.heard:
            time.sleep(0.01)
        assert talk.ask(body=large)[0] == 503
        held.set()
        assert first.result()[0] == 200
        assert talk.ask(body=large)[0] == 200


def test_a_vendor_that_echoes_the_key_tells_it_to_nobody(tmp_path: Path) -> None:
    """In a stream byte by byte, in an error, and in a field."""

    def serve(come: socket.socket, request: bytes) -> None:
        echo = request.partition(b"\r\n\r\n")[0]
        if b"count_tokens" in echo:
            come.sendall(whole(echo, b"X-Echo: " + KEY.encode()).replace(b"200 OK", b"400 Bad", 1))
            return
        come.sendall(STREAM + b"".join(chunk(bytes((each,))) for each in echo) + chunk(DONE) + b"0\r\n\r\n")

    with obedient(serve) as vendor, standing(tmp_path, vendor.url) as (_, talk):
        for path, expected in (("/vendor/v1/messages", 200), ("/vendor/v1/messages/count_tokens", 400)):
            connection = talk.open()
            connection.request("POST", path, json.dumps(ASK), {"x-api-key": TOKEN})
            answer = connection.getresponse()
            heard = answer.read() + str(answer.headers).encode()
            connection.close()
            assert answer.status == expected
            assert KEY.encode() not in heard
            assert heard.count(b"x-api-key: " + b"*" * len(KEY)) == 1
            assert answer.headers["x-echo"] in (None, "*" * len(KEY))
        assert KEY.encode() in vendor.heard[0]


@pytest.mark.parametrize("fault", ["figure", "meter", "price", "disk"])
def test_whatever_goes_wrong_with_counting_leaves_its_line_and_its_ledger(
    tmp_path: Path, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    figure = b"9" * 400 if fault == "figure" else b"800"
    message = b'{"type": "message", "model": "cheap", "usage": {"input_tokens": %s, "output_tokens": 5}}' % figure
    with obedient(lambda come, _: come.sendall(whole(message))) as vendor, standing(tmp_path, vendor.url) as (_, talk):

        def broken(*_: object, **__: object) -> Any:
            raise OverflowError("a fault of ours")

        if fault == "meter":
            monkeypatch.setitem(meter._READERS, "anthropic", broken)
        if fault == "price":
            monkeypatch.setattr("interlock.host.models.budget.Budget.price", broken)
        if fault == "disk":
            monkeypatch.setattr(Path, "write_text", lambda *_, **__: (_ for _ in ()).throw(OSError(28, "full")))
        assert talk.say() == (200, message)
        if fault == "disk":
            status, answer = talk.say()
            assert (status, b"make room" in answer) == (503, True)
        monkeypatch.undo()
        assert talk.say()[0] == 200
    assert [line["metered"] for line in told(tmp_path) if not line["refused"]] == [True, True]
    found = ledger(tmp_path)
    assert found["calls"] == 2
    assert found["tokens"] >= 10


def test_a_name_of_a_model_is_told_short_and_safe(tmp_path: Path) -> None:
    limit = Ceiling(scope="job", text="usd 4 for the job", usd=4.0)
    with obedient(lambda come, _: None) as vendor, standing(tmp_path, vendor.url, ceilings=(limit,)) as (served, talk):
        assert talk.say(model="dear\x1b[31m" + "x" * 6000)[0] == 400
        assert talk.say(model="dear\x1b[31m" + "x" * 150)[0] == 402
        assert "\x1b" not in served.refused()
        assert len(served.refused()) < 600


def test_rounds_that_the_totals_leave_out_are_counted() -> None:
    rounds = [
        {"type": "compaction", "input_tokens": 180_000, "output_tokens": 3500},
        {"type": "message", "input_tokens": 23_000, "output_tokens": 1000, "cache_read_input_tokens": 5},
    ]
    used = {"input_tokens": 23_000, "output_tokens": 1000, "cache_read_input_tokens": 5, "iterations": rounds}
    expected = Usage(uncached_input=203_000, output=4500, cache_read=5)
    plain = Meter("anthropic")
    plain.feed(json.dumps({"type": "message", "usage": used}).encode())
    plain.end()
    assert (plain.usage, plain.whole) == (expected, True)
    stream = Meter("anthropic")
    stream.feed(BEGUN)
    stream.feed(f"data: {json.dumps({'type': 'message_delta', 'usage': used})}\n\n".encode())
    assert stream.usage.total == expected.total
