"""Every rule that a job can wait by has answers that a person can copy, and the commands in them exist."""

from __future__ import annotations

import shlex

import pytest

from interlock.app.asking import options_of, permission_options
from interlock.cli.main import cli
from interlock.cli.next_command import next_of, way_on
from interlock.core.agent.seen import Asked, Choice
from interlock.core.rules import RULES

DETAILS: tuple[dict[str, object], ...] = (
    {},
    {"holders": ["deploy"]},
    {"options": ["it's fine", "drop; it", "--accept"], "question": "Which?"},
    {"paths": ["src/a b.py"]},
    {"checks": [{"run": "make test"}]},
    {"branch": "agent/a"},
    {"reached": {"scope": "attempt", "unit": "usd"}},
    {"reached": {"scope": "job", "unit": "tokens"}},
    {"reached": {"scope": "class", "unit": "usd"}},
    {"reached": {"scope": "day", "unit": "usd"}},
    {"reached": {"scope": "job", "unit": "usd", "priced": False}, "unit": "tokens"},
)


@pytest.mark.parametrize("rule", sorted(RULES))
def test_each_rule_has_answers_and_each_answer_is_a_command(rule: str) -> None:
    for detail in DETAILS:
        options = options_of("a", rule, detail)
        assert any("--abandon" in each.command for each in options)
        assert len({each.command for each in options}) == len(options) > 1
        for command in (*(each.command for each in options), way_on("a", rule, detail)):
            program, verb, *words = shlex.split(command)
            assert program == "interlock"
            known = cli.get_command(None, verb)  # type: ignore[arg-type]
            assert known is not None, command
            known.make_context(verb, words)


@pytest.mark.parametrize(
    ("rule", "detail"),
    [
        *((rule, {"checks": [{"run": "make test"}]}) for rule in ("tests-failed", "no-tests", "flaky", "resolution")),
        *((rule, {}) for rule in ("outside", "unknown-card", "not-ready", "class", "depends-on")),
        ("head-moved", {"branch": "agent/a"}),
        ("branch-replaced", {"branch": "agent/a"}),
    ],
)
def test_what_a_changed_card_settles_can_be_judged_again(rule: str, detail: dict[str, object]) -> None:
    """What is said of these tells a person to mend the card and have it judged again: so the answer stands among them."""
    commands = [each.command for each in options_of("a", rule, detail)]
    assert "interlock decide a --again" in commands
    assert commands[0] != "interlock decide a --accept"
    assert "interlock decide a --again" not in [each.command for each in options_of("a", "agent-failed", {})]


def test_what_an_agent_asks_is_not_answered_for_anybody() -> None:
    detail = {"options": ["keep it", "drop it"]}
    assert way_on("a", "agent-stopped", detail) == "interlock decide a ANSWER"
    assert options_of("a", "agent-stopped", detail)[0].command == "interlock decide a 'keep it'"
    (hostile, *_) = options_of("a", "agent-stopped", {"options": ["--abandon"]})
    assert hostile.command == "interlock decide a -- --abandon", "An agent's words are no option of ours."


def test_the_careful_answer_is_first_and_what_allows_most_is_last() -> None:
    said = (
        ("y", "Always allow", True),
        ("o", "Allow", True),
        ("nn", "Never, always refuse", False),
        ("n", "No", False),
    )
    asked = Asked(id="p1", what="run", choices=tuple(Choice(id=i, label=t, allows=a) for i, t, a in said))
    options = permission_options("a", asked)
    assert [each.label for each in options] == ["No", "Never, always refuse", "refuse it", "Allow", "Always allow"]
    for rule in ("test-plan", "tests-removed", "tests-skipped", "file-overlap"):
        assert "--accept" not in options_of("a", rule, {})[0].command
    item = {"kind": "permission", "slug": "a", "options": [each.as_json() for each in options]}
    assert next_of(item) == "interlock decide a --request=p1 --permit=n"


def test_a_raise_is_shown_with_the_figure_that_would_do() -> None:
    detail = {"reached": {"scope": "attempt", "unit": "usd"}, "raise_to": {"attempt.usd": "2.5", "tokens": "9000"}}
    assert options_of("a", "budget", detail)[1].command == "interlock decide a --raise attempt.usd=2.5"
    assert options_of("a", "not-worth", detail)[0].command == "interlock decide a --raise tokens=9000"


def test_a_choice_of_an_agent_is_no_option_of_ours_either() -> None:
    asked = Asked(id="p1", what="run", choices=(Choice(id="--abandon", label="Yes", allows=True),))
    command = cli.get_command(None, "decide")  # type: ignore[arg-type]
    assert command is not None
    _, _, *words = shlex.split(permission_options("a", asked)[1].command)
    context = command.make_context("decide", words)
    assert (context.params["permit"], context.params["abandon"]) == ("--abandon", False)
