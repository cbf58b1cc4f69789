"""The agents' part of interlock.yaml: models, prices, logins, routes, tiers, rules, spending, phases; refusals first."""

from __future__ import annotations

import pytest

from interlock.adapters.files import ContractFilesReader
from interlock.core.agent.usage import Price
from interlock.core.contract.agents import Login, ModelPrice, Models, Route, Rules, Spend, TierOf
from interlock.core.contract.card import Budget
from interlock.core.contract.policy import Policy
from interlock.core.problems import Problem
from interlock.core.rules import RULES

FILES = ContractFilesReader()


def read(text: str) -> tuple[Policy, tuple[Problem, ...]]:
    return FILES.policy(text.encode(), "interlock.yaml")


def told(text: str) -> list[tuple[str, int | None, str]]:
    _, problems = read(text)
    assert all(problem.kind in RULES for problem in problems)
    assert all(each.endswith(".") for problem in problems for each in (problem.what, problem.why, problem.fix))
    return [(each.kind, each.where.line if each.where else None, each.what) for each in problems]


REFUSED = [
    ("models: {local: {dialects: [chat]}}", "missing", "models.local has no url."),
    ("models: {local: {url: 'https://x.example'}}", "missing", "models.local has no dialects."),
    (
        "models: {openai: {url: 'http://api.openai.com'}}",
        "shape",
        "http://api.openai.com cannot be the address of models.",
    ),
    (
        "models: {openai: {url: 'http://10.0.0.7:8000'}}",
        "shape",
        "http://10.0.0.7:8000 cannot be the address of models.",
    ),
    (
        "models: {openai: {url: 'https://u:p@x.example'}}",
        "shape",
        "https://u:p@x.example cannot be the address of models.",
    ),
    ("models: {openai: {url: 'https://x.example/v1/'}}", "shape", "https://x.example/v1/ ends with a version."),
    ("models: {openai: {url: 'https://[::1'}}", "shape", "https://[::1 cannot be the address of models."),
    ("models: {openai: {address: api}}", "shape", "api is no address."),
    ("models: {Open AI: {key: K}}", "shape", "The name Open AI cannot be used under models."),
    (
        "models: {anthropic: {key: ANTHROPIC_KEY}}",
        "shape",
        "The key of anthropic names no secret of the policy: ANTHROPIC_KEY.",
    ),
    ("models: {anthropic: {key: sk-ant-12345}}", "shape", "The key of anthropic names no secret of the policy."),
    ("models: {anthropic: {dialects: [gemini]}}", "shape", "models.anthropic.dialects: item 1 is not one of"),
    ("prices: {m: {input: 3}}", "missing", "prices.m has no output."),
    ("prices: {m: {input: -3, output: 1}}", "shape", "prices.m.input is not an amount of dollars."),
    ("logins: {codex: {every: 1h}}", "missing", "logins.codex has no file."),
    ("logins: {acp: {file: ~/x}}", "shape", "The agent acp takes no login."),
    ("logins: {cursor: {file: ~/x}}", "shape", "The agent cursor takes no login."),
    ("logins: {command: {file: ~/x}}", "shape", "The agent command takes no login."),
    ("logins: {codecs: {file: ~/x}}", "no-agent", "The agent codecs is not known here."),
    ("routes: [{class: tests}]", "shape", "routes[0] leads nowhere."),
    ("routes: [{tier: cheap, model: m}]", "shape", "routes[0] says a tier and what stands in its place."),
    ("routes: [{use: command}]", "shape", "routes[0] names command, whose command a route cannot give."),
    ("routes: [{use: clod}]", "no-agent", "The agent clod is not known here."),
    ("routes: [{class: test, tier: cheap}]", "shape", "The route is for test, which is no class."),
    ("routes: [{phase: testing, tier: cheap}]", "shape", "routes[0].phase is not one of"),
    ("tiers: {clod: {cheap: {model: m}}}", "no-agent", "The agent clod is not known here."),
    ("tiers: {claude: {dear: {model: m}}}", "unknown-key", "The key tiers.claude.dear is not known."),
    ("tiers: {claude: {cheap: {}}}", "shape", "tiers.claude.cheap says nothing."),
    ("rules: {files: [/etc/rules]}", "path", '"/etc/rules" begins with "/".'),
    ("per_day: {usd: 0}", "shape", "per_day.usd is not more than nothing."),
    ("budget: {attempt: {tokens: 0}}", "shape", "budget.attempt.tokens is not more than nothing."),
    ("agent: {use: clod}", "no-agent", "The agent clod is not known here."),
    ("agent: {use: command}", "missing", "The agent is a command, and the command is missing."),
    ("classes: {tests: {agent: {use: codex, command: x}}}", "shape", "The agent codex has a command."),
    ("classes: {tests: {phases: [plan, verify]}}", "shape", "classes.tests.phases never does the work."),
    (
        "classes: {tests: {phases: [implement, plan]}}",
        "shape",
        "The phases implement, plan stand in another order than they run in, or twice.",
    ),
    (
        "classes: {tests: {phases: [implement, implement]}}",
        "shape",
        "The phases implement, implement stand in another order than they run in, or twice.",
    ),
    (
        "classes: {tests: {phases: [review-tests, implement]}}",
        "shape",
        "classes.tests.phases reviews a test plan that no phase writes.",
    ),
    ("classes: {tests: {phases: [think, implement]}}", "shape", "classes.tests.phases: item 1 is not one of"),
    ("classes: {tests: {phases: implement}}", "shape", "classes.tests.phases is not a list."),
    ("classes: {tests: {phases: []}}", "shape", "classes.tests.phases never does the work."),
]


@pytest.mark.parametrize(("text", "kind", "what"), REFUSED)
def test_what_cannot_be_kept_is_told_with_its_line(text: str, kind: str, what: str) -> None:
    ((found, line, said),) = told(text)
    assert (found, line) == (kind, 1)
    assert said.startswith(what)


def test_a_key_that_was_pasted_is_not_repeated() -> None:
    _, (problem,) = read("models: {anthropic: {key: sk-ant-12345}}")
    assert "sk-ant" not in problem.what + problem.why + problem.fix


@pytest.mark.parametrize(
    ("key", "fix"),
    [
        ("OPENAI_API_KEY", "Add it: secrets: {OPENAI_API_KEY: {variable: OPENAI_API_KEY}}."),
        ("AKIA4EXAMPLE", "Add it: secrets: {LOCAL_API_KEY: {variable: …}}."),
        ("sk_proj_abc", "Add it: secrets: {LOCAL_API_KEY: {variable: …}}."),
    ],
)
def test_a_key_without_its_secret_is_advised_by_its_own_name(key: str, fix: str) -> None:
    _, (problem,) = read(f"models: {{local: {{url: 'http://127.0.0.1:11434', dialects: [chat], key: {key}}}}}")
    assert problem.fix == fix


POLICY = """\
secrets:
  ANTHROPIC_API_KEY: {variable: ANTHROPIC_API_KEY}
  OPENAI_API_KEY: {file: ~/.keys/openai}
models:
  anthropic: {key: ANTHROPIC_API_KEY}
  openai: {key: OPENAI_API_KEY, address: 10.1.2.3}
  local: {url: "http://127.0.0.1:11434/", dialects: [chat, responses]}
prices:
  gpt-5.5: {input: 1.25, output: 10, cache_read: 0.125}
  local/small: {input: 0, output: 0}
logins: {codex: {file: ~/.codex/auth.json, refresh: codex login status, every: 8h}}
routes:
  - {class: [tests, docs], phase: research, tier: cheap}
  - {classes: [migration], risk: [high, normal], use: claude, model: opus, effort: high}
  - {phase: verify, effort: low}
tiers: {claude: {cheap: {model: haiku}, frontier: {model: opus, effort: high}}}
rules: {files: ["docs/rules/**"], stale_days: 30, most_bytes: 16k}
per_day: {tokens: 20M, usd: 50}
agent: {use: claude}
budget: {tokens: 2M, usd: 8, attempt: {tokens: 500k, usd: 2.5}, startup: 60s, turns: 40, wall: 45m}
classes:
  docs: {kind: parallel, phases: [plan, implement, summarise], per_day: {usd: 5}}
"""


def test_what_is_said_about_agents_is_read() -> None:
    found, problems = read(POLICY)
    assert problems == ()
    assert found.models == (
        Models(name="anthropic", url="https://api.anthropic.com", dialects=("anthropic",), key="ANTHROPIC_API_KEY"),
        Models(
            name="openai",
            url="https://api.openai.com",
            dialects=("responses", "chat"),
            key="OPENAI_API_KEY",
            address="10.1.2.3",
        ),
        Models(name="local", url="http://127.0.0.1:11434", dialects=("chat", "responses")),
    )
    assert found.prices == (
        ModelPrice(model="gpt-5.5", price=Price(input=1.25, output=10.0, cache_read=0.125)),
        ModelPrice(model="local/small", price=Price(input=0.0, output=0.0)),
    )
    login = Login(agent="codex", file="~/.codex/auth.json", refresh="codex login status", every=8 * 3600.0)
    assert found.logins == (login,)
    assert found.routes == (
        Route(classes=("tests", "docs"), phases=("research",), tier="cheap"),
        Route(classes=("migration",), risks=("high", "normal"), use="claude", model="opus", effort="high"),
        Route(phases=("verify",), effort="low"),
    )
    assert found.tiers == (
        TierOf(agent="claude", tier="cheap", model="haiku"),
        TierOf(agent="claude", tier="frontier", model="opus", effort="high"),
    )
    assert found.rules == Rules(files=("docs/rules/**",), stale_days=30, most_bytes=16_000)
    assert found.per_day == Spend(tokens=20_000_000, usd=50.0)
    assert found.budget == Budget(
        tokens=2_000_000,
        usd=8.0,
        attempt_tokens=500_000,
        attempt_usd=2.5,
        startup=60.0,
        turns=40,
        wall=2700.0,
    )
    docs = found.find_class("docs")
    assert docs is not None
    assert (docs.phases, docs.per_day) == (("plan", "implement", "summarise"), Spend(usd=5.0))
    tests = found.find_class("tests")
    assert tests is not None
    assert tests.phases == ("implement",)


def test_a_plug_ins_agent_is_known_to_the_reader_that_was_told_of_it() -> None:
    text = b"agent: {use: own}\ntiers: {own: {cheap: {model: m}}}\n"
    assert [each.kind for each in FILES.policy(text, "interlock.yaml")[1]] == ["no-agent", "no-agent"]
    found, problems = ContractFilesReader(("command", "own")).policy(text, "interlock.yaml")
    assert (problems, found.agents) == ((), ("command", "own"))
