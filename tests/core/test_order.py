"""The landing order: dependencies before their dependants, else the oldest first, and nothing that must wait."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from tests.core.lives import job_in

from interlock.core.job.lifecycle import Job, State
from interlock.core.merge.order import train_order


def ready(slug: str, age: int, **parts: str) -> Job:
    return replace(job_in(State.READY, slug), admitted_at=float(age), **parts)  # type: ignore[arg-type]


def slugs(jobs: tuple[Job, ...]) -> list[str]:
    return [job.slug for job in jobs]


def test_the_oldest_lands_first() -> None:
    jobs = [ready("c", 3), ready("a", 1), ready("b", 2)]
    assert slugs(train_order(jobs, frozenset(), {})) == ["a", "b", "c"]


def test_a_dependency_lands_before_its_dependant_however_young() -> None:
    jobs = [ready("old", 1), ready("young", 9)]
    assert slugs(train_order(jobs, frozenset(), {"old": ("young",)})) == ["young", "old"]


def test_what_is_not_ready_or_held_stays_and_so_does_what_depends_on_it() -> None:
    others = [job_in(state, "x") for state in State if state is not State.READY]
    jobs = [*others, ready("b", 2), ready("h", 3, held="ana")]
    assert slugs(train_order(jobs, frozenset(), {"b": ("x",)})) == []
    assert slugs(train_order(jobs, frozenset(), {"b": ("h",)})) == []
    assert slugs(train_order(jobs, frozenset({"x"}), {"b": ("x",)})) == ["b"]


def test_a_circle_lands_nothing_and_ends() -> None:
    jobs = [ready("a", 1), ready("b", 2), ready("c", 3)]
    assert slugs(train_order(jobs, frozenset(), {"a": ("b",), "b": ("a",)})) == ["c"]


names = st.sampled_from("abcdef")


@given(
    st.dictionaries(names, st.integers(0, 3), min_size=1),
    st.frozensets(names),
    st.dictionaries(names, st.lists(names, max_size=2).map(tuple)),
)
def test_order_for_any_input(ages: dict[str, int], landed: frozenset[str], needs: dict[str, tuple[str, ...]]) -> None:
    jobs = [ready(slug, age) for slug, age in ages.items()]
    order = train_order(jobs, landed, needs)
    assert order == train_order(list(reversed(jobs)), landed, needs), "The input's order does not matter."
    found = slugs(order)
    assert len(set(found)) == len(found) <= len(jobs)
    for place, slug in enumerate(found):
        assert set(needs.get(slug, ())) <= landed | set(found[:place])
    whole = slugs(train_order(jobs, landed, needs))
    for slug in ages.keys() - set(whole):
        assert not set(needs[slug]) <= landed | set(whole), "Nobody is left behind who could land."


# ---------------------------------------------------------------- ageing
def test_the_first_approval_counts_and_not_the_admission() -> None:
    jobs = [ready("a", 1), ready("b", 2)]
    assert slugs(train_order(jobs, frozenset(), {}, approved={jobs[0].id: 9.0, jobs[1].id: 5.0})) == ["b", "a"]


@given(
    st.dictionaries(names, st.floats(0, 20_000), min_size=1), st.dictionaries(names, st.frozensets(names, max_size=2))
)
def test_jobs_stand_behind_what_they_need_and_nobody_is_overtaken(
    since: dict[str, float], needs: dict[str, frozenset[str]]
) -> None:
    jobs = [ready(slug, 0) for slug in since]
    approved = {job.id: since[job.slug] for job in jobs}
    depends_on = {slug: tuple(sorted(needed)) for slug, needed in needs.items()}
    order = train_order(jobs, frozenset(), depends_on, approved=approved)
    assert order == train_order(jobs[::-1], frozenset(), depends_on, approved=approved)
    before: set[str] = set()
    for job in order:
        assert needs.get(job.slug, frozenset()) <= before
        before.add(job.slug)
    needed = {slug for each in needs.values() for slug in each}
    for place, one in enumerate(order):
        for other in order[place + 1 :]:
            if not needs.get(other.slug) and one.slug not in needed:
                assert approved[one.id] <= approved[other.id]
