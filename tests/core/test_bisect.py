"""Bisection names the guilty change or pair, lets the older one land, and asks for few probes."""

from functools import cache
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.core.merge.bisect import Green, Guilty, Probe, RedBase, bisect
from interlock.core.merge.minimal import is_smallest


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


def test_of_five_known_green_alone_seven_of_the_ten_pairs_take_five_runs_with_the_landing_and_none_more_than_six():
    members = list("abcde")
    counts = {}
    for pair in combinations(members, 2):
        answer, asked = search(members, lambda chosen, pair=set(pair): not pair <= chosen, alone=members)
        assert Guilty(pair[1], pair[:1]) == answer
        assert pair in asked, "Seen red by itself, since a larger group would explain all the other runs as well."
        counts["".join(pair)] = len({*asked, tuple(member for member in members if member != pair[1])})
    assert {pair: many for pair, many in counts.items() if many > 5} == {"ab": 6, "bc": 6, "cd": 6}
    assert sum(counts.values()) == 50


@cache
def provable(culprits, left, tested=frozenset(), *, guess=False):
    """Of these culprits the most that some order of ``left`` more runs shows red by themselves and green without the last one.

    With a ``guess`` the only one that explains all runs need not be seen red.
    """
    alone = guess and len(culprits) == 1
    shown = {each for each in culprits if ({everyone_but(each)} if alone else {each, everyone_but(each)}) <= tested}
    if left == 0 or shown == set(culprits):
        return len(shown)
    asked = {need for each in culprits for need in (each, everyone_but(each))}
    halves = {tuple(some) for size in (2, 3, 4) for some in combinations("abcde", size)}
    best = 0
    for probe in sorted((asked | halves) - tested):
        red = tuple(each for each in culprits if set(each) <= set(probe))
        green = tuple(each for each in culprits if each not in red)
        sides = (provable(side, left - 1, tested | {probe}, guess=guess) for side in (red, green) if side)
        best = max(best, sum(sides))
        if best == len(culprits):
            break
    return best


def everyone_but(culprit):
    return tuple(member for member in "abcde" if member != culprit[-1])


@pytest.mark.long
def test_no_order_of_probes_proves_more_pairs_of_five_in_five_runs_nor_each_single_one():
    """The first run is of all five; so four are left."""
    assert provable(tuple(combinations("abcde", 2)), 4) == 7
    assert provable(tuple((member,) for member in "abcde"), 4) == 4
    assert provable(tuple(combinations("abcde", 2)), 4, guess=True) == 10, "What seeing a pair red costs."


@pytest.mark.parametrize("size", [3, 4, 5])
def test_a_larger_group_known_green_alone_is_named_whole_and_never_as_a_pair(size):
    members = list("abcde")
    for group in combinations(members, size):
        answer, _ = search(members, lambda chosen, group=set(group): not group <= chosen, alone=members)
        assert Guilty(group[-1], group[:-1]) == answer


@pytest.mark.parametrize("alone", ["abcde", "", "bd"])
def test_two_pairs_at_once_blame_a_member_of_one_of_them_and_what_is_named_is_red(alone):
    for first, second in combinations(list(combinations("abcde", 2)), 2):

        def is_green(chosen, pairs=(set(first), set(second))):
            return not any(pair <= chosen for pair in pairs)

        answer, _ = search(list("abcde"), is_green, alone=alone)
        assert isinstance(answer, Guilty)
        named = {answer.member, *answer.partners}
        assert not is_green(named), "Red by itself."
        assert all(is_green(named - {each}) for each in named), "And none can be left out."


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


# ---------------------------------------------------------------- what runs show of the partners
def test_partners_are_the_smallest_set_only_where_the_member_was_green_without_any_one_of_them():
    assert not is_smallest(("a", "b", "d"), "d", [("a", "b")])
    assert not is_smallest(("a", "b", "d"), "d", [("a", "d")])
    assert is_smallest(("a", "b", "d"), "d", [("a", "d"), ("b", "c", "d")])
    assert not is_smallest(("b", "d"), "d", [("b",)]), "It may be red alone."
    assert is_smallest(("b", "d"), "d", [("d",)])


@given(size=st.integers(2, 6), data=st.data())
def test_what_bisection_names_is_shown_to_be_the_smallest_set_by_its_own_runs(size, data):
    members = list("abcdef")[:size]
    group = sorted(data.draw(st.sets(st.sampled_from(members), min_size=2)))
    alone = members if data.draw(st.booleans()) else []
    answer, asked = search(members, lambda chosen: not set(group) <= chosen, alone=alone)
    greens = [each for each in asked if not set(group) <= set(each)]
    assert is_smallest((*answer.partners, answer.member), answer.member, [*greens, *((each,) for each in alone)])
