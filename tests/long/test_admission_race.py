"""The big race for slots: admissions from four processes while caps, ceiling and pauses move.

Sixteen hundred on each database; ten thousand with INTERLOCK_TESTS=full.
"""

from __future__ import annotations

import pytest
from tests.integration.store.race import judge
from tests.needs import FULL

pytest_plugins = ("tests.integration.store.fixtures",)
pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]
EACH = 2500 if FULL else 400


def test_the_big_race_on_sqlite(sqlite_store_url: str) -> None:
    found = judge(sqlite_store_url, processes=4, attempts=EACH)
    assert found["admitted"] > EACH // 3


@pytest.mark.postgres
def test_the_big_race_on_postgresql(postgres_store_url: str) -> None:
    found = judge(postgres_store_url, processes=4, attempts=EACH)
    assert found["admitted"] > EACH // 3
