"""What a model gateway passes on, unchanged and as it comes, and what it writes down of that."""

from __future__ import annotations

import http.client
import json
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.integration.models.standing import (
    BEGUN,
    DONE,
    KEY,
    MESSAGE,
    PATHS,
    STREAM,
    TOKEN,
    TOOL,
    Talk,
    chunk,
    gateway,
    ledger,
    obedient,
    standing,
    told,
    whole,
)

from interlock.adapters.records import JobRecords
from interlock.core.agent.gateway import Ceiling, Upstream, to_json
from interlock.core.agent.usage import Usage
from interlock.host.models import body, passing
from interlock.testing.models import Cut, Fault, Say, ScriptedModels

ASK = {"model": "cheap", "messages": []}


def answer_whole(come: socket.socket, _: bytes) -> None:
    come.sendall(whole(MESSAGE, b"Set-Cookie: a=b", b"X-Kept: yes"))


def test_a_call_is_passed_on_with_the_real_key_and_nothing_else_changed(tmp_path: Path) -> None:
    sent = b'{ "messages" : [1, 2.50],\n "model":"cheap", "n": 1e3, "text": "\\u00e9 \xc3\xa9" }'
    with obedient(answer_whole) as vendor, standing(tmp_path, vendor.url) as (_, talk):
        connection = talk.open()
        for number in range(3):
            fields = {
                "Authorization": f"Bearer {TOKEN}",
                "X-Api-Key": "something",
                "Cookie": "c=d",
                "Accept-Encoding": "br",
                "Anthropic-Beta": f"b-{number}",
                "Connection": "keep-alive, x-hop",
                "X-Hop": "1",
                "Expect": "100-continue",
            }
            connection.request("POST", "/vendor/v1/messages?beta=true", sent, fields)
            answer = connection.getresponse()
            assert (answer.status, answer.headers["x-kept"], answer.headers["set-cookie"]) == (200, "yes", None)
            assert answer.read() == MESSAGE
        connection.close()
        assert vendor.connections == 1
        head, _, arrived = vendor.heard[1].partition(b"\r\n\r\n")
        lines = head.lower().split(b"\r\n")
    assert arrived == sent
    assert lines[0] == b"post /base/v1/messages?beta=true http/1.1"
    assert [line for line in lines if line.startswith(b"x-api-key")] == [b"x-api-key: " + KEY.encode()]
    assert b"anthropic-beta: b-1" in lines
    assert b"accept-encoding: identity" in lines
    for gone in (b"authorization", b"cookie", b"x-hop", b"expect", b"connection"):
        assert not [line for line in lines if line.startswith(gone)], gone
    assert TOKEN.encode() not in head
    assert ledger(tmp_path) == {"tokens": 3150, "usd": 0.0045, "calls": 3, "unpriced": 0}
    assert KEY not in (tmp_path / "record" / "models.jsonl").read_text()


def test_the_other_dialects_get_the_key_in_their_own_form_and_streams_of_chat_their_usage(tmp_path: Path) -> None:
    with ScriptedModels() as models, standing(tmp_path, models.play("s", Say("hi"), key=KEY)) as (_, talk):
        for dialect in PATHS:
            for stream in (False, True):
                assert talk.say(dialect, stream=stream)[0] == 200
        assert [each.auth for each in models.journal.of("s")] == [KEY] * 6
        asked = [each.body for each in models.journal.of("s") if each.dialect == "chat"]
        assert [each.get("stream_options") for each in asked] == [None, {"include_usage": True}]
        assert talk.ask("GET", "/vendor/v1/models")[0] == 200
        assert talk.ask(path="/vendor/v1/messages/count_tokens", body=ASK)[0] == 200
        assert [talk.ask(method, "/vendor", token="")[0] for method in ("GET", "HEAD")] == [200, 200]
    calls = [line for line in told(tmp_path) if line["metered"]]
    for call in calls:
        assert Usage(**call["usage"]).total == 1050, call
        assert (call["usage"]["uncached_input"], call["usage"]["cache_read"], call["usage"]["output"]) == (800, 200, 50)
        assert (call["model"], call["usd"], call["estimated"], call["cut"]) == ("cheap", 0.0015, False, "")
        assert 0 < call["first_byte"] <= call["seconds"]
    assert len(told(tmp_path)) == 8
    assert ledger(tmp_path) == {"tokens": 6300, "usd": 0.009, "calls": 6, "unpriced": 0}


def with_usage(data: bytes) -> bytes:
    return body.with_usage(data, body.read(data))


def test_what_a_client_says_about_streams_of_chat_stays_but_for_the_usage() -> None:
    assert with_usage(b'{"stream": true}') == b'{"stream_options":{"include_usage": true},"stream": true}'
    given = b'{"a": "\\"stream_options\\"", "stream_options" : {"x": 1, "include_usage": false} , "b": [{"c": "}"}]}'
    told_so = json.loads(with_usage(given))
    assert told_so == {**json.loads(given), "stream_options": {"x": 1, "include_usage": True}}
    asked = b'{"stream_options": {"include_usage": true}}'
    assert with_usage(asked) is asked


def test_a_stream_is_passed_on_as_it_comes(tmp_path: Path) -> None:
    heard = threading.Event()

    def serve(come: socket.socket, _: bytes) -> None:
        come.sendall(STREAM + chunk(BEGUN))
        assert heard.wait(10)
        come.sendall(chunk(DONE[:30]))
        come.sendall(chunk(DONE[30:]) + chunk(b"event: message_stop\n") + b"0\r\n\r\n")

    with obedient(serve) as vendor, standing(tmp_path, vendor.url) as (_, talk):
        connection = talk.open()
        connection.request("POST", "/vendor/v1/messages", json.dumps(ASK), {"x-api-key": TOKEN})
        answer = connection.getresponse()
        assert answer.read1(65536) == BEGUN  # the vendor has not gone on yet
        heard.set()
        assert answer.read() == DONE + b"event: message_stop\n"
        connection.close()
    assert ledger(tmp_path)["tokens"] == 1050
    assert told(tmp_path)[0]["model"] == "cheap-20260101"


def test_the_end_of_a_stream_is_in_the_ledger_before_the_client_hears_it(tmp_path: Path) -> None:
    """A vendor may keep the connection open after its last event, and clients go on at that event."""
    held = threading.Event()

    def serve(come: socket.socket, _: bytes) -> None:
        come.sendall(STREAM + chunk(BEGUN) + chunk(DONE))
        held.wait(10)

    limit = Ceiling(scope="attempt", text="1000 tokens for the attempt", tokens=1000)
    with obedient(serve) as vendor, standing(tmp_path, vendor.url, ceilings=(limit,)) as (_, talk):
        connection = talk.open()
        connection.request("POST", "/vendor/v1/messages", json.dumps(ASK), {"x-api-key": TOKEN})
        answer = connection.getresponse()
        while answer.read1(65536).find(DONE) < 0:
            pass
        assert talk.say()[0] == 402
        connection.close()
        held.set()
    assert ledger(tmp_path) == {"tokens": 1050, "usd": 0.0015, "calls": 1, "unpriced": 0}


@pytest.mark.parametrize("who", ["client", "upstream", "gateway"])
def test_a_stream_that_is_cut_does_not_run_for_nothing(
    tmp_path: Path, who: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its usage never came, so it is told from its size; a client sees that the answer is not whole."""
    monkeypatch.setattr(passing, "READ_ON_SECONDS", 0.2)
    gone = threading.Event()

    def serve(come: socket.socket, _: bytes) -> None:
        come.sendall(STREAM + chunk(BEGUN) + chunk(b"x" * 3000))
        if who == "upstream":
            come.shutdown(socket.SHUT_RDWR)
        else:
            assert come.recv(1) == b""  # the gateway does not let the vendor go on for ever for nobody
            gone.set()

    limit = Ceiling(scope="attempt", text="1500 tokens for the attempt", tokens=1500)
    with obedient(serve) as vendor:
        with standing(tmp_path, vendor.url, ceilings=(limit,)) as (_, talk):
            connection = talk.open()
            connection.request("POST", "/vendor/v1/messages", json.dumps(ASK), {"x-api-key": TOKEN})
            answer = connection.getresponse()
            if who == "upstream":
                with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
                    answer.read()
            else:
                assert answer.read1(65536)
            if who == "client":
                connection.sock and connection.sock.close()
                answer.close()
                connection.close()
                assert gone.wait(10)
            if who != "gateway":
                while not told(tmp_path):
                    time.sleep(0.01)
                assert talk.say()[0] == 402
        connection.close()
    line = told(tmp_path)[0]
    assert (line["cut"], line["estimated"], line["model"]) == (who, True, "cheap-20260101")
    assert line["usage"]["uncached_input"] == 800
    assert line["usage"]["output"] >= 1000
    assert ledger(tmp_path)["tokens"] == Usage(**line["usage"]).total


def test_errors_of_the_vendor_are_passed_on_and_cost_nothing(tmp_path: Path) -> None:
    with ScriptedModels() as models:
        url = models.play("s", Fault(429, retry_after=7))
        cut = models.play("c", Cut(0))
        with standing(tmp_path, url) as (_, talk):
            connection = talk.open()
            connection.request(
                "POST", "/vendor/v1/messages", json.dumps({**ASK, "tools": [TOOL]}), {"x-api-key": TOKEN}
            )
            answer = connection.getresponse()
            assert (answer.status, answer.headers["retry-after"]) == (429, "7")
            assert b"rate_limit_error" in answer.read()
            connection.close()
        assert ledger(tmp_path) == {"tokens": 0, "usd": 0.0, "calls": 1, "unpriced": 0}
        with standing(tmp_path, cut) as (_, talk), pytest.raises((http.client.HTTPException, OSError)):
            talk.say(stream=True)
    assert told(tmp_path)[1]["estimated"]


def test_a_large_request_is_passed_on_and_a_larger_one_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body, "MOST", 6 << 20)
    large = json.dumps({"messages": ["x" * (5 << 20)], "model": "cheap"}).encode()
    with obedient(answer_whole) as vendor, standing(tmp_path, vendor.url) as (_, talk):
        assert talk.ask(body=large) == (200, MESSAGE)
        assert vendor.heard[0].partition(b"\r\n\r\n")[2] == large
        status, answer = talk.ask(body=large + b" " * (2 << 20))
        assert (status, json.loads(answer)["error"]["type"]) == (413, "request_too_large")
        assert len(vendor.heard) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ledgers", "record"]


def test_a_connection_that_the_vendor_closed_meanwhile_is_made_anew(tmp_path: Path) -> None:
    def serve(come: socket.socket, request: bytes) -> None:
        come.sendall(whole(MESSAGE))
        come.close()

    with obedient(serve) as vendor, standing(tmp_path, vendor.url) as (_, talk):
        assert [talk.say()[0] for _ in range(3)] == [200, 200, 200]
    assert ledger(tmp_path)["calls"] == 3


def test_calls_at_once_are_all_counted_and_overshoot_by_themselves_alone(tmp_path: Path) -> None:
    limit = Ceiling(scope="attempt", text="20000 tokens for the attempt", tokens=20_000)
    with (
        ScriptedModels() as models,
        standing(tmp_path, models.play("s", Say("hi")), ceilings=(limit,)) as (_, talk),
        ThreadPoolExecutor(8) as crowd,
    ):
        found = list(crowd.map(lambda number: talk.say(list(PATHS)[number % 3], stream=number % 2 == 0)[0], range(64)))
        asked = len(models.journal.of("s"))
    assert set(found) == {200, 400, 402}
    assert found.count(200) == asked
    assert ledger(tmp_path)["tokens"] == asked * 1050
    assert 20 <= asked <= 20 + 8


SERVE = """
import json, sys, time
from pathlib import Path
from interlock.core.agent.gateway import from_json
from interlock.host.models import serving
with serving(from_json(json.loads(sys.argv[1])), Path(sys.argv[2]), user=None):
    print("ready", flush=True)
    time.sleep(60)
"""


def test_the_ledger_survives_the_death_of_its_runner(tmp_path: Path) -> None:
    records = JobRecords(tmp_path / "records")
    limit = Ceiling(scope="attempt", text="3000 tokens for the attempt", tokens=3000)
    with ScriptedModels() as models:
        given = gateway(
            tmp_path,
            models.play("s", Say("hi")),
            ceilings=(limit,),
            record=str(records.attempt("j1", 1)),
            ledgers=str(records.ledgers()),
        )
        talk = Talk(int(given.listen.rpartition(":")[2]))
        argv = [sys.executable, "-c", SERVE, json.dumps(to_json(given)), str(tmp_path)]
        for expected in ([200, 200], [200, 402]):
            with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
                assert process.stdout is not None
                assert process.stdout.readline() == b"ready\n"
                assert [talk.say()[0] for _ in expected] == expected
                process.send_signal(signal.SIGKILL)
    calls = records.calls("j1", 1)
    assert [(call.status, call.usage.total, call.refused != "") for call in calls] == [
        (200, 1050, False),
        (200, 1050, False),
        (200, 1050, False),
        (402, None, True),
    ]
    shape = json.loads((records.ledgers() / given.ledger).read_text())
    assert shape["tokens"] == 3150


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_certificates_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pem = tmp_path / "cert.pem"
    words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    more = ["-subj", "/CN=models.test", "-addext", "subjectAltName=DNS:models.test"]
    subprocess.run(
        ["openssl", *words, *more, "-keyout", tmp_path / "key.pem", "-out", pem], check=True, capture_output=True
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem, tmp_path / "key.pem")

    def serve(come: socket.socket, _: bytes) -> None:
        come.sendall(whole(MESSAGE))

    with obedient(serve, tls=context) as vendor:
        url = f"https://models.test:{vendor.port}"
        named = Upstream(name="vendor", dialects=("anthropic",), url=url, key=KEY, address="127.0.0.1")
        for folder, trusts in (("a", False), ("b", True)):
            if trusts:
                monkeypatch.setenv("SSL_CERT_FILE", str(pem))
            (tmp_path / folder).mkdir()
            with standing(tmp_path / folder, "", upstreams=(named,)) as (_, talk):
                status, answer = talk.say()
            assert (status, len(vendor.heard)) == ((200, 1) if trusts else (502, 0))
            assert answer == MESSAGE if trusts else b"certificate is not accepted" in answer
