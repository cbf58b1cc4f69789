"""Readiness: every reason at once, each with its place; and the warnings that keep nothing from starting."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from interlock.core.contract.agents import Models, Route
from interlock.core.contract.around import Database
from interlock.core.contract.caps import judge_caps
from interlock.core.contract.card import AgentChoice, Budget, Card, Check, Needs
from interlock.core.contract.classes import DEFAULT_CLASSES
from interlock.core.contract.defaults import with_defaults
from interlock.core.contract.ground import ground_of
from interlock.core.contract.loop import Loop, LoopGate
from interlock.core.contract.places import Places, Positions
from interlock.core.contract.policy import Cap, Policy, TaskClass
from interlock.core.contract.readiness import judge, judge_on, warnings
from interlock.core.contract.weak_checks import weakness
from interlock.core.problems import Problem
from interlock.core.rules import RULES

POLICY = Policy(
    classes=DEFAULT_CLASSES,
    databases=(
        Database(name="app", use="sqlite", baseline="dev.sqlite3"),
        Database(name="pg", use="postgres", baseline="x"),
    ),
)
FILES = (
    "docs/plans/retry.md",
    "src/billing/retry/a.ts",
    "src/db/migrations/0001.sql",
    "app/i/page.tsx",
    "pages/[id].vue",
    "web/package-lock.json",
)
READY = Card(
    slug="retry",
    class_name="vertical-slice",
    goal="Retry failed charges with back-off.",
    owned_paths=("src/billing/retry/**", "tests/billing/retry/**"),
    checks=(Check(run="npm test -- tests/billing/retry"),),
    done_when=("failed charges are retried 3 times",),
    stop_when=("a change outside owned_paths is needed",),
    integration_owner="@ana",
)


def reasons(policy: Policy = POLICY, at: Positions | None = None, **changes: Any) -> list[Problem]:
    card = replace(READY, **changes)
    found = judge(card, at or {}, policy, file="tasks/retry.yaml", base_files=FILES)
    assert all(problem.kind in RULES for problem in found)
    assert all(text.endswith(".") for problem in found for text in (problem.what, problem.why, problem.fix))
    return list(found)


def kinds(**changes: Any) -> list[str]:
    return [problem.kind for problem in reasons(**changes)]


def test_a_good_card_is_ready() -> None:
    assert reasons() == []
    assert reasons(goal=None, done_when=(), accepted_plan="docs/plans/retry.md") == []


def test_every_reason_comes_at_once_from_the_top_of_the_file_to_its_end() -> None:
    at = {
        "": (1, 1),
        "class": (2, 8),
        "owned_paths": (3, 1),
        "checks": (4, 1),
        "stop_when": (5, 1),
        "open_questions[0]": (7, 5),
        "integration_owner": (8, 20),
        "variants": (9, 11),
    }
    found = reasons(
        at=at,
        class_name="vertical-slize",
        goal=None,
        done_when=(),
        owned_paths=(),
        checks=(),
        stop_when=(),
        open_questions=("Which currency?",),
        integration_owner="TBD",
        variants=3,
    )
    assert [(problem.kind, problem.where and (problem.where.line, problem.where.column)) for problem in found] == [
        ("missing", (1, 1)),
        ("class", (2, 8)),
        ("missing", (3, 1)),
        ("no-check", (4, 1)),
        ("no-stop-rule", (5, 1)),
        ("open-question", (7, 5)),
        ("owner", (8, 20)),
        ("not-built", (9, 11)),
    ]
    assert found[1].fix == "Write class: vertical-slice."
    assert found[5].what == 'The question "Which currency?" is open.'


@pytest.mark.parametrize(
    "owner", ["", "TBD", "tbd", "@TBD", "todo", "?", "???", "none", "n/a", "N/A", "-", "@", "Unknown"]
)
def test_an_owner_who_is_not_decided_is_none(owner: str) -> None:
    assert kinds(integration_owner=owner) == ["owner"]


@pytest.mark.parametrize("owner", ["@ana", "ana@example.org", "Todor", "@nonette", "@na"])
def test_people_are_owners(owner: str) -> None:
    assert kinds(integration_owner=owner) == []


@pytest.mark.parametrize(
    ("changes", "lacking"),
    [
        ({"goal": None}, "goal"),
        ({"goal": "  "}, "goal"),
        ({"done_when": ()}, "done_when"),
        ({"goal": "", "done_when": ()}, "goal and done_when"),
    ],
)
def test_without_a_plan_both_goal_and_conditions_are_needed(changes: dict[str, Any], lacking: str) -> None:
    (problem,) = reasons(**changes)
    assert (problem.kind, problem.what) == ("missing", f"The card has neither an accepted_plan nor {lacking}.")


def test_a_plan_has_to_be_on_the_base() -> None:
    assert kinds(accepted_plan="docs/plans/gone.md") == ["plan"]
    card = replace(READY, accepted_plan="docs/plans/gone.md")
    assert judge(card, {}, POLICY, file="tasks/retry.yaml", base_files=None) == ()


# ---------------------------------------------------------------- classes
def test_a_file_that_a_serial_class_claims_contradicts_and_its_class_is_named() -> None:
    (problem,) = reasons(owned_paths=("src/db/**",))
    assert problem.kind == "class-contradiction"
    assert (
        problem.what
        == "src/db/** owns src/db/migrations/0001.sql, which belongs to the class migration by **/migrations/**."
    )
    assert "Write class: migration" in problem.fix
    assert kinds(owned_paths=("src/db/**",), prohibited_paths=("**/migrations/**",)) == []
    assert kinds(owned_paths=("src/db/**",), read_only_paths=("src/db/migrations/**",)) == []


def test_a_pattern_wholly_inside_a_serial_class_contradicts_without_any_file() -> None:
    assert kinds(owned_paths=("migrations/0042_retry.sql",)) == ["class-contradiction"]
    assert kinds(owned_paths=("api/**/openapi.yaml",)) == ["class-contradiction"]


def test_mere_intersection_is_no_contradiction() -> None:
    assert kinds(owned_paths=("src/billing/**",)) == []
    assert kinds(owned_paths=("other/**",)) == []
    assert kinds(owned_paths=("web/*.ts",)) == []


def test_its_own_serial_class_and_a_class_that_runs_alone_may_own_it() -> None:
    assert kinds(class_name="migration", owned_paths=("src/db/**",)) == []
    assert kinds(class_name="cross-cutting", owned_paths=("**",)) == []
    (problem,) = reasons(class_name="migration", owned_paths=("web/package-lock.json",))
    assert "dependency-upgrade" in problem.what


def test_a_class_of_the_team_claims_paths_as_well() -> None:
    classes = (*DEFAULT_CLASSES, TaskClass(name="design", kind="serial", paths=("src/billing/*/a.ts",)))
    (problem,) = reasons(policy=replace(POLICY, classes=classes))
    assert "belongs to the class design" in problem.what


# ---------------------------------------------------------------- brackets
def test_a_bracket_that_means_two_things_is_refused_with_its_escape() -> None:
    (problem,) = reasons(owned_paths=("pages/[id].vue",))
    assert problem.kind == "path"
    assert problem.fix == "Write pages/[[]id].vue."
    assert kinds(owned_paths=("pages/[[]id].vue",)) == []
    assert kinds(owned_paths=("src/v[0-9].ts",)) == []
    assert kinds(prohibited_paths=("pages/[id].*",)) == ["path"]


# ---------------------------------------------------------------- not built yet
@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"variants": 2}, "variants"),
        ({"risk": "high"}, "risk"),
        ({"acceptance": ("PAY-12.3",)}, "acceptance"),
        ({"needs": Needs(ports=11)}, "needs.ports"),
    ],
)
def test_what_is_not_built_is_refused_and_never_ignored(changes: dict[str, Any], key: str) -> None:
    (problem,) = reasons(at={key: (5, 7)}, **changes)
    assert problem.kind == "not-built"
    assert problem.where is not None
    assert (problem.where.line, problem.where.column) == (5, 7)


@pytest.mark.parametrize(
    "changes",
    [
        {"risk": "low"},
        {"isolation": "worktree"},
        {"isolation": "sealed"},
        {"needs": Needs(database="pg", network=("registry.example",))},
        {"needs": Needs(database="app", ports=10)},
        {"budget": Budget(wall=2700.0, idle=600.0, attempts=3)},
        {"budget": Budget(tokens=400_000, usd=4.0, attempt_usd=1.0, startup=30.0, turns=40)},
        {"agent": AgentChoice(use="codex", model="gpt-5.5")},
        {"agent": AgentChoice(use="acp", command="claude-agent-acp")},
        {"agent": AgentChoice(use="command", command="true", model="m", effort="medium")},
        {"checks": (Check(run="npm test", tier="slow", timeout=60.0),)},
    ],
)
def test_what_is_built_is_accepted(changes: dict[str, Any]) -> None:
    assert kinds(**changes) == []


def test_an_agent_of_the_class_counts_as_the_cards_own() -> None:
    classes = (TaskClass(name="vertical-slice", kind="parallel", agent=AgentChoice(use="clod")),)
    (problem,) = reasons(policy=Policy(classes=classes))
    assert problem.kind == "no-agent"
    assert problem.why == "Known here: command, codex, claude, acp, cursor."
    assert reasons(policy=Policy(classes=classes), agent=AgentChoice(use="command", command="true")) == []


def test_an_agent_that_nobody_brings_is_told_with_those_there_are() -> None:
    choice = AgentChoice(use="codecs")
    (problem,) = reasons(at={"agent.use": (9, 14)}, agent=choice)
    assert (problem.kind, problem.what) == ("no-agent", "The agent codecs is not known here.")
    assert problem.fix.startswith("Write use: codex")
    assert problem.where is not None
    assert (problem.where.line, problem.where.column) == (9, 14)
    assert reasons(policy=replace(POLICY, agents=("command", "codecs")), agent=choice) == []


def test_half_an_agent_is_refused() -> None:
    assert kinds(agent=AgentChoice(use="command")) == ["missing"]
    assert kinds(agent=AgentChoice(use="command", command=" ")) == ["missing"]
    assert kinds(agent=AgentChoice(use="acp")) == ["missing"]
    assert kinds(agent=AgentChoice(command="true")) == ["missing"]
    assert kinds(agent=AgentChoice(use="claude", command="true")) == ["shape"]


def test_a_database_that_the_policy_lacks_is_told_with_those_it_has() -> None:
    (problem,) = reasons(needs=Needs(database="warehouse"))
    assert (problem.kind, problem.why) == ("missing", "interlock.yaml configures: app, pg.")


# ---------------------------------------------------------------- defaults
def test_defaults_of_the_class_and_policy_lie_under_the_cards_own() -> None:
    classes = (
        TaskClass(
            name="vertical-slice",
            kind="parallel",
            agent=AgentChoice(use="command", command="agent", model="small"),
            budget=Budget(wall=600.0),
        ),
    )
    policy = Policy(
        classes=classes, budget=Budget(wall=60.0, attempts=2), agent=AgentChoice(use="command", command="p")
    )
    card = with_defaults(replace(READY, budget=Budget(idle=30.0), agent=AgentChoice(model="large")), policy)
    assert card.budget == Budget(wall=600.0, idle=30.0, attempts=2)
    assert card.agent == AgentChoice(use="command", command="agent", model="large")
    own = AgentChoice(use="command", command="mine")
    assert with_defaults(replace(READY, agent=own), policy).agent == own
    assert with_defaults(replace(READY, class_name="tests"), policy).agent.command == "p"


# ---------------------------------------------------------------- warnings
def warned(**changes: Any) -> list[Problem]:
    return list(warnings(replace(READY, **changes), {}, POLICY, file="tasks/retry.yaml", base_files=FILES))


def test_weak_checks_warn_and_do_not_block() -> None:
    checks = (Check(run="npm test || true"), Check(run="npm test"))
    (problem,) = warned(checks=checks)
    assert problem.kind == "weak-check"
    assert kinds(checks=checks) == []


@pytest.mark.parametrize(
    "run",
    [
        "false || true",
        "pytest -q ||:",
        "pytest || exit 0",
        "pytest || echo failed",
        "false; echo ok",
        "npm test ; exit 0",
        "npm test\necho done\n",
        "set +e; npm test",
        "npm test &",
        "true",
        "echo 'all good'",
        "set +o pipefail; npm test | tee log",
    ],
)
def test_a_check_that_can_hide_a_failure_is_weak(run: str) -> None:
    found = weakness(run)
    assert found is not None
    assert found.why.endswith(".")
    assert found.fix.endswith(".")


@pytest.mark.parametrize(
    "run",
    [
        "npm test",
        "false | tee out.txt",
        "cd web && npm test",
        "pytest -k 'a || true'",
        'grep "; echo" file',
        "npm run build; npm test",
        "npm test 2>&1 | tee log",
        "npm test &> log",
        "echo start\nnpm test",
        "make check || make check-again",
        "pytest # || true",
        "test -f a || exit 1",
    ],
)
def test_a_check_that_ends_with_what_it_runs_is_not_weak(run: str) -> None:
    assert weakness(run) is None


def test_an_owned_pattern_that_exceptions_empty_warns() -> None:
    (problem,) = warned(owned_paths=("src/billing/**", "tasks/retry.yaml"))
    assert (problem.kind, problem.what) == ("idle-pattern", "tasks/retry.yaml allows nothing.")
    assert warned(prohibited_paths=("src/billing/retry/x/**",)) == []


def test_a_read_only_path_that_names_nothing_warns_unless_a_dependency_may_bring_it() -> None:
    assert [problem.kind for problem in warned(read_only_paths=("src/biling/client.ts",))] == ["idle-pattern"]
    assert warned(read_only_paths=("src/biling/client.ts",), depends_on=("client",)) == []
    assert warned(read_only_paths=("src/billing/retry/a.ts",)) == []


def test_what_was_told_when_reading_is_not_told_again() -> None:
    bare = replace(READY, checks=(), stop_when=(), owned_paths=(), integration_owner="", goal=None, class_name="")
    keys = frozenset({"checks", "stop_when", "owned_paths", "integration_owner", "goal", "class"})
    assert judge_on(bare, ground_of(POLICY, FILES), Places("tasks/retry.yaml", {}, keys)) == ()


# ---------------------------------------------------------------- caps against the policy
def test_serial_and_alone_classes_have_one_slot_at_most() -> None:
    caps = tuple(
        Cap(class_name=name, cap=cap, line=n)
        for n, (name, cap) in enumerate(
            [("vertical-slice", 9), ("migration", 1), ("migration", 2), ("cross-cutting", 3), ("bugfix", 1)], start=1
        )
    )
    found = judge_caps(caps, POLICY, file="tasks/caps.txt")
    assert [(problem.kind, problem.where and problem.where.line) for problem in found] == [
        ("cap-value", 3),
        ("cap-value", 4),
        ("class", 5),
    ]
    assert found[0].fix == "Write migration 1."
    assert found[2].fix == "Write bug-fix 1."


@pytest.mark.parametrize(
    ("owns", "run", "files", "refused"),
    [
        (("t/**",), "bash t/gate.sh", ("t/gate.sh",), True),
        (("t/**",), "pytest -q ./t/test_race.py::test_one", ("t/test_race.py",), True),
        (("t/gate.sh",), "bash t/gate.sh", None, True),
        (("src/**",), "bash t/gate.sh", ("t/gate.sh",), False),
        (("t/**",), "pytest -q -k t", ("t/gate.sh",), False),
        (("t/**",), "'unclosed t/gate.sh", ("t/gate.sh",), True),
    ],
)
def test_an_agent_does_not_own_the_gate_of_its_loop(
    owns: tuple[str, ...], run: str, files: tuple[str, ...] | None, refused: bool
) -> None:
    loop = Loop(gate=LoopGate(kind="reproduce", run=run))
    card = replace(READY, owned_paths=owns, loop=loop)
    found = [each for each in judge(card, {}, POLICY, file="t.yaml", base_files=files) if each.kind == "own-gate"]
    assert bool(found) is refused
    skip = replace(READY, owned_paths=owns, loop=replace(loop, gate=LoopGate(kind="reproduce", run="true"), skip=run))
    assert bool(
        [each for each in judge(skip, {}, POLICY, file="t.yaml", base_files=files) if each.kind == "own-gate"]
    ) is (refused)


CLAUDE = Models(name="anthropic", url="https://api.anthropic.com", dialects=("anthropic",))


@pytest.mark.parametrize(
    ("use", "budget", "models", "limits"),
    [
        ("codex", Budget(tokens=5), (), ["budget.tokens"]),
        ("codex", Budget(attempt_usd=5.0), (CLAUDE,), ["budget.usd"]),
        ("cursor", Budget(usd=5.0, turns=3), (CLAUDE,), ["budget.turns", "budget.usd"]),
        ("claude", Budget(usd=5.0, turns=3), (), []),
        ("claude", Budget(usd=5.0, tokens=3), (), ["budget.tokens"]),
        ("claude", Budget(tokens=3), (CLAUDE,), []),
        ("plug-in", Budget(tokens=3, turns=3), (), []),
        (None, Budget(tokens=3), (), []),
        ("codex", Budget(wall=60.0), (), []),
    ],
)
def test_a_budget_that_nothing_would_keep_is_told_before_a_start(
    use: str | None, budget: Budget, models: tuple[Models, ...], limits: list[str]
) -> None:
    keys = ("budget.tokens", "budget.turns", "budget.usd")
    at = {key: (number, 1) for number, key in enumerate(keys, start=1)}
    policy = replace(POLICY, models=models, agent=AgentChoice(use=use))
    found = warnings(replace(READY, budget=budget), at, policy, file="x.yaml", base_files=FILES)
    assert sorted(keys[(each.where.line or 0) - 1] for each in found if each.where) == limits
    assert {each.kind for each in found} <= {"budget"}
    assert all(text.endswith(".") for each in found for text in (each.what, each.why, each.fix))


def test_the_agent_of_each_phase_is_asked_for_its_budget() -> None:
    tests = replace(POLICY.find_class("vertical-slice") or POLICY.classes[0], phases=("plan", "implement"))
    others = tuple(each for each in POLICY.classes if each.name != tests.name)
    routes = (Route(phases=("plan",), use="codex"),)
    policy = replace(POLICY, classes=(*others, tests), routes=routes, models=(CLAUDE,), agent=AgentChoice(use="claude"))
    (found,) = warnings(replace(READY, budget=Budget(tokens=5)), {}, policy, file="x.yaml", base_files=FILES)
    assert "codex" in found.what


def test_a_script_that_judges_and_is_owned_by_its_exact_path_warns_and_a_test_does_not() -> None:
    files = (*FILES, "check.sh", "tests/test_a.py")
    judged = replace(READY, checks=(Check(run="./check.sh"), Check(run="pytest tests/test_a.py")))

    def told(*owned: str) -> list[str]:
        card = replace(judged, owned_paths=(*READY.owned_paths, *owned))
        return [each.what for each in warnings(card, {}, POLICY, file="x", base_files=files) if each.kind == "own-gate"]

    assert told("check.sh", "tests/test_a.py") == [
        "check.sh is what the check runs, and the card owns it by its exact path."
    ]
    assert told("*.sh") == []
