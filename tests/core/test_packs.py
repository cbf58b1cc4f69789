"""Packs: bounded whatever they hold, cuts are said, and a review counts as clean only in so many words."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.core.agent.packs import MOST_BYTES, Pack, fitted, for_phase, pack, verdict


@pytest.mark.parametrize(
    ("text", "objects"),
    [
        ("", "it gave no verdict."),
        ("Looks good to me.", "it gave no verdict."),
        ("I accept.\nverdict: accept", "it gave no verdict."),
        ("verdict: accepted", "it gave no verdict."),
        ("Verdict: accept", "it gave no verdict."),
        ("verdict: accept, but the edge case is missing", "it gave no verdict."),
        ("```\nverdict: accept\n```", "it gave no verdict."),
        ("verdict:accept", "it gave no verdict."),
        ("verdict: object", "it gave no reason."),
        ("verdict: object\n\nNothing tests an empty file.\n", "Nothing tests an empty file."),
        ("verdict: object\nverdict: accept", "verdict: accept"),
        ("verdict: accept", ""),
        ("\nverdict: accept  \nAll conditions are covered.", ""),
    ],
)
def test_a_verdict_is_taken_at_its_word_alone(text: str, objects: str) -> None:
    assert verdict(text) == objects


@given(st.text())
def test_no_text_is_an_acceptance_by_chance(text: str) -> None:
    assert (verdict(text) == "") == (text.strip().split("\n")[0].rstrip() == "verdict: accept")


def test_nothing_said_is_no_pack() -> None:
    assert pack("plan", 1, " \n", "last-text") is None
    made = pack("plan", 1, "do it\n", "pack")
    assert made == Pack(phase="plan", attempt=1, text="do it")
    assert made is not None
    digest = hashlib.sha256(b"do it").hexdigest()
    assert made.as_json() == {"phase": "plan", "attempt": 1, "bytes": 5, "digest": digest, "from": "pack"}


@given(st.text(alphabet="aä\n€", min_size=1), st.integers(1, 200))
def test_one_pack_is_bounded_and_the_cut_is_said(text: str, times: int) -> None:
    made = pack("plan", 1, text * times * 100, "last-text")
    if made is None:
        return
    assert made.size <= MOST_BYTES
    assert ("[Cut:" in made.text) == (len((text * times * 100).strip().encode()) > MOST_BYTES)


@given(st.lists(st.text(alphabet="aä\n", max_size=400), max_size=6), st.integers(0, 900))
def test_packs_together_are_bounded_the_small_ones_whole(texts: list[str], most: int) -> None:
    packs = [Pack(phase="plan", attempt=number, text=text) for number, text in enumerate(texts)]
    shown = fitted(packs, most)
    assert len(shown) == len(packs)
    kept = [each.partition("\n[Cut here:")[0] for each in shown]
    assert sum(len(each.encode()) for each in kept) <= max(most, 0)
    for each, text, part in zip(packs, shown, kept, strict=True):
        assert text == each.text or ("[Cut here:" in text and each.text.startswith(part))
    whole = [each.size for each, text in zip(packs, shown, strict=True) if text == each.text]
    cut = [each.size for each, text in zip(packs, shown, strict=True) if text != each.text]
    assert not cut or not whole or max(whole) <= min(cut)
    assert bool(cut) == (sum(each.size for each in packs) > most)


def test_each_phase_is_given_what_came_before_and_the_review_the_test_plan_alone() -> None:
    packs = [Pack(phase=name, attempt=n, text=name) for n, name in enumerate(("test-plan", "plan", "research"), 1)]
    assert [each.phase for each in for_phase("implement", packs)] == ["research", "plan", "test-plan"]
    assert [each.phase for each in for_phase("plan", packs)] == ["research"]
    assert [each.phase for each in for_phase("review-tests", packs)] == ["test-plan"]
    assert for_phase("research", packs) == ()
