"""Three hundred racing admissions on each database; the big count is in tests/long."""

from __future__ import annotations

import pytest
from tests.integration.store.race import audit, race

from interlock.adapters.store import SqlStore

pytest_plugins = ("tests.integration.store.fixtures",)


def judge(url: str, *, processes: int, attempts: int) -> dict[str, int]:
    """Race, then read everything from the record: nothing over, every slot and holder right."""
    tallies = race(url, processes=processes, attempts=attempts)
    store = SqlStore.open(url)
    found = audit(store.events())
    held = [(lane.name, holder.slot, holder.job) for lane in store.lanes() for holder in lane.holders]
    opened = [(job.class_name, job.slot, job.id) for job in store.jobs()]
    store.close()
    assert sum(tally.admitted + tally.refused.total() for tally in tallies) == processes * attempts
    assert sum(tally.admitted for tally in tallies) == found["admitted"] > 0
    assert sum(tally.refused["cap"] for tally in tallies) > 0
    assert [wrong for tally in tallies for wrong in tally.wrong] == []
    for fault in (
        "over the cap",
        "over the ceiling",
        "slot taken",
        "slot beyond the cap",
        "while paused",
        "other numbers than in force",
    ):
        assert found[fault] == 0, fault
    assert found["moves"] > 1, "The caps moved."
    assert len({(name, slot) for name, slot, _ in held}) == len(held) == found["in flight"]
    assert sorted(held) == sorted(opened)
    return found


@pytest.mark.long
def test_three_hundred_racing_admissions_are_never_over(store_url: str) -> None:
    judge(store_url, processes=4, attempts=75)
