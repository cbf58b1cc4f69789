"""Budgets of attempts, jobs, classes and days: what is refused before a start, and what the gateway is told to keep."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from interlock.app import spending
from interlock.app.base import last_view
from interlock.app.bounds import bounds_of
from interlock.app.ceilings import limits_of
from interlock.app.costs import spent
from interlock.app.starting import effective_card
from interlock.app.usage import exported, report
from interlock.cli.cmd_usage import command
from interlock.cli.periods import seconds
from interlock.core.agent.usage import Price, Usage
from interlock.core.contract.card import AgentChoice, Budget
from interlock.core.job.events import NewEvent
from interlock.core.problems import Misuse, Refused

POLICY = """\
train: {{checks: ['true'], sign_off: none}}
secrets: {{MODEL_KEY: {{variable: MODEL_KEY{secret}}}}}
models: {{vendor: {{url: "http://127.0.0.1:1", dialects: [anthropic, chat], key: MODEL_KEY}}}}
prices: {{cheap: {{input: 1, output: 10}}}}
{more}
"""
DAY = 86_400.0


class At:
    """A clock that stands."""

    def __init__(self, now: float) -> None:
        self._now = now

    def now(self) -> float:
        return self._now


@pytest.fixture
def ready(world, town, monkeypatch):
    """A town whose cards are admitted: gives it; the policy and the budget of the cards are the test's."""

    def make(more: str = "", *, budget: str = "", secret: str = "", policy: str | None = None, slugs=("a",)):
        monkeypatch.setenv("MODEL_KEY", "sk-real")
        world.write("interlock.yaml", policy or POLICY.format(more=more, secret=secret))
        for slug in slugs:
            world.card(slug, extra=f"budget: {budget}\n" if budget else "")
        world.push()
        made = town()
        for slug in slugs:
            made.dispatch(slug)
            assert made.job(slug) is not None, made.said
        return made

    return make


def gateway(town, slug: str = "a", number: int = 1, now: float | None = None):
    ports = town.ports if now is None else replace(town.ports, clock=At(now))
    job = ports.store.find(slug)
    card = effective_card(ports, job)
    return spending.means(ports, job, number, card, card.agent, last_view(ports)).gateway


def left(town, slug: str = "a") -> float | None:
    ports, job = town.ports, town.job(slug)
    return bounds_of(ports, job, job.attempt + 1, effective_card(ports, job), last_view(ports)).usd_left()


def ran(town, slug: str, number: int, *, usd: float | None, tokens: int | None, **more) -> None:
    """Put an attempt on the record that started, cost this much and has to be tried again."""
    job = town.job(slug)
    usage = Usage(uncached_input=tokens).as_json()
    started = {"agent": "claude", "phase": "implement", "model": "cheap"}
    ended = {"usage": usage, "usd": usd, "calls": 1, "models": ["cheap"], **more}
    for step, kind, data in (("start", "attempt.started", started), ("settle", "attempt.interrupted", ended)):
        town.ports.store.record(NewEvent(subject=job.id, attempt=number, step=step, kind=kind, data=data))


def refusal(call) -> str:
    with pytest.raises(Refused) as refused:
        call()
    assert refused.value.refusal.rule == "budget"
    return refused.value.refusal.what


def test_a_budget_that_nothing_can_keep_is_refused_and_without_one_there_is_no_gateway(ready, world):
    town = ready(budget="{usd: 4}", policy="train: {checks: ['true'], sign_off: none}\n")
    assert "nothing can keep" in refusal(lambda: gateway(town))
    assert left(town) == 4.0
    world.card("b")
    world.push()
    town.dispatch("b")
    assert gateway(town, "b") is None
    assert left(town, "b") is None


def test_the_gateway_of_an_attempt_knows_every_limit_on_it(ready):
    town = ready(
        "per_day: {tokens: 1M, usd: 20}\nclasses: {vertical-slice: {per_day: {usd: 5}}}",
        budget="{usd: 4, tokens: 400k, attempt: {usd: 1}}",
    )
    made, job = gateway(town), town.job("a")
    assert [(each.name, each.key, each.dialects) for each in made.upstreams] == [
        ("vendor", "sk-real", ("anthropic", "chat"))
    ]
    assert [each.text for each in made.ceilings] == [
        "usd 1 for the attempt",
        "400000 tokens for the job",
        "usd 4 for the job",
        "usd 5 for the class vertical-slice in a day",
        "1000000 tokens for all work of a day",
        "usd 20 for all work of a day",
    ]
    assert made.prices["cheap"] == Price(input=1, output=10)
    assert len(made.token) == 32
    assert made.token != gateway(town).token
    port = int(made.listen.removeprefix("tcp:127.0.0.1:"))
    assert port not in job.ports.values()
    assert min(job.ports.values()) < port < min(job.ports.values()) + 10
    assert made.ledger.endswith(f"/vertical-slice/{job.id}-1.json")
    day = made.ledger.partition("/")[0]
    assert [each.files for each in made.ceilings][3:] == [
        (f"{day}/vertical-slice/*.json",),
        (f"{day}/*/*.json",),
        (f"{day}/*/*.json",),
    ]


def test_a_spent_job_is_refused_until_a_person_raises_it(ready):
    town = ready(budget="{usd: 4, tokens: 1M}")
    ran(town, "a", 1, usd=3.0, tokens=10)
    assert {each.scope: (each.spent_usd, each.spent_tokens) for each in gateway(town, number=2).ceilings} == {
        "job": (3.0, 10)
    }
    ran(town, "a", 2, usd=1.5, tokens=None)
    assert "usd 4 for the job is spent: usd 4.5" in refusal(lambda: gateway(town, number=3))
    assert left(town) == 0.0
    note = {"text": "raised", "raised": {"usd": 10.0}}
    town.ports.store.record(NewEvent(subject=town.job("a").id, step="raise", kind="job.note", data=note))
    assert "usd 10 for the job" in [each.text for each in gateway(town, number=3).ceilings]
    more = replace(effective_card(town.ports, town.job("a")), budget=Budget(usd=20.0))
    (limit,) = limits_of(town.job("a"), more, last_view(town.ports).policy)
    assert limit.usd == 20.0, "A raise hides no higher limit that the card has been given since."
    ran(town, "a", 3, usd=None, tokens=1_000_000)
    assert "1000000 tokens for the job is spent" in refusal(lambda: gateway(town, number=4))
    found = spent(town.ports, town.job("a"))
    assert (found.usage.total, found.usd, found.known, found.unpriced, found.calls) == (1_000_010, None, 4.5, 1, 3)


@pytest.mark.parametrize("where", ["class", "day"])
def test_a_spent_day_is_refused_and_the_next_one_is_not(ready, where):
    limit = "{usd: 5}"
    more = f"per_day: {limit}" if where == "day" else f"classes: {{vertical-slice: {{per_day: {limit}}}}}"
    town = ready(more, slugs=("a", "b"))
    ports, folder = town.ports, town.ports.records.ledgers()
    first = gateway(town)
    ledger = folder / first.ledger.replace(town.job("a").id, "another")
    ledger.parent.mkdir(parents=True)
    ledger.write_text(json.dumps({"tokens": 1, "usd": 3.0, "calls": 1, "unpriced": 0}))
    other = folder / first.ledger.replace("vertical-slice", "docs")
    other.parent.mkdir(parents=True)
    other.write_text(json.dumps({"tokens": 1, "usd": 1.0, "calls": 1, "unpriced": 0}))
    assert gateway(town).ceilings[0].spent_usd == 0.0
    ran(town, "b", 1, usd=2.0, tokens=1)  # on another machine: there is no ledger of it here
    words = "all work of a day" if where == "day" else "the class vertical-slice in a day"
    assert f"usd 5 for {words} is spent" in refusal(lambda: gateway(town))
    own = folder / gateway(town, now=ports.clock.now() + DAY).ledger
    assert own.parent.parent.name > ledger.parent.parent.name
    mine = folder / first.ledger.replace(town.job("a").id, town.job("b").id)
    mine.write_text(json.dumps({"tokens": 1, "usd": 0.5, "calls": 1, "unpriced": 0}))
    if where == "class":  # what stands in a ledger is not counted a second time
        assert gateway(town).ceilings[0].spent_usd == 0.0


def test_a_key_that_cannot_be_had_is_refused_to_whom_it_is_needed_by(ready, monkeypatch):
    """A command may call no model at all; an agent of one dialect can do nothing else; an approval is always asked for."""
    town = ready()
    monkeypatch.setenv("MODEL_KEY", "")
    ports, job = town.ports, town.job("a")
    (upstream,) = gateway(town).upstreams
    assert (upstream.key, "MODEL_KEY" in upstream.closed) == ("", True)
    card, view = effective_card(ports, job), last_view(ports)
    with pytest.raises(Refused) as refused:
        spending.means(ports, job, 1, card, AgentChoice(use="claude"), view)
    assert (refused.value.refusal.rule, "MODEL_KEY" in refused.value.refusal.what) == ("secret", True)
    without = replace(view, policy=replace(view.policy, secrets=()))
    spending.check(ports, job, 1, card, card.agent, without)
    with pytest.raises(Refused) as refused:
        spending.check(ports, job, 1, card, AgentChoice(use="claude"), without)
    assert (refused.value.refusal.rule, "MODEL_KEY" in refused.value.refusal.what) == ("secret", True)


def test_a_key_that_waits_for_an_approval_is_refused(ready):
    town = ready(secret=", approval: deploy")
    with pytest.raises(Refused) as refused:
        gateway(town)
    assert (refused.value.refusal.rule, refused.value.refusal.holders) == ("approval", ("deploy",))


def test_turns_are_refused_where_nothing_keeps_them(ready):
    town = ready(budget="{turns: 9}")
    assert "budget of 9 turns that nothing can keep: command knows no such limit" in refusal(lambda: gateway(town))


def test_a_spent_limit_says_as_data_which_one_it_is_and_old_ledgers_go(ready):
    town = ready("per_day: {tokens: 5}", slugs=("a", "b"))
    old, new = (town.ports.records.ledgers() / day for day in ("2020-01-01", "2999-01-01"))
    for folder in (old, new, old.with_name("notes")):
        folder.mkdir()
    gateway(town)
    assert [folder.exists() for folder in (old, new, old.with_name("notes"))] == [False, True, True]
    ran(town, "a", 1, usd=None, tokens=9)
    with pytest.raises(Refused) as refused:
        gateway(town, "b")
    assert refused.value.detail == {"reached": {"scope": "day", "unit": "tokens", "priced": True}}
    assert "per_day" in refused.value.refusal.would_change


def test_a_day_counts_what_its_gateways_had_no_price_for(ready):
    """A gateway is given prices only while there is a limit in dollars; one that is set later counts what was before it."""
    town = ready("per_day: {usd: 5}", slugs=("a", "b", "c", "d"))
    first, folder = gateway(town), town.ports.records.ledgers()
    ran(town, "b", 1, usd=3.5, tokens=1)  # all of it, by the prices at its end
    ran(town, "c", 1, usd=None, tokens=1)  # no price was known then, and one is now
    started = NewEvent(subject=town.job("d").id, attempt=1, step="start", kind="attempt.started", data={})
    town.ports.store.record(started)  # it runs yet
    for slug in ("c", "d"):
        calls = town.ports.records.attempt(town.job(slug).id, 1) / "models.jsonl"
        call = {"at": 1.0, "upstream": "vendor", "model": "cheap", "seconds": 1.0, "status": 200, "refused": ""}
        used = Usage(uncached_input=500_000).as_json()
        calls.write_text(json.dumps(call | {"usage": used, "estimated": False, "metered": True}) + "\n")
    for slug, usd, unpriced in (("b", 1.0, 2), ("c", 0.0, 1), ("d", 0.0, 1)):
        ledger = folder / first.ledger.replace(town.job("a").id, town.job(slug).id)
        ledger.parent.mkdir(parents=True, exist_ok=True)
        ledger.write_text(json.dumps({"tokens": 500_000, "usd": usd, "calls": 3, "unpriced": unpriced}))
    assert left(town) == 0.5
    assert (gateway(town).ceilings[0].spent_tokens, gateway(town).ceilings[0].spent_usd) == (0, 3.5)
    ran(town, "a", 1, usd=0.6, tokens=1)
    assert "usd 5 for all work of a day is spent: usd 5.1000" in refusal(lambda: gateway(town, number=2))


def test_what_a_client_says_of_its_cost_lifts_no_limit(ready):
    town = ready(budget="{usd: 4}")
    ran(town, "a", 1, usd=-1000.0, tokens=-5)
    ran(town, "a", 2, usd=float("nan"), tokens=10**30)
    assert left(town) == 4.0
    assert (gateway(town, number=3).ceilings[0].spent_usd, gateway(town, number=3).ceilings[0].spent_tokens) == (0.0, 0)
    assert spent(town.ports, town.job("a")).unpriced == 2


def test_usage_is_told_by_name_with_what_is_not_known(ready, world, monkeypatch):
    town = ready(slugs=("a", "b"))
    ran(town, "a", 1, usd=1.0, tokens=1000, session={"id": "s-1"}, outcome="completed")
    ran(town, "b", 1, usd=None, tokens=None)
    folder = town.ports.records.attempt(town.job("a").id, 1)
    usage = Usage(uncached_input=700, cache_read=200, cache_write=100, output=50, reasoning=10)
    call = {"at": 1.0, "upstream": "anthropic", "model": "cheap-20260101", "usage": usage.as_json(), "seconds": 1.0}
    call |= {"status": 200, "refused": "", "estimated": False, "metered": True}
    (folder / "models.jsonl").write_text(json.dumps(call) + "\n")
    *rows, total = report(town.ports, "model", since=0.0)
    assert [(row.name, row.attempts, row.usd, row.unpriced) for row in rows] == [
        ("cheap-20260101", 1, 1.0, 0),
        ("cheap", 1, 0.0, 1),
    ]
    assert (total.attempts, total.unpriced, total.usd_per_landed) == (2, 1, None)
    first, second = exported(town.ports, since=0.0)
    assert (
        first["attributes"]
        | {
            "gen_ai.provider.name": "anthropic",
            "gen_ai.agent.name": "claude",
            "gen_ai.conversation.id": "s-1",
            "gen_ai.request.model": "cheap-20260101",
            "gen_ai.usage.input_tokens": 1000,
            "gen_ai.usage.output_tokens": 50,
            "gen_ai.usage.cache_read.input_tokens": 200,
            "gen_ai.usage.cache_creation.input_tokens": 100,
            "gen_ai.usage.reasoning.output_tokens": 10,
        }
        == first["attributes"]
    )
    assert "interlock.usd" not in second["attributes"]
    monkeypatch.chdir(world.repo)
    shown = CliRunner().invoke(command, ["--by", "class"]).stdout.splitlines()
    assert "1.0000 + 1 unknown" in shown[1]
    assert shown[1].endswith("unknown")
    told = json.loads(CliRunner().invoke(command, ["--by", "agent", "--json"]).stdout)
    assert [row["name"] for row in told["rows"]] == ["claude", "total"]
    assert (told["rows"][0]["usd_per_landed"], told["rows"][0]["unpriced"]) == (None, 1)
    assert len(CliRunner().invoke(command, ["--otel"]).stdout.splitlines()) == 2
    refused = CliRunner().invoke(command, ["--since", "soon"])
    assert (refused.exit_code, "no time to look back" in refused.output) == (2, True)


def test_both_reports_look_back_by_one_grammar():
    assert [seconds(text) for text in ("30min", "90m", "1d12h", "4w", "1w2d3h4m")] == [
        1800.0,
        5400.0,
        129_600.0,
        2_419_200.0,
        788_640.0,
    ]
    for text in ("", "soon", "0h", "h", "12h1d", "-1d", "5", "1.5h"):
        with pytest.raises(Misuse):
            seconds(text)
