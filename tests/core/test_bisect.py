"""Bisection names the guilty change or pair, lets the older one land, and asks for few probes."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.core.merge.bisect import Green, Guilty, Probe, RedBase, bisect


def search(members, is_green, *, alone=(), **predicted):
    """Run a bisection to its end; gives the answer and the sets that were tested beside those known green alone."""
    results: dict[tuple[str, ...], bool] = {(member,): True for member in alone}
    asked = []
    while isinstance(answer := bisect(members, results, **predicted), Probe):
        assert answer.members not in results, "a set is never asked for twice"
        asked.append(answer.members)
        results[answer.members] = is_green(set(answer.members))
    return answer, asked


def test_all_green_needs_one_run():
    answer, asked = search(["a", "b", "c"], lambda _: True)
    assert Green() == answer
    assert [("a", "b", "c")] == asked


def test_red_alone_is_named_with_no_partner():
    answer, _ = search(["a", "b", "c", "d", "e"], lambda members: "d" not in members)
    assert Guilty("d", ()) == answer


def test_of_a_pair_the_later_is_guilty_and_the_older_its_partner():
    answer, _ = search(["a", "b", "c", "d", "e"], lambda members: not {"b", "d"} <= members)
    assert Guilty("d", ("b",)) == answer


def test_three_that_are_red_only_together_are_all_named():
    answer, _ = search(["a", "b", "c"], lambda members: not {"a", "b", "c"} <= members)
    assert Guilty("c", ("a", "b")) == answer


def test_a_red_base_blames_no_member():
    answer, _ = search(["a", "b"], lambda _: False)
    assert RedBase() == answer


@given(size=st.integers(2, 12), data=st.data())
def test_any_pair_is_found_within_the_bound(size, data):
    members = [f"m{index:02}" for index in range(size)]
    pair = sorted(data.draw(st.sets(st.sampled_from(members), min_size=2, max_size=2)))
    answer, asked = search(members, lambda chosen: not set(pair) <= chosen)
    assert Guilty(pair[1], (pair[0],)) == answer
    assert len(asked) <= 2 * size.bit_length() + 3


@given(size=st.integers(1, 12), data=st.data())
def test_any_single_culprit_is_found(size, data):
    members = [f"m{index:02}" for index in range(size)]
    culprit = data.draw(st.sampled_from(members))
    answer, _ = search(members, lambda chosen: culprit not in chosen)
    assert Guilty(culprit, ()) == answer


@pytest.mark.parametrize("green", [True, False])
def test_one_member(green):
    answer, _ = search(["a"], lambda members: green or not members)
    assert (Green() if green else Guilty("a", ())) == answer


@given(size=st.integers(2, 8), data=st.data())
def test_a_pair_is_found_sooner_when_each_is_known_green_alone(size, data):
    members = [f"m{index:02}" for index in range(size)]
    pair = sorted(data.draw(st.sets(st.sampled_from(members), min_size=2, max_size=2)))
    answer, asked = search(members, lambda chosen: not set(pair) <= chosen, alone=members)
    assert Guilty(pair[1], (pair[0],)) == answer
    pairs = size * (size - 1) // 2
    assert len(asked) <= 3 + pairs.bit_length()


def test_of_five_known_green_alone_a_pair_takes_six_runs_at_most_with_the_landing():
    members = list("abcde")
    for first, second in combinations(members, 2):
        answer, asked = search(members, lambda chosen, pair={first, second}: not pair <= chosen, alone=members)
        assert Guilty(second, (first,)) == answer
        rest = tuple(member for member in members if member != second)
        assert len({*asked, rest}) <= 6


def test_three_known_green_alone_and_in_pairs_are_all_named():
    members = list("abcd")
    answer, _ = search(members, lambda chosen: not {"a", "b", "d"} <= chosen, alone=members)
    assert Guilty("d", ("a", "b")) == answer


@given(size=st.integers(2, 9), data=st.data())
def test_the_named_set_is_minimal_however_large(size, data):
    members = [f"m{index:02}" for index in range(size)]
    group = sorted(data.draw(st.sets(st.sampled_from(members), min_size=1, max_size=4)))
    answer, asked = search(members, lambda chosen: not set(group) <= chosen)
    assert Guilty(group[-1], tuple(group[:-1])) == answer
    assert len(asked) <= (len(group) + 1) * (size.bit_length() + 1) + 2


# ---------------------------------------------------------------- predicted pairs
@given(size=st.integers(2, 20), data=st.data())
def test_a_predicted_pair_is_asked_about_first(size, data):
    members = [f"m{index:02}" for index in range(size)]
    pair = sorted(data.draw(st.sets(st.sampled_from(members), min_size=2, max_size=2)))
    answer, asked = search(members, lambda chosen: not set(pair) <= chosen, suspects={frozenset(pair)})
    assert Guilty(pair[1], (pair[0],)) == answer
    assert len(asked) <= 2


@given(size=st.integers(3, 12), data=st.data())
def test_false_predictions_mislead_nobody(size, data):
    members = [f"m{index:02}" for index in range(size)]
    couples = [frozenset(two) for two in combinations(members, 2)]
    suspects = data.draw(st.frozensets(st.sampled_from(couples), max_size=4))
    culprit = data.draw(st.sampled_from(members))
    answer, _ = search(members, lambda chosen: culprit not in chosen, suspects=suspects)
    assert isinstance(answer, Guilty)
    assert culprit in {answer.member, *answer.partners}
    assert set(answer.partners) <= set(members[: members.index(answer.member)])


def test_independent_pairs_are_weighed_only_where_no_other_is_possible():
    members = list("abcde")
    apart = {frozenset(two) for two in combinations(members, 2)} - {frozenset("be")}
    answer, asked = search(members, lambda chosen: not {"b", "e"} <= chosen, alone=members, independent=apart)
    assert Guilty("e", ("b",)) == answer
    assert len(asked) == 2
    answer, _ = search(members, lambda chosen: not {"a", "c"} <= chosen, alone=members, independent=apart)
    assert Guilty("c", ("a",)) == answer
