"""Readers of cards, caps and policy on real bytes: values, places, and every problem at once."""

from __future__ import annotations

import time
from dataclasses import fields

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.adapters.files import ContractFilesReader, cards, classes, policy, shared, surroundings
from interlock.adapters.files.scalars import meaning, quoted
from interlock.adapters.files.units import count, seconds
from interlock.core.contract.around import ApprovalRule, Database, Dependency, Ready, SandboxRules, Secret, Service
from interlock.core.contract.card import AgentChoice, Artifact, Budget, Card, Check, Needs, Report
from interlock.core.contract.classes import DEFAULT_CLASSES
from interlock.core.contract.policy import Cap, Policy, TaskClass, Train
from interlock.core.rules import RULES
from interlock.ports.contract import CardFile, ContractFiles

FILES: ContractFiles = ContractFilesReader()

SEED = """\
slug: billing-retry
class: vertical-slice            # a row from the task-class table
accepted_plan: docs/plans/billing-retry.md
owned_paths:
  - src/billing/retry/**
  - tests/billing/retry/**
read_only_paths:
  - src/billing/client.ts         # shared contract: may read, must not edit
depends_on: []                    # slugs that must merge first
checks:
  - npm run typecheck
  - npm test -- tests/billing/retry
stop_when:
  - a change outside owned_paths is needed
  - a check fails three times in a row
integration_owner: "@ana"
"""

FULL = """\
slug: billing-retry
class: vertical-slice
goal: Retry failed charges with back-off.
accepted_plan: docs/plans/billing-retry.md
acceptance: [PAY-12.3]
owned_paths: [src/billing/retry/**, "app/[id]/**"]
read_only_paths: [src/billing/client.ts]
prohibited_paths: [migrations/**]
depends_on: [pay-api]
checks:
  - npm run typecheck
  - run: npm test -- tests/billing/retry --reporter=junit
    report: {junit: out/junit.xml, at_least: 1, allow_skipped: true}
    timeout: 10m
    tier: slow
artifacts: [{path: out/onboarding-empty.png, kind: screenshot}]
done_when: [failed charges are retried 3 times, events unchanged]
stop_when: ["a check fails: three times in a row"]
open_questions: []
integration_owner: "@ana"
agent: {use: command, command: "true", model: "5.5", effort: medium, prompt: stdin}
budget: {tokens: 400k, usd: 4, wall: 1h30m, idle: 90, attempts: 3}
needs: {ports: 10, database: app, browser: [customer], services: [web], network: [registry.example]}
variants: 1
risk: normal
isolation: worktree
reproduces: tests/x.py::test_y
"""


def read(text: str, slug: str = "billing-retry") -> CardFile:
    found = FILES.card(text.encode(), f"tasks/{slug}.yaml", slug, "abc")
    assert all(problem.kind in RULES for problem in found.problems)
    for problem in found.problems:
        assert problem.what.endswith("."), problem
        assert problem.why.endswith("."), problem
        assert problem.fix.endswith("."), problem
        assert problem.where is not None
        assert problem.where.line is not None
        assert problem.where.column is not None
    return found


def told(text: str) -> list[tuple[str, int | None, int | None]]:
    places = [(problem.kind, problem.where) for problem in read(text).problems]
    return [(kind, where.line, where.column) for kind, where in places if where is not None]


# ---------------------------------------------------------------- cards
def test_the_seeds_card_is_read_as_it_stands() -> None:
    found = read(SEED)
    assert found.problems == ()
    assert found.oid == "abc"
    assert found.card == Card(
        slug="billing-retry",
        class_name="vertical-slice",
        accepted_plan="docs/plans/billing-retry.md",
        owned_paths=("src/billing/retry/**", "tests/billing/retry/**"),
        read_only_paths=("src/billing/client.ts",),
        checks=(Check(run="npm run typecheck"), Check(run="npm test -- tests/billing/retry")),
        stop_when=("a change outside owned_paths is needed", "a check fails three times in a row"),
        integration_owner="@ana",
    )
    assert found.positions["owned_paths"] == (4, 1)
    assert found.positions["owned_paths[1]"] == (6, 5)
    assert found.positions["integration_owner"] == (16, 20)


def test_every_key_of_a_card_is_read() -> None:
    card = read(FULL).card
    assert card is not None
    assert card.owned_paths == ("src/billing/retry/**", "app/[id]/**")
    assert card.checks[1] == Check(
        run="npm test -- tests/billing/retry --reporter=junit",
        report=Report(junit="out/junit.xml", at_least=1, allow_skipped=True),
        timeout=600.0,
        tier="slow",
    )
    assert card.artifacts == (Artifact(path="out/onboarding-empty.png", kind="screenshot"),)
    assert card.agent == AgentChoice(use="command", command="true", model="5.5", effort="medium", prompt="stdin")
    assert card.budget == Budget(tokens=400_000, usd=4.0, wall=5400.0, idle=90.0, attempts=3)
    assert card.needs == Needs(
        ports=10, database="app", browser=("customer",), services=("web",), network=("registry.example",)
    )
    assert (card.acceptance, card.depends_on, card.reproduces) == (("PAY-12.3",), ("pay-api",), ("tests/x.py::test_y",))
    assert (card.variants, card.risk, card.isolation) == (1, "normal", "worktree")


@pytest.mark.parametrize(
    ("table", "made", "other_names"),
    [
        (cards._CARD, Card, {"class": "class_name"}),
        (cards._NEEDS, Needs, {}),
        (shared.CHECK, Check, {}),
        (shared.REPORT, Report, {}),
        (shared.AGENT, AgentChoice, {}),
        (shared.BUDGET, Budget, {"attempt": None}),
        (classes.CLASS, TaskClass, {}),
        (policy._TRAIN, Train, {}),
        (surroundings._DATABASE, Database, {}),
        (surroundings._SERVICE, Service, {}),
        (surroundings._READY, Ready, {}),
        (surroundings._DEPENDENCY, Dependency, {}),
        (surroundings._SANDBOX, SandboxRules, {}),
        (surroundings._SECRET, Secret, {}),
        (surroundings._APPROVAL, ApprovalRule, {}),
    ],
)
def test_every_field_has_a_key_and_every_key_a_field(
    table: shared.Table, made: type, other_names: dict[str, str]
) -> None:
    keys = {other_names.get(key, key) for key in table} - {None}
    names = {each.name for each in fields(made) if not each.name.startswith("attempt_")}
    assert keys | ({"name"} & names) == names


def test_what_is_absent_is_left_to_readiness() -> None:
    found = read("slug: billing-retry\nclass: tests\n")
    assert found.card is not None
    assert (found.card.checks, found.card.stop_when, found.card.integration_owner) == ((), (), "")


def test_all_faults_are_told_at_once_with_their_places_and_the_rest_is_a_draft() -> None:
    text = """\
slug: Billing Retry
class: tests
owned_path: [a]
owned_paths: [/src, src/*, "../x"]
checks:
  - {run: x, timeout: soon, tire: fast}
  - 12
stop_when: never
budget: {wall: -1, attempts: 0}
risk: huge
"""
    assert told(text) == [
        ("slug", 1, 7),
        ("unknown-key", 3, 1),
        ("path", 4, 15),
        ("path", 4, 28),
        ("shape", 6, 23),
        ("unknown-key", 6, 29),
        ("shape", 7, 5),
        ("shape", 8, 12),
        ("shape", 9, 16),
        ("shape", 9, 30),
        ("shape", 10, 7),
    ]
    found = read(text)
    assert found.card is None
    assert found.draft is not None
    assert found.draft.owned_paths == ("src/*",)
    assert found.spoiled == {"slug", "owned_path", "owned_paths", "checks", "stop_when", "budget", "risk"}


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("slug: a\nslug: b\n", "The key slug stands twice; the first is in line 1."),
        ("a: &x 1\n", "The anchor &x stands before a value."),
        ("a: *x\n", "The alias *x is used."),
        ("a: !!str 1\n", "The tag tag:yaml.org,2002:str stands before a value."),
        ("a: !env HOME\n", "The tag !env stands before a value."),
        ("a: ! x\n", "The tag ! stands before a value."),
        ("<<: {a: 1}\n", 'The merge key "<<" is used.'),
        ("? [a]\n: b\n", "A key is not text."),
        ("no: 1\n", 'The key "no" is not text.'),
        ("12: 1\n", 'The key "12" is not text.'),
        ("%YAML 1.1\n---\na: b\n", "A %YAML or %TAG line is used."),
        ("a: b\n---\nc: d\n", "A second document begins here."),
        ("a: &x [1]\nb: &y {c: d}\n", "The anchor &y stands before a value."),
    ],
)
def test_parts_of_yaml_that_make_two_readers_see_two_things_are_refused(text: str, what: str) -> None:
    found = read(text)
    assert found.card is None
    assert what in [problem.what for problem in found.problems]


def test_a_file_may_say_that_it_is_yaml_12() -> None:
    assert read("%YAML 1.2\n---\n" + SEED).problems == ()
    assert read("---\n" + SEED + "...\n").problems == ()


def test_bounds() -> None:
    assert read("a: " + "[" * 60).problems[0].what == "The file is nested more than 32 deep."
    assert "nested" in read("\n".join("  " * n + "a:" for n in range(50))).problems[0].what
    big = FILES.card(b"#" * 1_000_001, "tasks/a.yaml", "a")
    assert "1000001 bytes" in big.problems[0].what
    assert FILES.card(b"a: \xff", "tasks/a.yaml", "a").problems[0].what == "The file is not UTF-8."
    assert "control characters" in read("a: \x07").problems[0].what
    assert "tabs" in read("a:\n\t- b\n").problems[0].why
    assert "U+2028" in read("a: b\u2028c\n").problems[0].what


def test_a_deep_file_of_a_megabyte_does_no_harm() -> None:
    begin = time.process_time()
    assert FILES.card(b"[" * 999_999, "tasks/a.yaml", "a").card is None
    assert FILES.card(b"a: {" * 240_000, "tasks/a.yaml", "a").card is None
    assert time.process_time() - begin < 5


@pytest.mark.parametrize("text", ["- a\n", "a\n", "[]\n", '"x"\n'])
def test_a_card_is_a_mapping(text: str) -> None:
    (problem,) = read(text).problems
    assert problem.what == "The file is not a mapping."


def test_slug_and_class_have_to_be_there() -> None:
    assert [problem.what for problem in read("goal: x\n").problems] == [
        "The card has no slug.",
        "The card has no class.",
    ]
    assert [problem.what for problem in read("slug: other\nclass: tests\n").problems] == [
        "The slug other differs from the file's name."
    ]
    assert read("slug: billing-retry\nclass: ''\n").problems[0].kind == "missing"


def test_a_loop_is_read_and_an_empty_one_says_nothing() -> None:
    assert told(SEED + "loop: {gate: x}\n") == [("shape", 17, 14)]
    assert read(SEED + "loop:\n").problems == ()
    found = read(SEED + "loop: {gate: {reproduce: make race, clean: 5}}\n")
    assert found.card is not None
    assert found.card.loop is not None
    assert (found.card.loop.gate.run, found.card.loop.gate.clean) == ("make race", 5)


# ---------------------------------------------------------------- scalars and units
@pytest.mark.parametrize(
    ("plain", "means"),
    [
        ("x", "text"), ("10m", "text"), ("400k", "text"), ("v1.2", "text"), ("1.2.3", "text"), ("-x", "text"),
        ("127.0.0.1", "text"), ("truely", "text"), ("...", "text"), ("a: b", "text"), ("3 times", "text"),
        ("", "empty"), ("~", "empty"), ("null", "empty"), ("Null", "empty"),
        ("true", "flag"), ("False", "flag"),
        ("0", "whole"), ("12", "whole"), ("-3", "whole"), ("+4", "whole"),
        ("1.10", "number"), ("1e3", "number"), (".5", "number"), (".inf", "number"), (".nan", "number"), ("1.", "number"),
        ("no", "unclear"), ("On", "unclear"), ("y", "unclear"), ("0123", "unclear"), ("08", "unclear"),
        ("1_000", "unclear"), ("0x1f", "unclear"), ("0o17", "unclear"), ("0b1", "unclear"), ("12:30:45", "unclear"),
        ("1:30", "unclear"), ("2026-01-02", "unclear"), ("2026-01-02T10:00:00Z", "unclear"), ("=", "unclear"),
        ("1_0.5", "unclear"), ("1.5_0", "unclear"),
    ],
)  # fmt: skip
def test_what_an_unquoted_scalar_means(plain: str, means: str) -> None:
    assert meaning(plain) == means


@pytest.mark.parametrize("text", ["a", 'say "x"', "it's", "back\\slash", "two\nlines", "both \"' and \\"])
def test_a_text_in_quotes_is_read_back(text: str) -> None:
    assert read(f"slug: billing-retry\nclass: tests\ngoal: {quoted(text)}\n").card == Card(
        slug="billing-retry",
        class_name="tests",
        goal=text,
        owned_paths=(),
        checks=(),
        stop_when=(),
        integration_owner="",
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [("10m", 600), ("1h30m", 5400), ("90s", 90), ("90", 90), ("1.5s", 1.5), ("2d", 172_800), ("0.5", 0.5),
     ("1h 30m", None), ("30m1h", None), ("m", None), ("", None), ("-1m", None), ("1w", None), ("1.5h", None)],
)  # fmt: skip
def test_durations(text: str, value: float | None) -> None:
    assert seconds(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [("400k", 400_000), ("1.5M", 1_500_000), ("12", 12), ("1_000", None), ("-1", None), ("k", None), ("1.2345k", None)],
)
def test_counts(text: str, value: int | None) -> None:
    assert count(text) == value


# ---------------------------------------------------------------- policy
POLICY = """\
train:
  checks: [uv run pytest -q]
  slots: 1
  sign_off: none
classes:
  vertical-slice: {kind: parallel, checks: [ruff check .], budget: {wall: 45m}}
  migration: {paths: [db/**]}
  docs: {kind: parallel, sign_off: none}
ports: {APP_PORT: 3000, DEBUG_PORT: 9229}
protected_paths: [docs/product/**]
review_wip: 6
targets: {rework: 0.10, conflicts: 0.15, review_p90: 24h}
databases: {app: {use: sqlite, baseline: dev.sqlite3}}
caches: [.venv/**]
environment: [JAVA_HOME]
sign_commits: false
agent: {use: command, command: my-agent}
budget: {attempts: 2}
parallel_agents: 4
"""


def test_a_policy_is_read_and_its_classes_lie_over_the_built_in_ones() -> None:
    found, problems = FILES.policy(POLICY.encode(), "interlock.yaml")
    assert problems == ()
    names = [each.name for each in found.classes]
    assert names == [*(each.name for each in DEFAULT_CLASSES), "docs"]
    migration = found.find_class("migration")
    assert migration == TaskClass(name="migration", kind="serial", paths=("db/**",), solo=True)
    assert found.train == Train(checks=(Check(run="uv run pytest -q"),), sign_off="none")
    assert found.databases == (Database(name="app", use="sqlite", baseline="dev.sqlite3"),)
    assert (found.review_wip, found.parallel_agents, found.environment) == (6, 4, ("JAVA_HOME",))
    assert found.protected_paths == ("docs/product/**", "tasks/**", "interlock.yaml")


KEY = "5c0f3a9be2d1" + "0" * 52


@pytest.mark.parametrize(
    "listed", ["[]", "[5c0f3a9be2d1]", f"['{KEY.upper()}']", f"[{KEY}0]", f"{KEY}", "[[]]", f"[{KEY}, x]", "{a: b}"]
)
def test_what_is_no_list_of_whole_ids_of_keys_is_refused(listed: str) -> None:
    _, problems = FILES.policy(f"evidence: {{keys: {listed}}}\n".encode(), "interlock.yaml")
    assert {each.kind for each in problems} == {"shape"}
    assert all(each.what.endswith(".") and each.fix.endswith(".") for each in problems)


def test_keys_that_may_sign_are_read_each_once() -> None:
    digits = "7" * 64  # plain digits are the id of a key, too
    read, problems = FILES.policy(f"evidence:\n  keys: [{KEY}, {digits}, {KEY}]\n".encode(), "interlock.yaml")
    assert (problems, read.evidence.keys) == ((), (KEY, digits))
    assert FILES.policy(b"review_wip: 6\n", "interlock.yaml")[0].evidence.keys == ()


def test_how_the_train_works_is_read_with_its_slots_and_style() -> None:
    text = (
        "train: {checks: [make], slots: 4, batch: 3, window: 12, style: squash, retries: 2, stalled: 10m, rebuilds: 7}\n"
        "classes: {vertical-slice: {solo: true}, migration: {solo: false}}\n"
    )
    found, problems = FILES.policy(text.encode(), "interlock.yaml")
    assert problems == ()
    train = found.train
    assert (train.slots, train.batch, train.window, train.style) == (4, 3, 12, "squash")
    assert (train.retries, train.stalled, train.rebuilds) == (2, 600.0, 7)
    solo = {each.name for each in found.classes if each.solo}
    assert solo == {"vertical-slice", "shared-contract", "dependency-upgrade", "cross-cutting"}


@pytest.mark.parametrize("text", ["", "# nothing\n", "~\n"])
def test_without_a_policy_all_is_default(text: str) -> None:
    assert FILES.policy(text.encode(), "interlock.yaml") == (Policy(classes=DEFAULT_CLASSES), ())


def test_what_is_wrong_with_a_policy_is_told_at_once() -> None:
    text = """\
train: {slots: 0, style: octopus, checks: pytest}
reveiw_wip: 3
classes:
  vertical-slice: {agent: {use: acp}, isolation: sealed, budget: {usd: none}}
  docs: {paths: ["/docs"]}
ports: {app: 3000, DEBUG_PORT: 99999}
targets: {rework: yes}
databases: {app: {use: postgres}, two: {use: postgres, baseline: x, migrate: make}}
services: {web: npm start}
review: {rounds: 2}
isolation: worktree
network:
workspaces: /somewhere
"""
    _, problems = FILES.policy(text.encode(), "interlock.yaml")
    assert [(problem.kind, problem.where and problem.where.line) for problem in problems] == [
        ("shape", 1),
        ("shape", 1),
        ("shape", 1),
        ("unknown-key", 2),
        ("shape", 4),
        ("missing", 5),
        ("path", 5),
        ("shape", 6),
        ("shape", 6),
        ("shape", 7),
        ("missing", 8),
        ("missing", 8),
        ("shape", 9),
        ("not-built", 10),
        ("shape", 12),
        ("not-built", 13),
    ]
    assert all(text.endswith(".") for problem in problems for text in (problem.what, problem.why, problem.fix))


# ---------------------------------------------------------------- caps
def test_the_seeds_caps_are_read() -> None:
    text = "# one class and its cap a line\r\nvertical-slice 3\r\n\r\nmigration\t1   # one at a time\r\ntests 0"
    assert FILES.caps(b"\xef\xbb\xbf" + text.encode(), "tasks/caps.txt") == (
        (
            Cap(class_name="vertical-slice", cap=3, line=2),
            Cap(class_name="migration", cap=1, line=4),
            Cap(class_name="tests", cap=0, line=5),
        ),
        (),
    )
    assert FILES.caps(b"", "tasks/caps.txt") == ((), ())


def test_duplicate_caps_are_refused_also_when_only_the_case_differs() -> None:
    caps, problems = FILES.caps(b"tests 1\ntests 2\nTests 3\n", "tasks/caps.txt")
    assert caps == (Cap(class_name="tests", cap=1, line=1),)
    assert [(problem.kind, problem.where and problem.where.line) for problem in problems] == [
        ("cap-value", 2),
        ("cap-value", 3),
    ]


def test_lines_that_are_no_caps_are_refused() -> None:
    _, problems = FILES.caps(b"vertical slice 3\ntests\n-x 1\ntests 1 2\n\xff\n", "tasks/caps.txt")
    assert [problem.what for problem in problems] == ["The file is not UTF-8."]
    _, problems = FILES.caps(b"vertical slice 3\ntests\n-x 1\ntests 1 2\n", "tasks/caps.txt")
    assert [problem.kind for problem in problems] == ["cap-value", "cap-value", "shape", "cap-value"]


def test_five_hundred_cards_are_read_quickly() -> None:
    texts = [SEED.replace("billing-retry", f"billing-{n}").encode() for n in range(500)]
    begin = time.process_time()
    found = [FILES.card(text, "tasks/x.yaml", f"billing-{n}") for n, text in enumerate(texts)]
    assert time.process_time() - begin < 1.0
    assert all(each.card is not None for each in found)


# ---------------------------------------------------------------- whatever comes in
YAMLISH = st.text(alphabet="ab:-[]{}*&!|>#?,'\" \n\t%@`~0.", max_size=40).map(str.encode)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.one_of(st.binary(max_size=60), YAMLISH))
def test_whatever_comes_in_is_read_or_refused(data: bytes) -> None:
    for text in (data, b"slug: a\nclass: tests\nchecks: " + data):
        found = FILES.card(text, "tasks/a.yaml", "a")
        assert (found.card is None) == bool(found.problems)
    for head in (b"", b"classes: ", b"train: ", b"ports: ", b"databases: "):
        FILES.policy(head + data, "interlock.yaml")
    FILES.caps(data, "tasks/caps.txt")


@settings(max_examples=600, deadline=None, derandomize=True)
@given(st.text(alphabet="0123456789+-.:_eExXobnaiyYTZ tfrulsNO", min_size=1, max_size=10).map(str.strip).filter(bool))
def test_what_is_accepted_without_quotes_means_the_same_to_a_yaml_11_reader(plain: str) -> None:
    """The other side of case YC-04, against PyYAML's own resolver."""
    means = meaning(plain)
    try:
        (value,) = yaml.safe_load(f"- {plain}\n")
    except (yaml.YAMLError, ValueError):
        return
    if isinstance(value, list | dict):
        return
    if means == "text":
        assert value == plain
    elif means == "whole":
        assert (value, type(value)) == (int(plain), int)
    elif means == "flag":
        assert isinstance(value, bool)
    elif means == "empty":
        assert value is None


def test_jq_07_class_names_are_unique_ignoring_case() -> None:
    _, problems = FILES.policy(b"classes: {Tests: {kind: parallel}, docs: {kind: parallel}, DOCS: {kind: serial}}", "p")
    assert [problem.kind for problem in problems] == ["class", "class"]
    assert "Tests differs from tests in its case alone" in problems[0].what
