"""Cases PG: the one dialect of patterns, in scope, overlap and readiness alike."""

from __future__ import annotations

import pytest

from interlock.adapters.files import ContractFilesReader
from interlock.core.contract.batch import check_batch
from interlock.core.contract.card import Card, Check
from interlock.core.contract.classes import DEFAULT_CLASSES
from interlock.core.contract.paths import PatternError, intersect, parse
from interlock.core.contract.policy import PROTECTED_PATHS, Policy
from interlock.core.contract.readiness import judge, warnings
from interlock.core.gate.changes import Change
from interlock.core.gate.scope import judge_scope


def card(*owned: str, slug: str = "a", read: tuple[str, ...] = (), prohibited: tuple[str, ...] = ()) -> Card:
    return Card(
        slug=slug,
        class_name="vertical-slice",
        goal="Do it.",
        owned_paths=owned,
        read_only_paths=read,
        prohibited_paths=prohibited,
        checks=(Check(run="npm test"),),
        done_when=("it is done",),
        stop_when=("a change outside owned_paths is needed",),
        integration_owner="@ana",
    )


def refused(owner: Card, *paths: str, protected: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    changes = [Change(path=path, status="M", old_mode=0o100644, new_mode=0o100644) for path in paths]
    return [(each.path, each.rule) for each in judge_scope(owner, changes, protected_paths=protected)]


def meet(one: str, other: str) -> bool:
    return bool(check_batch([card(one, slug="a"), card(other, slug="b")]).overlaps)


def test_pg_01_a_star_stays_in_its_folder_and_double_stars_match_no_folder_as_well() -> None:
    assert refused(card("docs/*"), "docs/a.md", "docs/x/b.md") == [("docs/x/b.md", "outside")]
    assert refused(card("src/**/*.py"), "src/a.py", "src/x/a.py", "src/x/y/a.py") == []
    assert refused(card("*.md"), "a.md", "a/b.md") == [("a/b.md", "outside")]
    assert not meet("docs/*", "docs/x/b.md")
    assert meet("src/**/*.py", "src/a.py")


def test_pg_02_a_folder_is_owned_without_its_siblings() -> None:
    assert refused(card("src/foo"), "src/foo", "src/foo/x", "src/foobar/x") == [("src/foobar/x", "outside")]
    assert refused(card("src/foo/"), "src/foo/x", "src/foobar/x", "src/foo") == [
        ("src/foobar/x", "outside"),
        ("src/foo", "outside"),
    ]
    assert refused(card("apps/"), "apps/y", "x/apps/y") == [("x/apps/y", "outside")]
    assert not meet("src/foo", "src/foobar/x")
    for text, better in (("/src/**", "src/**"), ("./src/**", "src/**")):
        with pytest.raises(PatternError) as told:
            parse(text)
        assert told.value.fix == f"Write {better}."


def test_pg_02_a_pattern_that_can_name_nothing_warns() -> None:
    owner = card("src/**", "tasks/x.yaml", read=("lib/gone.ts",))
    policy = Policy(classes=DEFAULT_CLASSES)
    found = warnings(owner, {}, policy, file="tasks/a.yaml", base_files=("src/a.ts",))
    assert [(problem.kind, problem.what) for problem in found] == [
        ("idle-pattern", "tasks/x.yaml allows nothing."),
        ("idle-pattern", "lib/gone.ts names no file of the base."),
    ]


def test_pg_03_dot_files_are_like_any_other() -> None:
    paths = ("src/.env", "src/a/.cfg/x", ".github/workflows/ci.yml")
    assert refused(card("src/**"), *paths) == [(".github/workflows/ci.yml", "outside")]
    assert refused(card("**", read=("**",)), *paths) == [(path, "read-only") for path in paths]
    assert refused(card("**"), *paths, protected=("**",)) == [(path, "protected") for path in paths]
    assert refused(card("**"), *paths, protected=PROTECTED_PATHS) == [(".github/workflows/ci.yml", "protected")]
    assert meet("src/**", "src/a/.cfg/x")


def test_pg_03_how_the_work_of_others_is_merged_is_no_task_s_to_say() -> None:
    paths = (".gitattributes", "src/.gitattributes")
    assert refused(card("**"), *paths, protected=PROTECTED_PATHS) == [(path, "protected") for path in paths]
    assert refused(card("**"), "src/gitattributes.md", protected=PROTECTED_PATHS) == []


def test_pg_04_a_bracket_folder_is_itself() -> None:
    assert refused(card("app/[id]/**"), "app/[id]/page.tsx", "app/i/page.tsx") == [("app/i/page.tsx", "outside")]
    assert refused(card("app/[[...sign-in]]/**"), "app/[[...sign-in]]/page.tsx", "app/s/x") == [("app/s/x", "outside")]
    assert refused(card("app/(shop)/**", "app/@modal/**"), "app/(shop)/x", "app/@modal/y") == []
    assert not meet("app/[id]/**", "app/i/**")
    assert parse("x[z-a]y").matches("x[z-a]y")
    assert not parse("x[z-a]y").matches("xzy")


def test_pg_04_a_bracket_that_means_a_class_is_one_or_has_to_be_escaped() -> None:
    assert refused(card("v[0-9].txt"), "v1.txt", "va.txt") == [("va.txt", "outside")]
    owner = card("pages/[id].vue")
    policy = Policy(classes=DEFAULT_CLASSES)
    (problem,) = judge(owner, {}, policy, file="tasks/a.yaml", base_files=("pages/[id].vue",))
    assert (problem.kind, problem.fix) == ("path", "Write pages/[[]id].vue.")
    assert refused(card("pages/[[]id].vue"), "pages/[id].vue", "pages/i.vue") == [("pages/i.vue", "outside")]


def test_pg_05_negations_are_refused_and_exceptions_win_in_any_order() -> None:
    text = 'slug: a\nclass: tests\nowned_paths: ["!docs/**", "!frontend/**"]\n'
    found = ContractFilesReader().card(text.encode(), "tasks/a.yaml", "a")
    assert [problem.kind for problem in found.problems] == ["path", "path"]
    assert found.problems[0].fix == "List docs/** under prohibited_paths instead."
    assert found.card is None
    owner = card("src/**", prohibited=("src/gen/**",))
    assert refused(owner, "src/a.ts", "src/gen/x.ts") == [("src/gen/x.ts", "prohibited")]
    other = card("src/gen/**", slug="b")
    assert check_batch([owner, other]).overlaps == ()
    assert check_batch([other, owner]).overlaps == ()
    assert intersect(parse("src/**"), parse("src/gen/**"), outside=[parse("src/gen/**")]) is None
