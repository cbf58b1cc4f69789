"""Cases YC: YAML of task cards, their shapes and their dependencies."""

from __future__ import annotations

import pytest

from interlock.adapters.files import ContractFilesReader
from interlock.app.cards import check_cards, read_set
from interlock.core.contract.card import Check
from interlock.core.contract.classes import DEFAULT_CLASSES
from interlock.core.contract.policy import Policy
from interlock.core.problems import Problem

FILES = ContractFilesReader()
HEAD = "slug: a\nclass: tests\n"


def problems(text: str, slug: str = "a") -> tuple[Problem, ...]:
    return FILES.card(text.encode(), f"tasks/{slug}.yaml", slug).problems


@pytest.mark.parametrize(
    ("item", "written"),
    [
        ("*.ts", '"*.ts"'),
        ("**/*.ts", '"**/*.ts"'),
        ("!docs/**", '"!docs/**"'),
        ("{a,b}/**", '"{a,b}/**"'),
        ("[id]/x", '"[id]/x"'),
    ],
)
def test_yc_02_unquoted_globs_are_refused_with_the_quotes(item: str, written: str) -> None:
    (problem,) = problems(f"{HEAD}owned_paths:\n  - {item}\nchecks: [x]\n")
    assert problem.kind == "yaml"
    assert problem.where is not None
    assert problem.where.line == 4
    assert problem.fix == f"Put the value in quotes: - {written}."


def test_yc_02_unquoted_globs_in_a_list_on_one_line_are_refused_with_the_quotes() -> None:
    (problem,) = problems(f"{HEAD}owned_paths: [src/[id]/x, b]\n")
    assert problem.fix == 'Put each item in quotes: owned_paths: ["src/[id]/x", "b"].'


@pytest.mark.parametrize(
    ("text", "line", "column", "opener", "closer"),
    [
        ("owned_paths: [a, b\nchecks: [x]\n", 3, 14, "[", "]"),
        ("checks: [{run: a, timeout: 1m]\n", 3, 10, "{", "}"),
        ("budget: {usd: 1\n", 3, 9, "{", "}"),
        ("checks: [\n", 3, 9, "[", "]"),
        ("goal: don't do [ so\nchecks: [\n  a,\n", 4, 9, "[", "]"),
        ('goal: "a [ b" # [\nchecks: [x\n', 4, 9, "[", "]"),
    ],
)
def test_yc_02_a_bracket_that_is_never_closed_is_named_where_it_opens(
    text: str, line: int, column: int, opener: str, closer: str
) -> None:
    (problem,) = problems(HEAD + text)
    assert problem.where is not None
    assert (problem.where.line, problem.where.column) == (line, column)
    assert problem.why == f"What {opener} opens here ends with {closer}, and it is not there."
    assert problem.fix == f"Close it with {closer}."


def test_yc_02_a_wrong_item_of_a_list_that_is_closed_is_no_open_bracket() -> None:
    (problem,) = problems(f'{HEAD}owned_paths: [\n  a,\n  "b"c,\n]\n')
    assert problem.where is not None
    assert problem.where.line == 5
    assert "Close it" not in problem.fix


@pytest.mark.parametrize("item", ["#shared", "", "docs/**: x", "~"])
def test_yc_02_items_that_are_no_text_are_refused_and_never_an_empty_pattern(item: str) -> None:
    found = FILES.card(f"{HEAD}owned_paths:\n  - {item}\n".encode(), "tasks/a.yaml", "a")
    (problem,) = found.problems
    assert problem.what == "owned_paths: item 1 is not text."
    assert found.card is None
    assert found.draft is not None
    assert found.draft.owned_paths == ()


def test_yc_02_a_comment_after_a_pattern_is_a_comment() -> None:
    found = FILES.card(f"{HEAD}owned_paths:\n  - src/a # note\n".encode(), "tasks/a.yaml", "a")
    assert found.card is not None
    assert found.card.owned_paths == ("src/a",)


@pytest.mark.parametrize("slug", ["no", "0123", "08", "1e3", "2026-01-02", "null"])
def test_yc_04_untyped_scalars_where_text_is_due_are_refused_until_quoted(slug: str) -> None:
    (problem,) = problems(f"slug: {slug}\nclass: tests\n", slug)
    assert (problem.kind, problem.what) == ("shape", "slug is not text.")
    assert problem.fix == f'Put it in quotes: slug: "{slug}".'
    assert problems(f'slug: "{slug}"\nclass: tests\n', slug) == ()


@pytest.mark.parametrize("value", ["12:30:45", "1.10", "1_000", "yes", "Off", "true", ".inf", "0x1F", "~", "5"])
def test_yc_04_every_text_field_takes_text_only(value: str) -> None:
    for key in ("class", "goal", "accepted_plan", "integration_owner"):
        text = f"slug: a\nclass: tests\n{key}: {value}\n" if key != "class" else f"slug: a\nclass: {value}\n"
        assert [problem.kind for problem in problems(text)] == ["shape"]
    for key in ("owned_paths", "checks", "stop_when", "depends_on"):
        assert [problem.what for problem in problems(f"{HEAD}{key}: [ok, {value}]\n")] == [
            f"{key}: item 2 is not text."
        ]


@pytest.mark.parametrize("form", ["{}: {}", "{} {}"])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("vertical-slice", "1_000"),
        ("tests", "1:30"),
        ("migration", ".inf"),
        ("bug-fix", "-1"),
        ("docs", "3.5"),
        ("chore", '"3"'),
    ],
)
def test_yc_04_caps_are_whole_numbers(form: str, name: str, value: str) -> None:
    caps, found = FILES.caps(f"{form.format(name, value)}\n".encode(), "tasks/caps.txt")
    (problem,) = found
    assert caps == ()
    assert problem.kind == "cap-value"
    assert f"is {value}, which is not a whole number from 0 to 9999" in problem.what
    assert problem.fix.startswith(f"Write: {name} ")


@pytest.mark.parametrize("value", ["1_000", "1:30", ".inf", "-1", "3.5", '"3"', "007", "0x10", "yes"])
def test_yc_04_whole_numbers_of_cards_and_policies_as_well(value: str) -> None:
    _, found = FILES.policy(f"review_wip: {value}\n".encode(), "interlock.yaml")
    assert [problem.what for problem in found] == ["review_wip is not a whole number from 0 to 10000."]
    assert [problem.kind for problem in problems(f"{HEAD}variants: {value}\n")] == ["shape"]


@pytest.mark.parametrize(
    ("line", "what", "fix"),
    [
        ("checks: npm test", "checks is not a list.", 'Write checks: ["npm test"].'),
        (
            'owned_paths: "[src/a, src/b]"',
            "owned_paths is not a list.",
            "Write owned_paths: [src/a, src/b], without quotes around the list.",
        ),
        ("checks: [pytest -k a: b]", "checks: item 1 is not text.", 'Put it in quotes: - "pytest -k a: b".'),
        ("checks:\n  - make test: unit", "checks: item 1 is not text.", 'Put it in quotes: - "make test: unit".'),
        ("checks:\n  - true", "checks: item 1 is not text.", 'Put it in quotes: - "true".'),
        ("stop_when: x", "stop_when is not a list.", 'Write stop_when: ["x"].'),
        ("depends_on:", "depends_on is not a list.", "Write depends_on: [first, second], or depends_on: [] for none."),
        (
            "checks: {run: x}",
            "checks is not a list.",
            'Write checks: ["npm run typecheck", "npm test"], or checks: [] for none.',
        ),
        ("owned_path: [a]", "The key owned_path is not known.", "Write owned_paths: instead."),
        ("chekcs: [a]", "The key chekcs is not known.", "Write checks: instead."),
        ("agent: codex", "agent is not a mapping.", 'Write agent: {use: command, command: "..."}.'),
    ],
)
def test_yc_06_wrong_shapes_show_the_expected_form(line: str, what: str, fix: str) -> None:
    (problem,) = problems(f"{HEAD}{line}\n")
    assert (problem.what, problem.fix) == (what, fix)
    assert problem.where is not None
    assert problem.where.line in (3, 4)


def test_yc_06_two_documents_and_an_empty_file_are_refused() -> None:
    assert [problem.what for problem in problems(f"{HEAD}---\n{HEAD}")] == ["A second document begins here."]
    for empty in ("", "# nothing\n", "---\n", "\ufeff"):
        assert [problem.kind for problem in problems(empty)] in (["missing"], ["shape"])


def test_yc_06_a_byte_order_mark_and_crlf_are_accepted() -> None:
    text = f"\ufeff{HEAD}checks:\n  - npm test\n".replace("\n", "\r\n")
    found = FILES.card(text.encode(), "tasks/a.yaml", "a")
    assert found.problems == ()
    assert found.card is not None
    assert found.card.checks == (Check(run="npm test"),)
    assert found.positions["checks[0]"] == (4, 5)


def test_yc_07_circles_and_unknown_dependencies_are_refused_by_name() -> None:
    needs = {"a": "b", "b": "c", "c": "a", "d": "d", "e": "no-such", "f": "only-on-a-branch", "g": "", "h": "g"}
    texts = {f"tasks/{slug}.yaml": _card(slug, need) for slug, need in needs.items()}
    cards = read_set(FILES, lambda path: texts[path].encode(), needs)
    report = check_cards(cards, Policy(classes=DEFAULT_CLASSES), source="a test", base_files=None)
    told = {slug: [each.problem for each in report.problems if each.slug == slug] for slug in needs}
    for slug in "abc":
        assert [problem.kind for problem in told[slug]] == ["cycle"]
        assert "a -> b -> c -> a" in told[slug][0].what
    assert [problem.what for problem in told["d"]] == ["d depends on itself."]
    assert [problem.kind for problem in told["e"]] == ["unknown-dependency"]
    assert "no-such" in told["e"][0].what
    assert "only-on-a-branch" in told["f"][0].what
    assert told["g"] == told["h"] == []
    assert report.order == ("g", "h")
    assert not report.ready


def _card(slug: str, need: str) -> str:
    return f"""\
slug: {slug}
class: vertical-slice
goal: Do it.
owned_paths: [src/{slug}/**]
depends_on: [{need}]
checks: [npm test]
done_when: [it is done]
stop_when: [a change outside owned_paths is needed]
integration_owner: "@ana"
"""
