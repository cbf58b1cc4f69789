"""The big race for slots: ten thousand admissions from four processes while caps, ceiling and pauses move."""

from __future__ import annotations

import pytest
from tests.integration.store.test_race import judge

pytest_plugins = ("tests.integration.store.fixtures",)
pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]


def test_ten_thousand_racing_admissions_on_sqlite(sqlite_store_url: str) -> None:
    found = judge(sqlite_store_url, processes=4, attempts=2500)
    assert found["admitted"] > 1000


@pytest.mark.postgres
def test_ten_thousand_racing_admissions_on_postgresql(postgres_store_url: str) -> None:
    found = judge(postgres_store_url, processes=4, attempts=2500)
    assert found["admitted"] > 1000
