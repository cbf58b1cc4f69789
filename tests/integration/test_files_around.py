"""What interlock.yaml puts around tasks: read whole, and every slip told at its line with the text to write."""

from __future__ import annotations

import pytest

from interlock.adapters.files import ContractFilesReader
from interlock.core.contract.around import (
    ApprovalRule,
    Bases,
    Browser,
    Database,
    Dependency,
    Ready,
    SandboxRules,
    Secret,
    Service,
    Template,
)
from interlock.core.sandbox import Host

WHOLE = """\
isolation: sealed
sandbox: {tools: [~/.cargo/bin], sockets: [/run/x.sock]}
network:
  - pypi.org
  - "*.example.com"
  - {host: registry.corp, address: 10.1.2.3, port: 8443}
dependencies:
  - {use: uv}
  - {use: command, lock: [requirements.txt], install: "pip install -r requirements.txt", folder: api}
bases: {keep: 2d, disk: 500M}
databases:
  app: {use: postgres, server: ADMIN_URL, migrate: make migrate, files: ["migrations/**"], pool: 3, on_clean: drop}
  own: {use: postgres-server, seed: make seed}
  file: {use: sqlite, baseline: dev.sqlite3, probe: make which-db}
services:
  db: {run: make db, infrastructure: true}
  web: {run: make web, port: APP_PORT, after: [db], ready: {http: /health, within: 5s}}
templates: {config/app.env: config/app.env.j2}
browsers: {customer: {golden: ~/profiles/customer}, guest: {}}
secrets: {NPM_TOKEN: {variable: NPM_TOKEN}, KEY: {file: ~/key, approval: deploy}}
approvals: {deploy: {commands: ["terraform apply*"], hosts: [api.x.com], paths: ["infra/**"]}}
idle_days: 3
"""


def read(text: str):
    return ContractFilesReader().policy(text.encode(), "interlock.yaml")


def test_every_key_becomes_a_value():
    policy, problems = read(WHOLE)
    assert problems == ()
    assert policy.isolation == "sealed"
    assert policy.sandbox == SandboxRules(tools=("~/.cargo/bin",), sockets=("/run/x.sock",))
    assert policy.network == (
        Host(name="pypi.org"),
        Host(name="*.example.com"),
        Host(name="registry.corp", address="10.1.2.3", port=8443),
    )
    assert policy.dependencies == (
        Dependency(use="uv", lock=("uv.lock",), install="uv sync --locked"),
        Dependency(use="command", lock=("requirements.txt",), install="pip install -r requirements.txt", folder="api"),
    )
    assert policy.bases == Bases(keep=2 * 86_400, disk=500_000_000)
    assert policy.database("app") == Database(
        name="app",
        use="postgres",
        server="ADMIN_URL",
        migrate="make migrate",
        files=("migrations/**",),
        pool=3,
        on_clean="drop",
    )
    assert policy.database("own") == Database(name="own", use="postgres-server", seed="make seed")
    assert policy.service("web") == Service(
        name="web", run="make web", port="APP_PORT", after=("db",), ready=Ready(http="/health", within=5.0)
    )
    assert policy.service("db").infrastructure
    assert policy.templates == (Template(source="config/app.env.j2", target="config/app.env"),)
    assert policy.browser("customer") == Browser(role="customer", golden="~/profiles/customer")
    assert policy.browser("guest") == Browser(role="guest")
    assert policy.secret("KEY") == Secret(name="KEY", file="~/key", approval="deploy")
    assert policy.approvals == (
        ApprovalRule(name="deploy", commands=("terraform apply*",), hosts=("api.x.com",), paths=("infra/**",)),
    )
    assert policy.idle_days == 3


@pytest.mark.parametrize(
    ("text", "line", "kind", "said"),
    [
        ("network: [localhost]\n", 1, "network", "localhost cannot be allowed"),
        ("network: ['http://pypi.org']\n", 1, "shape", "is no host"),
        ("network: [Pypi.org]\n", 1, "shape", "is no host"),
        ("network:\n  - {host: a.b, address: corp}\n", 2, "shape", "corp is no address"),
        ("network:\n  - {port: 80}\n", 2, "missing", "has no host"),
        ("dependencies:\n  - {use: command, install: x}\n", 2, "missing", "has no lock"),
        ("dependencies:\n  - {use: cargo}\n", 2, "shape", "one of"),
        ("databases:\n  app: {use: sqlite}\n", 2, "missing", "has no baseline"),
        ("databases:\n  app: {use: postgres}\n", 2, "missing", "has no server"),
        ("databases:\n  app: {use: mysql}\n", 2, "shape", "one of"),
        ("services:\n  web: {run: x, after: [db]}\n", 2, "shape", "db, which is no service"),
        ("services:\n  web: {port: APP_PORT}\n", 2, "missing", "has no run"),
        ("services:\n  web: {run: x, ready: {tcp: APP_PORT, http: /}}\n", 2, "shape", "more than one way"),
        ("services:\n  web: {run: x, ready: {tcp: APP_PORT}}\n", 2, "shape", "ready by the port APP_PORT"),
        ("services:\n  web: {run: x, port: DEBUG_PORT, ready: {tcp: APP_PORT}}\n", 2, "shape", "serves DEBUG_PORT"),
        ("services:\n  web: {run: x, ready: {http: /}}\n", 2, "shape", "serves no port"),
        ("services:\n  Web: {run: x}\n", 2, "shape", "cannot be used"),
        ("templates: {a: ../b}\n", 1, "path", ".."),
        ("secrets:\n  T: {}\n", 2, "shape", "no source"),
        ("secrets:\n  T: {variable: A, file: b}\n", 2, "shape", "2 sources"),
        ("approvals:\n  deploy: {}\n", 2, "shape", "covers nothing"),
        ("isolation: vm\n", 1, "shape", "one of"),
        ("idle_days: 0\n", 1, "shape", "1 to 365"),
        ("sandbox: {tool: [x]}\n", 1, "unknown-key", "sandbox.tool"),
        ("sandbox:\n  tools: [/]\n", 2, "shape", "is the whole machine"),
        ("sandbox:\n  tools: ['~']\n", 2, "shape", "is a home folder"),
        ("sandbox:\n  tools: [~/]\n", 2, "shape", "is a home folder"),
        ("sandbox:\n  tools: [~bo]\n", 2, "shape", "is a home folder"),
        ("sandbox:\n  tools: [/home]\n", 2, "shape", "is a home folder"),
        ("sandbox:\n  tools: [/home/bo/]\n", 2, "shape", "is a home folder"),
        ("sandbox:\n  tools: [/root]\n", 2, "shape", "is a home folder"),
        ("sandbox:\n  tools: [bin/tool]\n", 2, "shape", "is no whole path"),
        ("sandbox:\n  tools: [/opt/../home/bo]\n", 2, "shape", "is no whole path"),
        ("sandbox:\n  sockets: [run/x.sock]\n", 2, "shape", "is no whole path"),
        ("network:\n  - {host: a.b, address: 999.1.1.1}\n", 2, "shape", "999.1.1.1 is no address"),
        ("network:\n  - {host: a.b, address: '::zz'}\n", 2, "shape", "is no address"),
        ("approvals:\n  x: {commands: ['* apply']}\n", 2, "shape", "plain name of a program"),
        ("approvals:\n  x: {commands: ['terra* apply']}\n", 2, "shape", "plain name of a program"),
        ("approvals:\n  x: {commands: [./deploy.sh]}\n", 2, "shape", "plain name of a program"),
        ("services:\n  web: {run: x, port: WEB_PRT}\n", 2, "shape", "serves WEB_PRT, which is no port"),
        ("services:\n  web:\n    run: x\n    port: API\nports: {A: 4000}\n", 4, "shape", "serves API"),
        ("services:\n  w: {run: x, port: B, ready: {tcp: B}}\n", 2, "shape", "serves B, which is no port"),
        ("services:\n  a: {run: x, after: [b]}\n  b: {run: x, after: [a]}\n", 2, "shape", "a → b → a"),
        ("services:\n  a: {run: x, after: [a]}\n", 2, "shape", "a → a"),
        ("secrets:\n  K: {variable: K, approval: depoly}\n", 2, "shape", "waits for depoly"),
    ],
)
def test_a_slip_is_told_at_its_line(text, line, kind, said):
    _, problems = read(text)
    assert [(each.kind, each.where.line) for each in problems] == [(kind, line)]
    assert said in problems[0].what
    assert problems[0].fix.endswith(".")


@pytest.mark.parametrize(
    "name",
    ["PATH", "HOME", "TMPDIR", "USER", "LOGNAME", "SHELL", "LD_PRELOAD", "PYTHONPATH", "GIT_DIR", "INTERLOCK_JOB"],
)
def test_a_secret_is_not_called_like_what_a_task_runs_by(name):
    policy, problems = read(f"secrets:\n  {name}: {{variable: X}}\n")
    assert [(each.kind, each.where.line) for each in problems] == [("shape", 2)]
    assert f"cannot be called {name}" in problems[0].what
    assert policy.secrets == ()


def test_a_name_that_only_begins_like_one_is_a_secret():
    assert read("secrets: {PATH_TOKEN: {variable: X}, GITHUB_TOKEN: {variable: B}, HOMEPAGE: {file: z}}\n")[1] == ()


def test_a_secret_may_wait_for_a_name_of_its_own_and_for_a_built_in_one():
    text = "secrets: {A: {variable: A, approval: vault}, B: {variable: B, approval: deploy}}\n"
    assert read(text)[1] == ()
    assert read(f"approvals: {{deploy: {{paths: [x]}}}}\n{text}")[1] == ()


def test_a_service_may_serve_a_port_that_has_a_default():
    assert read("services: {web: {run: x, port: APP_PORT}, dev: {run: x, port: DEBUG_PORT}}\n")[1] == ()


def test_tools_below_a_home_and_addresses_of_both_kinds_are_taken():
    text = (
        "sandbox: {tools: [~/.cargo/bin, /home/bo/.nvm, /opt/jdk, ~bo/tools]}\nnetwork: [{host: a.b, address: '::1'}]\n"
    )
    assert read(text)[1] == ()
