"""What a model gateway does not pass on: calls without the token, calls that cannot be metered, and calls over a budget."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.integration.models.standing import KEY, OWN, TOKEN, Talk, gateway, ledger, standing, told

from interlock.core.agent.gateway import Ceiling, Reached, Upstream
from interlock.host.models import serving
from interlock.testing.models import Say, ScriptedModels

ASK = {"model": "cheap", "messages": []}


def post(path: str, body: bytes, *fields: str) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: x", f"x-api-key: {TOKEN}", f"content-length: {len(body)}", *fields, "", ""]
    return "\r\n".join(lines).encode() + body


def test_nothing_but_metered_calls_with_the_token_reaches_the_vendor(tmp_path: Path) -> None:
    with ScriptedModels() as models, standing(tmp_path, models.play("s", Say("hi"))) as (served, talk):
        for token in ("", "wrong", KEY):
            status, answer = talk.ask(body=ASK, token=token)
            assert (status, json.loads(answer)["type"]) == (401, "error")
        status, answer = talk.ask(path="/vendor/v1/responses", body=ASK, token="wrong")
        assert (status, json.loads(answer)["error"]["code"]) == (401, "interlock_token")
        for path in (
            "/vendor/v1/messages/batches",
            "/vendor/v1/files",
            "/vendor/v1/responses/resp_1",
            "/vendor/../vendor/v1/messages",
            "/vendor/v1/messages/",
            "//vendor/v1/messages",
            "/other/v1/messages",
        ):
            assert talk.ask(path=path, body=ASK)[0] == 404, path
        assert talk.ask("DELETE", "/vendor/v1/models")[0] == 404
        assert talk.ask("GET", "/vendor/v1/messages")[0] == 404
        for target in (
            b"CONNECT api.example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n",
            b"GET http://api.example.org/v1/models HTTP/1.1\r\nHost: x\r\n\r\n",
            b"GET /vendor/v1/%6dodels HTTP/1.1\r\nHost: x\r\n\r\n",
            b"GET /vendor/v1/models HTTP/1.1\r\nHost: x\r\nx: " + b"y" * 70_000 + b"\r\n\r\n",
            b"nonsense\r\n\r\n",
        ):
            assert b" 4" in talk.raw(target)[:12], target
        assert served.refused() == ""
        assert models.journal.of(None, model_calls=False) == ()
    lines = told(tmp_path)
    assert {line["status"] for line in lines} == {400, 401, 404}
    assert ledger(tmp_path) == {}


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        (b'{"model": "cheap", "messages": [], "model": "dear"}', ()),
        (b'{"model": "cheap", "messages": [], "mod\\u0065l": "dear"}', ()),
        (b'{"model": "cheap", "messages": [], "MODEL": "dear"}', ()),
        (b'{"model": ["cheap"]}', ()),
        (b'{"model": "cheap"', ()),
        (b'{"model": "cheap"} {"model": "dear"}', ()),
        (b'[{"model": "cheap"}]', ()),
        (b'{"model": "cheap", "background": true}', ()),
        (b"\x1f\x8b\x08", ("content-encoding: gzip",)),
        (b"", ()),
    ],
)
def test_a_request_that_could_be_read_in_two_ways_or_not_metered_is_refused(
    tmp_path: Path, body: bytes, fields: tuple[str, ...]
) -> None:
    with ScriptedModels() as models, standing(tmp_path, models.play("s", Say("hi"))) as (_, talk):
        assert b" 400 " in talk.raw(post("/vendor/v1/responses", body, *fields))[:16]
        assert models.journal.of(None, model_calls=False) == ()


CEILINGS = [
    Ceiling(scope="attempt", text="1000 tokens for the attempt", tokens=1000),
    Ceiling(scope="job", text="usd 4 for the job", usd=4.0, spent_usd=3.999),
    Ceiling(scope="class", text="usd 1 for the class feature in a day", usd=1.0, files=("2026-11-30/feature/*.json",)),
    Ceiling(scope="day", text="9000 tokens for all work of a day", tokens=9000, files=("2026-11-30/*/*.json",)),
]


@pytest.mark.parametrize("ceiling", CEILINGS, ids=lambda each: each.scope)
def test_a_spent_budget_refuses_the_next_call(tmp_path: Path, ceiling: Ceiling) -> None:
    """One call is let through under each limit, which it uses up; the other attempt's ledger is written meanwhile."""
    other = tmp_path / "ledgers" / "2026-11-30" / "feature" / "j2-1.json"
    other.parent.mkdir(parents=True)
    (other.parent.parent / "docs").mkdir()
    with (
        ScriptedModels() as models,
        standing(tmp_path, models.play("s", Say("hi"), key=KEY), ceilings=(ceiling,)) as (served, talk),
    ):
        assert talk.say()[0] == 200
        shape = {"tokens": 8000, "usd": 0.9985, "calls": 3, "unpriced": 0}
        other.write_text(json.dumps(shape))
        assert served.refused() == ""
        for dialect in ("anthropic", "responses", "chat"):
            status, answer = talk.say(dialect)
            assert status == (402 if dialect == "anthropic" else 400)  # its client does not try that again
            assert ceiling.text in json.loads(answer)["error"]["message"]
        assert talk.say(stream=True)[0] == 402
        assert len(models.journal.of(None)) == 1
        assert ceiling.text in served.refused()
        assert served.reached() == Reached(scope=ceiling.scope, unit="tokens" if ceiling.tokens else "usd")
    assert [line["refused"] != "" for line in told(tmp_path)] == [False, True, True, True, True]
    assert ledger(tmp_path) == {"tokens": 1050, "usd": 0.0015, "calls": 1, "unpriced": 0}


def test_dollars_are_not_spent_on_a_model_without_a_price(tmp_path: Path) -> None:
    limit = Ceiling(scope="job", text="usd 4 for the job", usd=4.0)
    with (
        ScriptedModels() as models,
        standing(tmp_path, models.play("s", Say("hi")), ceilings=(limit,)) as (served, talk),
    ):
        status, answer = talk.say(model="dear-9")
        message = json.loads(answer)["error"]["message"]
        assert status == 402
        assert "dear-9" in message
        assert "prices: {dear-9: {input: N, output: N}}" in message
        assert "dear-9" in served.refused()
        assert served.reached() == Reached(scope="job", unit="usd", priced=False)
        assert models.journal.of(None) == ()
        assert talk.say(model="cheap-20260101")[0] == 200
    without = tmp_path / "without"
    with ScriptedModels() as models, standing(without, models.play("s", Say("hi"))) as (served, talk):
        assert talk.say(model="dear-9")[0] == 200
        assert served.refused() == ""
    assert ledger(without) == {"tokens": 1050, "usd": 0.0, "calls": 1, "unpriced": 1}


def test_a_closed_upstream_says_why_and_is_not_reached(tmp_path: Path) -> None:
    """A job that calls no model of it goes on."""
    with ScriptedModels() as models:
        given = gateway(tmp_path, models.play("s", Say("hi")))
        closed = replace(given.upstreams[0], key="", closed="The variable KEY is not set. Set it.")
        with serving(replace(given, upstreams=(closed,)), tmp_path, user=None) as served:
            talk = Talk(int(given.listen.rpartition(":")[2]))
            for dialect in ("anthropic", "responses", "chat"):
                status, answer = talk.say(dialect)
                assert (status, "KEY is not set" in json.loads(answer)["error"]["message"]) == (503, True)
            assert (served.refused(), models.journal.of(None)) == ("", ())
    assert ledger(tmp_path) == {}


@pytest.mark.parametrize(
    ("url", "found", "why"),
    [
        ("http://models.example.org", "93.184.216.34", "not https"),
        ("https://models.example.org", "127.0.0.1", "pin it"),
        ("https://models.example.org", "10.1.2.3", "pin it"),
        ("http://127.0.0.1:1", "", "took no connection"),
    ],
)
def test_a_key_goes_nowhere_that_the_policy_does_not_mean(tmp_path: Path, url: str, found: str, why: str) -> None:
    given = gateway(tmp_path, url)
    with serving(given, tmp_path, user=None, resolve=lambda _: (found,)):
        from tests.integration.models.standing import Talk

        status, answer = Talk(int(given.listen.rpartition(":")[2])).say()
    assert status == 502
    assert why in json.loads(answer)["error"]["message"]
    assert KEY not in (tmp_path / "record" / "models.jsonl").read_text()


@pytest.mark.parametrize("change", [{"url": "ftp://x"}, {"url": "http://u:p@127.0.0.1"}, {"key": "a\r\nx: y"}])
def test_an_upstream_that_cannot_be_used_is_told_at_once_and_without_its_key(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    fields = {"name": "vendor", "dialects": ("chat",), "url": "http://127.0.0.1:1", "key": KEY, **change}
    given = gateway(tmp_path, "http://127.0.0.1:1", upstreams=(Upstream(**fields),))
    with pytest.raises(ValueError, match="vendor") as fault, serving(given, tmp_path, user=None):
        pass
    assert fields["key"] not in str(fault.value)
    assert KEY not in repr(given)
    assert TOKEN not in repr(given)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["record"]
    assert OWN
