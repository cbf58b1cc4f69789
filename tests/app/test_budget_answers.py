"""Whatever limit of a budget a job waits for, each answer that the inbox prints is accepted, and the job goes on."""

from __future__ import annotations

import itertools
import shlex
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from interlock.app.status import status
from interlock.cli.main import cli
from interlock.core.job.events import NewEvent
from interlock.testing.models import Say, ScriptedModels

GATEWAY = 'models: {vendor: {url: "http://127.0.0.1:1", dialects: [anthropic, chat]}}\nprices: {cheap: {input: 1, output: 10}}\n'
POLICY = "train: {{checks: ['true'], sign_off: none}}\n{gateway}{limit}"
AGENT = """\
import json, os, pathlib, sys, urllib.error, urllib.request

body = {"model": "cheap", "messages": [], "tools": [{"name": "t", "input_schema": {}}]}
headers = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "content-type": "application/json"}
url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
try:
    urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)).read()
except urllib.error.HTTPError as fault:
    sys.exit(fault.read().decode())
os.makedirs("one", exist_ok=True)
pathlib.Path("one/f").write_text("1")
"""
LIMITS = {
    "attempt": "budget: {{attempt: {{{unit}: 5}}}}",
    "job": "budget: {{{unit}: 5}}",
    "class": "classes: {{vertical-slice: {{per_day: {{{unit}: 5}}}}}}",
    "day": "per_day: {{{unit}: 5}}",
}


NEW = itertools.count(900)


def say(command: str) -> None:
    """Run a command of the inbox, its capitals filled in with what was not said before."""
    filled = command.replace("=N", f"={next(NEW)}").replace(" TEXT", f" 'way {next(NEW)}'")
    _, *words = shlex.split(filled)
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, f"{filled}: {done.output}"


def spend(town, slug: str) -> None:
    """An attempt on the record that a budget of 5 ended."""
    store, job = town.ports.store, town.job(slug).id
    begun = {"agent": "command", "phase": "implement", "model": "cheap"}
    cost = {"usage": {"uncached_input": 5}, "usd": 5.0, "calls": 1, "outcome": "limit"}
    store.record(NewEvent(subject=job, attempt=1, step="start", kind="attempt.started", data=begun))
    ended = {"rule": "budget", "what": "The budget is spent.", "ask": "Decide.", **cost}
    store.record(NewEvent(subject=job, attempt=1, step="settle", kind="attempt.ended", data=ended))


def wait(town, slug: str, detail: dict[str, object]) -> list[str]:
    """Let a job wait for a budget; gives the commands that the inbox prints for it."""
    job = town.job(slug)
    data = {"rule": "budget", "what": "The budget is spent.", "ask": "Decide.", "detail": detail}
    town.ports.store.record(NewEvent(subject=job.id, step=f"fault:{job.rev}", kind="job.waits", data=data))
    (item,) = (each for each in status(town.ports).asked if each["slug"] == slug)
    return [option["command"] for option in item["options"]]


@pytest.mark.long
@pytest.mark.parametrize("gateway", [GATEWAY, ""], ids=["gateway", "client"])
@pytest.mark.parametrize("unit", ["usd", "tokens"])
def test_each_answer_to_a_limit_is_accepted(world, town, monkeypatch, unit: str, gateway: str) -> None:
    monkeypatch.chdir(world.repo)
    for slug in ("cut", "kept"):
        world.card(slug, extra="budget: {attempts: 99}\n")
    world.push()
    town().dispatch("cut", "kept")
    spend(town(), "cut")
    for scope, limit in LIMITS.items():
        world.write("interlock.yaml", POLICY.format(gateway=gateway, limit=limit.format(unit=unit)))
        world.push()
        town().ports.repo.refresh()
        for slug, more in (("cut", {"exit_code": 1}), ("kept", {})):
            for priced in (True, False) if unit == "usd" else (True,):
                detail = {"reached": {"scope": scope, "unit": unit, "priced": priced}, **more}
                commands = wait(town(), slug, detail)
                assert (len(commands) > 1, "--abandon" in commands[-1]) == (True, True)
                for command in commands[:-1]:
                    wait(town(), slug, detail)
                    say(command)
                    assert town().rule(slug) == "isolated", command
    for slug in ("cut", "kept"):
        say(wait(town(), slug, {})[-1])
        assert town().rule(slug) == "abandoned"


def test_a_model_without_a_price_is_waited_for_until_it_has_one(world, town, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(world.repo)
    (tmp_path / "agent.py").write_text(AGENT)
    with ScriptedModels() as models:
        gateway = f'models: {{vendor: {{url: "{models.play("s", Say("hi"))}", dialects: [anthropic]}}}}\n'
        limit = "budget: {usd: 4}\n"
        world.write("interlock.yaml", POLICY.format(gateway=gateway, limit=limit))
        world.card("one", command=f"{sys.executable} {tmp_path / 'agent.py'}")
        world.push()
        town().dispatch("one")
        town().run()
        (item,) = status(town().ports).asked
        assert (item["rule"], item["kind"]) == ("budget", "budget")
        assert "the model cheap has no price" in item["what"]
        assert item["ask"].startswith("Write the model's price under prices in interlock.yaml")
        assert item["options"][0]["command"] == "interlock resume one"

        world.write(
            "interlock.yaml", POLICY.format(gateway=gateway + "prices: {cheap: {input: 1, output: 10}}\n", limit=limit)
        )
        world.push()
        say(item["options"][0]["command"])
        town().run()
        assert town().rule("one") == "landed", town().said
