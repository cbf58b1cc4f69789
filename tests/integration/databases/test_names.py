"""Names of tasks' databases cannot collide, marks cannot be misread, digests change with what they are of."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.core.contract import database_names as names
from interlock.core.contract.database_names import Mark

OWNER, OTHER = "abcdefgh", "abcdefg2"
TEXTS = st.text(max_size=120)
calm = settings(deadline=None, database=None)


@pytest.mark.parametrize("owner", ["x", "short", "ABCDEFGH", "abcdefg_", "abcdefgh_b_x", "abcdefg1"])
def test_a_malformed_owner_is_refused(owner: str) -> None:
    with pytest.raises(ValueError, match=f"^{owner}$"):
        names.branch_name(owner, "app", "task")


@calm
@given(TEXTS, TEXTS)
def test_a_name_fits_and_needs_no_quotes(database: str, task: str) -> None:
    for name in (names.branch_name(OWNER, database, task), names.template_name(OWNER, database, task)):
        assert len(name.encode()) <= names.LIMIT
        assert re.fullmatch(r"[a-z][a-z0-9_]*", name)
    assert len(names.pool_prefix(OWNER, database, task)) + 12 <= names.LIMIT


@calm
@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=2, max_size=8, unique=True))
def test_different_tasks_have_different_names(pairs: list[tuple[str, str]]) -> None:
    for make in (names.branch_name, names.template_name, names.pool_prefix):
        assert len({make(OWNER, database, task) for database, task in pairs}) == len(pairs)
    assert len({names.file_name(database, task) for database, task in pairs}) == len(pairs)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (("app", "b_x"), ("app_b", "x")),
        (("app", "a-b"), ("app", "a_b")),
        (("app", "task" * 20 + "1"), ("app", "task" * 20 + "2")),
        (("app", "Ä"), ("app", "Ö")),
        (("app", "A"), ("app", "a")),
    ],
)
def test_texts_that_run_together_or_are_cut_off_are_told_apart(one: tuple[str, str], two: tuple[str, str]) -> None:
    assert names.branch_name(OWNER, *one) != names.branch_name(OWNER, *two)


@calm
@given(TEXTS, TEXTS)
def test_what_is_another_s_is_foreign(database: str, task: str) -> None:
    mine = names.branch_name(OWNER, database, task)
    assert names.kind_of(OWNER, mine) == "branch"
    assert names.kind_of(OTHER, mine) is None
    assert names.kind_of(OWNER, names.template_name(OWNER, database, task)) == "template"
    assert names.kind_of(OWNER, f"{names.pool_prefix(OWNER, database, task)}x") == "pool"
    assert names.kind_of(OWNER, f"x{mine}") is None


@pytest.mark.parametrize(
    "name", ["postgres", "template1", "ilk_", "ilk_abcdefgh", "ilk_abcdefgh_b_", "ilk_abcdefgh_z_x"]
)
def test_no_other_name_is_ours(name: str) -> None:
    assert names.kind_of(OWNER, name) is None


@calm
@given(TEXTS, TEXTS, st.integers(min_value=0, max_value=2**40))
def test_a_mark_is_read_as_it_was_written(task: str, key: str, used: int) -> None:
    mark = Mark(owner=OWNER, database="app", task=task, key=key, used=used)
    assert names.read_mark(names.comment(mark)) == mark


@pytest.mark.parametrize(
    "text",
    [None, "", "dev database", "interlock", "interlock {", "interlock []", "interlock {}", 'interlock {"owner": "abcdefgh"}',
     'interlock {"owner": "abcdefgh", "database": "app", "used": "x"}', 'interlock {"owner": 7, "database": "app"}',
     'interlock {"owner": "abcdefgh", "database": "app", "more": 1}', "interlock " + "[" * 100_000],
)  # fmt: skip
def test_anything_else_is_no_mark(text: str | None) -> None:
    assert names.read_mark(text) is None


def test_a_digest_changes_with_each_command_path_and_file_and_with_nothing_else() -> None:
    files = [("migrations/1.sql", "aa"), ("seed.sql", "bb")]
    digest = names.digest(["migrate", "seed"], files)
    assert digest == names.digest(["migrate", "seed"], [*reversed(files), files[0]])
    others = [
        names.digest(["migrate", None], files),
        names.digest(["seed", "migrate"], files),
        names.digest(["migrate", "seed"], files[:1]),
        names.digest(["migrate", "seed"], [("migrations/1.sql", "ab"), files[1]]),
        names.digest(["migrate", "seed"], [("migrations/2.sql", "aa"), files[1]]),
        names.digest(["migrate seed"], files),
    ]
    assert len({digest, *others}) == len(others) + 1


BRANCH = SimpleNamespace(name="ilk_abcdefgh_b_task_app_x")


@pytest.mark.parametrize(
    "printed",
    [
        "", "\n", "app", "postgres", "x_ilk_abcdefgh_b_task_app_x", "ilk_abcdefgh_b_task_app_x2",
        "postgresql://u:p@db/app", "postgresql://ilk_abcdefgh_b_task_app_x:p@db/app", "sqlite:///dev.sqlite3",
        "ilk_abcdefgh_b_task_app_x\napp", "postgresql://db/app?x=ilk_abcdefgh_b_task_app_x", "http://[broken/x",
    ],
)  # fmt: skip
def test_db_04_a_probe_that_prints_anything_else_names_another_database(printed: str) -> None:
    assert not names.same_database(printed, BRANCH)


@pytest.mark.parametrize(
    "printed",
    [
        "ilk_abcdefgh_b_task_app_x", "  ilk_abcdefgh_b_task_app_x \n\n", "loading .env\nilk_abcdefgh_b_task_app_x\n",
        "postgresql://u:p@db:5432/ilk_abcdefgh_b_task_app_x?sslmode=require", "/ws/data/ilk_abcdefgh_b_task_app_x",
        "sqlite:////ws/data/ilk_abcdefgh_b_task_app_x", "'ilk_abcdefgh_b_task_app_x'",
    ],
)  # fmt: skip
def test_db_04_a_probe_that_prints_the_name_a_path_or_a_url_names_it(printed: str) -> None:
    assert names.same_database(printed, BRANCH)
