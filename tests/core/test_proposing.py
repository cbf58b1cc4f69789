"""Cards in what an agent handed in: found whole, named, bounded, and given an owner without another change."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.core.agent.proposing import MOST_CARDS, documents, is_open, with_owner

ONE, TWO = "slug: one\nclass: tests\n", "slug: two\nclass: tests\n"


@pytest.mark.parametrize(
    "text",
    [
        f"{ONE}---\n{TWO}",
        f"---\n{ONE}---\n\n{TWO}---\n",
        f"Here they are:\n\n```yaml\n{ONE}```\n\nand\n\n```yml\n{TWO}```\nThat is all.\n",
        f"```\n{ONE}---\n{TWO}```\n",
        f"{ONE}---\n{TWO}".replace("\n", "\r\n"),
        f"# a comment\n---\n{ONE}---\n{TWO}",
    ],
)
def test_cards_are_found_whichever_way_they_are_handed_in(text: str) -> None:
    found, problems = documents(text)
    assert problems == ()
    assert [(each.slug, each.text) for each in found] == [("one", ONE), ("two", TWO)]
    assert found[0].file == "tasks/one.yaml"


@pytest.mark.parametrize("text", ["", "I could not.", "```yaml\n```", "---\n---\n"])
def test_nothing_handed_in_is_told(text: str) -> None:
    found, problems = documents(text)
    assert (found, [each.kind for each in problems]) == ((), ["missing"])


def test_a_name_twice_and_too_many_are_told() -> None:
    _, problems = documents(f"{ONE}---\n{ONE}---\n{TWO}")
    assert [each.what for each in problems] == ["Two cards are called one."]
    assert documents("\n---\n".join(["slug: x"] * (MOST_CARDS + 1)))[1][0].kind == "shape"


@pytest.mark.parametrize("slug", ["../x", "A", "'", "x" * 50, "a b", ""])
def test_a_slug_that_cannot_name_a_file_names_none(slug: str) -> None:
    found, _ = documents(f"slug: {slug}\nclass: tests\n")
    assert [each.slug for each in found] == ["card-1"]


@given(st.text())
def test_no_text_gives_a_name_that_leads_out_of_its_folder(text: str) -> None:
    for each in documents(text)[0]:
        assert "/" not in each.slug
        assert not each.slug.startswith((".", "-"))


@pytest.mark.parametrize(
    "text",
    [
        "slug: one\nintegration_owner: TBD\nrisk: low\n",
        "slug: one\nintegration_owner:\nrisk: low\n",
        'slug: one\nintegration_owner: "@old"  # a remark\nrisk: low\n',
        "slug: one\nintegration_owner: >-\n  some\n  body\nrisk: low\n",
    ],
)
def test_an_owner_takes_the_place_of_the_one_there_is(text: str) -> None:
    assert with_owner(text, "@ana") == 'slug: one\nintegration_owner: "@ana"\nrisk: low\n'


def test_an_owner_is_added_where_there_is_none() -> None:
    assert with_owner("slug: one\n", "@ana") == 'slug: one\nintegration_owner: "@ana"\n'
    assert with_owner("slug: one\n", 'a"b\n') == 'slug: one\nintegration_owner: "a\\"b\\n"\n'


def test_open_owners() -> None:
    assert [is_open(each) for each in ("", "TBD", "@tbd", " ", "@ana")] == [True, True, True, True, False]
