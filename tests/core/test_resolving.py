"""A resolution has to list every conflict, quote the plans word for word, and bring a test that only both together pass."""

from __future__ import annotations

import json
from typing import Any

import pytest

from interlock.core.merge.resolving import (
    Intent,
    Resolution,
    Settled,
    faults,
    judge_proof,
    lost_tests,
    others_tests,
    read_resolution,
)

ONE = Intent(slug="tax", texts=("goal: Prices are shown\n  with tax.", "# Plan\nEvery price is gross."))
OTHER = Intent(slug="round", texts=("goal: Prices are rounded to five cents.",))


def conflict(**parts: Any) -> dict[str, Any]:
    return {
        "path": "shop/price.py",
        "what": "both change price()",
        "wins": "both",
        "quotes": {"tax": "Every price is gross", "round": "rounded to five cents"},
        "because": "rounding comes after tax",
        **parts,
    }


def handed(*conflicts: dict[str, Any], **parts: Any) -> str:
    return json.dumps({"conflicts": list(conflicts), "test": "tests/test_both.py::test_both", **parts})


def wrong(text: str, clashes: tuple[str, ...] = ()) -> str:
    found = read_resolution(text)
    assert isinstance(found, Resolution), found
    return " ".join(faults(found, ONE, OTHER, clashes))


def test_a_whole_resolution_holds() -> None:
    assert wrong(handed(conflict()), ("shop/price.py",)) == ""


def test_the_last_block_of_json_counts_whatever_is_said_around_it() -> None:
    found = read_resolution(
        f"First I thought {{}}.\n```json\n{handed()}\n```\nthen\n```json\n{handed(conflict())}\n```\nDone."
    )
    assert isinstance(found, Resolution)
    assert found.conflicts[0] == Settled(**conflict())


@pytest.mark.parametrize(
    "text", ["", "done", "[]", "{}", '{"conflicts": 3}', '{"conflicts": [{}]}', '{"conflicts": [], "test": 3}']
)
def test_another_form_is_told_in_a_sentence(text: str) -> None:
    found = read_resolution(text)
    assert isinstance(found, str)
    assert found.endswith(".")


def test_a_clash_that_is_not_listed_is_named() -> None:
    assert "shop/other.py" in wrong(handed(conflict()), ("shop/price.py", "shop/other.py"))


def test_no_conflict_at_all_is_no_resolution() -> None:
    assert "lists no conflict" in wrong(handed())


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"quotes": {"tax": "Every price is net", "round": "rounded to five cents"}}, "does not stand"),
        ({"quotes": {"tax": "Every price is gross"}}, "quotes nothing of round"),
        ({"quotes": {"tax": "gross", "round": "rounded to five cents"}}, "quotes nothing of tax"),
        ({"wins": "me"}, "none of tax, round, both"),
    ],
)
def test_a_quote_that_nobody_wrote_and_a_winner_that_nobody_is_are_refused(parts: dict[str, Any], words: str) -> None:
    assert words in wrong(handed(conflict(**parts)))


def test_the_winners_quote_is_enough_and_line_breaks_do_not_matter() -> None:
    assert wrong(handed(conflict(wins="tax", quotes={"tax": "prices are shown with tax"}))) == ""


def test_a_resolution_without_a_test_is_refused() -> None:
    assert "names no test" in wrong(handed(conflict(), test=""))


def test_the_test_must_fail_on_each_side_alone_and_pass_with_both() -> None:
    assert judge_proof("t", alone={"tax": "failed", "round": "error"}, combined="passed") == ()
    assert "passes with tax alone" in judge_proof("t", alone={"tax": "passed", "round": "failed"}, combined="passed")[0]
    assert "is failed on the combination" in judge_proof("t", alone={"tax": "failed"}, combined="failed")[0]
    assert "did not run on the combination" in judge_proof("t", alone={"tax": "failed"}, combined=None)[0]
    assert "shows nothing" in judge_proof("t", alone={"tax": "skipped"}, combined="passed")[0]


def test_a_test_that_is_not_there_on_one_side_has_failed_there() -> None:
    """Its file is put there; that it cannot even be collected without the other change is the failure that is wanted."""
    assert judge_proof("t", alone={"tax": None, "round": "failed"}, combined="passed") == ()


def test_a_test_of_what_only_the_resolution_brings_is_refused() -> None:
    sides = {"tax": "failed", "round": None}
    held = judge_proof("t", alone=sides, combined="passed", without={"tax": "failed", "round": None})
    assert held == ()
    (told,) = judge_proof("t", alone=sides, combined="passed", without={"tax": "passed", "round": "error"})
    assert "without the work of tax" in told


def test_the_other_sides_tests_are_not_the_resolutions_to_change() -> None:
    assert others_tests("tax", ["shop/a.py", "tests/test_both.py"], ["tests/test_tax.py"]) == ()
    (told,) = others_tests("tax", ["tests/test_tax.py"], ["tests/test_tax.py"])
    assert "tests/test_tax.py" in told


def test_a_change_keeps_the_tests_that_it_brought_wherever_they_move() -> None:
    brought = ("tests/test_a.py", "tests/test_b.py")
    assert lost_tests("round", brought, ("tests/test_a.py", "tests/unit/test_b.py", "shop/a.py")) == ()
    (told,) = lost_tests("round", brought, ("tests/test_a.py", "shop/b.py"))
    assert told.startswith("It drops tests/test_b.py, which round had brought")
